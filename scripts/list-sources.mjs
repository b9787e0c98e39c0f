// Prints the host sources of the CPU-only addon, one per line, for binding.gyp (CMakeLists.txt globs the
// same folders), with --defines its definitions. Also imported by other scripts that walk the tree.
import { readFileSync, readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Files below `folder` (relative to the root) whose path matches `pattern`, sorted, with `/` separators. */
export function listFiles(folder, pattern = /./) {
  let entries;
  try {
    entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)).split(sep).join('/'))
    .filter((path) => pattern.test(path))
    .sort();
}

/** Instruction sets that the CPU backend has beside its baseline, best first (native/cpu/isa.h), and the processor flags they need. */
export const kIsas = { avx512: ['avx512f', 'avx512dq', 'avx512vl', 'avx512bw'], avx2: ['avx2', 'fma'] };

/** The best of them that this machine runs, as a list of at most one; all where it cannot be told. `flags`: of /proc/cpuinfo. */
export function ownIsas(flags = cpuFlags()) {
  if (flags === undefined) return Object.keys(kIsas);
  return Object.keys(kIsas).filter((isa) => kIsas[isa].every((flag) => flags.has(flag))).slice(0, 1);
}

function cpuFlags() {
  try {
    const line = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1];
    return line === undefined ? undefined : new Set(line.trim().split(/\s+/));
  } catch {
    return undefined;
  }
}

/** C++ sources of the addon without CUDA and without the SIMT shim, for this machine's instruction set. */
export function cpuSources() {
  const host = [...listFiles('cuda', /\.cpp$/), ...listFiles('native', /\.cpp$/)];
  const stubs = ['native/core/cuda_stub.cpp', 'native/core/simt_stub.cpp'];
  const others = otherIsas().map((isa) => `/isa_${isa}.cpp`);
  return host.filter((path) => !/^native\/simt\//.test(path) && !/_stub\.cpp$/.test(path) && !others.some((end) => path.endsWith(end)))
    .concat(stubs);
}

function otherIsas() {
  return Object.keys(kIsas).filter((isa) => !ownIsas().includes(isa));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const lines = process.argv.includes('--defines') ? otherIsas().map((isa) => `WARPLOOM_WITHOUT_${isa.toUpperCase()}=1`) : cpuSources();
  console.log(lines.join('\n'));
}
