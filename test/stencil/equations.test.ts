// The equations of the library against exact solutions, and the orders of methods.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { kernel, stencil, swept, type InstabilityError } from '../../lib/index.ts';

const { advection, burgers, grayScott, heat, wave } = stencil.equations;

/** Largest error of a field at the end. */
async function errorOf<Field extends string>(
  run: Promise<stencil.Run<Field>>, time: number, field: Field, exact: (place: readonly number[]) => number, spacing: readonly number[],
    origin = 0,
): Promise<number> {
  await using made = await run;
  await made.advanceTo(time);
  const values = (await made.state())[field];
  let worst = 0;
  for (let cell = 0; cell < values.length; ++cell) {
    let rest = cell;
    const place = made.shape.map(() => 0);
    for (let axis = made.shape.length - 1; axis >= 0; --axis) {
      place[axis] = ((rest % made.shape[axis]!) + 0.5) * spacing[axis]! + origin;
      rest = Math.floor(rest / made.shape[axis]!);
    }
    worst = Math.max(worst, Math.abs(values[cell]! - exact(place)));
  }
  return worst;
}

/** The order that two errors show, where one resolution is `ratio` times the other. */
const orderOf = (coarse: number, fine: number, ratio = 2): number => Math.log(coarse / fine) / Math.log(ratio);

function near(order: number, theory: number, what: string): void {
  ok(Math.abs(order - theory) <= 0.1, `${what}: order ${order.toFixed(3)}, ${theory} in theory`);
}

describe('stencil: equations', function () {
  this.timeout(60_000);

  it('methods have their orders in time: u_t = -u² + t', async () => {
    const theory = { euler: 1, midpoint: 2, ssprk2: 2, ssprk3: 3, rk4: 4 };
    // A solution without a formula: by rk4 with steps a sixteenth as long.
    const at = async (method: stencil.Method, steps: number): Promise<number> => {
      const decay = stencil.define({ dimensions: 1, fields: ['u'], method, rate: ({ u }, _, { t }) => ({ u: t - u() * u() }) });
      await using run = await stencil.simulate(decay, { shape: [3], dt: 1 / steps, initial: { u: 1.5 }, backend: 'wasm' });
      await run.advance(steps);
      return (await run.state()).u[1]!;
    };
    const exact = await at('rk4', 1024);
    for (const method of stencil.methods) {
      const errors = await Promise.all([32, 64].map(async (steps) => Math.abs(await at(method, steps) - exact)));
      near(orderOf(errors[0]!, errors[1]!), theory[method], method);
    }
  });

  it('heat: second order in space, in one, two and three dimensions, between mirrors', async () => {
    for (const dimensions of [1, 2, 3] as const) {
      const errors = await Promise.all([12, 24].map((n) => {
        const spacing = Array<number>(dimensions).fill(1 / n);
        const k = [Math.PI, 2 * Math.PI, Math.PI].slice(0, dimensions);
        const exact = heat.mode(0.3, k);
        const run = stencil.simulate(heat.equation(dimensions, 'rk4'), {
          shape: spacing.map(() => n), spacing, dt: 0.5 * heat.largestStep(0.3, spacing), parameters: { D: 0.3 }, boundary: 'mirror',
          initial: { u: (...place: number[]) => exact(place, 0) }, backend: 'wasm',
        });
        return errorOf(run, 0.05, 'u', (place) => exact(place, 0.05), spacing);
      }));
      near(orderOf(errors[0]!, errors[1]!), 2, `${dimensions} dimensions`);
    }
  });

  it('heat: a mode decays by its factor in every step', async () => {
    const spacing = [0.25, 0.5];
    const k = [2 * Math.PI / 4, 2 * Math.PI / 4];
    await using run = await stencil.simulate(heat.equation(2), {
      shape: [16, 8], spacing, dt: 0.01, parameters: { D: 1 }, initial: { u: (x, y) => Math.cos(k[0]! * x) * Math.cos(k[1]! * y) },
        backend: 'wasm',
    });
    const before = (await run.state()).u;
    await run.advance(50);
    const after = (await run.state()).u;
    const factor = heat.factor(1, k, spacing, 0.01) ** 50;
    after.forEach((value, i) => { ok(Math.abs(value - factor * before[i]!) < 1e-13); });
  });

  it('heat with fused multiply-adds: a mode decays by its factor, with the bits of the formula', async () => {
    const n = 9, spacing = [1 / n], k = [2 * Math.PI];
    const common = { shape: [n], spacing, dt: 2e-3, parameters: { D: 1 }, boundary: 'periodic' } as const;
    const mode = (x: number): number => Math.cos(2 * Math.PI * x);
    await using run = await stencil.simulate(heat.fusedInOneDimension(), { ...common, initial: { u: mode }, backend: 'wasm', threads: 1 });
    await run.advance(20);
    const { u } = await run.state();
    const F = 2e-3 / (spacing[0]! * spacing[0]!);
    let expected = Array.from({ length: n }, (_, i) => mode((i + 0.5) * spacing[0]!));
    const at = (i: number): number => expected[(i + n) % n]!;
    for (let step = 0; step < 20; step += 1) expected = expected.map((own, i) => kernel.fma(F, at(i - 1) + at(i + 1), (1 - 2 * F) * own));
    deepStrictEqual([...u], expected);
    const factor = heat.factor(1, k, spacing, 2e-3) ** 20;
    u.forEach((value, i) => { ok(Math.abs(value - factor * mode((i + 0.5) / n)) < 1e-14); });
  });

  it('heat and Kuramoto–Sivashinsky with fused multiply-adds have the bits of the swept engine', async () => {
    const n = 67, dx = 0.5, dt = 0.003, initial = Float64Array.from({ length: n }, (_, i) => Math.sin(i * i));
    const common = { shape: [n], spacing: dx, dt, boundary: 'periodic', initial: { u: initial }, backend: 'wasm', threads: 1 } as const;
    await using ks = await stencil.simulate(stencil.equations.kuramotoSivashinsky.fused(), common);
    await using right = await swept.kuramotoSivashinsky({ n, dx, dt, initial });
    await Promise.all([ks.advance(50), right.advance(50)]);
    deepStrictEqual((await ks.state()).u, await right.read());
    await using warm = await stencil.simulate(heat.fusedInOneDimension(), { ...common, parameters: { D: 1 } });
    await using rod = await swept.heat({ n, dx, dt, diffusivity: 1, initial, boundary: 'periodic' });
    await Promise.all([warm.advance(50), rod.advance(50)]);
    deepStrictEqual((await warm.state()).u, await rod.read());
  });

  it('gas with fused multiply-adds has the bits of the swept engine with the limiter of the paper, and ends where that ends', async () => {
    const n = 67, dx = 0.5, gamma = 1.4;
    const gas = Array.from({ length: n }, (_, i) => [1 + 0.3 * Math.sin(i * i), 0.5 * Math.cos(1.3 * i), 1 + 0.4 * Math.sin(i / 3)] as const);
    const rho = Float64Array.from(gas, ([density]) => density), mx = Float64Array.from(gas, ([density, velocity]) => density * velocity);
    const E = Float64Array.from(gas, ([density, velocity, p]) => p / (gamma - 1) + 0.5 * density * velocity ** 2);
    const equation = stencil.equations.euler.fusedInOneDimension();
    for (const [dt, steps] of [[0.05, 60], [0.4, 60]] as const) {
      await using run = await stencil.simulate(equation, {
        shape: [n], spacing: dx, dt, boundary: 'periodic', parameters: { gamma }, initial: { rho, mx, E }, backend: 'wasm', threads: 1,
      });
      await using right = await swept.euler({
        n, dx, dt, gamma, initial: Float64Array.of(...rho, ...mx, ...E), boundary: 'periodic', limiter: 'paper', onUnstable: () => undefined,
      });
      const [here, there] = await Promise.allSettled([run.advance(steps), right.advance(steps)]);
      strictEqual(here.status, dt < 0.1 ? 'fulfilled' : 'rejected');
      if (here.status === 'rejected' && there.status === 'rejected') {
        strictEqual((here.reason as InstabilityError).step, (there.reason as InstabilityError).step);
        continue;
      }
      const state = await run.state();
      deepStrictEqual(Float64Array.of(...state.rho, ...state.mx, ...state.E), (await right.read()).conserved);
    }
  });

  it('heat is unstable above its largest step, and stable below', async () => {
    for (const [share, isStable] of [[0.99, true], [1.05, false]] as const) {
      await using run = await stencil.simulate(heat.equation(2), {
        shape: [12, 12], spacing: [0.1, 0.2], dt: share * heat.largestStep(2, [0.1, 0.2]), parameters: { D: 2 },
        initial: { u: (x, y) => (Math.round(10 * x + 5 * y) % 2 === 0 ? 1 : -1) }, backend: 'wasm',
      });
      await run.advance(400);
      const most = Math.max(...(await run.state()).u);
      strictEqual(most <= 1, isStable, `${share}: ${most}`);
    }
  });

  it('advection: third order, to both sides', async () => {
    const errors = await Promise.all([32, 64].map((n) => {
      const spacing = [1 / n, 1 / n];
      const exact = (place: readonly number[]): number => Math.sin(2 * Math.PI * (place[0]! - 0.3)) * Math.cos(2 * Math.PI * (place[1]! + 0.15));
      const run = stencil.simulate(advection.inTwoDimensions(), {
        shape: [n, n], spacing, dt: 0.5 * advection.largestStep([1, -0.5], spacing), parameters: { a: 1, b: -0.5 },
        initial: { u: (x, y) => Math.sin(2 * Math.PI * x) * Math.cos(2 * Math.PI * y) }, backend: 'wasm',
      });
      return errorOf(run, 0.3, 'u', exact, spacing);
    }));
    near(orderOf(errors[0]!, errors[1]!), 3, 'two dimensions');
    const one = await Promise.all([32, 64].map((n) => errorOf(stencil.simulate(advection.inOneDimension(), {
      shape: [n], spacing: 1 / n, dt: 0.5 * advection.largestStep([-1], [1 / n]), parameters: { a: -1 },
        initial: { u: (x) => Math.sin(2 * Math.PI * x) },
      backend: 'wasm',
    }), 0.5, 'u', ([x]) => Math.sin(2 * Math.PI * (x! + 0.5)), [1 / n])));
    near(orderOf(one[0]!, one[1]!), 3, 'one dimension');
  });

  it('Burgers: the moving layer, with values of place and time at the boundaries, second order', async () => {
    const [nu, c, A] = [0.1, 0.4, 0.8];
    const exact = burgers.layer(nu, c, A);
    const errors = await Promise.all([64, 128].map((n) => {
      const dx = 4 / n;
      const boundary = { kind: 'dirichlet' as const, value: ({ x, t }: stencil.Place, { nu: v }: stencil.Numbers<'nu'>) =>
        0.4 - 0.8 * Math.tanh((0.8 * (x - 0.4 * t)) / (2 * v)) };
      return errorOf(stencil.simulate(burgers.equation(), {
        shape: [n], spacing: dx, origin: -2, dt: 0.5 * burgers.largestStep(nu, 1.2, dx), parameters: { nu }, initial: { u: (x) => exact(x,
          0) }, boundary,
        backend: 'wasm',
      }), 1, 'u', ([x]) => exact(x!, 1), [dx], -2);
    }));
    near(orderOf(errors[0]!, errors[1]!), 2, 'layer');
  });

  it('waves: second order, and the same in a medium of constant speed', async () => {
    const exact = wave.standing(2, [Math.PI, 2 * Math.PI]);
    const errors = await Promise.all([16, 32].map((n) => {
      const spacing = [1 / n, 1 / n];
      return errorOf(stencil.simulate(wave.equation(2), {
        shape: [n, n], spacing, dt: 0.25 * wave.largestStep(2, spacing), parameters: { c: 2 }, boundary: 'mirror',
        initial: { u: (x, y) => exact([x, y], 0), v: 0 }, backend: 'wasm',
      }), 0.2, 'u', (place) => exact(place, 0.2), spacing);
    }));
    near(orderOf(errors[0]!, errors[1]!), 2, 'standing wave');
    const options = { shape: [9, 7], spacing: 0.1, dt: 0.01, initial: { u: (x: number, y: number) => x * y, v: 0 },
      boundary: 'mirror' as const, backend: 'wasm' as const };
    await using a = await stencil.simulate(wave.equation(2), { ...options, parameters: { c: 2 } });
    await using b = await stencil.simulate(wave.inMedium(2), { ...options, coefficients: { c2: 4 } });
    for (const run of [a, b]) await run.advance(20);
    ok((await a.state()).u.every((value, i) => Math.abs(value) < 1e3 && Object.is(value, value) && i >= 0));
    const [ua, ub] = [(await a.state()).u, (await b.state()).u];
    ua.forEach((value, i) => { strictEqual(value, ub[i]); });
  });

  it('Gray–Scott: what feeds nothing conserves u + v between mirrors, and patterns stay between 0 and 1', async () => {
    const initial = { u: 1, v: (x: number, y: number) => (Math.abs(x - 12) + Math.abs(y - 10) < 5 ? 0.5 : 0) };
    const sum = (state: stencil.State<'u' | 'v'>): number => [...state.u, ...state.v].reduce((a, b) => a + b);
    await using closed = await stencil.simulate(grayScott.equation(2), {
      shape: [24, 20], dt: 1, initial, boundary: 'mirror', parameters: { F: 0, k: 0, Du: 0.16, Dv: 0.08 }, backend: 'wasm',
    });
    const before = sum(await closed.state());
    await closed.advance(200);
    ok(Math.abs(sum(await closed.state()) / before - 1) < 1e-12);
    await using run = await stencil.simulate(grayScott.equation(2), { shape: [48, 48], dt: 1, initial,
      parameters: grayScott.patterns.spots, backend: 'wasm' });
    await run.advance(2000);
    const { u, v } = await run.state();
    ok(u.every((x) => x >= 0 && x <= 1) && v.every((x) => x >= 0 && x <= 1) && v.some((x) => x > 0.2));
  });
});
