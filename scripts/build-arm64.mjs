// node scripts/build-arm64.mjs: the addon for Linux on 64-bit ARM, cpu backend only, as released, to build/addon-linux-arm64/. Compiled
// on any Linux by Debian's aarch64-linux-gnu-g++ (package g++-aarch64-linux-gnu), or the compiler that WARPLOOM_ARM64_CXX names.
// test/package/arm64.ts tests it under qemu-user.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeByCMake, place } from './build-native.mjs';
import { onPath } from './find-tools.mjs';
import { hostSources, root, sourcesAlone } from './list-sources.mjs';
import { withLock } from './lock.mjs';

export const kArm64 = join(root, 'build/addon-linux-arm64/prebuilds/linux-arm64/node.napi.glibc.node');

/** The cross compiler, or undefined; CMake is needed too. */
export function findArm64Compiler() {
  return onPath('cmake') && onPath(process.env.WARPLOOM_ARM64_CXX ?? 'aarch64-linux-gnu-g++');
}

/** Builds the addon; resolves to its path, or to undefined if there is no compiler for it. */
export async function buildArm64() {
  const compiler = findArm64Compiler();
  if (compiler === undefined) return undefined;
  const built = await makeByCMake(join(root, 'build/arm64'), {
    CMAKE_SYSTEM_NAME: 'Linux', CMAKE_SYSTEM_PROCESSOR: 'aarch64', CMAKE_CXX_COMPILER: compiler,
    WARPLOOM_CUDA: 'OFF', WARPLOOM_SIMT: 'OFF', WARPLOOM_BENCH: 'OFF', WARPLOOM_EXPERIMENTS: 'OFF', WARPLOOM_ISAS: 'baseline',
    WARPLOOM_ALONE: sourcesAlone(hostSources()).join(';'),
  });
  place(built, kArm64, compiler.replace(/g\+\+$/, 'strip'));
  return kArm64;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const built = await withLock(join(root, 'build/arm64-lock'), buildArm64);
  if (built === undefined) {
    console.error('warploom: no aarch64-linux-gnu-g++ (Debian: g++-aarch64-linux-gnu) or no CMake was found, '
      + 'so the addon for linux-arm64 is not built');
    process.exitCode = 1;
  } else console.log(`warploom: ${built}, ${statSync(built).size} bytes`);
}
