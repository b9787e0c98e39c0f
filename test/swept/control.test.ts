// Exact steps and times, snapshots, abort, progress, order of calls, disposal, values that are not finite, ensembles.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { DisposedError, InstabilityError } from '../../lib/core/errors.ts';
import { openDevice, type Device } from '../../lib/core/device.ts';
import { euler, heat, kuramotoSivashinsky, type HeatSimulation, type RealArray, type StabilityWarning } from '../../lib/swept/index.ts';
import { Clock } from '../../lib/core/clock.ts';
import { deviceOf, eachBackend } from '../support/backends.ts';
import { pick, sameBits } from '../support/simulating.ts';

const rod = async (device: Device, n = 33): Promise<HeatSimulation> => heat({ n, dx: 1, dt: 0.25, initial: 'parabola', device });

/** A rod whose advance takes long enough to meddle with: many segments. */
const longRod = async (device: Device): Promise<HeatSimulation> => heat({ n: 200_001, dx: 1, dt: 0.25, initial: 'ramp', device });

describe('swept simulations', function () {
  this.timeout(60_000);
  eachBackend((backend, device) => {
    it('reach a time exactly: whole steps, then one shortened step', async () => {
      await using simulation = await rod(await device());
      await simulation.advanceTo(2.5);
      deepStrictEqual([simulation.stepsDone, simulation.time], [10, 2.5]);
      await simulation.advanceTo(2.6);
      deepStrictEqual([simulation.stepsDone, simulation.time], [11, 2.6]);
      await simulation.advance(2);
      deepStrictEqual([simulation.stepsDone, simulation.time], [13, 3.1]);
      await simulation.advanceTo(3.1);
      strictEqual(simulation.stepsDone, 13);
      await rejects(simulation.advanceTo(3), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'time' });
      // The shortened step is a step of that length, to the bit.
      await using other = await heat({ n: 33, dx: 1, dt: 0.1, initial: 'parabola', device: await device() });
      await using same = await heat({ n: 33, dx: 1, dt: 0.25, initial: 'parabola', device: await device() });
      await other.advance(1);
      await same.advanceTo(0.1);
      sameBits(await same.read(), await other.read(), 'one step of 0.1');
    });

    it('give snapshots at exact steps and times, and nothing ahead when the loop ends early', async () => {
      await using simulation = await rod(await device());
      const seen: [number, number][] = [];
      for await (const { step, time, state } of simulation.snapshots({ steps: [0, 3, 3, 8] })) {
        seen.push([step, time]);
        strictEqual(state.length, 33);
      }
      for await (const { step, time } of simulation.snapshots({ times: [2, 2.1, 4] })) seen.push([step, time]);
      for await (const { step, time } of simulation.snapshots({ every: 5, until: 29 })) seen.push([step, time]);
      deepStrictEqual(seen.map(([step]) => step), [0, 3, 3, 8, 8, 9, 17, 22, 27, 29]);
      deepStrictEqual(seen.slice(0, 7).map(([, time]) => time), [0, 0.75, 0.75, 2, 2, 2.1, 4]);
      for await (const { step } of simulation.snapshots({ every: 1 })) if (step === 31) break;
      strictEqual(simulation.stepsDone, 31);
      await rejects(simulation.snapshots({ steps: [30] }).next(), { argument: 'steps' });
      // What stops do to a state: nothing.
      await using straight = await rod(await device());
      await straight.advance(8);
      await using stopped = await rod(await device());
      for await (const { step } of stopped.snapshots({ every: 3, until: 8 })) ok(step <= 8);
      sameBits(await stopped.read(), await straight.read(), '8 steps');
    });

    it('advance an ensemble as the single problems, bit for bit', async () => {
      const n = pick(backend, 97, 11);
      const steps = pick(backend, 50, 4);
      const kinds = ['sod', { kind: 'wave', waves: 1 }, { kind: 'wave', waves: 2, amplitude: 0.1 }] as const;
      const options = { n, dt: 0.2 / n, boundary: 'outflow', device: await device() } as const;
      await using all = await euler({ ...options, initial: kinds, batch: 3 });
      await all.advance(steps);
      const { density, conserved } = await all.read();
      for (const [b, initial] of kinds.entries()) {
        await using one = await euler({ ...options, initial });
        await one.advance(steps);
        const alone = await one.read();
        sameBits(conserved.subarray(3 * b * n, 3 * (b + 1) * n), alone.conserved, `problem ${b}`);
        sameBits(density.subarray(b * n, (b + 1) * n), alone.density, `density ${b}`);
        deepStrictEqual(await all.totals(b), await one.totals());
      }
      const [velocity, pressure] = [density.map(() => 0.1), density.map((value) => value + 1)];
      await using fields = await euler({ ...options, initial: { density, velocity, pressure }, batch: 3 });
      const listed = [0, 1, 2].map((b) => Object.fromEntries(Object.entries({ density, velocity, pressure })
        .map(([name, values]) => [name, values.subarray(b * n, (b + 1) * n)])) as { density: RealArray; velocity: RealArray; pressure: RealArray });
      await using list = await euler({ ...options, initial: listed, batch: 3 });
      sameBits((await fields.read()).conserved, (await list.read()).conserved, 'arrays of all problems, or one after the other');
      const waves = Float64Array.from({ length: 2 * n }, (_, i) => Math.sin(i));
      await using flames = await kuramotoSivashinsky({ n, dx: 1, dt: 0.05, initial: waves, batch: 2, device: await device() });
      await using second = await kuramotoSivashinsky({ n, dx: 1, dt: 0.05, initial: waves.subarray(n), device: await device() });
      for (const flame of [flames, second]) await flame.advance(steps);
      sameBits((await flames.read()).subarray(n), await second.read(), 'second flame');
    });

    it('name the first step whose values are not finite, and keep the state before it', async () => {
      const n = pick(backend, 64, 8);
      const unstable = { n, dx: 1, dt: 3, initial: { kind: 'cosine', mode: n - 1 }, onUnstable: () => undefined, device: await device() } as const;
      await using counted = await heat({ ...unstable, precision: 'float32' });
      // The shortest mode grows by |1 - 4 Fo| = 11 per step from 1: beyond 3.4e38 after 37 steps.
      const error = await counted.advance(1000).catch((thrown: unknown) => thrown);
      ok(error instanceof InstabilityError && error.code === 'ERR_WARPLOOM_UNSTABLE', String(error));
      deepStrictEqual([error.step, error.time, counted.stepsDone, counted.time], [38, 114, 37, 111]);
      ok((await counted.read()).every(Number.isFinite));
      await using stepped = await heat({ ...unstable, precision: 'float32' });
      for (let k = 0; k < 37; k += 1) await stepped.advance(1);
      sameBits(await stepped.read(), await counted.read(), 'the state before');
      await rejects(stepped.advance(1), { step: 38, time: 114 });
      await rejects(counted.advance(5), { step: 38, problem: 0 });
      const initial = [{ kind: 'cosine', mode: 0 }, { kind: 'cosine', mode: n - 1 }, { kind: 'cosine', mode: 0 }] as const;
      await using ensemble = await heat({ ...unstable, precision: 'float32', batch: 3, initial });
      await rejects(ensemble.advance(100), { step: 38, problem: 1, message: /in problem 1/ });
    });
  });

  it('end an aborted advance at a finished segment and go on from there', async () => {
    const device = await deviceOf('cpu');
    await using simulation = await longRod(device);
    const stop = new AbortController();
    const seen: number[] = [];
    const advance = simulation.advance(1e6, {
      signal: stop.signal,
      onProgress: (done, total) => {
        strictEqual(total, 1e6);
        seen.push(done);
        if (seen.length === 3) setTimeout(() => stop.abort(new Error('enough')), 1);
      },
    });
    const waiting = simulation.advance(1, { signal: stop.signal });
    await rejects(advance, /enough/);
    await rejects(waiting, /enough/);
    const { stepsDone } = simulation;
    strictEqual(stepsDone, seen.at(-1));
    ok(seen.every((done, i) => i === 0 || done > seen[i - 1]!), `${seen}`);
    await simulation.advance(7);
    await using straight = await longRod(device);
    await straight.advance(stepsDone + 7);
    sameBits(await simulation.read(), await straight.read(), 'after the abort');
    strictEqual(simulation.info.steps, stepsDone + 7);
    ok(simulation.info.deviceSeconds > 0 && simulation.info.pointUpdatesPerSecond > 0);
    const [busy, late] = [simulation.advance(50), simulation.advance(1, { signal: AbortSignal.abort(new Error('before')) })];
    await rejects(late, /before/);
    await busy;
    await rejects(simulation.advance(1, { onProgress: () => { throw new Error('from progress'); } }), /from progress/);
  });

  it('carry calls out in the order they were made', async () => {
    await using simulation = await rod(await deviceOf('cpu'));
    const early = simulation.read();
    const [, middle] = [simulation.advance(10), simulation.read()];
    const late = simulation.advance(10).then(() => simulation.read());
    await using straight = await rod(await deviceOf('cpu'));
    sameBits(await early, await straight.read(), 'before');
    await straight.advance(10);
    sameBits(await middle, await straight.read(), 'between');
    await straight.advance(10);
    sameBits(await late, await straight.read(), 'after');
  });

  it('can be disposed at any moment', async () => {
    await using device = await openDevice({ backend: 'cpu' });
    const simulation = await longRod(device);
    const running = simulation.advance(1e6);
    const waiting = simulation.read();
    await new Promise((resolve) => setTimeout(resolve, 30));
    simulation.dispose();
    await rejects(running, DisposedError);
    strictEqual((await waiting).length, 200_001);
    await rejects(simulation.advance(1), { code: 'ERR_WARPLOOM_DISPOSED' });
    await rejects(simulation.read(), DisposedError);
    await rejects(simulation.snapshots({ every: 1 }).next(), DisposedError);
    simulation.dispose();
    await simulation[Symbol.asyncDispose]();
    await device.trim(); // frees what was released
    strictEqual(device.memory().inUseBytes, 0);
    const read = async (): Promise<unknown> => {
      await using short = await rod(device);
      return short.read();
    };
    strictEqual((await read() as Float64Array).length, 33);
    await device.trim(); // frees what was released
    strictEqual(device.memory().inUseBytes, 0);
  });

  it('refuse an unstable time step, or warn when asked to', async () => {
    const device = await deviceOf('cpu');
    const options = { n: 9, dx: 1, initial: 'ramp', device } as const;
    await rejects(heat({ ...options, dt: 0.6 }), { argument: 'dt', message: /dt <= 0\.5.*onUnstable/ });
    await rejects(heat({ ...options, fourier: 0.6 }), { argument: 'fourier' });
    await rejects(kuramotoSivashinsky({ n: 64, dx: 0.5, dt: 8.4e-3, initial: 'paper', device }), { argument: 'dt', message: /0\.0083333/ });
    await using edge = await kuramotoSivashinsky({ n: 64, dx: 0.5, dt: 1 / 120, initial: 'paper', device });
    strictEqual(edge.dt, 1 / 120);
    const told: StabilityWarning[] = [];
    await using risky = await heat({ ...options, dt: 0.6, onUnstable: (warning) => void told.push(warning) });
    strictEqual(risky.dt, 0.6);
    deepStrictEqual(told.map(({ argument, dt, limit }) => [argument, dt, limit]), [['dt', 0.6, 0.5]]);
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
    await using loud = await heat({ ...options, dt: 0.6, onUnstable: 'warn' });
    strictEqual(loud.dt, 0.6);
    ok(/unstable/.test((await warned).message));
  });

  it('keep time without drift', () => {
    const clock = new Clock(0.1);
    clock.step += 3;
    deepStrictEqual(clock.plan(1), { whole: 7, rest: 0, target: 1 });
    clock.step += 7;
    clock.arrived(1);
    strictEqual(clock.time, 1);
    const { whole, rest } = clock.plan(1.25);
    strictEqual(whole, 2);
    ok(Math.abs(rest - 0.05) < 1e-15);
    strictEqual(clock.plan(1e9 + 1).whole, 1e10);
    deepStrictEqual(clock.plan(1), { whole: 0, rest: 0, target: 1 });
  });
});
