// Prints the host sources of the CPU-only addon, one per line, for binding.gyp (CMakeLists.txt globs the same folders): a file per folder,
// written to build/gyp/, and the sources that are compiled separately; with --defines, its definitions. Also imported by other scripts that
// walk the tree.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Files below `folder` (relative to the root) whose path matches `pattern`, sorted, with `/` separators; none of installed packages. */
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
    .filter((path) => pattern.test(path) && !path.includes('node_modules/'))
    .sort();
}

/**
 * Instruction sets that the CPU backend supports besides its baseline, best first (native/cpu/isa.h), and the processor flags they need.
 */
export const kIsas = { avx512: ['avx512f', 'avx512dq', 'avx512vl', 'avx512bw'], avx2: ['avx2', 'fma'] };

/**
 * The best of them that this machine supports, as a list of at most one; all of them if that is unknown. `flags`: from /proc/cpuinfo.
 * Environment: WARPLOOM_ISAS, others, separated by commas.
 */
export function ownIsas(flags = cpuFlags()) {
  const asked = process.env.WARPLOOM_ISAS;
  if (asked !== undefined) return Object.keys(kIsas).filter((isa) => asked.split(',').includes(isa));
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

/** All sources for the host's compiler. */
export function hostSources() {
  return [...listFiles('cuda', /\.cpp$/), ...listFiles('native', /\.cpp$/)];
}

/** C++ sources of the addon without CUDA and without the SIMT shim, for this machine's instruction set. */
export function cpuSources() {
  const host = hostSources();
  const stubs = ['native/core/cuda_stub.cpp', 'native/core/simt_stub.cpp'];
  const others = otherIsas().map((isa) => `/isa_${isa}.cpp`);
  const without = /^native\/(simt|wasm)\/|_stub\.cpp$/;
  return host.filter((path) => !without.test(path) && !others.some((end) => path.endsWith(end))).concat(stubs);
}

function otherIsas() {
  return Object.keys(kIsas).filter((isa) => !ownIsas().includes(isa));
}

/** Kernels for an instruction set, and a file whose header has a name in common with another one. */
const kAlone = /\/isa_\w+\.cpp$|^native\/imaging\/registration\.cpp$/;

/** Names that are local to a file: macros, and the contents of its unnamed namespaces. */
export function ownNames(text) {
  const names = [...text.matchAll(/^#\s*define\s+(\w+)/gm)].map((match) => match[1]);
  for (const [, body] of text.matchAll(/^namespace \{$([\s\S]*?)^\} {2}\/\/ namespace$/gm)) {
    for (const line of body.split('\n').filter((each) => /^[A-Za-z_:]/.test(each) && !/^(template|using namespace)\b/.test(each))) {
      const name = /^(?:struct|class|enum(?: class)?|using)\s+(\w+)/.exec(line) ?? /(\w+)\s*\(/.exec(line)
        ?? /(\w+)(?:\[[^\]]*\])?\s*[={;]/.exec(line);
      if (name !== null) names.push(name[1]);
    }
  }
  return new Set(names);
}

/** The sources that cannot share an object with others of their folder, because both have a local name in common. */
export function sourcesAlone(sources, read = (path) => readFileSync(join(root, path), 'utf8')) {
  return [...groupBy(sources, dirname).values()].flatMap((files) => {
    const taken = new Set();
    return files.filter((file) => {
      if (kAlone.test(file)) return true;
      const own = ownNames(read(file));
      if ([...own].some((name) => taken.has(name))) return true;
      for (const name of own) taken.add(name);
      return false;
    });
  });
}

/** Combines the sources of each folder into fewer files, which compile in half the time. `write` takes the path and text of such a file. */
export function sourcesTogether(sources, write) {
  const alone = new Set(sourcesAlone(sources));
  return [...groupBy(sources, dirname)].flatMap(([folder, files]) => {
    const path = `build/gyp/${folder.replaceAll('/', '_')}.cpp`;
    write(path, files.filter((file) => !alone.has(file)).map((file) => `#include "${file}"\n`).join(''));
    return [path, ...files.filter((file) => alone.has(file))];
  });
}

export function groupBy(items, keyOf) {
  const groups = new Map();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

function writeSource(path, text) {
  mkdirSync(join(root, dirname(path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const lines = process.argv.includes('--defines') ? otherIsas().map((isa) => `WARPLOOM_WITHOUT_${isa.toUpperCase()}=1`)
    : sourcesTogether(cpuSources(), writeSource);
  console.log(lines.join('\n'));
}
