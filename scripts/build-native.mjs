// Builds the addon to prebuilds/<platform>/node.napi.glibc.node by the first method that works: CMake with CUDA, CMake without CUDA,
// node-gyp without CUDA, or nothing (the library then says why and offers no backend).
//
//   node scripts/build-native.mjs [--prepare | --tests | --release]
//
// Without options, the first method for which this machine has the tools must succeed, and the addon includes everything that tests and
// benchmarks need.
// --prepare (npm ci) builds what a user of a clone runs, in half the time: no SIMT shim, no benchmark hooks, no kernels that no policy
// selects (a call that names one is told that it is not compiled, and how to build it), and only the machine's own instruction set and the
// baseline. Skipped if a complete addon is already there. On failure it tries the next method, unless WARPLOOM_REQUIRE=cuda|native demands
// a result.
// --tests (before npm test, npm run bench and tune): the complete addon if CMake is available; otherwise keeps the existing one.
// --release: code for every GPU generation, no SIMT shim, no benchmark hooks, stripped.
//
// Environment: CXX, CUDACXX, CUDA_HOME, CUDA_PATH, WARPLOOM_CUDA=0 (no CUDA), WARPLOOM_SIMT=0, WARPLOOM_CMAKE=0 (skip CMake),
// WARPLOOM_ISAS (instruction sets besides the baseline, by commas, in place of the machine's own),
// WARPLOOM_CUDA_ARCHITECTURES, WARPLOOM_JOBS, WARPLOOM_ALLOW_MISSING=1 (operations that a backend does not define yet report "not compiled"
// instead of failing when the addon is loaded).
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runShowingProgress } from './build-progress.mjs';
import { addonFaults, kGlibc } from './check-addon.mjs';
import { cudaArchitectures, findCompiler, findNodeGyp, findNvcc, nodeHeaders, onPath } from './find-tools.mjs';
import { hostSources, kIsas, ownIsas, root, sourcesAlone } from './list-sources.mjs';
import { withLock } from './lock.mjs';

/** Code of sm_86 runs on sm_89, and that of sm_100 on sm_103; what comes after sm_120 gets it from PTX. */
const kReleaseArchitectures = '75-real;80-real;86-real;90-real;100-real;120-real;120-virtual';
const kBinary = join(root, `prebuilds/${process.platform}-${process.arch}/node.napi.glibc.node`);

function run(command, args, options = {}) {
  const done = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (done.error) throw done.error;
  if (done.status !== 0) throw new Error(`${command} exited with ${done.status ?? done.signal}`);
}

/** Arguments of cmake-js for one configuration; also the key that decides whether to configure again. */
function cmakeDefinitions({ nvcc, release, prepare, quick }) {
  const flag = (value) => (value ? 'ON' : 'OFF');
  const definitions = {
    WARPLOOM_CUDA: flag(nvcc),
    WARPLOOM_SIMT: flag(!release && !prepare && process.env.WARPLOOM_SIMT !== '0'),
    WARPLOOM_BENCH: flag(!release && !prepare),
    WARPLOOM_EXPERIMENTS: flag(!release && !prepare),
    WARPLOOM_ISAS: (prepare ? ownIsas() : Object.keys(kIsas)).join(';'),
    WARPLOOM_ALONE: sourcesAlone(hostSources()).join(';'),
    WARPLOOM_ALLOW_MISSING: flag(process.env.WARPLOOM_ALLOW_MISSING === '1'),
  };
  if (nvcc) {
    definitions.CMAKE_CUDA_COMPILER = nvcc;
    definitions.WARPLOOM_CUDA_ARCHITECTURES = release && !quick ? kReleaseArchitectures : cudaArchitectures();
    if (release && !quick) definitions.WARPLOOM_COMPRESS = 'ON';
  }
  return definitions;
}

async function buildWithCMake(options) {
  const folder = join(root, options.release && !options.quick ? 'build/release' : 'build/cmake');
  const whole = JSON.stringify(cmakeDefinitions({ ...options, prepare: false }));
  return makeByCMake(folder, cmakeDefinitions({ ...options, prepare: options.prepare && configuredBy(folder) !== whole }), options);
}

const keyFileOf = (folder) => join(folder, 'warploom-configuration.json');

/** The definitions by which a folder was configured, as JSON; undefined if it was not. */
function configuredBy(folder) {
  const keyFile = keyFileOf(folder);
  return existsSync(join(folder, 'CMakeCache.txt')) && existsSync(keyFile) ? readFileSync(keyFile, 'utf8') : undefined;
}

/** Configures a folder if its definitions have changed, builds the addon there, and resolves to its path. */
export async function makeByCMake(folder, definitions, { prepare = false } = {}) {
  const key = JSON.stringify(definitions);
  if (configuredBy(folder) !== key) {
    rmSync(keyFileOf(folder), { force: true });
    if (existsSync(join(folder, 'CMakeCache.txt')) && prepare) rmSync(folder, { recursive: true });
    const cmakeJs = createRequire(import.meta.url).resolve('cmake-js/bin/cmake-js');
    const args = Object.entries(definitions).map(([name, value]) => `--CD${name}=${value}`);
    run(process.execPath, [cmakeJs, 'configure', '--log-level', 'warn', '-O', folder, ...args]);
    writeFileSync(keyFileOf(folder), key);
  }
  const jobs = process.env.WARPLOOM_JOBS ?? String(availableParallelism());
  process.env.CCACHE_BASEDIR ??= root; // one cache of objects serves every checkout
  process.env.CCACHE_NOHASHDIR ??= '1';
  await runShowingProgress('cmake', ['--build', folder, '--config', 'Release', '--parallel', jobs, '--target', 'warploom'], folder, root);
  return join(folder, 'Release/warploom.node');
}

function buildWithGyp() {
  const gyp = findNodeGyp();
  if (!gyp) throw new Error('node-gyp was not found (it comes with npm)');
  const headers = nodeHeaders();
  const common = ['--loglevel=error', ...(headers ? [`--nodedir=${headers}`] : [])];
  // Not "rebuild": that would empty build/, which contains other configurations and caches.
  run(process.execPath, [gyp, 'configure', ...common]);
  run(process.execPath, [gyp, 'build', `--jobs=${process.env.WARPLOOM_JOBS ?? availableParallelism()}`, ...common]);
  const made = join(root, 'build/Release/warploom.node');
  const moved = join(root, 'build/warploom-gyp.node');
  renameSync(made, moved); // node-gyp-build would prefer build/Release to prebuilds/
  return moved;
}

/** Loads the addon in a child process: only then does a missing operation show, as an undefined symbol. */
function verify(binary) {
  const code = `const m = { exports: {} };
    process.dlopen(m, ${JSON.stringify(binary)}, require('os').constants.dlopen.RTLD_NOW);
    console.log(Object.keys(m.exports).length)`;
  const done = spawnSync(process.execPath, ['-e', code], { encoding: 'utf8' });
  if (done.status !== 0) {
    const reason = /Error: (.*)/.exec(done.stderr)?.[1] ?? done.stderr;
    throw new Error(`the addon was built but does not load: ${reason}\n` +
      '(WARPLOOM_ALLOW_MISSING=1 builds with operations that a backend does not define yet)');
  }
}

function install(binary, release, to) {
  verify(binary);
  place(binary, to, release ? 'strip' : undefined);
}

/** Copies an addon to where it is wanted; with `strip`, that tool's name, without symbols and only if it keeps the floor. */
export function place(binary, to, strip) {
  mkdirSync(dirname(to), { recursive: true });
  const temporary = `${to}.${process.pid}`;
  copyFileSync(binary, temporary);
  if (strip !== undefined) {
    run(strip, ['--strip-unneeded', temporary]);
    const faults = addonFaults(temporary);
    if (faults.length > 0) throw new Error(`the addon needs more than glibc ${kGlibc}: ${faults.join(', ')}`);
  }
  renameSync(temporary, to); // complete or not at all: a running process keeps the old file
}

/** The methods for which this machine has the tools, best first. */
function ladder(release) {
  const compiler = findCompiler();
  if (!compiler) return { rungs: [], missing: 'no C++ compiler was found (CXX, c++, g++, clang++)' };
  const rungs = [];
  if (onPath('cmake') && process.env.WARPLOOM_CMAKE !== '0') {
    const nvcc = findNvcc();
    if (nvcc) rungs.push({ name: 'CMake with CUDA', backend: 'cuda', build: (o) => buildWithCMake({ ...o, nvcc }) });
    rungs.push({ name: 'CMake without CUDA', backend: 'native', build: (o) => buildWithCMake(o) });
  }
  if (!release) rungs.push({ name: 'node-gyp without CUDA', backend: 'native', build: buildWithGyp });
  return { rungs };
}

/** Builds the best addon that this machine can build; resolves to the name of the method, or undefined if nothing could be built. */
export async function buildNative({ prepare = false, release = false, quick = false, to = kBinary } = {}) {
  if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch)) {
    console.warn(`warploom: no addon for ${process.platform}-${process.arch}; Linux on x86-64 and on 64-bit ARM is supported`);
    return undefined;
  }
  const required = process.env.WARPLOOM_REQUIRE;
  const { rungs, missing } = ladder(release);
  const failures = missing ? [missing] : [];
  for (const rung of rungs) {
    if (required === 'cuda' && rung.backend !== 'cuda') break;
    try {
      install(await rung.build({ prepare, release, quick }), release, to);
      console.log(`warploom: addon built by ${rung.name}`);
      return rung.name;
    } catch (error) {
      if (!prepare) throw error;
      failures.push(`${rung.name}: ${error.message}`);
    }
  }
  rmSync(to, { force: true });
  const text = `warploom: no addon was built:\n  ${failures.join('\n  ')}\n` +
    '  Install a C++17 compiler and CMake (and the CUDA toolkit for GPUs), then run: npm run build:native';
  if (required || !prepare) throw new Error(text);
  console.warn(text);
  return undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const flags = new Set(process.argv.slice(2));
  const hasCMake = onPath('cmake') && findCompiler() && process.env.WARPLOOM_CMAKE !== '0' && existsSync(join(root, 'CMakeLists.txt'));
  if (flags.has('--tests') && !hasCMake) {
    console.log('warploom: no CMake or no compiler here, so tests run with the addon that is there');
    process.exit(0);
  }
  try {
    await withLock(join(root, 'build/lock'), () =>
      buildNative({ prepare: flags.has('--prepare'), release: flags.has('--release') }));
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
