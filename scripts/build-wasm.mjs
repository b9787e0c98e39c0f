// node scripts/build-wasm.mjs: the CPU backend as WebAssembly with SIMD, prebuilds/wasm32/warploom.wasm, for systems that the addon does
// not run on. Needs a Clang with WASI's C and C++ libraries: WASI_SDK_PATH, or Debian's clang-19 lld-19 wasi-libc libc++-19-dev-wasm32
// libc++abi-19-dev-wasm32 libclang-rt-19-dev-wasm32. Compiles only if its sources have changed.
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onPath } from './find-tools.mjs';
import { hostSources, listFiles, root } from './list-sources.mjs';
import { withLock } from './lock.mjs';

export const kWasm = join(root, 'prebuilds/wasm32/warploom.wasm');
const kFolder = join(root, 'build/wasm');
// As the addon's: no contraction, so that results have the bits of its baseline instruction set. Exceptions trap: the library of WASI has
// none, and what may be too large is allocated without them.
const kCompile = ['--target=wasm32-wasi', '-O3', '-msimd128', '-std=c++17', '-ffp-contract=off', '-fno-math-errno', '-fignore-exceptions',
  '-fno-rtti', '-fvisibility=hidden', '-ffunction-sections', '-fdata-sections', '-Wall', '-Wextra', '-Wno-unknown-pragmas',
  '-isystem', 'native/wasm/std', '-I.'];
const kLink = ['--target=wasm32-wasi', '-mexec-model=reactor', '-O3', '-Wl,--gc-sections', '-Wl,--strip-all', '-Wl,-z,stack-size=1048576',
  '-Wl,--stack-first', '-Wl,--allow-undefined'];

/** The sources of the WebAssembly backend. */
export function wasmSources() {
  const without = [/\/isa_avx/, /^native\/(core|bench|simt)\//, /^native\/cpu\/(backend|thread_pool)\.cpp$/,
    /^cuda\/core\/(host_memory|memory)\.cpp$/];
  return [...hostSources().filter((path) => !without.some((pattern) => pattern.test(path))), 'native/core/describe.cpp'];
}

/** A compiler that makes a WebAssembly module, or undefined. */
export function findWasiCompiler() {
  const kit = process.env.WASI_SDK_PATH && join(process.env.WASI_SDK_PATH, 'bin/clang++');
  const names = ['clang++', ...[22, 21, 20, 19, 18, 17, 16].map((version) => `clang++-${version}`)];
  const folder = mkdtempSync(join(tmpdir(), 'warploom-wasi-'));
  try {
    const source = join(folder, 'a.cpp');
    writeFileSync(source, '#include <string>\nint main(int n, char**) { return std::to_string(n).size() == 1 ? 0 : 1; }\n');
    return [kit, ...names.map(onPath)].find((path) => path && existsSync(path) && spawnSync(path,
      ['--target=wasm32-wasi', '-msimd128', '-fignore-exceptions', source, '-o', join(folder, 'a.wasm')]).status === 0);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Of everything that the module is made from. */
function hashOfSources(compiler) {
  const hash = createHash('sha256');
  const headers = [...listFiles('cuda', /\.(h|inc)$/), ...listFiles('native', /\.h$/), ...listFiles('native/wasm/std')];
  for (const path of [...wasmSources(), ...headers].sort()) hash.update(path).update(readFileSync(join(root, path)));
  hash.update(JSON.stringify([kCompile, kLink, spawnSync(compiler, ['--version'], { encoding: 'utf8' }).stdout]));
  return hash.digest('hex');
}

async function compileAll(compiler, sources) {
  const ccache = onPath('ccache');
  const [command, ...first] = ccache ? [ccache, compiler] : [compiler];
  const waiting = [...sources].sort((a, b) => statSync(join(root, b)).size - statSync(join(root, a)).size);
  waiting.sort((a, b) => Number(/isa_/.test(b)) - Number(/isa_/.test(a))); // the longest first
  const objects = [];
  const worker = async () => {
    for (let source = waiting.shift(); source !== undefined; source = waiting.shift()) {
      const object = join('build/wasm', `${source.replaceAll('/', '_')}.o`);
      const args = [...first, ...kCompile, '-c', source, '-o', object];
      const { stderr } = await promisify(execFile)(command, args, { cwd: root, maxBuffer: 1 << 26 });
      process.stderr.write(stderr);
      objects.push(object);
    }
  };
  const jobs = Number(process.env.WARPLOOM_JOBS ?? availableParallelism());
  await Promise.all(Array.from({ length: jobs }, worker));
  return objects.sort();
}

/** Builds the module; resolves to its path, or to undefined if there is no compiler for it. */
export async function buildWasm() {
  const compiler = findWasiCompiler();
  if (compiler === undefined) return undefined;
  mkdirSync(kFolder, { recursive: true });
  mkdirSync(join(kWasm, '..'), { recursive: true });
  const stamp = join(kFolder, 'sources.sha256');
  const hash = hashOfSources(compiler);
  if (existsSync(kWasm) && existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return kWasm;
  const objects = await compileAll(compiler, wasmSources());
  const made = join(kFolder, 'warploom.wasm');
  const linked = spawnSync(compiler, [...kLink, ...objects, '-o', made], { cwd: root, stdio: 'inherit' });
  if (linked.status !== 0) throw new Error('the WebAssembly module could not be linked');
  renameSync(made, kWasm);
  writeFileSync(stamp, hash);
  return kWasm;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const built = await withLock(join(root, 'build/wasm-lock'), buildWasm);
  if (built === undefined) {
    console.error('warploom: no Clang with the libraries of WASI was found (WASI_SDK_PATH, or Debian\'s clang-19 lld-19 wasi-libc '
      + 'libc++-19-dev-wasm32 libc++abi-19-dev-wasm32 libclang-rt-19-dev-wasm32), so the WebAssembly backend is not built');
    process.exitCode = 1;
  } else console.log(`warploom: ${built}, ${statSync(built).size} bytes`);
}
