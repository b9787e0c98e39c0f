// npm run build and npm prepare: the addon, then lib/ → dist/.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { buildNative } from './build-native.mjs';
import { copyAssets } from './copy-assets.mjs';
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
try {
  await withLock(join(root, 'build/lock'), () => buildNative({ prepare, release }));
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
if (existsSync(join(root, 'lib/index.ts'))) {
  const done = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.json'], { cwd: root, stdio: 'inherit' });
  process.exitCode = done.status ?? 1;
  copyAssets(join(root, 'dist'));
}
