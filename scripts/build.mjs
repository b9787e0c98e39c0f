// npm run build and npm prepare: the addon, then lib/ → dist/.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { buildNative } from './build-native.mjs';
import { copyAssets } from './copy-assets.mjs';
import { unpackWasm } from './kept-wasm.mjs';
import { root } from './list-sources.mjs';
import { withLock } from './lock.mjs';

function resolves(name) {
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch {
    return undefined;
  }
}

const prepare = process.argv.includes('--prepare');
const release = process.argv.includes('--release');
const tsc = resolves('typescript/bin/tsc');
if (prepare && (tsc === undefined || resolves('cmake-js') === undefined)) {
  console.warn('warploom: development packages are not installed, nothing was built (run npm ci without --omit=dev)');
  process.exit(0);
}
/**
 * Compiles lib/ while the addon is being built, because its compilers leave a core idle towards the end. The output of tsc is shown when
 * both are done.
 */
async function compileLibrary() {
  if (!existsSync(join(root, 'lib/index.ts'))) return 0;
  // Types are checked before code is pushed (npm run lint), so a clone need not check them again, which would take half of the time.
  const args = [tsc, '-p', 'tsconfig.json', ...(prepare ? ['--noCheck'] : [])];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.setEncoding('utf8').on('data', (text) => { said += text; });
  return new Promise((settle) => {
    child.on('error', (error) => { said += `${error.message}\n`; });
    child.on('close', (status) => settle(status ?? 1));
  });
}

let said = '';
const library = compileLibrary();
const wasm = unpackWasm();
try {
  const built = await withLock(join(root, 'build/lock'), () => buildNative({ prepare, release }));
  if (built === undefined) {
    console.warn(wasm === undefined ? 'warploom: no backend is available' : `warploom: without the addon, the cpu backend runs as `
      + `WebAssembly, on one thread; this clone has it (native/wasm/kept, built from ${wasm})`);
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
const status = await library;
process.stdout.write(said);
if (status !== 0) process.exitCode = status;
if (existsSync(join(root, 'lib/index.ts'))) {
  copyAssets(join(root, 'dist'));
  const { buildBrowser } = await import('./build-browser.mjs'); // needs packages that are not there with --omit=dev
  await buildBrowser();
}
