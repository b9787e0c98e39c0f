// npm run test:gpu [-- --out FOLDER] [--no-sanitizer] [MOCHA OPTIONS]: the test suite on the cuda backend, then,
// where compute-sanitizer is installed, its four tools over test/gpu/sanitized*.test.ts, small calls of every algorithm.
// One JSON report, FOLDER/test-gpu.json, and a last line «N passed, N failed, N skipped».
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onPath } from './find-tools.mjs';
import { root } from './list-sources.mjs';
import { printSummary } from './summary.mjs';

const kSanitizerTools = ['memcheck', 'racecheck', 'initcheck', 'synccheck'];
const mocha = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');

/** Runs a command, showing its output as it comes; returns its status and its standard output. */
function watch(command, args, env) {
  return new Promise((settle) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'], env });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      process.stdout.write(chunk);
    });
    child.on('error', (error) => settle({ status: error.code, text }));
    child.on('close', (code, signal) => settle({ status: code ?? signal, text }));
  });
}

/** Cases that a backend cannot run: test/support/backends.ts prints them, mocha does not know them. */
function skippedCases(text) {
  return [...text.matchAll(/^ *skipped (\d+) case\(s\)/gm)].reduce((sum, match) => sum + Number(match[1]), 0);
}

/** Runs mocha with a JSON report beside the readable one; returns the parsed report. */
async function runMocha(args, { prefix = [], backends = 'cuda' } = {}) {
  const reportPath = join(tmpdir(), `warploom-mocha-${process.pid}.json`);
  rmSync(reportPath, { force: true });
  const [command, ...rest] = [...prefix, process.execPath, '--import', 'tsx', '--expose-gc', mocha, '--no-config',
    '--timeout', '120000', '--forbid-only', '--reporter', join(root, 'scripts/mocha-reporter.cjs'),
    '--reporter-option', `output=${reportPath}`, ...args];
  const start = Date.now();
  const asked = process.env.WARPLOOM_TEST_BACKENDS ?? backends;
  const { status, text } = await watch(command, rest, { ...process.env, WARPLOOM_TEST_BACKENDS: asked });
  const seconds = (Date.now() - start) / 1000;
  const ended = { title: 'mocha', message: `ended with ${status}` };
  if (!existsSync(reportPath)) return { passed: 0, failed: 1, skipped: 0, seconds, failures: [ended] };
  const report = JSON.parse(readFileSync(reportPath, 'utf8'));
  if (report.passed + report.failed === 0) {
    report.failed = 1;
    report.failures.push({ title: 'mocha', message: 'no test ran' });
  }
  if (status !== 0 && report.failed === 0) {
    report.failed = 1;
    report.failures.push(ended);
  }
  return { ...report, skipped: report.skipped + skippedCases(text), seconds };
}

function sanitizer() {
  const found = onPath('compute-sanitizer') ?? '/usr/local/cuda/bin/compute-sanitizer';
  return existsSync(found) ? found : undefined;
}

const args = process.argv.slice(2);
const take = (name) => {
  const at = args.indexOf(name);
  return at < 0 ? undefined : args.splice(at, 2)[1];
};
const out = resolve(take('--out') ?? join(root, 'results'));
const withSanitizer = !args.includes('--no-sanitizer');
const mochaArgs = args.filter((arg) => arg !== '--no-sanitizer');
const specs = mochaArgs.some((arg) => arg.endsWith('.ts')) ? []
  // The checks of the source tree need the whole of it, which a bundle does not carry.
  : ['--ignore', 'test/scripts/**', 'test/**/*.test.ts'];

const info = spawnSync(process.execPath, ['--import', 'tsx', 'lib/cli/bin.ts', 'info'], { cwd: root, encoding: 'utf8' });
process.stdout.write(info.stdout);
const report = { schema: 1, date: new Date().toISOString(), info: info.stdout, runs: {} };
const save = () => writeFileSync(join(out, 'test-gpu.json'), `${JSON.stringify(report, null, 1)}\n`);
mkdirSync(out, { recursive: true });
report.runs.suite = await runMocha([...mochaArgs, ...specs]);
save();
const tool = sanitizer();
if (tool && withSanitizer) {
  for (const name of kSanitizerTools) {
    const prefix = [tool, '--tool', name, '--error-exitcode', '3', '--target-processes', 'application-only'];
    report.runs[name] = await runMocha(['test/gpu/sanitized*.test.ts'], { prefix });
    save();
  }
} else if (withSanitizer) report.note = 'compute-sanitizer is not installed here';
save();
const total = Object.values(report.runs).reduce(
  (sum, run) => [sum[0] + run.passed, sum[1] + run.failed, sum[2] + run.skipped], [0, 0, 0]);
for (const run of Object.values(report.runs)) {
  for (const { title, message } of run.failures) console.error(`FAILED ${title}: ${message}`);
}
printSummary(total);
