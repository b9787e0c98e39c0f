// Restarts: bit for bit on any device, refused when damaged or foreign, and never in the way of an older good one.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeCheckpoint } from '../../lib/core/checkpoint.ts';
import { euler, heat, kuramotoSivashinsky, restore, type AnySimulation, type GasFields, type RealArray } from '../../lib/swept/index.ts';
import { deviceOf, eachBackend, hasBackend, skipCases, type BackendName } from '../support/backends.ts';
import { pick, sameBits } from '../support/simulating.ts';

function makers(backend: BackendName): Record<string, () => Promise<AnySimulation>> {
  const n = pick(backend, 201, 13);
  const device = () => deviceOf(backend);
  return {
    heat: async () => heat({ n, dx: 1, dt: 0.3, initial: 'ramp', boundary: { left: 'reflective', right: 'dirichlet' }, precision: 'float32', device: await device() }),
    'kuramoto-sivashinsky': async () => kuramotoSivashinsky({ n, dx: 0.5, dt: 0.005, initial: 'paper', device: await device() }),
    euler: async () => euler({ n, cfl: 0.4, initial: ['sod', 'wave'], batch: 2, boundary: 'reflective', device: await device() }),
  };
}

async function stateOf(simulation: AnySimulation): Promise<RealArray> {
  const state: RealArray | GasFields = await simulation.read();
  return 'conserved' in state ? state.conserved : state;
}

describe('swept checkpoints', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'warploom-swept-'));
    path = join(folder, 'run.checkpoint');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  eachBackend((backend, device) => {
    for (const [name, make] of Object.entries(makers(backend))) {
      it(`${name}: 2 N steps = N steps, a checkpoint and N steps, to the bit`, async () => {
        const steps = pick(backend, 75, 3);
        await using whole = await make();
        await whole.advance(2 * steps);
        await using first = await make();
        await first.advance(steps);
        await first.save(path);
        await using second = await restore(path, { device: await device() });
        deepStrictEqual([second.stepsDone, second.time], [first.stepsDone, first.time]);
        deepStrictEqual(second.setup, first.setup);
        await second.advance(steps);
        deepStrictEqual([second.stepsDone, second.time], [whole.stepsDone, whole.time]);
        sameBits(await stateOf(second), await stateOf(whole), name);
      });
    }
  });

  it('go on on another device, to the bit', async () => {
    for (const backend of ['simt', 'cuda'] as const) {
      if (!hasBackend(backend)) {
        skipCases(`${backend}: not here`);
        continue;
      }
      for (const [name, make] of Object.entries(makers('simt'))) { // small enough for the shim
        await using first = await make();
        await first.advance(2);
        await first.save(path);
        await using here = await restore(path, { device: await deviceOf('cpu') });
        await using there = await restore(path, { device: await deviceOf(backend) });
        for (const simulation of [here, there]) await simulation.advance(4);
        sameBits(await stateOf(there), await stateOf(here), `${name} on ${backend}`);
        deepStrictEqual(await there.totals(), await here.totals());
      }
    }
  });

  it('go on with the times they were at, after shortened steps too', async () => {
    const make = makers('cpu')['heat']!;
    await using whole = await make();
    await using first = await make();
    for (const simulation of [whole, first]) await simulation.advanceTo(1);
    await first.save(path);
    await using second = await restore(path, { device: await deviceOf('cpu'), parameters: { equation: 'heat', n: 201 } });
    for (const simulation of [whole, second]) await simulation.advanceTo(2.05);
    deepStrictEqual([second.stepsDone, second.time], [whole.stepsDone, 2.05]);
    sameBits(await stateOf(second), await stateOf(whole), 'after both shortened steps');
  });

  it('are refused when damaged, foreign, missing or of other parameters, each by name', async () => {
    const device = await deviceOf('cpu');
    await using simulation = await makers('cpu')['euler']!();
    await simulation.save(path, { tag: 'one' });
    const whole = await readFile(path);
    for (const at of [0, 30, 200, whole.length - 1]) {
      const damaged = Buffer.from(whole);
      damaged[at]! ^= 16;
      await writeFile(join(folder, 'damaged'), damaged);
      await rejects(restore(join(folder, 'damaged'), { device }), { code: 'ERR_WARPLOOM_DAMAGED_FILE' });
    }
    await writeFile(join(folder, 'damaged'), whole.subarray(0, whole.length - 8));
    await rejects(restore(join(folder, 'damaged'), { device }), { code: 'ERR_WARPLOOM_DAMAGED_FILE' });
    for (const [parameters, argument] of [
      [{ equation: 'heat' }, 'parameters.equation'], [{ n: 200 }, 'parameters.n'], [{ dt: 1 }, 'parameters.dt'], [{ limiter: 'mc' }, 'parameters.limiter'],
      [{ left: 'outflow' }, 'parameters.left'], [{ steps: 3 }, 'parameters.steps'],
    ] as const) await rejects(restore(path, { device, parameters: parameters as object }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
    await rejects(restore(path, { device, tag: 'two' }), { argument: 'tag' });
    await rejects(restore(join(folder, 'absent'), { device }), { argument: 'path' });
    await writeCheckpoint(join(folder, 'other'), { kind: 'heat-adi', parameters: {}, step: 1, arrays: {} });
    await rejects(restore(join(folder, 'other'), { device }), { argument: 'path', message: /heat-adi/ });
    await using good = await restore(path, { device, tag: 'one' });
    strictEqual(good.stepsDone, 0);
  });

  it('leave the good one whole when a later one cannot be written', async () => {
    await using simulation = await makers('cpu')['heat']!();
    await simulation.advance(3);
    await simulation.save(path);
    const before = await readFile(path);
    await simulation.advance(1);
    await rejects(simulation.save(join(folder, 'absent', 'x')), { code: 'ERR_WARPLOOM_FILE', systemCode: 'ENOENT' });
    await rejects(simulation.save(folder));
    deepStrictEqual(await readFile(path), before);
    deepStrictEqual(await readdir(folder), ['run.checkpoint']);
    await using again = await restore(path, { device: await deviceOf('cpu') });
    strictEqual(again.stepsDone, 3);
    ok((await stateOf(again)).every(Number.isFinite));
  });
});
