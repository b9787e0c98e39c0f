// The published packages as a consumer meets them: packed, installed with install scripts off (npm 12's rule) into an
// empty project, those of the platforms by npm from a registry, imported and required, and under the permission model.
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { execFile, execFileSync, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { registryOf, type Registry } from '../support/registry.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const solve = `
  const device = await openDevice({ backend: 'cpu' });
  const { solution } = await tridiagonal.solve({
    lower: Float64Array.of(0, -1, -1), diagonal: Float64Array.of(2, 2, 2), upper: Float64Array.of(-1, -1, 0),
    rhs: Float64Array.of(1, 0, 1), n: 3, batch: 1, device });
  await device.close();
  console.log(JSON.stringify([...solution]));`;

/** In code: what is imported by a relative name, at once or when it runs. Groups: the form, a quote, the name. */
const imports = /(\bfrom|\bimport|\bimport\(|\bnew URL\()\s*(['"`])(\.\.?\/[^'"`$]*?)\2/g;

describe('the packed package', function () {
  this.timeout(600_000);
  const folder = mkdtempSync(join(tmpdir(), 'warploom-package-'));
  const project = join(folder, 'project');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  let platforms: string[] = [];
  let files: string[] = [], addonFiles: string[] = [], registry: Registry | undefined;

  const node = (...args: string[]): SpawnSyncReturns<string> =>
    spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8', env: { ...process.env, WARPLOOM_ADDON: 'native' } });
  const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';

  const rounded = (text: string): number[] =>
    (JSON.parse(lastLine(text)) as number[]).map((x) => Math.round(x * 1e12) / 1e12);

  const tarball = (name: string): string => join(folder, `${name}-${version}.tgz`);
  const install = async (where: string, manifest: object, ...args: string[]): Promise<void> => {
    mkdirSync(where);
    writeFileSync(join(where, 'package.json'), JSON.stringify({ name: 'consumer', private: true, ...manifest }));
    await promisify(execFile)('npm', ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund',
      `--@warploom:registry=${registry!.url}`, ...args], { cwd: where });
  };

  before('pack and install', async () => {
    // The same script makes releases; --quick takes the objects of the tests' build, for one generation of GPUs.
    execFileSync(process.execPath, ['scripts/release.mjs', '--quick', '--out', folder], { cwd: root, encoding: 'utf8', stdio: 'pipe' });
    const list = (name: string): string[] => execFileSync('tar', ['tzf', tarball(name)], { encoding: 'utf8' })
      .trim().split('\n').map((path) => path.replace(/^package\//, ''));
    files = list('warploom');
    addonFiles = list('warploom-linux-x64');
    platforms = ['linux-x64', 'linux-arm64'].filter((name) => existsSync(tarball(`warploom-${name}`)));
    registry = await registryOf(platforms.map((name) => tarball(`warploom-${name}`)));
    await install(project, {}, tarball('warploom'));
  });
  after(async () => {
    await registry?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('holds the addon, compiled code and declarations, and nothing of the checkout', () => {
    const paths = files;
    deepStrictEqual(addonFiles.sort(),
      ['LICENSE', 'NOTICE.md', 'README.md', 'package.json', 'prebuilds/linux-x64/node.napi.glibc.node']);
    for (const path of ['NOTICE.md', 'examples/01-solve.ts', 'examples/jobs/job.schema.json', 'dist/index.js', 'dist/index.d.ts', 'dist/cli/bin.js',
      'dist/server/studio/page/main.mjs',
      'dist/browser/index.js', 'LICENSE', 'README.md']) {
      ok(paths.includes(path), path);
    }
    // What texts compiled at run time include.
    for (const path of ['cuda/core/module.cuh', 'cuda/core/device.cuh', 'cuda/core/rtc/type_traits', 'cuda/kernel/map.cuh',
      'cuda/stream/fused.cuh', 'cuda/stream/state.cuh']) ok(paths.includes(path), path);
    const headers = /^cuda\/(core\/(\w+\.cuh|\w+\.h|rtc\/\w+)|(kernel|stencil|stream)\/\w+\.cuh)$/;
    const strangers = paths.filter((path) => !/^(dist|examples)\/|^prebuilds\/wasm32\/warploom\.wasm$|^(package\.json|LICENSE|[A-Z]+\.md)$/.test(path)
      && !headers.test(path));
    deepStrictEqual(strangers, []);
  });

  it('imports compiled files, at once or when it runs: none by its name in the sources', () => {
    const installed = join(project, 'node_modules/warploom'), code = files.filter((path) => /^dist\/(?!server\/studio\/page\/).*\.m?js$/.test(path));
    const wrong: string[] = [];
    let later = 0;
    for (const path of code) {
      for (const [, form, , to] of readFileSync(join(installed, path), 'utf8').matchAll(imports)) {
        const here = `${path}: ${to}`, dynamic = form === 'import(';
        if (/\.[cm]?ts$/.test(to!) || (dynamic && !existsSync(join(installed, path, '..', to!)))) wrong.push(here);
        later += Number(dynamic);
      }
    }
    deepStrictEqual(wrong, []);
    ok(code.length > 300 && later > 60, `${code.length} files, ${later} imports as they run`);
    const sources = "await import('./a.ts'); import b from \"../b.ts\"; new URL(`./c.ts`, import.meta.url); export * from './d.mts'";
    deepStrictEqual([...sources.matchAll(imports)].map((found) => found[3]), ['./a.ts', '../b.ts', './c.ts', './d.mts']);
  });

  it('has a manifest for users: no scripts, the platforms, and links that work on the registry', () => {
    const installed = join(project, 'node_modules/warploom');
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Record<string, any>;
    strictEqual(manifest.scripts, undefined);
    strictEqual(manifest.devDependencies, undefined);
    deepStrictEqual(manifest.optionalDependencies, Object.fromEntries(platforms.map((name) => [`@warploom/${name}`, version])));
    for (const name of ['repository', 'homepage', 'bugs']) ok(manifest[name], name);
    deepStrictEqual(readdirSync(join(project, 'node_modules/@warploom')), ['linux-x64']);
    const platform = JSON.parse(readFileSync(join(project, 'node_modules/@warploom/linux-x64/package.json'), 'utf8')) as Record<string, any>;
    deepStrictEqual([platform.os, platform.cpu, platform.libc, platform.scripts], [['linux'], ['x64'], ['glibc'], undefined]);
    const relative = [...readFileSync(join(installed, 'README.md'), 'utf8').matchAll(/\]\((?!https?:|#)([^)]*)\)/g)].map((found) => found[1]);
    deepStrictEqual(relative, []);
  });

  it('is installed with the addon of its platform alone, or with none', async function () {
    if (!platforms.includes('linux-arm64')) return this.skip();
    const optionalDependencies = Object.fromEntries(platforms.map((name) => [`@warploom/${name}`, version]));
    const installedFor = async (os: string, cpu: string): Promise<string[]> => {
      const where = join(folder, `${os}-${cpu}`), installed = join(where, 'node_modules/@warploom');
      await install(where, { optionalDependencies }, `--os=${os}`, `--cpu=${cpu}`, '--libc=glibc');
      return existsSync(installed) ? readdirSync(installed) : [];
    };
    deepStrictEqual(await installedFor('linux', 'arm64'), ['linux-arm64']);
    deepStrictEqual(await installedFor('darwin', 'arm64'), []);
  });

  it('is refused to npm pack in a checkout', () => {
    const done = spawnSync('npm', ['pack', '--dry-run'], { cwd: root, encoding: 'utf8' });
    ok(done.status !== 0);
    match(done.stderr, /npm run release makes the packages/);
  });

  it('solves by WebAssembly where the addon is not for this machine', function () {
    if (!existsSync(join(project, 'node_modules/warploom/prebuilds/wasm32/warploom.wasm'))) this.skip();
    const done = spawnSync(process.execPath, ['--no-addons', '--input-type=module', '-e',
      `import { devices, openDevice, tridiagonal } from 'warploom';
       console.log(devices().find((each) => each.available).name); ${solve}`], { cwd: project, encoding: 'utf8' });
    match(done.stdout, /^cpu \(WebAssembly\)$/m);
    deepStrictEqual(rounded(done.stdout), [1, 1, 1]);
  });

  it('installs few packages', () => {
    const installed = readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'));
    ok(installed.includes('warploom'));
    // With the readers of image files, the stream compiler's parsers, solver and layout, and the server (fastify, with about 45); a second
    // PNG, TIFF or deflate library would show here.
    ok(installed.length < 92, installed.join(' '));
  });

  it('imports and solves', () => {
    const done = node('--input-type=module', '-e', `import { openDevice, tridiagonal } from 'warploom'; ${solve}`);
    strictEqual(done.stderr, '');
    deepStrictEqual(rounded(done.stdout), [1, 1, 1]);
  });

  const entries = ['core', 'tridiagonal', 'scan', 'kernel', 'swept', 'imaging', 'scratchpad', 'stream', 'files', 'jobs', 'server', 'notebook', 'browser'];

  it('imports each entry alone', () => {
    for (const entry of entries) {
      const done = node('--input-type=module', '-e', `console.log(Object.keys(await import('warploom/${entry}')).length)`);
      strictEqual(done.stderr, '', entry);
      ok(Number(done.stdout) > 1, entry);
    }
    const solved = node('--input-type=module', '-e',
      `import { openDevice } from 'warploom/core'; import * as tridiagonal from 'warploom/tridiagonal'; ${solve}`);
    deepStrictEqual(rounded(solved.stdout), [1, 1, 1], solved.stderr);
    match(node('--input-type=module', '-e', "await import('warploom/cli')").stderr, /ERR_PACKAGE_PATH_NOT_EXPORTED/);
  });

  it('queues say which optional packages they need', () => {
    const done = node('--input-type=module', '-e', `import { jobs } from 'warploom';
      await jobs.work({ queue: 'redis://me:secret@127.0.0.1:1' }).catch((error) => console.log(error.code, error.message));`);
    strictEqual(done.stdout, 'ERR_WARPLOOM_UNAVAILABLE queues on Redis or Valkey need two optional packages: npm install bullmq ioredis\n');
  });

  it('has types of each entry', () => {
    const lines = entries.map((entry) => `export * as ${entry} from 'warploom/${entry}';`);
    writeFileSync(join(project, 'types.mts'), `import { type tridiagonal } from 'warploom';\n${lines.join('\n')}
import type { SolveOptions } from 'warploom/tridiagonal';
export const same = (options: SolveOptions): tridiagonal.SolveOptions => options;\n`);
    const done = node(join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022',
      '--module', 'nodenext', '--types', 'node', '--typeRoots', join(root, 'node_modules/@types'), 'types.mts');
    strictEqual(done.stdout, '');
  });

  it('is required from CommonJS and solves', () => {
    const done = node('--no-warnings', '-e',
      `(async () => { const { openDevice, tridiagonal } = require('warploom'); ${solve} })()`);
    strictEqual(done.stderr, '');
    deepStrictEqual(rounded(done.stdout), [1, 1, 1]);
  });

  it('offers the command', () => {
    const done = spawnSync(join(project, 'node_modules/.bin/warploom'), ['info'], { cwd: project, encoding: 'utf8' });
    strictEqual(done.status, 0, done.stderr);
    match(done.stdout, /the addon of @warploom\/linux-x64\n[^]*cpu/);
  });

  const report = `import { devices, openDevice } from 'warploom';
    console.log(devices().map((d) => d.backend + ': ' + d.reason).join('\\n'));
    try { await openDevice(); console.log('opened'); } catch (error) { console.log(error.code); }`;

  it('says why with --no-addons', () => {
    const done = node('--no-addons', '--input-type=module', '-e', report);
    strictEqual(done.status, 0, done.stderr);
    match(done.stdout, /cpu: .*addons are disabled/);
    strictEqual(lastLine(done.stdout), 'ERR_WARPLOOM_UNAVAILABLE');
  });

  it('says why under the permission model, and works when addons are allowed', () => {
    const flags = ['--no-warnings', '--experimental-permission', '--allow-fs-read=*', '--input-type=module'];
    const refused = node(...flags, '-e', report);
    strictEqual(refused.status, 0, refused.stderr);
    match(refused.stdout, /addons/);
    strictEqual(lastLine(refused.stdout), 'ERR_WARPLOOM_UNAVAILABLE');
    if (!process.allowedNodeEnvironmentFlags.has('--allow-addons')) return;
    const allowed = node('--allow-addons', ...flags, '-e', report);
    strictEqual(lastLine(allowed.stdout), 'opened', allowed.stderr);
  });

  const streams = `import { stream } from 'warploom';
    const filter = (name) => 'int->int filter ' + name + ' { int s; work pop 1 push 1 { s += pop(); '
      + 'for (int i = 0; i < 800; i++) s = s * 3 + i; push(s); } }';
    const { graph } = await stream.elaborate(filter('F') + filter('G') + 'int->int pipeline P { add F; add G; }');
    const input = new Int32Array(7e5).fill(1);
    const [alone, both] = [await stream.run(graph, { input, threads: 1, backend: 'wasm' }), await stream.run(graph, { input, threads: 2, backend: 'wasm' })];
    console.log(alone.backend, both.output.length, both.output.every((x, i) => x === alone.output[i]));`;

  it('runs long stream programs on worker threads, under the permission model too', () => {
    const plain = node('--input-type=module', '-e', streams);
    strictEqual(lastLine(plain.stdout), 'wasm 700000 true', plain.stderr);
    const flags = ['--no-warnings', '--experimental-permission', '--allow-fs-read=*', '--input-type=module'];
    const allowed = node('--allow-worker', ...flags, '-e', streams);
    strictEqual(lastLine(allowed.stdout), 'wasm 700000 true', allowed.stderr);
    match(node(...flags, '-e', streams).stderr, /ERR_WARPLOOM_UNAVAILABLE[^]*--allow-worker|--allow-worker[^]*ERR_WARPLOOM_UNAVAILABLE/);
  });
});
