// npm test [-- MOCHA OPTIONS] [FILE …]: runs all test files in as many processes as there are cores (WARPLOOM_JOBS; at most 8), longest
// first so that no core is idle at the end (scripts/test-seconds.json; --record updates it).
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listFiles, root } from './list-sources.mjs';

const kSeconds = join(root, 'scripts/test-seconds.json');
const kMeasured = join(root, 'build/test-seconds.json');
const kMostJobs = 8;

/** Files by duration, longest first; files without a recorded duration count as short. */
export function longestFirst(files, seconds) {
  return [...files].sort((a, b) => (seconds[b] ?? 0) - (seconds[a] ?? 0) || (a < b ? -1 : 1));
}

/** Files that take a second or more, longest first. */
function record() {
  const measured = Object.entries(JSON.parse(readFileSync(kMeasured, 'utf8'))).filter(([, each]) => each >= 1);
  const rounded = measured.map(([file, each]) => [file, Math.round(each)]).sort(([, a], [, b]) => b - a);
  writeFileSync(kSeconds, `${JSON.stringify(Object.fromEntries(rounded), null, 1)}\n`);
}

function main(args) {
  const options = args.filter((arg) => arg !== '--record');
  const named = options.some((arg) => /\.ts$|^test\//.test(arg));
  const seconds = existsSync(kSeconds) ? JSON.parse(readFileSync(kSeconds, 'utf8')) : {};
  const files = named ? [] : longestFirst(listFiles('test', /\.test\.ts$/), seconds);
  const jobs = Math.min(Number(process.env.WARPLOOM_JOBS ?? availableParallelism()), kMostJobs);
  const mocha = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');
  const done = spawnSync(process.execPath, [mocha, '--parallel', '--jobs', String(jobs),
    '--reporter', join(root, 'scripts/test-reporter.cjs'), '--reporter-option', `output=${kMeasured}`, ...options, ...files],
  { cwd: root, stdio: 'inherit' });
  process.exitCode = done.status ?? 1;
  if (args.includes('--record')) record();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2));
