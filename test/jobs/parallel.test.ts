// Sweeps in several processes and in shards: the same bytes as one after another; stopping, failing and crashing items.
import { deepStrictEqual, equal, match, ok, rejects } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { main } from '../../lib/cli/main.ts';
import { files, jobs } from '../../lib/index.ts';
import { resultsIn } from '../support/results.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('sweeps in parts', function () {
  this.timeout(120_000);
  let folder = '';
  const at = (...parts: string[]): string => join(folder, ...parts);
  const plates: jobs.JobDescription = {
    kind: 'heat-adi', name: 'plates', device: { backend: 'cpu' }, initial: { file: 'plate.npy' }, dt: 0.5, steps: 40, snapshots: 2,
    sweep: { diffusivity: [0.5, 1, 2], precision: ['float32', 'float64'] },
  };
  const rods: jobs.JobDescription = {
    kind: 'simulate', name: 'rods', equation: 'heat', n: 33, initial: 'ramp', until: { steps: 2 }, snapshots: 1, sweep: { fourier: [0.3, 40, 50] },
  };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'warploom-parts-'));
    const data = Float64Array.from({ length: 20 * 17 }, (_, i) => Math.sin(i * i));
    await writeFile(at('plate.npy'), files.formatNpy({ type: 'float64', shape: [20, 17], data }));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('several processes, and shards side by side, write the bytes of one after another', async () => {
    const job = await jobs.load(plates, { folder });
    const serial = await jobs.run(job, { results: at('serial') });
    const events: jobs.RunEvent[] = [];
    const parallel = await jobs.run(job, { results: at('parallel'), parallel: 2, onProgress: (event) => events.push(event) });
    const parts = await Promise.all([1, 2, 3, 4, 5].map((index) => jobs.run(job, { results: at('shards'), shard: { index, count: 5 } })));
    const expected = await resultsIn(at('serial'));
    equal(expected.size, 6 * 16, 'five files and those of result.zarr');
    deepStrictEqual(await resultsIn(at('parallel')), expected);
    deepStrictEqual(await resultsIn(at('shards')), expected);
    deepStrictEqual(parallel.map(({ item }) => item), serial.map(({ item }) => item));
    deepStrictEqual(parts.map((part) => part.length), [2, 1, 1, 1, 1]);
    deepStrictEqual(parts.flatMap((part) => part.map(({ item }) => item)).sort(), serial.map(({ item }) => item).sort());
    const sweeps = events.flatMap((event) => ('sweep' in event ? [event.sweep] : []));
    deepStrictEqual(sweeps.at(-1), { finished: 6, failed: 0, running: 0, total: 6 });
    equal(Math.max(...sweeps.map(({ running }) => running)), 2);
    deepStrictEqual((await jobs.items(job, { results: at('shards') })).map(({ state }) => state), Array<string>(6).fill('finished'));
  });

  it('a stopped sweep goes on without repeating finished items', async () => {
    const job = await jobs.load(plates, { folder });
    const stop = new AbortController();
    let ended = 0;
    const first = jobs.run(job, { results: at('out'), parallel: 2, signal: stop.signal, onProgress: ({ event }) => {
      if (event === 'finished' && (ended += 1) === 2) stop.abort(new Error('enough'));
    } });
    await rejects(first, /enough/);
    const before = (await jobs.items(job, { results: at('out') })).filter(({ state }) => state === 'finished').map(({ name }) => name);
    ok(before.length >= 2 && before.length < 6);
    const started: string[] = [], skipped: string[] = [];
    await jobs.run(job, { results: at('out'), onProgress: ({ event, item }) => {
      if (event === 'started') started.push(item);
      if (event === 'skipped') skipped.push(item);
    } });
    deepStrictEqual(skipped.sort(), before.sort());
    equal(started.length, 6 - before.length);
    await jobs.run(job, { results: at('whole') });
    deepStrictEqual(await resultsIn(at('out')), await resultsIn(at('whole')));
  });

  it('an item that fails or crashes stops the sweep, unless it is to keep going; the error says which', async () => {
    await writeFile(at('crash.mjs'), `
      if (process.argv[1]?.includes('pool')) process.kill(process.pid, 'SIGKILL');
      export default { dimensions: 1, fields: ['u'], parameters: ['c'], rate: ({ u }, { c }) => ({ u: -c * u() }) };`);
    const crash: jobs.JobDescription = {
      kind: 'stencil', name: 'crash', equation: { file: 'crash.mjs' }, shape: [8], dt: 0.1, until: { steps: 2 }, initial: { u: 1 }, parameters: { c: 1 },
    };
    await rejects(jobs.run(crash, { folder, results: at('out'), backend: 'cpu', parallel: 1 }),
      { code: 'ERR_WARPLOOM_SYSTEM_FAILED', message: /item 'all' ended with signal SIGKILL/ });
    for (const parallel of [undefined, 1]) {
      const failed: string[] = [];
      const given = {
        results: at(`keep${parallel}`), backend: 'cpu' as const, keepGoing: true, ...(parallel === undefined ? {} : { parallel }),
        onProgress: (event: jobs.RunEvent) => { if (event.event === 'failed') failed.push(`${event.item} ${event.error.code}`); },
      };
      await rejects(jobs.run(rods, given), { name: 'ArgumentError', code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
      deepStrictEqual(failed.sort(), ['fourier=40 ERR_WARPLOOM_INVALID_ARGUMENT', 'fourier=50 ERR_WARPLOOM_INVALID_ARGUMENT']);
      deepStrictEqual((await jobs.items(rods, { results: given.results, backend: 'cpu' })).map(({ state }) => state),
        ['finished', 'waiting', 'waiting']);
    }
    await rejects(jobs.run(rods, { results: at('stop'), backend: 'cpu' }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    deepStrictEqual((await jobs.items(rods, { results: at('stop'), backend: 'cpu' })).map(({ state }) => state),
      ['finished', 'waiting', 'waiting']);
    await rejects(jobs.run(rods, { shard: { index: 3, count: 2 } }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'shard.index' });
    await rejects(jobs.run(rods, { parallel: 0 }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'parallel' });
  });

  it('the command takes shards and processes, and shows how far items are', async () => {
    await writeFile(at('plates.json'), JSON.stringify(plates));
    const run = async (...argv: string[]) => {
      const [out, err] = [new PassThrough(), new PassThrough()];
      const code = await main(['run', at('plates.json'), '--results', at('out'), ...argv], { out, err, signal: new AbortController().signal });
      return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
    };
    for (const bad of ['0/2', '3/2', '1', 'a/b', '1/0']) equal((await run('--shard', bad)).code, 2);
    equal((await run('--parallel', '0')).code, 2);
    equal((await run('--shard', '2/4', '--parallel', '1')).code, 0);
    const { out } = await run('--status');
    const script = spawnSync('sh', [join(root, 'examples/slurm/sweep.sh'), at('plates.json')], { encoding: 'utf8', env: {
      ...process.env, RESULTS: at('out'), SLURM_ARRAY_TASK_ID: '2', SLURM_ARRAY_TASK_COUNT: '4',
      WARPLOOM: `${process.execPath} --import ${join(root, 'scripts/register-tsx.mjs')} ${join(root, 'lib/cli/bin.ts')}`,
    } });
    equal(script.status, 0, script.stderr);
    equal(script.stdout.match(/"event":"skipped"/g)?.length, 2, script.stdout);
    match(out, /plates: 2 of 6 finished, 0 begun, 4 waiting/);
    const lines = (await run('--status', '--json')).out.trim().split('\n').map((line) => JSON.parse(line) as { state: string });
    deepStrictEqual(lines.map(({ state }) => state === 'finished'), Array.from({ length: 6 }, (_, i) => i % 4 === 1));
  });
});
