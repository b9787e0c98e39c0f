// Prints the host sources of the CPU-only addon, one per line, for binding.gyp (CMakeLists.txt globs the
// same folders). Also imported by other scripts that walk the tree.
import { readdirSync } from 'node:fs';
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

/** C++ sources of the addon without CUDA and without the SIMT shim. */
export function cpuSources() {
  const host = [...listFiles('cuda', /\.cpp$/), ...listFiles('native', /\.cpp$/)];
  const stubs = ['native/core/cuda_stub.cpp', 'native/core/simt_stub.cpp'];
  return host.filter((path) => !/^native\/simt\//.test(path) && !/_stub\.cpp$/.test(path)).concat(stubs);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(cpuSources().join('\n'));
