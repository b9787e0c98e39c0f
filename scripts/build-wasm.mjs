// node scripts/build-wasm.mjs: the CPU backend as WebAssembly with SIMD, prebuilds/wasm32/warploom.wasm, for systems that the addon does
// not run on. Needs a Clang with WASI's C and C++ libraries: WASI_SDK_PATH, or Debian's clang-19 lld-19 wasi-libc libc++-19-dev-wasm32
// libc++abi-19-dev-wasm32 libclang-rt-19-dev-wasm32. Compiles only if its sources have changed.
// --keep: also puts it among the repository's files, for clones on machines without a compiler (scripts/kept-wasm.mjs).
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onPath } from './find-tools.mjs';
import { hashOfSources, kCompile, keepWasm, kLink, kStamp, kWasm, stateOfWasm, wasmSources } from './kept-wasm.mjs';
import { root } from './list-sources.mjs';
import { withLock } from './lock.mjs';

const kFolder = join(root, 'build/wasm');

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

const versionOf = (compiler) => spawnSync(compiler, ['--version'], { encoding: 'utf8' }).stdout.split('\n')[0];

/** Builds the module unless it is there; resolves to its path, or to undefined if there is no compiler for it. `keep`: as --keep. */
export async function buildWasm({ keep = false } = {}) {
  if (stateOfWasm() === 'current' && !keep) return kWasm;
  const compiler = findWasiCompiler();
  if (compiler === undefined) return undefined;
  mkdirSync(kFolder, { recursive: true });
  mkdirSync(join(kWasm, '..'), { recursive: true });
  const hash = hashOfSources();
  const objects = await compileAll(compiler, wasmSources());
  const made = join(kFolder, 'warploom.wasm');
  const linked = spawnSync(compiler, [...kLink, ...objects, '-o', made], { cwd: root, stdio: 'inherit' });
  if (linked.status !== 0) throw new Error('the WebAssembly module could not be linked');
  rmSync(kStamp, { force: true });
  renameSync(made, kWasm);
  writeFileSync(kStamp, hash);
  if (keep) keepWasm(versionOf(compiler));
  return kWasm;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const keep = process.argv.includes('--keep');
  const built = await withLock(join(root, 'build/wasm-lock'), () => buildWasm({ keep }));
  if (built === undefined) {
    console.error('warploom: no Clang with the libraries of WASI was found (WASI_SDK_PATH, or Debian\'s clang-19 lld-19 wasi-libc '
      + 'libc++-19-dev-wasm32 libc++abi-19-dev-wasm32 libclang-rt-19-dev-wasm32), so the WebAssembly backend is not built');
    process.exitCode = 1;
  } else console.log(`warploom: ${built}, ${statSync(built).size} bytes`);
}
