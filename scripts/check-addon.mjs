// node scripts/check-addon.mjs [ADDON…]: fails if an addon (default: those in prebuilds/) asks for more of a system than Linux with glibc
// 2.28, the floor of Node's own binaries: newer symbols, or the system's C++ library. Needs readelf, which comes with compilers.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listFiles, root } from './list-sources.mjs';

/** The newest glibc whose symbols may be used: RHEL 8, Debian 10, Amazon Linux 2023 and later have it. */
export const kGlibc = '2.28';
const kLibraries = /^(libc\.so\.6|libm\.so\.6|libpthread\.so\.0|libdl\.so\.2|librt\.so\.1|ld-linux-(x86-64\.so\.2|aarch64\.so\.1))$/;

function isNewer(version, floor) {
  const [major, minor] = version.split('.').map(Number);
  const [most, mostMinor] = floor.split('.').map(Number);
  return major > most || (major === most && minor > mostMinor);
}

/**
 * What an addon asks for beyond the floor, one line each; empty if nothing. `symbols` and `dynamic`: what `readelf -W --dyn-syms` and
 * `readelf -W -d` print.
 */
export function beyondFloor(symbols, dynamic, floor = kGlibc) {
  const faults = new Set();
  for (const [, name, library, version] of symbols.matchAll(/ UND (\S+?)@+([A-Z]\w*?)_([\d.]+)/g)) {
    if (library === 'GLIBC' ? isNewer(version, floor) : true) faults.add(`symbol ${name} of ${library}_${version}`);
  }
  if (/GLIBC_ABI_DT_RELR/.test(symbols + dynamic)) faults.add('packed relative relocations (GLIBC_ABI_DT_RELR)');
  for (const [, library] of dynamic.matchAll(/\(NEEDED\)[^[]*\[([^\]]+)\]/g)) {
    if (!kLibraries.test(library)) faults.add(`library ${library}`);
  }
  return [...faults].sort();
}

/** {@link beyondFloor} of a file. */
export function addonFaults(file, floor = kGlibc) {
  const read = (...args) => execFileSync('readelf', ['-W', ...args, file], { encoding: 'utf8', maxBuffer: 1 << 26 });
  return beyondFloor(read('--dyn-syms'), read('-d'), floor);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const given = process.argv.slice(2);
  const files = given.length > 0 ? given : listFiles('prebuilds', /\.node$/).map((path) => join(root, path));
  for (const file of files) {
    const faults = addonFaults(file);
    if (faults.length === 0) {
      console.log(`${file}: runs on Linux with glibc ${kGlibc}`);
      continue;
    }
    console.error(`${file}: needs more than glibc ${kGlibc}: ${faults.join(', ')}\n  Add the functions to native/core/old_glibc.cpp.`);
    process.exitCode = 1;
  }
  if (files.length === 0) {
    console.error('there is no addon in prebuilds/');
    process.exitCode = 1;
  }
}
