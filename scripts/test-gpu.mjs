// npm run test:gpu [-- --out FOLDER] [--no-sanitizer] [MOCHA OPTIONS]: the test suite on the cuda backend, then,
// where compute-sanitizer is installed, its four tools over the tests named «sanitized» at small sizes.
// One JSON report, FOLDER/test-gpu.json, and a last line «N passed, N failed, N skipped».
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onPath } from './find-tools.mjs';
import { root } from './list-sources.mjs';
import { printSummary } from './summary.mjs';

const kSanitizerTools = ['memcheck', 'racecheck', 'initcheck', 'synccheck'];
const mocha = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');

/** Runs mocha with a JSON report beside the readable one; returns the parsed report. */
function runMocha(args, { prefix = [], backends = 'cuda' } = {}) {
  const reportPath = join(tmpdir(), `warploom-mocha-${process.pid}.json`);
  rmSync(reportPath, { force: true });
  const node = [process.execPath, '--import', 'tsx', '--expose-gc', mocha, '--no-config', '--timeout', '120000',
    '--forbid-only', '--reporter', join(root, 'scripts/mocha-reporter.cjs'),
    '--reporter-option', `output=${reportPath}`, ...args];
  const [command, ...rest] = [...prefix, ...node];
  const start = Date.now();
  const done = spawnSync(command, rest, {
    cwd: root, stdio: 'inherit', env: { ...process.env, WARPLOOM_TEST_BACKENDS: process.env.WARPLOOM_TEST_BACKENDS ?? backends },
  });
  const seconds = (Date.now() - start) / 1000;
  if (!existsSync(reportPath)) {
    return { passed: 0, failed: 1, skipped: 0, seconds, failures: [{ title: 'mocha', message: `ended by ${done.signal ?? done.status}` }] };
  }
  const report = JSON.parse(readFileSync(reportPath, 'utf8'));
  if (done.status !== 0 && report.failed === 0) {
    report.failed = 1;
    report.failures.push({ title: 'mocha', message: `exit ${done.status ?? done.signal}` });
  }
  return { ...report, seconds };
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
const specs = mochaArgs.some((arg) => arg.endsWith('.ts')) ? [] : ['test/**/*.test.ts'];

const info = spawnSync(process.execPath, ['--import', 'tsx', 'lib/cli/bin.ts', 'info'], { cwd: root, encoding: 'utf8' });
process.stdout.write(info.stdout);
const report = { schema: 1, date: new Date().toISOString(), info: info.stdout, runs: {} };
report.runs.suite = runMocha([...mochaArgs, ...specs]);
const tool = sanitizer();
if (tool && withSanitizer) {
  for (const name of kSanitizerTools) {
    const prefix = [tool, '--tool', name, '--error-exitcode', '3', '--target-processes', 'application-only'];
    report.runs[name] = runMocha(['--grep', 'sanitized', ...specs], { prefix });
  }
} else if (withSanitizer) report.note = 'compute-sanitizer is not installed here';
mkdirSync(out, { recursive: true });
writeFileSync(join(out, 'test-gpu.json'), `${JSON.stringify(report, null, 1)}\n`);
const total = Object.values(report.runs).reduce(
  (sum, run) => [sum[0] + run.passed, sum[1] + run.failed, sum[2] + run.skipped], [0, 0, 0]);
for (const run of Object.values(report.runs)) {
  for (const { title, message } of run.failures) console.error(`FAILED ${title}: ${message}`);
}
printSummary(total);
