// Jobs from a program: loading, how far items are, states while a job runs, and pausing.
import { deepStrictEqual, equal, ok, rejects, strictEqual } from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jobs } from '../../lib/index.ts';
import { frameOf } from '../../lib/jobs/frame.ts';
import { jobSchema, kindOf } from '../../lib/jobs/kinds/index.ts';

describe('jobs that a program follows', function () {
  this.timeout(60_000);
  let results = '';
  const rod = { kind: 'simulate', name: 'rod', equation: 'heat', n: 301, fourier: 0.4, initial: 'ramp', until: { steps: 60 }, snapshots: 3 } as const;
  beforeEach(async () => { results = await mkdtemp(join(tmpdir(), 'warploom-follow-')); });
  afterEach(() => rm(results, { recursive: true, force: true }));

  it('a loaded job runs as often as wanted, and its items say how far they are', async () => {
    const job = await jobs.load({ ...rod, sweep: { n: [5, 9], precision: ['float32', 'float64'] } }, { backend: 'cpu' });
    deepStrictEqual(job.items.map(({ values }) => values), [
      { n: 5, precision: 'float32' }, { n: 5, precision: 'float64' }, { n: 9, precision: 'float32' }, { n: 9, precision: 'float64' },
    ]);
    deepStrictEqual((await jobs.items(job, { results })).map(({ state }) => state), ['waiting', 'waiting', 'waiting', 'waiting']);
    const controller = new AbortController();
    const stopped = jobs.run(job, {
      results, signal: controller.signal, onProgress: ({ event, item }) => {
        if (event === 'finished' && item === 'n=5,precision=float64') controller.abort(new Error('enough'));
      },
    });
    await rejects(stopped, /enough/);
    const then = await jobs.items(job, { results });
    deepStrictEqual(then.map(({ state, result }) => [state, result?.item]),
      [['finished', 'n=5,precision=float32'], ['finished', 'n=5,precision=float64'], ['waiting', undefined], ['waiting', undefined]]);
    const events: string[] = [];
    const all = await jobs.run(job, { results, onProgress: ({ event }) => events.push(event) });
    deepStrictEqual(all.map(({ hash }) => hash), job.items.map(({ hash }) => hash));
    equal(events.filter((event) => event === 'skipped').length, 2);
    await rejects(jobs.run(job, { results, backend: 'cpu' }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'backend' });
    await rejects(jobs.items(5 as never), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'job' });
  });

  it('frames have the totals that an equation conserves, or those of its fields', async () => {
    const totals = async (job: object): Promise<jobs.Frame[]> => {
      const frames: jobs.Frame[] = [];
      await jobs.run({ name: 'totals', snapshots: 3, until: { steps: 6 }, ...job } as unknown as jobs.JobDescription, {
        results, backend: 'cpu', again: true, frames: 64, onProgress: (event) => { if (event.event === 'frame') frames.push(event.frame); },
      });
      equal(frames.length, 4);
      return frames;
    };
    const near = (a: number | null | undefined, b: number, tolerance = 1e-12): void => {
      ok(Math.abs(a! - b) <= tolerance * Math.max(1, Math.abs(b)), `${a} and ${b}`);
    };
    const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
    // A wave: what is drawn is everything, so its energy can be summed here.
    for (const boundary of ['periodic', 'mirror']) {
      const wave = await totals({ kind: 'stencil', equation: 'wave', shape: [20], spacing: 0.5, dt: 0.05, parameters: { c: 2 }, boundary,
        initial: { u: '(x) => Math.cos(2 * Math.PI * x / 10)', v: 0 } });
      for (const { fields, totals: own } of wave) {
        const [u, v] = [fields['u'] as number[], fields['v'] as number[]];
        const slopes = u.map((value, i) => (i < 19 ? u[i + 1]! - value : boundary === 'periodic' ? u[0]! - value : 0) / 0.5);
        near(own!['totalEnergy'], 0.25 * (sum(v.map((value) => value * value)) + 4 * sum(slopes.map((slope) => slope * slope))));
        near(own!['totalEnergy'], wave[0]!.totals!['totalEnergy']!, 1e-6);
      }
    }
    // The others of states made here.
    const made = (job: object, extents: readonly number[], fields: Record<string, (cell: number) => number>): Readonly<Record<string, number>> => {
      const parsed = jobSchema.parse({ name: 'totals', kind: 'stencil', ...job });
      const axes = extents.map((extent, axis) => ['xyz'[axis]!, Array.from({ length: extent }, (_, i) => 0.5 * i)] as const);
      const cells = extents.reduce((a, b) => a * b, 1);
      const values = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, Float64Array.from({ length: cells }, (_, i) => value(i))]));
      return kindOf(parsed).totals!(parsed, { step: 0, time: 0, axes, fields: values });
    };
    const plane = [4, 6];
    const water = made({ equation: 'shallow-water', parameters: { g: 10 } }, plane, { h: () => 2, hu: () => 1, hv: () => 3 });
    deepStrictEqual(water, { totalMass: 12, totalEnergy: 6 * (0.5 * 10 * 4 + 0.5 * 10 / 2) });
    deepStrictEqual(made({ equation: 'euler' }, plane, { rho: (i) => i, mx: () => 9, my: () => 9, E: () => 3 }), { totalMass: (23 * 12) / 4, totalEnergy: 18 });
    const light = { Ex: () => 0, Ey: () => 0, Ez: () => 2, Hx: () => 1, Hy: () => 0, Hz: () => 0 };
    deepStrictEqual(made({ equation: 'maxwell' }, [3, 4, 5], light), { totalEnergy: (0.5 * (4 + 1) * 60) / 8 });
    deepStrictEqual(made({ equation: 'maxwell', coefficients: { eps: 3 } }, plane, { Ez: () => 2, Hx: () => 1, Hy: () => 0 }), { totalEnergy: 6 * 0.5 * (3 * 4 + 1) });
    deepStrictEqual(made({ equation: 'gray-scott' }, plane, { u: () => 1, v: (i) => i }), { totalOfU: 6, totalOfV: 69 });
    const slope = made({ equation: 'wave', parameters: { c: 2 }, boundary: 'mirror' }, plane, { u: (i) => i % 6, v: () => 0 });
    deepStrictEqual(slope, { totalEnergy: (0.5 * 4 * 20 * 4) / 4 });
    deepStrictEqual(made({ equation: 'burgers' }, [1], { u: () => 3 }), { totalOfU: 3, totalEnergy: 4.5 });
    const tube = { kind: 'simulate', equation: 'euler', n: 12, until: { steps: 1 } };
    const gas = { density: () => 2, velocity: () => 1, pressure: () => 1, energy: () => 5 };
    deepStrictEqual(made(tube, [12], gas), { totalMass: 12, totalEnergy: 30 });
    const rod = await totals({ kind: 'simulate', equation: 'heat', n: 12, dx: 0.5, initial: { kind: 'cosine', mode: 0 }, dt: 0.01, boundary: 'reflective' });
    near(rod[3]!.totals!['totalOfU'], 6);
  });

  it('frames hold the states of all snapshots, thinned out', async () => {
    const frames: jobs.Frame[] = [];
    await jobs.run(rod, {
      results, backend: 'cpu', frames: 31, onProgress: (event) => { if (event.event === 'frame') frames.push(event.frame); },
    });
    deepStrictEqual(frames.map(({ step }) => step), [0, 20, 40, 60]);
    const [first, , , last] = frames as [jobs.Frame, jobs.Frame, jobs.Frame, jobs.Frame];
    equal(first.axes.length, 1);
    equal(first.axes[0]!.values.length, 31);
    ok(first.fields['u']!.every((u, i) => Math.abs(u! - 100 * (1 - first.axes[0]!.values[i]! / first.axes[0]!.values.at(-1)!)) < 1e-9), 'a ramp');
    ok(last.fields['u']![0]! < first.fields['u']![0]!, 'heat has left the warm end');
    const still: string[] = [];
    await jobs.run({ ...rod, name: 'still' }, { results, backend: 'cpu', onProgress: ({ event }) => still.push(event) });
    ok(!still.includes('frame'));
  });

  it('equations of two dimensions show maps, volumes the slice through the middle', async () => {
    const cells = (extents: number[]) => Float64Array.from({ length: extents.reduce((a, b) => a * b) }, (_, i) => i);
    for (const extents of [[1], [7], [5, 4], [1, 9], [3, 4, 5], [2, 2, 1]]) {
      for (const most of [2, 3, 100]) {
        const axes = extents.map((extent, axis) => [`axis${axis}`, Array.from({ length: extent }, (_, i) => 10 * axis + i)] as const);
        const frame = frameOf({ step: 1, time: 2, axes, fields: { u: cells(extents) } }, most);
        const [rows, columns] = [frame.axes[0]!.values, frame.axes[1]?.values ?? [10]];
        const expected = rows.flatMap((row) => columns.map((column) => {
          const places = [row, column - 10, Math.floor((extents[2] ?? 1) / 2)].slice(0, extents.length);
          return places.reduce((sum, place, axis) => sum * extents[axis]! + place, 0);
        }));
        deepStrictEqual(frame.fields['u'], expected);
        ok(frame.axes.every(({ values }, axis) => values.length === Math.min(most, extents[axis]!)));
        ok(frame.axes.every(({ values }, axis) => extents[axis] === 1 || values.at(-1) === 10 * axis + extents[axis]! - 1));
      }
    }
    const nothing = frameOf({ step: 0, time: 0, axes: [['x', [0, 1]]], fields: { u: [NaN, Infinity] } }, 5);
    deepStrictEqual(nothing.fields['u'], [null, null]);
    const shapes: string[] = [];
    await jobs.run({
      kind: 'stencil', name: 'plate', equation: 'heat', shape: [8, 6], dt: 0.1, until: { steps: 4 }, snapshots: 2, parameters: { D: 1 },
      initial: { u: '(x, y) => x * y' },
    }, { results, backend: 'cpu', frames: 5, onProgress: (event) => {
      if (event.event === 'frame') shapes.push(event.frame.axes.map(({ name, values }) => name + String(values.length)).join(' '));
    } });
    deepStrictEqual(shapes, ['x5 y5', 'x5 y5', 'x5 y5']);
  });

  it('aborting pauses: the run that follows goes on from there and ends with the same bytes', async () => {
    const long = { ...rod, until: { steps: 3000 } };
    await jobs.run({ ...long, name: 'whole' }, { results, backend: 'cpu' });
    const controller = new AbortController();
    const first = jobs.run(long, {
      results, backend: 'cpu', signal: controller.signal, frames: 2,
      onProgress: (event) => { if (event.event === 'frame' && event.frame.step === 1000) controller.abort(new Error('pause')); },
    });
    await rejects(first, /pause/);
    equal((await jobs.items(long, { results, backend: 'cpu' }))[0]!.state, 'begun');
    const steps: number[] = [];
    await jobs.run(long, { results, backend: 'cpu', frames: 2, onProgress: (event) => { if (event.event === 'frame') steps.push(event.frame.step); } });
    ok(!steps.includes(0) && steps.includes(3000), `went on: ${steps.join()}`);
    const chunk = (name: string) => readFile(join(results, name, 'all/result.zarr/u/c/0/0'));
    ok((await chunk('rod')).equals(await chunk('whole')));
  });

  it('schemas are those of the job files', async () => {
    const schema = await jobs.schema();
    strictEqual(schema.parse(rod).kind, 'simulate');
    ok(!schema.safeParse({ ...rod, n: 'many' }).success);
  });
});
