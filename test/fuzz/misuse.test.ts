// Wrong kinds in every place of every public function: each call gives a result or ends in one of the library's own errors, soon.
// WARPLOOM_MISUSE_EACH (calls of each function), WARPLOOM_MISUSE_SEED and WARPLOOM_MISUSE_ONLY (names by commas) ask for more, others, or
// some; WARPLOOM_MISUSE_LIST=1 lists what is wrong, known or not.
import { deepStrictEqual, ok } from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { packageRoot } from '../../lib/core/binding.ts';
import type { MisuseNews, MisuseWork } from '../support/misuse-worker.ts';

const each = Number(process.env.WARPLOOM_MISUSE_EACH ?? 30);
const seed = Number(process.env.WARPLOOM_MISUSE_SEED ?? 20261123);
const only = (process.env.WARPLOOM_MISUSE_ONLY ?? '').split(',').filter((name) => name !== '');

/** Milliseconds without a sign of life after which a call has no end. The calls before and after it are made all the same. */
const longest = 90_000;

/** The worker with the library as one plain module, so that it starts in milliseconds. */
function bundle(): URL {
  const require = createRequire(createRequire(import.meta.url).resolve('tsx'));
  const { buildSync } = require('esbuild') as { buildSync(options: object): void };
  const folder = join(packageRoot(), 'build', 'test-library');
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(packageRoot(), 'lib/kernel/print/arithmetic.h'), join(folder, 'arithmetic.h'));
  const outfile = join(folder, `misuse-${process.pid}.mjs`);
  const build = (source: string, to: string): void => buildSync({
    entryPoints: [fileURLToPath(new URL(source, import.meta.url))], outfile: to,
    bundle: true, platform: 'node', format: 'esm', target: 'node20', packages: 'external', logLevel: 'error',
  });
  build('../support/misuse-worker.ts', outfile);
  // Code of threads is a file of its own in the package, too.
  build('../../lib/stream/schedule/solver-worker.ts', join(folder, 'solver-worker.js'));
  return pathToFileURL(outfile);
}

interface Found {
  readonly made: number; readonly missing: readonly string[]; readonly functions: number; readonly refused: readonly string[]; readonly wrong: ReadonlyMap<string, string[]>;
}

/** Makes the calls, in as many workers as it takes: one that has no end, or dies, is followed by another. */
async function misuse(): Promise<Found> {
  const file = bundle();
  const wrong = new Map<string, string[]>();
  let [made, missing, functions]: [number, readonly string[], number] = [0, [], 0];
  const refused: string[] = [];
  for (let from = 0, done = false; !done;) {
    let current: Extract<MisuseNews, { kind: 'begins' }> | undefined;
    let last = Date.now();
    const note = (error: string): void => {
      const list = wrong.get(current!.name) ?? [];
      wrong.set(current!.name, [...list, `${current!.what}: ${error}`]);
    };
    const worker = new Worker(file, {
      workerData: { seed, each, from, only } satisfies MisuseWork, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 1024 },
    });
    const end = await new Promise<string>((resolve) => {
      const watch = setInterval(() => { if (Date.now() - last > (current === undefined ? 60_000 : longest)) resolve('has no end'); }, 500);
      worker.on('message', (news: MisuseNews) => {
        last = Date.now();
        if (news.kind === 'known') ({ missing, functions } = news);
        if (news.kind === 'refused') refused.push(`${news.name}: ${news.error}`);
        if (news.kind === 'begins') {
          current = news;
          made += 1;
        }
        if (news.kind === 'wrong') note(news.error);
        if (news.kind === 'done') resolve('');
      });
      worker.on('error', (error) => resolve(`ends the thread: ${error.message}`));
      worker.on('exit', (code) => setTimeout(() => resolve(`ends the thread with code ${code}`), 100));
      worker.once('exit', () => clearInterval(watch));
    });
    await worker.terminate();
    done = end === '';
    if (done) break;
    if (current === undefined) throw new Error(`the worker does not start: ${end}`);
    note(end);
    from = current.index + 1;
  }
  return { made, missing, functions, refused, wrong };
}

describe('misuse of public functions', function () {
  this.timeout(600_000);
  this.slow(60_000);
  let found: Found;

  /** Some wrong kinds are right file names («x»): what is written for them lands here. */
  let folder: string;
  const home = process.cwd();

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'warploom-misuse-'));
    process.chdir(folder);
    found = await misuse();
  });
  after(() => {
    process.chdir(home);
    rmSync(folder, { recursive: true });
  });

  it('there is a right call of each of them', () => {
    deepStrictEqual(found.missing, []);
    deepStrictEqual(found.refused, [], 'they are right');
    ok(only.length > 0 || found.functions >= 170, `${found.functions} functions and methods`);
  });

  it('wrong kinds end in a result or an error of the library, and end', function () {
    this.test!.title = `${found.made} calls of ${found.functions} functions and methods end in a result or an error of the library (seed ${seed})`;
    ok(only.length > 0 || each < 30 || found.made >= 5000, `only ${found.made} calls`);
    if (process.env.WARPLOOM_MISUSE_LIST !== undefined) for (const [name, list] of found.wrong) console.log(`${name} (${list.length})\n    ${list.slice(0, 4).join('\n    ')}`);
    deepStrictEqual(Object.fromEntries([...found.wrong].map(([name, list]) => [name, list.slice(0, 5)])), {});
  });
});
