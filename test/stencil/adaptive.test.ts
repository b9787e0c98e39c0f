// Steps of varying length: the same on all back ends, as long as the numbers allow, exact stops, restarts, ensembles, failures.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ArgumentError, FunctionError, InstabilityError, openDevice, stencil, type Device } from '../../lib/index.ts';
import { joined, same } from './support.ts';

type Dimensions = 1 | 2 | 3;
type Dt = stencil.AdaptiveStep;

const speeds: readonly stencil.Speed<'u' | 'v', 'nu', 'c'>[] = [
  ({ u, v }, _, { x, t }) => Math.abs(u()) + v() * v() + 0.1 * x + t, ({ u, c }, _, { x }) => ({ x: u(), y: -2 * c() * x }),
  ({ u, v }) => ({ x: u(), y: v(), z: 0.5 }),
];

/** Waves that carry themselves, diffuse, and are driven: speed and diffusivity depend on fields, a coefficient, place and time. */
const flow = (dimensions: Dimensions, method: stencil.Method) => stencil.define({
  dimensions, fields: ['u', 'v'], parameters: ['nu'], coefficients: ['c'], method, boundary: 'mirror',
  rate: ({ u, v, c }, { nu }, { dx, laplacian, t }) => ({
    u: nu * laplacian(u) - 0.25 * c() * u() * v() / dx + 0.1 * t, v: nu * laplacian(v) + u() - 0.3 * v() * v() * v(),
  }),
  speed: speeds[dimensions - 1]!,
  diffusivity: ({ c }, { nu }) => nu * c(),
});
const shapes = [[], [9], [5, 7], [3, 1, 4]] as const;
const optionsFor = (dimensions: Dimensions, more: object = {}): never => {
  const shape = shapes[dimensions];
  return {
    shape, spacing: [0.2, 0.1, 0.3].slice(0, dimensions), dt: { cfl: 0.4, diffusion: 0.3 } satisfies Dt, parameters: { nu: 0.01 },
    coefficients: { c: (x: number) => 1 + x }, initial: { u: (x: number, y = 0) => Math.sin(3 * x) + y, v: (x: number) => Math.cos(x) },
    backend: 'wasm', ...more,
  } as never;
};

async function states(dimensions: Dimensions, method: stencil.Method, more: object): Promise<{ times: number[]; state: stencil.RealArray }> {
  await using run = await stencil.simulate(flow(dimensions, method), optionsFor(dimensions, more));
  const times: number[] = [];
  await run.advance(2);
  times.push(run.time, run.dt);
  await run.advanceTo(0.3);
  await run.advance(1);
  times.push(run.time, run.stepsDone);
  return { times, state: joined(await run.state()) };
}

/** 1 / the longest step, as the numbers are defined. */
function rateByHand(state: stencil.State<'u' | 'v'>): number {
  let most = 0;
  for (let i = 0; i < 5; i += 1) {
    for (let j = 0; j < 7; j += 1) {
      const x = (i + 0.5) * 0.2;
      const [u, c] = [state.u[i * 7 + j]!, 1 + x];
      const waves = Math.abs(u) / 0.2 + Math.abs(-2 * c * x) / 0.1;
      most = Math.max(most, waves / 0.4, (0.01 * c * (1 / 0.2 ** 2 + 1 / 0.1 ** 2)) / 0.3);
    }
  }
  return most;
}

describe('stencil: steps of varying length', function () {
  this.timeout(60_000);
  let folder = '';
  let device: Device;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'stencil-'));
    device = await openDevice({ backend: 'simt' });
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    await device[Symbol.asyncDispose]();
  });

  it('are the same to the bit on all back ends, for all methods, in one to three dimensions', async () => {
    for (const dimensions of [1, 2, 3] as const) {
      for (const [at, method] of stencil.methods.entries()) {
        const plain = await states(dimensions, method, { backend: 'javascript' });
        // Compiling for the shim takes half a second.
        const onShim = (at + dimensions) % 5 === 0 ? [{ backend: 'device', device }] : [];
        for (const more of [{ backend: 'interpreter' }, {}, ...onShim]) {
          const made = await states(dimensions, method, more);
          assert.deepEqual(made.times, plain.times, `${dimensions} ${method} ${JSON.stringify(more)}`);
          same(made.state, plain.state, `${dimensions} ${method}`);
        }
      }
    }
    const [a, b, c] = await Promise.all([{ backend: 'interpreter' }, {}, { backend: 'device', device }].map((more) =>
      states(2, 'ssprk2', { ...more, precision: 'float32' })));
    assert.deepEqual([b!.times, c!.times], [a!.times, a!.times]);
    same(b!.state, a!.state, 'float32, wasm');
    same(c!.state, a!.state, 'float32, simt');
  });

  it('are as long as both numbers allow', async () => {
    await using run = await stencil.simulate(flow(2, 'ssprk3'), optionsFor(2));
    assert.ok(Number.isNaN(run.dt));
    for (let step = 0, time = 0; step < 12; step += 1) {
      const wanted = 1 / rateByHand(await run.state());
      await run.advance(1);
      assert.ok(Math.abs(run.dt / wanted - 1) < 1e-14, `step ${step}: ${run.dt}, not ${wanted}`);
      assert.equal(run.time, time + run.dt);
      ({ time } = run);
    }
    await using bounded = await stencil.simulate(flow(2, 'ssprk3'), optionsFor(2, { dt: { cfl: 0.4, diffusion: 0.3, most: 0.001 } }));
    await bounded.advance(5);
    assert.equal(bounded.dt, 0.001);
  });

  it('stop at exact times, and snapshots at steps change nothing', async () => {
    await using run = await stencil.simulate(flow(2, 'rk4'), optionsFor(2, { until: 0.71 }));
    const times: number[] = [];
    for await (const { time } of run.snapshots({ times: [0.1, 0.1, 0.25] })) times.push(time);
    assert.deepEqual(times, [0.1, 0.1, 0.25]);
    const heard: number[][] = [];
    await run.finish({ onProgress: (done, total) => { heard.push([done, total]); } });
    assert.equal(run.time, 0.71);
    assert.equal(heard.at(-1)![0], heard.at(-1)![1]);
    await assert.rejects(run.advanceTo(0.2), (error: unknown) => error instanceof ArgumentError && error.argument === 'time');
    await using whole = await stencil.simulate(flow(2, 'rk4'), optionsFor(2));
    await using parts = await stencil.simulate(flow(2, 'rk4'), optionsFor(2));
    await whole.advance(20);
    let last: unknown;
    for await (const { state } of parts.snapshots({ every: 3, until: 20 })) last = state;
    assert.equal(parts.time, whole.time);
    same(joined(last as never), joined(await whole.state()), 'snapshots');
  });

  it('continue from checkpoints bit for bit, on any back end', async () => {
    const path = join(folder, 'a.checkpoint');
    await using whole = await stencil.simulate(flow(2, 'euler'), optionsFor(2));
    await whole.advance(5);
    await whole.save(path);
    await whole.advanceTo(0.4);
    await whole.advance(3);
    for (const more of [{}, { backend: 'javascript' }, { backend: 'device', device }]) {
      await using second = await stencil.simulate(flow(2, 'euler'), optionsFor(2, { ...more, resume: path }));
      assert.equal(second.stepsDone, 5);
      await second.advanceTo(0.4);
      await second.advance(3);
      assert.equal(second.time, whole.time);
      same(joined(await second.state()), joined(await whole.state()), JSON.stringify(more));
    }
    for (const dt of [{ cfl: 0.41, diffusion: 0.3 }, 0.01]) {
      await assert.rejects(stencil.simulate(flow(2, 'euler'), optionsFor(2, { dt, resume: path })), (error: unknown) =>
        error instanceof ArgumentError && error.argument === 'resume');
    }
  });

  it('are shared by the members of an ensemble: the shortest that one of them needs', async () => {
    const { advection } = stencil.equations;
    const given = { shape: [8], dt: { cfl: 0.5 }, initial: { u: (x: number) => Math.sin(x) } };
    for (const more of [{ backend: 'wasm' as const }, { backend: 'wasm' as const, threads: 3 }, { backend: 'device' as const, device }]) {
      await using all = await stencil.simulate(advection.inOneDimension(), { ...given, ...more, parameters: { a: [1, -4, 2] } });
      await all.advance(3);
      assert.equal(all.dt, 0.125);
      await using one = await stencil.simulate(advection.inOneDimension(), { ...given, ...more, dt: 0.125, parameters: { a: 2 } });
      await one.advance(3);
      same((await all.state()).u.slice(16, 24), (await one.state()).u, 'the third member');
    }
  });

  it('are the same on several threads of WebAssembly, whatever is shared', async () => {
    for (const [shape, members, method] of [[[90, 110], 1, 'euler'], [[5000], 1, 'ssprk3'], [[900], 5, 'euler']] as const) {
      const equation = stencil.define({
        dimensions: shape.length as 1, fields: ['u'], parameters: ['D'], method, boundary: 'mirror',
        rate: ({ u }, { D }, { laplacian }) => ({ u: D * (1 + u() * u()) * laplacian(u) }), diffusivity: ({ u }, { D }) => D * (1 + u() * u()),
      });
      const found = await Promise.all([1, 2].map(async (threads) => {
        await using run = await stencil.simulate(equation, {
          shape, dt: { diffusion: 0.2 }, initial: { u: (x: number) => Math.sin(x) }, backend: 'wasm', threads,
          parameters: { D: members === 1 ? 1 : [1, 2, 0.5, 0.1, 0.7] },
        });
        for (const steps of [1, 150, 2]) await run.advance(steps);
        await run.advanceTo(run.time + 1);
        return { time: run.time, steps: run.stepsDone, u: (await run.state()).u };
      }));
      assert.deepEqual([found[1]!.time, found[1]!.steps], [found[0]!.time, found[0]!.steps]);
      same(found[1]!.u, found[0]!.u, `shape ${shape.join()}`);
    }
  });

  it('stop between segments when they are aborted, and continue', async () => {
    await using run = await stencil.simulate(flow(1, 'ssprk2'), optionsFor(1, { shape: [4000], dt: { cfl: 0.4, diffusion: 0.3, most: 1e-5 } }));
    const control = new AbortController();
    await assert.rejects(run.advanceTo(1e6, { signal: control.signal, onProgress: () => { control.abort(new Error('enough')); } }), /enough/);
    const { stepsDone } = run;
    await run.advance(1);
    assert.equal(run.stepsDone, stepsDone + 1);
  });

  it('name the first bad step, and say why no step is possible', async () => {
    const bursts = (speed: string, admissible = '({ u }) => u < 1e6') => stencil.define({
      dimensions: 1, fields: ['u'], method: 'euler', rate: ({ u }) => ({ u: u() * u() }), speed, admissible,
    });
    const given = { shape: [5], dt: { cfl: 1 }, initial: { u: (x: number) => (x > 2 && x < 3 ? 1000 : 1) } };
    for (const more of [{ backend: 'wasm' }, { backend: 'interpreter' }, { backend: 'javascript' }, { backend: 'device', device }] as const) {
      const name = JSON.stringify(more.backend);
      const options = more.backend === 'javascript' ? undefined : given;
      await using run = await stencil.simulate(stencil.define({ ...bursts('').definition, rate: ({ u }) => ({ u: u() * u() }),
        admissible: ({ u }) => u < 1e6, speed: () => 1 }), { ...given, ...more });
      await assert.rejects(run.advance(9), (error: unknown) => {
        assert.ok(error instanceof InstabilityError, name);
        assert.equal(error.step, 1);
        assert.match(error.message, /u = 1001000 in cell \(2\)/);
        return true;
      });
      assert.deepEqual([run.stepsDone, run.time, (await run.state()).u[2]], [0, 0, 1000]);
      if (options === undefined) continue;
      await using still = await stencil.simulate(bursts('() => 0'), { ...options, ...more });
      await assert.rejects(still.advance(1), (error: unknown) => error instanceof ArgumentError && error.argument === 'dt.most', name);
      await still.advanceTo(0.0001);
      assert.deepEqual([still.time, still.stepsDone], [0.0001, 1]);
      await using wild = await stencil.simulate(bursts('({ u }) => Math.sqrt(2 - u())'), { ...options, ...more });
      await assert.rejects(wild.advance(1), (error: unknown) => error instanceof InstabilityError && /not a finite number/.test(error.message), name);
      await using tiny = await stencil.simulate(bursts('(_, __, { t }) => (t < 1e-4 ? 0 : 1e30)'), { ...options, ...more });
      await tiny.advanceTo(1e-4);
      await assert.rejects(tiny.advanceTo(1), (error: unknown) => error instanceof InstabilityError && /below the rounding/.test(error.message), name);
    }
  });

  it('are refused where the equation or the numbers do not allow them', async () => {
    const { heat, burgers } = stencil.equations;
    const plain = stencil.define({ dimensions: 1, fields: ['u'], rate: ({ u }) => ({ u: u(1) }) });
    const given = { shape: [4], initial: { u: 0 } };
    const cases: readonly (readonly [equation: unknown, dt: unknown, argument: string, more?: object])[] = [
      [plain, { cfl: 0.4 }, 'dt.cfl'], [plain, { most: 1 }, 'dt'], [plain, {}, 'dt'], [plain, [], 'dt'], [plain, '1', 'dt'], [plain, null, 'dt'],
      [heat.equation(1), { most: 0.4 }, 'dt.diffusion', { parameters: { D: 1 } }], [burgers.equation(), { cfl: 0.4 }, 'dt.diffusion'],
      [heat.equation(1), { cfl: 0.4, diffusion: 1 }, 'dt.cfl', { parameters: { D: 1 } }],
      [burgers.equation(), { diffusion: 0.4 }, 'dt.cfl'], [burgers.equation(), { cfl: 0, diffusion: 1 }, 'dt.cfl'],
      [burgers.equation(), { cfl: '1', diffusion: 1 }, 'dt.cfl'], [burgers.equation(), { cfl: 1, diffusion: NaN }, 'dt.diffusion'],
      [burgers.equation(), { cfl: 1e-320, diffusion: 1 }, 'dt.cfl'], [burgers.equation(), { cfl: 1, diffusion: 1, most: -1 }, 'dt.most'],
      [burgers.equation(), { cfl: 1, diffusion: 1, least: 1 }, 'dt.least'],
      [heat.equation(1), { diffusion: 0.4 }, 'variant', { parameters: { D: 1 }, device, variant: 'streaming' }],
    ];
    for (const [equation, dt, argument, more] of cases) {
      await assert.rejects(stencil.simulate(equation as never, { ...given, parameters: { nu: 1 }, ...(equation === plain ? { parameters: {} } : {}),
        dt, ...more } as never), (error: unknown) => {
        assert.ok(error instanceof ArgumentError, `${JSON.stringify(dt)}: ${String(error)}`);
        assert.equal(error.argument, argument, JSON.stringify(dt));
        return true;
      });
    }
    for (const [speed, what] of [['({ u }) => u(1)', /takes no offsets here/], ['() => ({ y: 1 })', /no x/], ['({ w }) => w()', /has no w/],
      ['() => "fast"', /string|number/], ['() => true', /in place of a number/]] as const) {
      const equation = stencil.define({ dimensions: 1, fields: ['u'], speed, rate: ({ u }) => ({ u: u(1) }) });
      for (const call of [stencil.inspect(equation), stencil.simulate(equation, { ...given, dt: { cfl: 1 } })]) {
        await assert.rejects(call, (error: unknown) => error instanceof FunctionError && error.argument === 'speed' && what.test(error.message),
          speed);
      }
    }
    assert.throws(() => stencil.define({ dimensions: 1, fields: ['u'], speed: 1 as never, rate: ({ u }) => ({ u: u() }) }),
      (error: unknown) => error instanceof ArgumentError && error.argument === 'speed');
  });
});
