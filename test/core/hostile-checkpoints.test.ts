// Checkpoints with a right checksum and wrong content, of every kind: none is accepted, each is refused in the library's own words,
// and where the one before it is whole, that one is taken with a word.
import { deepStrictEqual, equal, match, ok, rejects, strictEqual } from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadCheckpoint, previousCheckpoint, writeCheckpoint } from '../../lib/core/checkpoint.ts';
import { CheckpointError, WarploomError } from '../../lib/core/errors.ts';
import { formatNpy } from '../../lib/files/npy.ts';
import { checkpointFormat } from '../../lib/jobs/heat-adi/item.ts';
import { heatAdiJobSchema } from '../../lib/jobs/heat-adi/schema.ts';
import { loadJob } from '../../lib/jobs/load.ts';
import type { RunEvent } from '../../lib/jobs/events.ts';
import { runJob } from '../../lib/jobs/runner.ts';
import { euler, heat, kuramotoSivashinsky, restore, type AnySimulation } from '../../lib/swept/index.ts';
import { deviceOf } from '../support/backends.ts';
import { hostileCheckpoints, open, seal } from '../support/hostile-checkpoints.ts';

const device = await deviceOf('cpu');
const small = { n: 11, device };

const simulations: Record<string, () => Promise<AnySimulation>> = {
  heat: () => heat({ ...small, dx: 1, dt: 0.3, diffusivity: 0.5, initial: 'ramp', boundary: { left: 'reflective', right: 'dirichlet' } }),
  'heat, float32, an ensemble of 3': () => heat({ ...small, dx: 1, dt: 0.3, initial: 'ramp', batch: 3, precision: 'float32', boundary: 'periodic' }),
  'kuramoto-sivashinsky': () => kuramotoSivashinsky({ ...small, dx: 0.5, dt: 0.001, initial: { kind: 'noise' } }),
  'euler, an ensemble of 2': () => euler({ ...small, cfl: 0.4, initial: ['sod', 'wave'], batch: 2, boundary: 'reflective', limiter: 'mc' }),
};

const words = (error: unknown): boolean => error instanceof CheckpointError && error.code === 'ERR_WARPLOOM_DAMAGED_FILE'
  && [error.path, error.field, error.expected, error.received, error.remedy].every((part) => part !== '') && error.message.includes(error.field);

describe('hostile checkpoints', function () {
  this.timeout(60_000);
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'warploom-hostile-'));
    path = join(folder, 'run.checkpoint');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** What of the variants is not refused as it should be, and how many there are. */
  const tried = async (file: Buffer, free: readonly string[], load: () => Promise<unknown>): Promise<{ wrong: string[]; count: number }> => {
    const wrong: string[] = [];
    let count = 0;
    for (const { what, file: hostile } of hostileCheckpoints(file, free)) {
      await writeFile(path, hostile);
      const error = await load().then(() => undefined, (thrown: unknown) => thrown);
      // Another kind is refused by the name of what was asked for.
      const kind = what.startsWith('kind =') && error instanceof WarploomError && error.code === 'ERR_WARPLOOM_INVALID_ARGUMENT';
      if (!kind && !words(error)) wrong.push(`${what}: ${error === undefined ? 'accepted' : String(error)}`);
      count += 1;
    }
    return { wrong, count };
  };

  for (const [name, make] of Object.entries(simulations)) {
    it(`${name}: none of 300 and more is accepted, each refusal is typed`, async function () {
      await using simulation = await make();
      await simulation.advance(5);
      await simulation.save(path, { tag: 'mine' });
      const file = await readFile(path);
      const { wrong, count } = await tried(file, ['kind', 'parameters.tag'], () => restore(path, { device, onDamaged: 'refuse' }));
      deepStrictEqual(wrong, []);
      ok(count >= 300, `only ${count}`);
      this.test!.title = `${name}: none of ${count} is accepted, each refusal is typed`;
      await writeFile(path, file);
      await using again = await restore(path, { device, tag: 'mine' });
      strictEqual(again.stepsDone, 5);
    });
  }

  it('the states of one equation are not taken for those of another', async () => {
    for (const make of Object.values(simulations)) {
      await using simulation = await make();
      await simulation.save(path);
      const { header, data } = open(await readFile(path));
      const { setup, ...rest } = header['parameters'] as { setup: { equation: string } };
      for (const equation of ['heat', 'kuramoto-sivashinsky', 'euler']) {
        if (equation === setup.equation) continue;
        await writeFile(path, seal(JSON.stringify({ ...header, parameters: { ...rest, setup: { ...setup, equation } } }), data));
        await rejects(restore(path, { device }), words);
      }
    }
  });

  it('gas of no density or of negative pressure is refused', async () => {
    await using simulation = await simulations['euler, an ensemble of 2']!();
    await simulation.save(path);
    const { header, data } = open(await readFile(path));
    for (const [at, value] of [[0, 0], [3, -1], [33 + 10, 0], [22, 0], [25, -5], [11, 1e30]] as const) {
      const copy = Buffer.from(data);
      copy.writeDoubleLE(value, 8 * at);
      await writeFile(path, seal(JSON.stringify(header), copy));
      await rejects(restore(path, { device }), { code: 'ERR_WARPLOOM_DAMAGED_FILE', field: 'arrays.conserved' });
    }
  });

  const hash = 'a'.repeat(64);
  const adi = heatAdiJobSchema.parse({ kind: 'heat-adi', name: 'x', initial: { file: 'x.npy' }, dt: 1, steps: 6, snapshots: 3 });
  it('heat-adi: none of 200 and more is accepted, each refusal is typed', async function () {
    const format = checkpointFormat(adi, { hash, precision: 'float64', width: 5, height: 4 });
    const parameters = { hash, precision: 'float64' as const, width: 5, height: 4 };
    await writeCheckpoint(path, { kind: format.kind, parameters, step: 4, arrays: { state: new Float64Array(20).fill(1) } });
    const { wrong, count } = await tried(await readFile(path), ['kind'], () => loadCheckpoint(path, format));
    deepStrictEqual(wrong, []);
    ok(count >= 200, `only ${count}`);
    this.test!.title = `heat-adi: none of ${count} is accepted, each refusal is typed`;
    for (const [step, own] of [[3, {}], [0, {}], [8, {}], [4, { width: 4, height: 5 }], [4, { precision: 'float32' }]] as const) {
      const state = 'precision' in own ? new Float32Array(20) : new Float64Array(20);
      await writeCheckpoint(path, { kind: format.kind, parameters: { ...parameters, ...own }, step, arrays: { state } });
      await rejects(loadCheckpoint(path, format), words);
    }
  });

  it('of the last two the older one is taken, with a word, when the newer one is damaged', async () => {
    await using simulation = await simulations['heat']!();
    await simulation.advance(5);
    await simulation.save(path);
    await simulation.advance(2);
    await simulation.save(path);
    deepStrictEqual((await readdir(folder)).sort(), ['run.checkpoint', 'run.checkpoint.previous']);
    const [newer, older] = [await readFile(path), await readFile(previousCheckpoint(path))];
    const stepsOf = async (options = {}): Promise<[number, string[]]> => {
      const said: string[] = [];
      await using found = await restore(path, { device, onDamaged: (error) => said.push(error.field), ...options });
      return [found.stepsDone, said];
    };
    deepStrictEqual(await stepsOf(), [7, []]);
    const flipped = Buffer.from(newer);
    flipped[newer.length - 3]! ^= 4;
    const nan = open(newer);
    for (const [damaged, field] of [
      [flipped, 'checksum'], [newer.subarray(0, 40), 'header'], [newer.subarray(0, newer.length - 1), 'checksum'], [Buffer.alloc(0), 'header'],
      [seal(JSON.stringify({ ...nan.header, step: 8 }), nan.data), 'step'],
    ] as const) {
      await writeFile(path, damaged);
      deepStrictEqual(await stepsOf(), [5, [field]]);
      await rejects(restore(path, { device, onDamaged: 'refuse' }), words);
    }
    const warning = new Promise<NodeJS.ErrnoException>((resolve) => process.once('warning', resolve));
    await using byDefault = await restore(path, { device });
    strictEqual(byDefault.stepsDone, 5);
    equal((await warning).code, 'WARPLOOM_OLDER_CHECKPOINT');
    await writeFile(previousCheckpoint(path), older.subarray(0, 50));
    await rejects(stepsOf(), { code: 'ERR_WARPLOOM_DAMAGED_FILE', path });
    await rm(path);
    await rejects(restore(path, { device }), { argument: 'path' }, 'a deleted one is not brought back');
  });

  for (const [name, content] of Object.entries({
    'heat-adi': { kind: 'heat-adi', initial: { file: 'grid.npy' }, dt: 0.5, steps: 60, snapshots: 60 },
    simulate: { kind: 'simulate', equation: 'heat', n: 20, dx: 1, dt: 0.3, initial: { file: 'grid.npy' }, until: { steps: 60 }, snapshots: 60 },
  })) {
    it(`${name} jobs continue from the older one and say so; --again starts anew`, async () => {
      const data = Float64Array.from({ length: 20 }, (_, i) => i * i);
      await writeFile(join(folder, 'grid.npy'), formatNpy({ type: 'float64', shape: name === 'simulate' ? [20] : [4, 5], data }));
      await writeFile(join(folder, 'job.json'), JSON.stringify({ name: 'job', device: { backend: 'cpu' }, ...content }));
      const loaded = await loadJob(join(folder, 'job.json'));
      const [results, item] = [join(folder, 'results'), loaded.items[0]!];
      const state = join(results, 'job', 'all', 'state.checkpoint');
      const events = async (again: boolean, stopAt = Infinity): Promise<RunEvent[]> => {
        const seen: RunEvent[] = [];
        const stop = new AbortController();
        await runJob(loaded, { results, again, signal: stop.signal, onProgress: (event) => {
          seen.push(event);
          if (event.event === 'progress' && event.done >= stopAt) stop.abort(new Error('stopped'));
        } }).catch((error: unknown) => { if (!stop.signal.aborted) throw error; });
        return seen;
      };
      await events(false, name === 'simulate' ? Infinity : 30);
      if (name === 'simulate') { // it saves by the clock: two saves are made here, where all snapshots stand
        await rm(join(results, 'job', 'all', 'result.json'));
        await using made = await heat({ n: 20, dx: 1, dt: 0.3, initial: Float64Array.from({ length: 20 }, (_, i) => i * i), device });
        for (const steps of [4, 3]) {
          await made.advance(steps);
          await made.save(state, { tag: item.hash });
        }
      }
      ok((await readdir(join(results, 'job', 'all'))).includes('state.checkpoint.previous'));
      const whole = await readFile(state);
      await writeFile(state, whole.subarray(0, whole.length - 5));
      const seen = await events(false);
      const warnings = seen.filter((event) => event.event === 'warning');
      equal(warnings.length, 1);
      match(warnings[0]!.note, /state\.checkpoint is not a whole checkpoint.*The previous checkpoint was used instead/);
      const result = JSON.parse(await readFile(join(results, 'job', 'all', 'result.json'), 'utf8')) as { notes: string[] };
      match(result.notes.join(), /The previous checkpoint was used instead/);
      ok(!(await readdir(join(results, 'job', 'all'))).includes('state.checkpoint.previous'), 'a finished item needs no older one');
      const first = seen.find((event) => event.event === 'progress');
      ok(first!.done > 1, `continued at ${first!.done}`);
      const final = name === 'simulate' ? join('result.zarr', 'u', 'c', '0', '0') : 'final.npy';
      const continued = await readFile(join(results, 'job', 'all', final));
      await writeFile(state, 'rubbish');
      deepStrictEqual((await events(true)).filter(({ event }) => event === 'warning'), []);
      deepStrictEqual(await readFile(join(results, 'job', 'all', final)), continued);
    });
  }
});
