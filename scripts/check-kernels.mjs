// Compares ptxas' report of every kernel (registers, spilled bytes) with scripts/kernel-budget.json. Needs no GPU.
//
//   node scripts/check-kernels.mjs [--update] [--compile | --all] [FILE …]
//
// Uses the reports of the addon's build if it is up to date (scripts/ptxas-report.sh). Otherwise, for named files, and with --compile,
// compiles the files for sm_90; with --all, also for sm_80 and the newest architecture.
// --update writes the budget from this compiler's report.
// The budget lists agents without template arguments: [maximum registers, maximum spilled bytes, kernels].
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findNvcc } from './find-tools.mjs';
import { listFiles, root } from './list-sources.mjs';
import { printSummary } from './summary.mjs';

const kBudget = join(root, 'scripts/kernel-budget.json');
/** By how much a kernel may exceed its budget: compilers differ a little from release to release. */
const kSlack = { registers: 4, spilledBytes: 16 };

/** Kernels of a ptxas -v report: { entry, architecture, registers, spilledBytes }. */
export function parseReport(text) {
  const kernels = [];
  let current;
  for (const line of text.split('\n')) {
    const head = /Compiling entry function '([^']+)' for '(\w+)'/.exec(line);
    if (head) {
      current = { entry: head[1], architecture: head[2], registers: 0, spilledBytes: 0 };
      kernels.push(current);
    } else if (current) {
      const spill = /(\d+) bytes spill stores, (\d+) bytes spill loads/.exec(line);
      if (spill) current.spilledBytes = Number(spill[1]) + Number(spill[2]);
      const used = /Used (\d+) registers/.exec(line);
      if (used) current.registers = Number(used[1]);
    }
  }
  return kernels;
}

/** `…::agent_kernel<warploom::cuda::tridiagonal::CrAgent<float, 8> >(…)` → `tridiagonal::CrAgent`. */
export function agentName(demangled) {
  const inner = /agent_kernel<(?:warploom::)?(?:cuda::)?([\w:]+)/.exec(demangled)?.[1];
  return (inner ?? demangled.replace(/[<(].*$/s, '')).replace(/^warploom::cuda::/, '');
}

function demangle(names) {
  const done = spawnSync('c++filt', [], { input: names.join('\n'), encoding: 'utf8', maxBuffer: 1 << 28 });
  return done.status === 0 ? done.stdout.split('\n') : names;
}

/** Maximum figures per agent over the kernels of sm_90, except those of CUB, which come with the toolkit. */
export function summarise(kernels) {
  const chosen = kernels.filter(({ architecture, entry }) => architecture === 'sm_90' && !/^_ZN3cub/.test(entry));
  const names = demangle(chosen.map((kernel) => kernel.entry));
  const agents = {};
  chosen.forEach((kernel, index) => {
    const agent = (agents[agentName(names[index])] ??= { registers: 0, spilledBytes: 0, kernels: 0 });
    agent.registers = Math.max(agent.registers, kernel.registers);
    agent.spilledBytes = Math.max(agent.spilledBytes, kernel.spilledBytes);
    ++agent.kernels;
  });
  return Object.fromEntries(Object.entries(agents).sort(([a], [b]) => a.localeCompare(b)));
}

/** What exceeds the budget, as messages by agent. */
export function overBudget(agents, budget) {
  const messages = [];
  for (const [name, used] of Object.entries(agents)) {
    const allowed = budget[name];
    if (allowed === undefined) messages.push(`${name}: not in the budget (${JSON.stringify(used)}); run with --update`);
    else {
      for (const [key, slack] of Object.entries(kSlack)) {
        if (used[key] > allowed[key] + slack) messages.push(`${name}: ${used[key]} ${key}, budget ${allowed[key]}`);
      }
    }
  }
  return messages;
}

/** build/kernels/report.json: every kernel by its full name, for `npm run bench -- tridiagonal --table1`. */
function writeReportFile(kernels) {
  const names = demangle(kernels.map((kernel) => kernel.entry));
  const report = kernels.map((kernel, index) => ({ ...kernel, entry: names[index] }));
  writeFileSync(join(root, 'build/kernels/report.json'), `${JSON.stringify(report)}\n`);
}

function newestArchitecture(nvcc) {
  const listed = spawnSync(nvcc, ['--list-gpu-arch'], { encoding: 'utf8' }).stdout.match(/\d+/g).map(Number);
  return Math.max(...listed);
}

/**
 * Compiles for all architectures from the PTX of compute_80: device code has no branches by architecture, and so the front end runs only
 * once.
 */
function compile(nvcc, file, architectures) {
  const codes = architectures.flatMap(([virtual, real]) => ['-gencode', `arch=compute_${virtual},code=sm_${real}`]);
  const output = join(root, 'build/kernels', `${file.replaceAll('/', '_')}.fatbin`);
  const args = ['-fatbin', '-std=c++17', '-O3', '-fmad=false', '-diag-suppress=2810', '-I.', '-Xptxas=-v',
    ...codes, '-o', output, file];
  return new Promise((resolve) => {
    const child = spawn(nvcc, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => { text += chunk; });
    child.on('close', (status) => resolve({ file, status, text }));
  });
}

async function compileAll(nvcc, files, architectures) {
  const results = [];
  const queue = [...files];
  const worker = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      const start = performance.now();
      const result = await compile(nvcc, file, architectures);
      console.log(`${file}: ${result.status === 0 ? 'compiled' : 'FAILED'} in ${((performance.now() - start) / 1000).toFixed(1)} s`);
      results.push(result);
    }
  };
  const jobs = Number(process.env.WARPLOOM_JOBS ?? availableParallelism());
  await Promise.all(Array.from({ length: jobs }, worker));
  return results;
}

/** The reports of all objects with kernels from a complete build (CMakeLists.txt); undefined if one is missing or older than a source. */
function reportsOfBuild() {
  const folder = join(root, 'build/cmake');
  const configuration = join(folder, 'warploom-configuration.json');
  if (!existsSync(configuration) || !existsSync(join(folder, 'build.ninja'))) return undefined;
  const { WARPLOOM_EXPERIMENTS, WARPLOOM_BENCH } = JSON.parse(readFileSync(configuration, 'utf8'));
  if (WARPLOOM_EXPERIMENTS !== 'ON' || WARPLOOM_BENCH !== 'ON') return undefined;
  const newest = Math.max(...listFiles('cuda', /\.(?:cuh?|h|inc)$/).map((file) => statSync(join(root, file)).mtimeMs));
  const objects = [...readFileSync(join(folder, 'build.ninja'), 'utf8').matchAll(/^build (CMakeFiles\/warploom\.dir\/\S+\.cu\.o):/gm)];
  const results = objects.map(([, object]) => {
    const path = join(folder, `${object}.ptxas`);
    return existsSync(path) ? { file: object, status: 0, text: readFileSync(path, 'utf8'), time: statSync(path).mtimeMs } : undefined;
  });
  const whole = results.length > 0 && results.every((result) => result !== undefined);
  return whole && Math.max(...results.map(({ time }) => time)) > newest ? results : undefined;
}

async function main(args) {
  const nvcc = findNvcc();
  const named = args.filter((arg) => !arg.startsWith('--'));
  const files = named.length > 0 ? named : listFiles('cuda', /\.cu$/);
  if (!nvcc) {
    console.log(`kernels: skipped, nvcc was not found`);
    return printSummary([0, 0, files.length]);
  }
  mkdirSync(join(root, 'build/kernels'), { recursive: true });
  const all = args.includes('--all');
  const built = all || args.includes('--compile') || named.length > 0 ? undefined : reportsOfBuild();
  console.log(`kernels: ${built === undefined ? 'compiled here' : "reports of the addon's build"}`);
  const architectures = all ? [[80, 80], [80, 90], [80, newestArchitecture(nvcc)]] : [[80, 90]];
  const results = built ?? await compileAll(nvcc, files, architectures);
  const failed = results.filter((result) => result.status !== 0);
  for (const { file, text } of failed) console.error(`${file}:\n${text}`);
  const kernels = results.flatMap((result) => parseReport(result.text));
  const agents = summarise(kernels);
  console.table(agents);
  writeReportFile(kernels);
  if (args.includes('--update')) {
    writeFileSync(kBudget, `${JSON.stringify(agents, null, 1)}\n`);
    return printSummary([results.length - failed.length, failed.length, 0]);
  }
  const budget = existsSync(kBudget) ? JSON.parse(readFileSync(kBudget, 'utf8')) : {};
  const over = overBudget(agents, budget);
  for (const message of over) console.error(message);
  const fine = Object.keys(agents).length - over.length;
  return printSummary([results.length - failed.length + Math.max(fine, 0), failed.length + over.length, 0]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
