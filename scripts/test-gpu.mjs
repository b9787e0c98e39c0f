// npm run test:gpu [-- --out FOLDER] [--no-sanitizer] [--jobs N] [--limit SECONDS] [--only REGEXP] [MOCHA OPTIONS]
// Runs the test suite on the cuda backend, with one process per folder (for long folders, per file), and, if compute-sanitizer is
// installed, its four tools over the small calls of test/gpu/sanitized*.test.ts. N processes run at a time (default 6), longest first.
// Writes one JSON report, FOLDER/test-gpu.json, saved whenever a part ends, so that results survive if the machine is lost. Parts that did
// not fit into the limit (default 570 s) are listed as not run and count as failed. The last line is "N passed, N failed, N skipped".
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { onPath } from './find-tools.mjs';
import { root } from './list-sources.mjs';
import { printSummary } from './summary.mjs';

const kSanitizerTools = ['racecheck', 'memcheck', 'initcheck', 'synccheck'];
/** Folders that are split into files; and what takes longest, first: seconds on an H200 with five other processes running. */
const kByFile = new Set(['core', 'tridiagonal', 'stress', 'imaging', 'swept', 'scan', 'stream', 'stencil', 'jobs', 'kernel']);
const kLongest = [
  'racecheck', 'tridiagonal/componentwise', 'tridiagonal/families', 'memcheck', 'initcheck', 'synccheck', 'gpu', 'stress/',
  'stream/gpu/corpus', 'stream/gpu/pipelined-programs', 'stream/gpu/hybrid-programs', 'stream/gpu/first', 'stream/gpu/state-random',
  'stream/gpu/', 'tridiagonal/', 'scan/', 'faults',
];
/** Tests whose files are not in a bundle, and tests that have nothing to do with a device. */
const kLeftOut = new Set(['scripts', 'package', 'device', 'types', 'support', 'docs', 'server', 'jobs/queue']);
const mocha = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');

const { values, tokens } = parseArgs({
  strict: false, tokens: true,
  options: {
    'out': { type: 'string' }, 'no-sanitizer': { type: 'boolean' }, 'jobs': { type: 'string' }, 'limit': { type: 'string' },
    'only': { type: 'string' }, 'help': { type: 'boolean' },
  },
});
if (values.help) {
  process.stdout.write(`${readFileSync(new URL(import.meta.url), 'utf8').split('\nimport')[0].replaceAll(/^\/\/ ?/gm, '')}\n`);
  process.exit(0);
}
const own = new Set(['out', 'no-sanitizer', 'jobs', 'limit', 'only']);
const mochaArgs = tokens.filter((token) => !(token.kind === 'option' && own.has(token.name)))
  .flatMap(({ kind, rawName, value }) => kind === 'option' ? [rawName, ...(value === undefined ? [] : [value])] : [value ?? '--']);
const out = resolve(values.out ?? join(root, 'results'));
const limit = Number(values.limit ?? 570);
const jobs = Number(values.jobs ?? 6);
const only = new RegExp(values.only ?? '');
const begin = Date.now();

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => entry.isDirectory() ? filesBelow(join(folder, entry.name))
    : entry.name.endsWith('.test.ts') ? [join(folder, entry.name)] : []);
}

function sanitizer() {
  const found = onPath('compute-sanitizer') ?? '/usr/local/cuda/bin/compute-sanitizer';
  return existsSync(found) ? found : undefined;
}

/** Parts of the suite: name, test files, and the command that runs node. */
function partsOf(tool) {
  const parts = [];
  for (const folder of readdirSync(join(root, 'test'), { withFileTypes: true })) {
    if (!folder.isDirectory() || kLeftOut.has(folder.name)) continue;
    const files = filesBelow(join(root, 'test', folder.name)).map((file) => relative(root, file));
    if (files.length === 0) continue;
    if (!kByFile.has(folder.name)) parts.push({ name: folder.name, files, prefix: [] });
    else {
      for (const file of files) {
        const name = file.replace(/^test\//, '').replace(/\.test\.ts$/, '');
        if (!kLeftOut.has(name)) parts.push({ name, files: [file], prefix: [] });
      }
    }
  }
  if (tool === undefined) return parts;
  const sanitized = filesBelow(join(root, 'test/gpu')).map((file) => relative(root, file));
  for (const name of kSanitizerTools) {
    const prefix = [tool, '--tool', name, '--error-exitcode', '3', '--target-processes', 'application-only'];
    for (const file of sanitized) parts.push({ name: `${name} ${file.replace(/^.*\/|\.test\.ts$/g, '')}`, files: [file], prefix });
  }
  return parts;
}

function rank({ name }) {
  const at = kLongest.findIndex((word) => name.startsWith(word));
  return at < 0 ? kLongest.length : at;
}

/** Cases that a backend cannot run: test/support/backends.ts prints them, but mocha does not know of them. */
function skippedCases(text) {
  return [...text.matchAll(/^ *skipped (\d+) case\(s\)/gm)].reduce((sum, match) => sum + Number(match[1]), 0);
}

/** Runs a command and collects its output; `status` is 'limit' if it ran out of time. */
function collect(command, args, env, seconds) {
  return new Promise((settle) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env, detached: true });
    let text = '';
    let late = false;
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk) => { text += chunk; });
    const timer = setTimeout(() => {
      late = true;
      try {
        process.kill(-child.pid, 'SIGKILL'); // the sanitizer's tools have child processes
      } catch {
        // it has just ended
      }
    }, seconds * 1000);
    const end = (status) => {
      clearTimeout(timer);
      settle({ status: late ? 'limit' : status, text });
    };
    child.on('error', (error) => end(error.code));
    child.on('close', (code, signal) => end(code ?? signal));
  });
}

/** Runs mocha over one part; returns counts and failures. */
async function runPart({ name, files, prefix }, seconds) {
  const reportPath = join(tmpdir(), `warploom-mocha-${process.pid}-${name.replaceAll(/\W/g, '-')}.json`);
  rmSync(reportPath, { force: true });
  const [command, ...rest] = [...prefix, process.execPath, '--import', 'tsx', '--expose-gc', '--no-experimental-require-module',
    mocha, '--no-config',
    '--require', join(root, 'test/support/hooks.cjs'),
    '--timeout', '240000', '--forbid-only', '--reporter', join(root, 'scripts/mocha-reporter.cjs'),
    '--reporter-option', `output=${reportPath}`, ...mochaArgs, ...files];
  const start = Date.now();
  const env = { ...process.env, WARPLOOM_TEST_BACKENDS: process.env.WARPLOOM_TEST_BACKENDS ?? 'cuda',
    WARPLOOM_TUNE: process.env.WARPLOOM_TUNE ?? '0', // tests compile hundreds of programs
    ...(prefix.includes('initcheck') ? { WARPLOOM_WRITE_GAPS: '1', WARPLOOM_THREAD_STORES: '1' } : {}) };
  const { status, text } = await collect(command, rest, env, seconds);
  const took = (Date.now() - start) / 1000;
  const ended = { title: name, message: status === 'limit' ? `not done after ${seconds.toFixed(0)} s` : `mocha ended with ${status}` };
  if (!existsSync(reportPath)) return { passed: 0, failed: 1, skipped: 0, seconds: took, failures: [ended], text };
  const report = JSON.parse(readFileSync(reportPath, 'utf8'));
  rmSync(reportPath, { force: true });
  if (status !== 0 && report.failed === 0) {
    report.failed = 1;
    report.failures.push(ended);
  }
  return { ...report, skipped: report.skipped + skippedCases(text), seconds: took, text };
}

function totalOf(runs) {
  return Object.values(runs).reduce((sum, run) => [sum[0] + run.passed, sum[1] + run.failed, sum[2] + run.skipped], [0, 0, 0]);
}

const info = spawnSync(process.execPath, ['--import', 'tsx', 'lib/cli/bin.ts', 'info'], { cwd: root, encoding: 'utf8' });
process.stdout.write(info.stdout);
const report = { schema: 2, date: new Date().toISOString(), info: info.stdout, seconds: 0, total: [0, 0, 0], runs: {} };
mkdirSync(out, { recursive: true });
const save = () => {
  report.seconds = (Date.now() - begin) / 1000;
  report.total = totalOf(report.runs);
  const path = join(out, 'test-gpu.json');
  writeFileSync(`${path}.tmp`, `${JSON.stringify(report, null, 1)}\n`);
  renameSync(`${path}.tmp`, path);
};
const tool = values['no-sanitizer'] ? undefined : sanitizer();
if (tool === undefined && !values['no-sanitizer']) report.note = 'compute-sanitizer is not installed here';
const parts = partsOf(tool).filter(({ name }) => only.test(name)).sort((a, b) => rank(a) - rank(b));
let done = 0;
async function worker() {
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    const left = limit - (Date.now() - begin) / 1000;
    const { text, ...run } = left > 5 ? await runPart(part, left)
      : { passed: 0, failed: 1, skipped: 0, seconds: 0, failures: [{ title: part.name, message: 'not run: no time was left' }], text: '' };
    report.runs[part.name] = run;
    save();
    done += 1;
    const state = `${run.passed} passed, ${run.failed} failed, ${run.skipped} skipped, ${run.seconds.toFixed(1)} s`;
    process.stdout.write(`[${done} of ${done + parts.length + running - 1}] ${part.name}: ${state}\n`);
    if (run.failed > 0) process.stdout.write(`${text.slice(-6000)}\n`);
  }
  running -= 1;
}
let running = Math.max(1, Math.min(jobs, parts.length));
await Promise.all(Array.from({ length: running }, worker));
if (Object.keys(report.runs).length === 0) {
  report.runs.none = { passed: 0, failed: 1, skipped: 0, seconds: 0, failures: [{ title: 'suite', message: 'no test was chosen' }] };
}
save();
for (const run of Object.values(report.runs)) {
  for (const { title, message } of run.failures) console.error(`FAILED ${title}: ${message}`);
}
printSummary(totalOf(report.runs));
