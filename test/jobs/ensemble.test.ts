// Items of a sweep that are computed together: the bytes, errors and checkpoints of single runs.
import { deepStrictEqual, equal, match, ok, rejects } from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { main } from '../../lib/cli/main.ts';
import type { Goal } from '../../lib/core/goals.ts';
import { groupsOf } from '../../lib/jobs/groups.ts';
import { jobs, stencil } from '../../lib/index.ts';
import { Ensemble } from '../../lib/stencil/ensemble.ts';
import { readRequest } from '../../lib/stencil/simulate.ts';
import { prepareRun } from '../../lib/stencil/start.ts';
import { resultsIn } from '../support/results.ts';

/** Files by name; the summary of an item says with how many others it ran. */
async function filesIn(folder: string): Promise<Map<string, string>> {
  const found = await resultsIn(folder);
  return new Map([...found].map(([name, text]) => [name, text.replace(/, together with \d+ others?/, '')]));
}

describe('items of a sweep that are computed together', function () {
  this.timeout(120_000);
  let folder = '';
  const at = (...parts: string[]): string => join(folder, ...parts);
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-together-')); });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const tail = { shape: [9], spacing: 0.5, dt: 0.125, device: { backend: 'cpu' as const } };
  /** Grows by e^(a t) where a > 0; |u| ≤ 100 is admissible. */
  const growth = (name: string, a: readonly number[], more: object = {}): jobs.JobDescription => ({
    kind: 'stencil', name, ...tail, pictures: false, until: { steps: 64 }, snapshots: 4, initial: { u: '(x) => 1 + Math.sin(x)' },
    equation: {
      dimensions: 1, fields: ['u'], parameters: ['a'], admissible: '({ u }) => Math.abs(u) <= 100', method: 'ssprk2',
      rate: '({ u }, { a }, { laplacian }) => ({ u: a * u() + 0.1 * laplacian(u) })',
    },
    sweep: { 'parameters.a': a as number[] }, ...more,
  });
  const values = (count: number): number[] => Array.from({ length: count }, (_, i) => -0.5 + i / 16);

  it('1 to 7 members have the bits of single runs, also those that others leave on the way', async () => {
    const equation = stencil.define({
      dimensions: 2, fields: ['u', 'v'], parameters: ['c', 'a'], method: 'rk4', admissible: ({ u }) => Math.abs(u) < 50,
      rate: ({ u, v }, { c, a }, { laplacian }) => ({ u: v() + a * u(), v: c * c * laplacian(u) }),
    });
    const { signal } = new AbortController();
    for (const [count, precision, bad] of [[1, 'float64', []], [2, 'float32', []], [3, 'float32', [1]], [4, 'float64', [0, 1, 2]],
      [5, 'float64', [0, 4]], [7, 'float32', [2, 3, 4, 5]]] as const) {
      const options = (i: number) => ({
        shape: [3, 5], dt: 0.1, precision, boundary: 'mirror', backend: 'wasm', parameters: { c: 0.5 + i / 8, a: bad.includes(i as never) ? 3 + i : 0.1 },
        initial: { u: (x: number, y: number) => Math.cos(x + i * y), v: i },
      } as const);
      const each = Array.from({ length: count }, (_, i) => i);
      const ensemble = await Ensemble.begin(await Promise.all(each.map((i) => prepareRun(readRequest(equation, options(i))))));
      const runs = await Promise.all(each.map((i) => stencil.simulate(equation, options(i))));
      const goals: readonly Goal[] = [{ step: 4 }, { step: 9 }, { time: 1.23 }, { step: 20 }];
      for (const goal of goals) {
        await ensemble.reach(goal, signal);
        for (const [i, run] of runs.entries()) {
          const go = (of: stencil.Run): Promise<string> => ('time' in goal ? of.advanceTo(goal.time) : of.advance(Math.max(0, goal.step - of.stepsDone)))
            .then(() => 'ok', (error: Error) => error.message);
          const said = await go(run);
          equal(ensemble.isApart(i) ? await go(ensemble.of(i)) : 'ok', said);
          equal(ensemble.of(i).time, run.time);
          deepStrictEqual(await ensemble.state(i), await run.state(), `${count} members, ${i}, ${JSON.stringify(goal)}`);
        }
      }
      deepStrictEqual(each.filter((i) => ensemble.isApart(i)), bad);
      ensemble.dispose();
      for (const run of runs) run.dispose();
    }
  });

  it('have the bytes of single runs, with initial states of their own', async () => {
    const job: jobs.JobDescription = {
      kind: 'stencil', name: 'mixed', device: { backend: 'cpu' }, equation: 'wave', shape: [5, 4], dt: 0.1, until: { time: 0.95 }, snapshots: 3, pictures: false,
      parameters: { c: 1 }, boundary: 'mirror', zarrFormat: 2, compression: 'zstd', initial: { u: '(x, y) => x * y', v: 0 },
      sweep: { 'parameters.c': [0.5, 2], 'initial.v': [0, '(x, y) => x - y'] },
    };
    const together = await jobs.run(job, { results: at('together') });
    const alone = await jobs.run(job, { results: at('alone'), ensemble: false });
    deepStrictEqual(together.map(({ item }) => item), alone.map(({ item }) => item));
    for (const [i, { summary, figures }] of together.entries()) {
      equal(summary, `${alone[i]!.summary}, together with 3 others`);
      ok(figures['runSeconds']! > 0 && figures['cellUpdatesPerSecond']! > 0);
      const [one, other] = await Promise.all(['together', 'alone'].map((name) => readFile(at(name, 'mixed', together[i]!.item, 'state.checkpoint'))));
      deepStrictEqual(one, other);
    }
    deepStrictEqual(await filesIn(at('together')), await filesIn(at('alone')));
  });

  it('a bad state ends its own item only, with the step and the place of a single run', async () => {
    // a = 1 and 2 become inadmissible, at different steps; 1e200 overflows in the first one, twice.
    const job = growth('bad', [-1, 1, 1e200, -1e200, 2], { until: { steps: 64 } });
    const ends = async (name: string, ensemble: boolean): Promise<Map<string, string>> => {
      const said = new Map<string, string>();
      await rejects(jobs.run(job, { results: at(name), ensemble, keepGoing: true, onProgress: (event) => {
        if (event.event === 'failed') said.set(event.item, `${event.error.code} ${event.error.message}`);
      } }), { code: 'ERR_WARPLOOM_UNSTABLE' });
      return new Map([...said].sort(([a], [b]) => (a < b ? -1 : 1)));
    };
    const together = await ends('together', true);
    deepStrictEqual(together, await ends('alone', false));
    deepStrictEqual([...together.keys()], ['-1e+200', '1', '1e+200', '2'].map((a) => `parameters.a=${a}`));
    match(together.get('parameters.a=2')!, /^ERR_WARPLOOM_UNSTABLE step \d+ \(time [\d.]+\) gives u = 1\d\d\.\d+ in cell \(\d\), which is not admissible; the/);
    deepStrictEqual(await filesIn(at('together')), await filesIn(at('alone')));
    for (const [item] of together) {
      const [one, other] = await Promise.all(['together', 'alone'].map((name) => readFile(at(name, 'bad', item, 'state.checkpoint'))));
      deepStrictEqual(one, other, item);
    }
    // Without keepGoing, those that run together with it still end; nothing else begins.
    const two = growth('stop', [], { sweep: { snapshots: [4, 2], 'parameters.a': [2, 0] } });
    await rejects(jobs.run(two, { results: at('stop'), ensemble: true }), { code: 'ERR_WARPLOOM_UNSTABLE' });
    deepStrictEqual((await jobs.items(two, { results: at('stop') })).map(({ state }) => state),
      ['begun', 'finished', 'waiting', 'waiting']);
  });

  it('go on after a stop, together or alone, also from different steps', async () => {
    const job = growth('long', values(3), { until: { steps: 4000 }, snapshots: 100 });
    const stopAt = (step: number, of: string, given: jobs.JobOptions): Promise<unknown> => {
      const stop = new AbortController();
      return rejects(jobs.run(job, { ...given, signal: stop.signal, onProgress: (event) => {
        if (event.event === 'progress' && event.item === of && event.done >= step) stop.abort(new Error('enough'));
      } }), /enough/);
    };
    const states = async (results: string): Promise<string[]> => (await jobs.items(job, { results })).map(({ state }) => state);
    await stopAt(1000, 'parameters.a=-0.375', { results: at('first'), ensemble: true });
    deepStrictEqual(await states(at('first')), Array(3).fill('begun'));
    await stopAt(2000, 'parameters.a=-0.5', { results: at('first'), ensemble: false }); // one of them goes further by itself
    const begun: number[] = [];
    await jobs.run(job, { results: at('first'), ensemble: true, onProgress: (event) => { if (event.event === 'progress') begun.push(event.done); } });
    ok(Math.min(...begun) > 1000, `went on at step ${Math.min(...begun)}`);
    await stopAt(1500, 'parameters.a=-0.4375', { results: at('second'), ensemble: true });
    await jobs.run(job, { results: at('second'), ensemble: false });
    await jobs.run(job, { results: at('whole'), ensemble: false });
    const whole = await filesIn(at('whole'));
    deepStrictEqual(await filesIn(at('first')), whole);
    deepStrictEqual(await filesIn(at('second')), whole);
  });

  it('processes, shards and limits of memory divide them; a file that cannot be written ends one', async () => {
    const job = await jobs.load(growth('parts', values(7), { until: { steps: 8 } }));
    const sizes = async (how: 'auto' | boolean, lanes: number, device: object = {}): Promise<number[]> =>
      (await groupsOf({ ...job, device: { ...job.device, ...device } } as jobs.LoadedJob, [...job.items.entries()], how, lanes)).map((group) => group.length);
    deepStrictEqual(await sizes('auto', 1), [7]);
    deepStrictEqual(await sizes(true, 2), [3, 4]);
    deepStrictEqual(await sizes('auto', 9), Array(7).fill(1));
    deepStrictEqual(await sizes(false, 1), Array(7).fill(1));
    deepStrictEqual(await sizes('auto', 1, { memoryLimit: 80 * 9 * 3 }), [2, 2, 3]);
    deepStrictEqual(await sizes('auto', 1, { memoryLimit: 80 }), Array(7).fill(1));
    const large = await jobs.load(growth('large', values(3), { shape: [2 ** 16] }));
    const inAll = async (how: 'auto' | boolean): Promise<number> => (await groupsOf(large, [...large.items.entries()], how, 1)).length;
    deepStrictEqual([await inAll('auto'), await inAll(true)], [3, 1]);
    const varying = await jobs.load(growth('dt', values(2), { sweep: { dt: [0.125, 0.25, 0.5], 'parameters.a': values(2) } }));
    equal((await groupsOf(varying, [...varying.items.entries()], true, 1)).length, 3);

    const few = await jobs.load(growth('parts', values(3), { until: { steps: 8 } }));
    await jobs.run(few, { results: at('alone'), ensemble: false });
    await jobs.run(few, { results: at('processes'), parallel: 2 });
    deepStrictEqual(await filesIn(at('processes')), await filesIn(at('alone')));

    await mkdir(at('blocked', 'parts', 'parameters.a=-0.4375', 'result.json'), { recursive: true }); // no file can take that name
    await rejects(jobs.run(few, { results: at('blocked'), keepGoing: true }), { code: 'ERR_WARPLOOM_FILE', message: /a=-0\.4375.*result\.json/ });
    deepStrictEqual((await jobs.items(few, { results: at('blocked') })).map(({ state }) => state),
      few.items.map(({ name }) => (name.endsWith('=-0.4375') ? 'begun' : 'finished')));
  });

  it('the command runs them together, and alone where that is asked for', async () => {
    await writeFile(at('job.json'), JSON.stringify(growth('cli', values(3), { until: { steps: 8 }, pictures: true })));
    const run = async (...argv: string[]) => {
      const [out, err] = [new PassThrough(), new PassThrough()];
      const code = await main(['run', at('job.json'), ...argv], { out, err, signal: new AbortController().signal });
      return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
    };
    const together = await run('--results', at('together'), '--json');
    equal(together.code, 0, together.err);
    equal(together.out.match(/together with 2 others/g)?.length, 3);
    equal((await run('--results', at('alone'), '--ensemble', 'no')).code, 0);
    match((await run('--ensemble', 'maybe')).err, /--ensemble takes auto, yes, no/);
    deepStrictEqual(await filesIn(at('together')), await filesIn(at('alone')));
  });
});
