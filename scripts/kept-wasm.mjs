// What the WebAssembly backend is made from, and the copy of it that the repository keeps (native/wasm/kept/), so that a clone without a
// compiler computes. The copy may be older than the sources, because few machines have the compiler: it is then used as long as its
// interface is that of the sources, and a release refuses it.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { hostSources, listFiles, root } from './list-sources.mjs';

export const kWasm = join(root, 'prebuilds/wasm32/warploom.wasm');
/** Beside the module: the hash of what it was made from. */
export const kStamp = join(root, 'prebuilds/wasm32/sources.sha256');
const kKept = join(root, 'native/wasm/kept/warploom.wasm.br');
const kAbout = join(root, 'native/wasm/kept/about.json');

// As the addon's: no contraction, so that results have the bits of its baseline instruction set. Exceptions trap: the library of WASI has
// none, and what may be too large is allocated without them.
export const kCompile = ['--target=wasm32-wasi', '-O3', '-msimd128', '-std=c++17', '-ffp-contract=off', '-fno-math-errno',
  '-fignore-exceptions', '-fno-rtti', '-fvisibility=hidden', '-ffunction-sections', '-fdata-sections', '-Wall', '-Wextra',
  '-Wno-unknown-pragmas', '-isystem', 'native/wasm/std', '-I.'];
export const kLink = ['--target=wasm32-wasi', '-mexec-model=reactor', '-O3', '-Wl,--gc-sections', '-Wl,--strip-all',
  '-Wl,-z,stack-size=1048576', '-Wl,--stack-first', '-Wl,--allow-undefined'];

/** The sources of the WebAssembly backend. */
export function wasmSources() {
  const without = [/\/isa_avx/, /^native\/(core|bench|simt)\//, /^native\/cpu\/(backend|thread_pool)\.cpp$/,
    /^cuda\/core\/(host_memory|memory)\.cpp$/];
  return [...hostSources().filter((path) => !without.some((pattern) => pattern.test(path))), 'native/core/describe.cpp'];
}

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

function hashOf(paths, more = '') {
  const hash = createHash('sha256');
  for (const path of [...paths].sort()) hash.update(path).update(readFileSync(join(root, path)));
  return hash.update(more).digest('hex');
}

/** Files with all those that they include by name. */
function withIncluded(paths) {
  const found = new Set(paths);
  for (const path of found) {
    for (const [, name] of readFileSync(join(root, path), 'utf8').matchAll(/^\s*#\s*include\s*"([^"]+)"/gm)) {
      const place = [name, join(dirname(path), name)].find((each) => existsSync(join(root, each)));
      if (place !== undefined) found.add(place);
    }
  }
  return found;
}

/** Of everything that the module is made from. */
export function hashOfSources() {
  return hashOf(withIncluded([...wasmSources(), ...listFiles('native/wasm/std')]), JSON.stringify([kCompile, kLink]));
}

/** Of what lib/ takes for granted of the module: operations and their words, and its functions. */
function hashOfInterface() {
  return hashOf(['lib/core/operations.gen.ts', ...listFiles('native/wasm', /\.(cpp|h)$/)]);
}

const about = () => JSON.parse(readFileSync(kAbout, 'utf8'));

/** Whether the kept module is that of the present sources. */
export const isKeptCurrent = () => existsSync(kAbout) && about().sources === hashOfSources();

/** Keeps the module that was built from the present sources. `compiler`: what the compiler says of its version. */
export function keepWasm(compiler) {
  const bytes = readFileSync(kWasm);
  mkdirSync(dirname(kKept), { recursive: true });
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeFileSync(kKept, brotliCompressSync(bytes, { params }));
  writeFileSync(kAbout, `${JSON.stringify({
    compiler, bytes: bytes.length, sha256: sha256(bytes), sources: hashOfSources(), interface: hashOfInterface() }, null, 1)}\n`);
}

/** What the module in prebuilds/ is: of the present sources, of older ones, or not there. */
export function stateOfWasm() {
  if (!existsSync(kWasm) || !existsSync(kStamp)) return 'missing';
  return readFileSync(kStamp, 'utf8') === hashOfSources() ? 'current' : 'older';
}

/**
 * Puts the kept module into prebuilds/, unless that has one of the present sources. Returns what the one that is there then was built
 * from, in words; undefined if the kept one cannot be used.
 */
export function unpackWasm() {
  if (stateOfWasm() === 'current') return 'these sources';
  if (!existsSync(kKept)) return undefined;
  const { sources, interface: offered, sha256: expected } = about();
  const isCurrent = sources === hashOfSources();
  if (!isCurrent && offered !== hashOfInterface()) return undefined;
  const bytes = brotliDecompressSync(readFileSync(kKept));
  if (sha256(bytes) !== expected) return undefined;
  mkdirSync(dirname(kWasm), { recursive: true });
  writeFileSync(kWasm, bytes);
  writeFileSync(kStamp, sources);
  return isCurrent ? 'these sources' : 'older sources with the same operations';
}
