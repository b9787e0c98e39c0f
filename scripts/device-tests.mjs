// Builds test/device/*.cpp with the SIMT shim and runs every program.
//
//   node scripts/device-tests.mjs [none|address|thread …] [--only NAME] [--build-only]    default: all three
//
// The mutation test runs only by name: node scripts/device-tests.mjs thread --only mutation
// Each program prints its failures, ends with "N passed, N failed, N skipped", and exits with 1 if there was a failure.
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { onPath } from './find-tools.mjs';
import { hostSources, listFiles, root, sourcesAlone } from './list-sources.mjs';
import { kSummary, printSummary } from './summary.mjs';

const kOptions = {
  none: {},
  address: {
    ASAN_OPTIONS: 'detect_leaks=1:abort_on_error=0:detect_stack_use_after_return=0',
    UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
  },
  thread: { TSAN_OPTIONS: 'halt_on_error=0:exitcode=66:history_size=4' },
};

/** Deletes each barrier in turn under ThreadSanitizer: some 65 barriers in 2 to 4 minutes, so it runs only when named. */
const kMutation = 'mutation';
/**
 * Programs that need not run under ThreadSanitizer: single-threaded arithmetic, and kernels whose barriers are all covered by the small
 * cases of the program `operations`. Barriers for large systems, interleaved systems and right-hand sides that share a matrix are covered
 * by tridiagonal_partition, tridiagonal_regpack, tridiagonal_matrix and tridiagonal_checked instead.
 */
const kAddressOnly = /^(portable|views|tridiagonal_(?!partition|regpack|matrix|checked).*|swept_.*)$/;
/** The longest ones, started first so that no core is idle at the end. */
const kLongest = [
  'tridiagonal_partition', 'shim', 'cpu_solve', 'operations', 'cpu_imaging_segment', 'tridiagonal_pivoting', 'cpu_swept', 'functions',
];
const rank = (name) => (kLongest.includes(name) ? kLongest.indexOf(name) : kLongest.length);

function must(command, args) {
  const done = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (done.status !== 0) throw new Error(`${command} ${args[0]} exited with ${done.status ?? done.signal}`);
}

function build(variant, names) {
  const folder = join(root, `build/device-${variant}`);
  const alone = sourcesAlone(hostSources()).join(';');
  const cache = join(folder, 'CMakeCache.txt');
  if (!existsSync(cache) || !readFileSync(cache, 'utf8').includes(`WARPLOOM_ALONE:UNINITIALIZED=${alone}\n`)) {
    const generator = onPath('ninja') ? ['-G', 'Ninja'] : [];
    must('cmake', ['-S', root, '-B', folder, ...generator, '-DCMAKE_BUILD_TYPE=Release',
      '-DWARPLOOM_DEVICE_TESTS=ON', `-DWARPLOOM_SANITIZE=${variant}`, `-DWARPLOOM_ALONE=${alone}`]);
  }
  const jobs = process.env.WARPLOOM_JOBS ?? String(availableParallelism());
  must('cmake', ['--build', folder, '--parallel', jobs, '--target', ...names]);
  return join(folder, 'programs');
}

/** Runs one program and shows its output; returns its counts. A crash, a timeout or a missing summary line counts as one failure. */
async function runProgram(folder, name, variant) {
  const path = join(folder, name);
  // ThreadSanitizer needs its shadow addresses, which are free on every kernel if address space randomisation is off.
  const [command, args] = variant === 'thread' && onPath('setarch')
    ? ['setarch', [process.arch === 'x64' ? 'x86_64' : process.arch, '-R', path]] : [path, []];
  const start = performance.now();
  const done = await new Promise((settle) => {
    const options = { cwd: root, timeout: 900_000, maxBuffer: 1 << 28, env: { ...process.env, ...kOptions[variant] } };
    execFile(command, args, options, (error, stdout, stderr) => settle({ error, stdout, stderr }));
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  process.stdout.write(`\n== ${name} (${variant}), ${seconds} s\n${done.stdout}`);
  process.stderr.write(done.stderr);
  const line = [...done.stdout.matchAll(kSummary)].at(-1);
  const counts = line ? line.slice(1, 4).map(Number) : [0, 0, 0];
  if (done.error !== null && counts[1] === 0 || line === undefined) {
    console.error(`${name}: exit ${done.error?.code ?? done.error?.signal}${line ? '' : ', no summary line'}`);
    ++counts[1];
  }
  return counts;
}

/** Runs all programs, as many at a time as there are cores. */
async function runPrograms(programs, total) {
  const queue = [...programs].sort((a, b) => rank(a.name) - rank(b.name));
  const worker = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const counts = await runProgram(next.folder, next.name, next.variant);
      counts.forEach((count, index) => { total[index] += count; });
    }
  };
  await Promise.all(Array.from({ length: Number(process.env.WARPLOOM_JOBS ?? availableParallelism()) }, worker));
}

const args = process.argv.slice(2);
const at = args.indexOf('--only');
const only = at >= 0 ? args[at + 1] : undefined;
const variants = args.filter((name) => name in kOptions);
const programs = listFiles('test/device', /^test\/device\/[^/]+\.cpp$/)
  .map((path) => path.split('/').at(-1).replace(/\..*$/, ''))
  .filter((name) => (only === undefined ? name !== kMutation : name === only));
if (programs.length === 0) throw new Error(only ? `no device program ${only}` : 'test/device holds no programs');
const total = [0, 0, 0];
const built = [];
for (const variant of variants.length > 0 ? variants : Object.keys(kOptions)) {
  const names = programs.filter((name) => variant !== 'thread' || only !== undefined || !kAddressOnly.test(name));
  const folder = build(variant, names);
  built.push(...names.map((name) => ({ folder, name, variant })));
}
if (!args.includes('--build-only')) await runPrograms(built, total);
printSummary(total);
