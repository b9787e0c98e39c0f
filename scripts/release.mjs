// npm run release [-- --quick] [--out FOLDER]: makes what is published, as tarballs: `warploom` (code, the WebAssembly backend, headers)
// and a package of the addon for each platform, @warploom/linux-x64 (with CUDA) and @warploom/linux-arm64, which `warploom` depends
// on optionally, so that npm fetches the one that fits. `npm pack` refuses: a checkout is not what users get. Refuses, too, what exceeds
// its size or the floor of check-addon.mjs.
//
// --quick (CI): the same from the objects of the tests' build: code of one GPU generation, and neither WebAssembly nor the addon for ARM if
// they are not built.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildArm64, kArm64 } from './build-arm64.mjs';
import { buildBrowser } from './build-browser.mjs';
import { buildNative } from './build-native.mjs';
import { buildWasm } from './build-wasm.mjs';
import { addonFaults } from './check-addon.mjs';
import { copyAssets } from './copy-assets.mjs';
import { isKeptCurrent, kWasm } from './kept-wasm.mjs';
import { root } from './list-sources.mjs';
import { withLock } from './lock.mjs';

const kMostBytes = 60 * 2 ** 20; // of a package, unpacked
const kX64 = join(root, 'build/release-addon/prebuilds/linux-x64/node.napi.glibc.node');

function refuse(reason) {
  throw new Error(`no release: ${reason}`);
}

/** What nothing outside the project needs in a manifest, and what only a checkout can do. */
export function publishedManifest(manifest, platforms) {
  const { scripts: _scripts, devDependencies: _development, gypfile: _gyp, ...rest } = manifest;
  return { ...rest, optionalDependencies: Object.fromEntries(platforms.map((name) => [`@warploom/${name}`, manifest.version])) };
}

/** The manifest of a platform's package. */
export function platformManifest({ version, license, author, repository, homepage, engines, binary }, name) {
  const [os, cpu] = name.split('-');
  return { name: `@warploom/${name}`, version, description: `The addon of warploom for ${os} on ${cpu}`,
    license, author, repository, homepage, os: [os], cpu: [cpu], libc: ['glibc'], engines, binary, files: ['prebuilds/', 'NOTICE.md'] };
}

/** Links of a page that npm shows by themselves, so that they work there: to the repository's files of this version. */
export function absoluteLinks(markdown, { repository, version }) {
  const base = repository.url.replace(/^git\+/, '').replace(/\.git$/, '');
  const linked = (kind) => (_all, text, path) => `[${text}](${base}/${kind}/v${version}/${path})`;
  return markdown.replace(/(?<=!)\[([^[\]]*)\]\((?!https?:|#)([^)\s]+)\)/g, linked('raw'))
    .replace(/(?<!!)\[((?:[^[\]]|!\[[^\]]*\]\([^)]*\))*)\]\((?!https?:|#)([^)\s]+)\)/g, linked('blob'));
}

/** The files that the manifest lists, as npm does. */
function listedFiles() {
  const [packed] = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 }));
  return packed.files.map(({ path }) => path).filter((path) => !path.startsWith('prebuilds/'));
}

function stageLibrary(folder, manifest, platforms) {
  for (const path of listedFiles()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(join(root, path), join(folder, path));
  }
  if (existsSync(kWasm)) cpSync(kWasm, join(folder, 'prebuilds/wasm32/warploom.wasm'));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(publishedManifest(manifest, platforms), null, 2)}\n`);
  writeFileSync(join(folder, 'README.md'), absoluteLinks(readFileSync(join(root, 'README.md'), 'utf8'), manifest));
}

function stagePlatform(folder, manifest, name, addon) {
  const target = join(folder, 'prebuilds', name, 'node.napi.glibc.node');
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(addon, target);
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(platformManifest(manifest, name), null, 2)}\n`);
  writeFileSync(join(folder, 'README.md'),
    `# @warploom/${name}\n\nThe addon of [warploom](https://www.npmjs.com/package/warploom) for this platform. Install \`warploom\`.\n`);
  for (const file of ['LICENSE', 'NOTICE.md']) copyFileSync(join(root, file), join(folder, file));
}

/** Why an addon is not fit to be released. `text`: its bytes, one character each. */
export function unfit(text) {
  const faults = [];
  if (text.includes('.debug_info')) faults.push('it is not stripped');
  if (/bench\.paper_regpack/.test(text)) faults.push('it has the hooks of benchmarks');
  if (text.includes('WARPLOOM_SIMT_DELAY')) faults.push('it has the SIMT shim');
  return faults;
}

function checkAddon(file) {
  const faults = [...addonFaults(file), ...unfit(readFileSync(file, 'latin1'))];
  if (faults.length > 0) refuse(`${file}: ${faults.join(', ')}`);
}

function pack(folder, out) {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', out];
  const [{ filename, unpackedSize, files }] = JSON.parse(execFileSync('npm', args, { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 26 }));
  if (unpackedSize > kMostBytes) refuse(`${filename} has ${unpackedSize} bytes, at most ${kMostBytes} are allowed`);
  console.log(`${join(out, filename)}: ${files.length} files, ${(unpackedSize / 2 ** 20).toFixed(1)} MiB, `
    + `packed ${(statSync(join(out, filename)).size / 2 ** 20).toFixed(1)} MiB`);
  return join(out, filename);
}

async function compileLibrary() {
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const done = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.json'], { cwd: root, stdio: 'inherit' });
  if (done.status !== 0) refuse('lib/ does not compile');
  copyAssets(join(root, 'dist'));
  await buildBrowser();
}

/** The addons that can be built here, by platform: all, unless `quick`. */
async function buildAddons(quick) {
  await withLock(join(root, 'build/lock'), () => buildNative({ release: true, quick, to: kX64 }));
  if (!quick && await buildArm64() === undefined) {
    refuse('there is no compiler for the addon of linux-arm64 (node scripts/build-arm64.mjs says which)');
  }
  const addons = { 'linux-x64': kX64, ...(existsSync(kArm64) ? { 'linux-arm64': kArm64 } : {}) };
  for (const addon of Object.values(addons)) checkAddon(addon);
  return addons;
}

/** Builds, checks and packs; resolves to the tarballs, that of `warploom` first. */
export async function release({ quick = false, out = join(root, 'build/packages') } = {}) {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const addons = await buildAddons(quick);
  if (!quick) {
    await compileLibrary();
    if (await buildWasm() === undefined) refuse('there is no compiler for the WebAssembly backend (npm run build:wasm says which)');
    if (!isKeptCurrent()) refuse('native/wasm/kept is older than its sources: npm run build:wasm -- --keep, and commit it');
  }
  const stage = join(root, 'build/stage');
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const platforms = Object.keys(addons);
  stageLibrary(join(stage, 'warploom'), manifest, platforms);
  for (const name of platforms) stagePlatform(join(stage, name), manifest, name, addons[name]);
  return ['warploom', ...platforms].map((name) => pack(join(stage, name), out));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2);
  const at = args.indexOf('--out');
  try {
    if (args.includes('--refuse')) refuse('npm run release makes the packages; a checkout is not one');
    await release({ quick: args.includes('--quick'), out: at >= 0 ? resolve(args[at + 1]) : undefined });
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
