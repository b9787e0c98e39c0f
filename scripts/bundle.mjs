// npm run bundle: packs everything for a GPU machine without Node and network, under 39 MiB in bundle/:
//   run.sh, node.tar.xz (the running node, stripped), payload.tar.xz (addon, sources, packages), SHA256SUMS
// The addon contains no PTX: it runs only on the GPUs for which it contains machine code. Usage: see bundle/run.sh.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { copyAssets } from './copy-assets.mjs';
import { withoutPtx } from './fatbin.mjs';
import { onPath } from './find-tools.mjs';
import { listFiles, root } from './list-sources.mjs';
import { closure } from './package-closure.mjs';

const kLimitMiB = 39;
/** Packages needed to run, test, benchmark and draw; their dependencies follow from package-lock.json. */
const kPackages = ['zod', 'node-gyp-build', 'mocha', 'tsx', 'fast-check', 'vega', 'vega-lite', 'fast-png',
  'd3-dsv', 'd3-scale-chromatic', 'vega-datasets', 'zarrita', 'tiff', 'nifti-reader-js', 'dicom-parser', 'utif2',
  'highs', '@dagrejs/dagre', 'wabt', 'acorn', 'fastify', '@fastify/swagger', 'prom-client', 'light-my-request',
  'autocannon', '@opentelemetry/context-async-hooks', '@opentelemetry/sdk-trace-base'];
/** Folders and files of the checkout that are included as they are. Proofs compile kernels with the sources of the shim. */
const kFolders = [
  'lib', 'test', 'bench', 'examples', 'prebuilds', 'scripts', 'cuda/core', 'cuda/kernel', 'cuda/stencil', 'cuda/stream', 'native/simt',
];
const kFiles = ['package.json', '.mocharc.json', 'README.md', 'tsconfig.base.json', 'tsconfig.json',
  'tsconfig.all.json', 'docs/stream-diagnostics.md', 'typedoc.json'];
/** Files that nothing loads: documentation, type declarations, builds for browsers and debuggers. For data sets see usedData(). */
const kLeftOut = [
  /\.(map|md|markdown|d\.[cm]?ts)$/, /(?<!\/(index|dicomParser))\.min\.[cm]?js$/,  // two load minified builds
  /(?<!node_modules|@assemblyscript\/loader)\/(umd|react-native|browser|__tests__|tests|debug)$/,
  /\/(zod|vega-lite)\/src$/, /\/mocha\/mocha\.js$/,
  /(?<=\/node_modules\/(@[\w.-]+\/)?[\w.-]+)\/(test|docs|benchmarks?)$/,
  /\/vega\/build\/vega(-core\.js|\.js|-schema\.json)$/, /\/vega-lite-schema\.json$/, /\/wabt\/bin$/,
];

const bundle = join(root, 'bundle');
const staging = join(root, 'build/bundle');
const payload = join(staging, 'warploom');

function run(command, args, options = {}) {
  return execFileSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], ...options });
}

/** One .tar.xz with files in name order and no times, so that equal content gives equal bytes. */
function pack(output, folder, names, level = ['-9']) {
  const tar = join(staging, 'payload.tar');
  run('tar', ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '-cf', tar, '-C', folder, ...names]);
  run('xz', [...level, '-T0', '-f', tar]);
  copyFileSync(`${tar}.xz`, output);
}

/** Node's binary, stripped; packed once per version, because that takes a minute. The filter for x86 code saves 0.7 MiB. */
function packNode() {
  const cached = join(root, 'build/bundle-cache', `node-${process.version}-${process.arch}-filtered.tar.xz`);
  if (!existsSync(cached)) {
    mkdirSync(dirname(cached), { recursive: true });
    const folder = join(staging, 'node');
    mkdirSync(folder, { recursive: true });
    copyFileSync(process.execPath, join(folder, 'node'));
    chmodSync(join(folder, 'node'), 0o755);
    if (onPath('strip')) run('strip', ['--strip-unneeded', join(folder, 'node')]);
    pack(cached, folder, ['node'], [...(process.arch === 'x64' ? ['--x86'] : []), '--lzma2=preset=9e,dict=128MiB']);
  }
  copyFileSync(cached, join(bundle, 'node.tar.xz'));
}

/** The information for reports that normally comes from sources and git. */
function buildInfo() {
  const commit = run('git', ['rev-parse', 'HEAD']).trim();
  const dirty = run('git', ['status', '--porcelain', '--', 'cuda', 'native']).trim() !== '';
  const hash = createHash('sha256');
  const files = ['cuda', 'native'].flatMap((folder) => listFiles(folder)).sort();
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(root, file))).update('\0');
  const cache = join(root, 'build/cmake/CMakeCache.txt');
  const nvcc = existsSync(cache) ? /CMAKE_CUDA_COMPILER:\w+=(.+)/.exec(readFileSync(cache, 'utf8'))?.[1] : undefined;
  const version = nvcc ? /release ([\d.]+)/.exec(run(nvcc, ['--version']))?.[1] : undefined;
  return { commit: dirty ? `${commit}-modified` : commit, sourceHash: hash.digest('hex'), nvcc: version ?? 'none' };
}

/** Whether an example reads this file of vega-datasets. */
function usedData() {
  const examples = listFiles('examples', /\.json$/).map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
  return (source) => !/vega-datasets\/\w+\//.test(source) || examples.includes(`package:${/vega-datasets\/.*/.exec(source)[0]}"`);
}

function stagePayload() {
  rmSync(payload, { recursive: true, force: true });
  mkdirSync(payload, { recursive: true });
  const copy = (name, filter) => cpSync(join(root, name), join(payload, name), { recursive: true, dereference: true, filter });
  for (const name of [...kFolders, ...kFiles]) if (existsSync(join(root, name))) copy(name, () => true);
  copyAssets(join(payload, 'lib'));
  const isUsed = usedData();
  const keep = (source) => !kLeftOut.some((pattern) => pattern.test(source)) && (statSync(source).isDirectory() || isUsed(source));
  for (const folder of closure(kPackages)) copy(folder, keep);
  // Throws if a file that they need was left out.
  const loaded = kPackages.filter((name) => name !== 'vega-datasets');
  const load = `await Promise.all(${JSON.stringify(loaded)}.map((name) => import(name)))`;
  run(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', load], { cwd: payload });
  for (const addon of listFiles('prebuilds', /\.node$/).map((file) => join(payload, file))) {
    if (onPath('strip')) run('strip', ['--strip-unneeded', addon]);
    writeFileSync(addon, withoutPtx(readFileSync(addon)));
  }
  const kernels = join(root, 'build/kernels/report.json');
  if (existsSync(kernels)) {
    mkdirSync(join(payload, 'build/kernels'), { recursive: true });
    copyFileSync(kernels, join(payload, 'build/kernels/report.json'));
  }
  writeFileSync(join(payload, 'build-info.json'), `${JSON.stringify(buildInfo(), null, 1)}\n`);
}

function checksums(names) {
  const lines = names.map((name) => `${createHash('sha256').update(readFileSync(join(bundle, name))).digest('hex')}  ${name}`);
  writeFileSync(join(bundle, 'SHA256SUMS'), `${lines.join('\n')}\n`);
}

if (!existsSync(join(root, 'prebuilds'))) throw new Error('no addon: run npm run build first');
mkdirSync(bundle, { recursive: true });
mkdirSync(staging, { recursive: true });
stagePayload();
pack(join(bundle, 'payload.tar.xz'), staging, ['warploom']);
packNode();
copyFileSync(join(root, 'scripts/bundle-run.sh'), join(bundle, 'run.sh'));
chmodSync(join(bundle, 'run.sh'), 0o755);
checksums(['node.tar.xz', 'payload.tar.xz', 'run.sh']);
const bytes = ['node.tar.xz', 'payload.tar.xz', 'run.sh', 'SHA256SUMS'].reduce((sum, name) => sum + statSync(join(bundle, name)).size, 0);
console.log(`bundle/: ${(bytes / 2 ** 20).toFixed(1)} MiB`);
if (bytes > kLimitMiB * 2 ** 20) throw new Error(`the bundle is over ${kLimitMiB} MiB`);
