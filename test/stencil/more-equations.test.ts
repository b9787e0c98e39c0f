// More equations of the library against exact solutions of them and of their schemes, and their orders of convergence.
import { ok } from 'node:assert/strict';
import { stencil } from '../../lib/index.ts';
import { joined, same } from './support.ts';

const { fitzHughNagumo, grayScott, kuramotoSivashinsky, maxwell, shallowWater } = stencil.equations;

const backend = 'wasm' as const;
const sum = (values: ArrayLike<number>): number => Array.from(values).reduce((a, b) => a + b);
const largest = (values: stencil.RealArray, exact: (i: number) => number): number =>
  Array.from(values).reduce((most, value, i) => Math.max(most, Math.abs(value - exact(i))), 0);

function near(order: number, theory: number, what: string): void {
  ok(Math.abs(order - theory) <= 0.1, `${what}: order ${order.toFixed(3)}, ${theory} in theory`);
}

/** The order that the cells shared by three grids show, each three times as fine as the one before: centres coincide. */
function orderOfThree([coarse, middle, fine]: readonly stencil.RealArray[], n: number): number {
  const rows = coarse!.length / n;
  const at = (values: stencil.RealArray, scale: number, i: number): number => {
    const [row, column] = [rows === 1 ? 0 : Math.floor(i / n), i % n];
    const place = (index: number): number => scale * index + (scale - 1) / 2;
    return values[(rows === 1 ? 0 : place(row)) * n * scale + place(column)]!;
  };
  const difference = (a: stencil.RealArray, sa: number, b: stencil.RealArray, sb: number): number =>
    Math.max(...coarse!.map((_, i) => Math.abs(at(a, sa, i) - at(b, sb, i))));
  return Math.log(difference(coarse!, 1, middle!, 3) / difference(middle!, 3, fine!, 9)) / Math.log(3);
}

describe('stencil: more equations', function () {
  this.timeout(60_000);

  it('Kuramoto–Sivashinsky: small modes grow by the factor of the scheme, and by the equation’s to second order', async () => {
    const [dt, steps] = [2e-4, 1000];
    const growth = async (n: number): Promise<number> => {
      const dx = 24 / n;
      const q = (2 * Math.PI * 3) / 24;
      await using run = await stencil.simulate(kuramotoSivashinsky.equation(), {
        shape: [n], spacing: dx, dt, backend, initial: { u: (x) => 1e-9 * Math.cos(q * x) } });
      const before = (await run.state()).u[2]!;
      await run.advance(steps);
      const after = await run.state();
      const z = dt * kuramotoSivashinsky.growthOnGrid(q, dx);
      ok(Math.abs(after.u[2]! / before / (1 + z + (z * z) / 2) ** steps - 1) < 1e-8, 'the factor of midpoint');
      ok(Math.abs(sum(after.u)) < 1e-20, 'the sum');
      return Math.abs(kuramotoSivashinsky.growth(q) - Math.log(after.u[2]! / before) / (steps * dt));
    };
    near(Math.log2(await growth(48) / await growth(96)), 2, 'growth');
    const states = await Promise.all([18, 54, 162].map(async (n) => {
      const dx = 36 / n;
      await using run = await stencil.simulate(kuramotoSivashinsky.equation('rk4'), {
        shape: [n], spacing: dx, dt: 1.25e-4, backend,
        initial: { u: (x) => Math.cos((Math.PI * x) / 18) + 0.5 } });
      await run.advanceTo(0.5);
      return (await run.state()).u;
    }));
    near(orderOfThree(states, 18), 2, 'waves of order 1');
  });

  it('Kuramoto–Sivashinsky: stays bounded below the largest step, in chaos', async () => {
    await using run = await stencil.simulate(kuramotoSivashinsky.equation(), {
      shape: [256], spacing: 0.5, dt: 0.98 * kuramotoSivashinsky.largestStep(0.5), backend, initial: { u: (x) => 2 * Math.cos((19 * Math.PI * x) / 64) } });
    await run.advanceTo(100);
    const { u } = await run.state();
    const rms = Math.sqrt(sum(u.map((value) => value * value)) / 256);
    ok(rms > 1 && rms < 1.7 && Math.max(...u.map(Math.abs)) < 4.5, `rms ${rms}`);
  });

  it('FitzHugh–Nagumo: the front, second order', async () => {
    const [D, a] = [1, 0.2];
    const exact = fitzHughNagumo.front(D, a);
    const errors = await Promise.all([80, 160].map(async (n) => {
      const dx = 40 / n;
      await using run = await stencil.simulate(fitzHughNagumo.equation(1), {
        shape: [n], spacing: dx, origin: -20, dt: { diffusion: 0.2 }, parameters: { D, a, eps: 0, g: 1 }, boundary: 'mirror', backend,
        initial: { u: (x) => exact(x, 0), v: 0 } });
      await run.advanceTo(5);
      return largest((await run.state()).u, (i) => exact((i + 0.5) * dx - 20, 5));
    }));
    near(Math.log2(errors[0]! / errors[1]!), 2, 'front');
  });

  it('Gray–Scott and FitzHugh–Nagumo in two dimensions: second order', async () => {
    const wave = (x: number, y: number): number => 0.3 * Math.cos(Math.PI * x) * Math.cos(Math.PI * y);
    const cases = [
      [grayScott.equation(2, 'rk4'), { F: 0.04, k: 0.06, Du: 0.1, Dv: 0.05 }], [fitzHughNagumo.equation(2, 'rk4'), { D: 0.1, a: 0.1, eps: 0.1, g: 1 }],
    ] as const;
    for (const [equation, parameters] of cases) {
      const states = await Promise.all([9, 27, 81].map(async (n) => {
        await using run = await stencil.simulate(equation as stencil.Equation, {
          shape: [n, n], spacing: 1 / n, dt: 2e-4, parameters, boundary: 'mirror', backend,
          initial: { u: (x: number, y: number) => 0.5 + wave(x, y), v: (x: number, y: number) => 0.4 - wave(x, y) } } as never);
        await run.advanceTo(0.1);
        return (await run.state() as stencil.State<string>)['u']!;
      }));
      near(orderOfThree(states, 9), 2, equation.fields.join());
    }
  });

  it('Maxwell in two dimensions: a plane wave moves by the frequency of the scheme, exactly, and by c to second order', async () => {
    const speed = async (n: number): Promise<number> => {
      const spacing = [1 / n, 1.5 / n];
      const k = [2 * Math.PI, (2 * Math.PI) / 1.5];
      const dt = 0.9 * maxwell.largestStep(spacing);
      const w = maxwell.frequency(k, spacing, dt);
      const phase = (x: number, y: number, t: number): number => k[0]! * x + k[1]! * y - w * t;
      // H lies half a cell on, half a step before.
      const ratio = k.map((each, axis) => (dt * Math.sin((each * spacing[axis]!) / 2)) / (spacing[axis]! * Math.sin((w * dt) / 2)));
      await using run = await stencil.simulate(maxwell.inTwoDimensions(), {
        shape: [n, n], spacing, dt, coefficients: { eps: 1 }, backend, initial: {
          Ez: (x, y) => Math.cos(phase(x, y, 0)), Hx: (x, y) => ratio[1]! * Math.cos(phase(x, y + spacing[1]! / 2, -dt / 2)),
          Hy: (x, y) => -ratio[0]! * Math.cos(phase(x + spacing[0]! / 2, y, -dt / 2)),
        } });
      await run.advance(50);
      const { Ez } = await run.state();
      const error = largest(Ez, (i) => Math.cos(phase((Math.floor(i / n) + 0.5) * spacing[0]!, ((i % n) + 0.5) * spacing[1]!, 50 * dt)));
      ok(error < 1e-12, `Ez differs by ${error}`);
      return Math.abs(w / Math.hypot(...k) - 1);
    };
    near(Math.log2(await speed(12) / await speed(24)), 2, 'speed of light');
  });

  it('Maxwell in three dimensions: waves along every axis are those of two dimensions, divergence stays 0', async () => {
    const n = 8;
    const dt = 0.9 * maxwell.largestStep([1, 1, 1]);
    const k = Math.PI / 4;
    const w = maxwell.frequency([k], [1], dt);
    const options = { shape: [n, n, n], dt, backend };
    const names = ['x', 'y', 'z'] as const;
    for (const [axis, along] of names.entries()) {
      const [e, h] = [names[(axis + 1) % 3]!, names[(axis + 2) % 3]!];
      const at = (...place: readonly number[]): number => place[axis]!;
      const initial = { Ex: 0, Ey: 0, Ez: 0, Hx: 0, Hy: 0, Hz: 0, [`E${e}`]: (x: number, y: number, z: number) => Math.cos(k * at(x, y, z)),
        [`H${h}`]: (x: number, y: number, z: number) => Math.cos(k * (at(x, y, z) + 0.5) + (w * dt) / 2) };
      await using run = await stencil.simulate(maxwell.inThreeDimensions(), { ...options, initial: initial as never });
      await run.advance(40);
      const state = await run.state();
      const found = state[`E${e}`];
      const stride = n ** (2 - axis);
      const error = largest(found, (i) => Math.cos(k * ((Math.floor(i / stride) % n) + 0.5) - w * 40 * dt));
      ok(error < 1e-12, `along ${along}: ${error}`);
    }
    const random = (seed: number) => (x: number, y: number, z: number): number => Math.sin(12.9 * x + 78.2 * y * seed + 37.7 * z * z);
    await using run = await stencil.simulate(maxwell.inThreeDimensions(), { ...options, initial: { Ex: 0, Ey: 0, Ez: 0, Hx: random(1),
      Hy: random(2), Hz: random(3) } });
    await run.advance(30);
    const { Ex, Ey, Ez } = await run.state();
    const index = (i: number, j: number, l: number): number => (((i + n) % n) * n + ((j + n) % n)) * n + ((l + n) % n);
    for (const [i, j, l] of [[0, 0, 0], [3, 7, 2], [5, 1, 6]] as const) {
      const divergence = Ex[index(i, j, l)]! - Ex[index(i - 1, j, l)]! + Ey[index(i, j, l)]! - Ey[index(i, j - 1, l)]!
        + Ez[index(i, j, l)]! - Ez[index(i, j, l - 1)]!;
      ok(Math.abs(divergence) < 1e-12, `divergence ${divergence}`);
    }
  });

  it('shallow water: breaking dams, a wet and a nearly dry one', async () => {
    for (const [left, right, most] of [[1, 0.4, 2.7e-3], [1, 1e-4, 3.2e-3]] as const) {
      const n = 400;
      await using run = await stencil.simulate(shallowWater.inOneDimension(), {
        shape: [n], spacing: 2 / n, origin: -1, dt: { cfl: 0.4 }, parameters: { g: 9.81 }, boundary: 'outflow', backend,
        initial: { h: (x) => (x < 0 ? left : right), hu: 0 } });
      await run.advanceTo(0.12);
      const exact = shallowWater.damBreak(left, right, 9.81);
      const { h } = await run.state();
      const error = (2 / n) * sum(h.map((value, i) => Math.abs(value - exact(((i + 0.5) * (2 / n) - 1) / 0.12))));
            ok(error < most, `L1 of the depth over ${right}: ${error}`);
    }
  });

  it('shallow water: smooth waves of second order, water at rest, conservation, the same along both axes', async () => {
    const states = await Promise.all([27, 81, 243].map(async (n) => {
      await using run = await stencil.simulate(shallowWater.inOneDimension(), {
        shape: [n], spacing: 1 / n, dt: { cfl: 0.4 }, parameters: { g: 1 }, backend,
        initial: { h: (x) => 1 + (0.1 * n * Math.sin(Math.PI / n) / Math.PI) * Math.sin(2 * Math.PI * x), hu: 0 } });
      await run.advanceTo(0.2);
      const { h } = await run.state();
      return h;
    }));
    // Means over cells of 1/27: sums of three and nine of the finer grids.
    const mean = (values: stencil.RealArray): Float64Array => Float64Array.from({ length: 27 }, (_, i) => {
      const scale = values.length / 27;
      return sum(values.slice(i * scale, (i + 1) * scale)) / scale;
    });
    const [a, b, c] = states.map(mean);
    const distance = (x: Float64Array, y: Float64Array): number => sum(x.map((value, i) => Math.abs(value - y[i]!)));
    near(Math.log(distance(a!, b!) / distance(b!, c!)) / Math.log(3), 2, 'waves');
    const options = { dt: { cfl: 0.4 }, parameters: { g: 9.81 }, boundary: 'mirror' as const, backend };
    await using rest = await stencil.simulate(shallowWater.inTwoDimensions(), { ...options, shape: [5, 7], initial: { h: 0.37, hu: 0, hv: 0 } });
    await rest.advance(20);
    ok((await rest.state()).h.every((h) => h === 0.37));
    const hill = (x: number, y: number): number => 1 + (Math.hypot(x - 3, y - 2) < 2 ? 1 : 0);
    const walls = { x: { fields: { h: 'mirror', hu: 'odd-mirror', hv: 'mirror' } }, y: { fields: { h: 'mirror', hu: 'mirror', hv: 'odd-mirror' } } } as const;
    await using one = await stencil.simulate(shallowWater.inTwoDimensions(), { ...options, boundary: walls, shape: [7, 9], initial: { h: hill, hu: 0, hv: 0 } });
    await using turned = await stencil.simulate(shallowWater.inTwoDimensions(), { ...options, boundary: walls, shape: [9, 7],
      initial: { h: (x, y) => hill(y, x), hu: 0, hv: 0 } });
    const before = sum((await one.state()).h);
    for (const run of [one, turned]) await run.advance(25);
    const [first, second] = [(await one.state()).h, (await turned.state()).h];
    ok(Math.abs(sum(first) / before - 1) < 1e-13);
    ok(largest(first, (i) => second[(i % 9) * 7 + Math.floor(i / 9)]!) < 1e-12);
  });

  it('all give the bits of their own functions in JavaScript', async () => {
    const cases: readonly (readonly [equation: unknown, parameters: object, shape: readonly number[]])[] = [
      [kuramotoSivashinsky.equation(), {}, [7]], [fitzHughNagumo.equation(3), { D: 0.1, a: 0.1, eps: 0.1, g: 1 }, [2, 3, 4]],
      [maxwell.inTwoDimensions(), {}, [3, 5]], [maxwell.inThreeDimensions(), {}, [2, 3, 1]], [shallowWater.inOneDimension(), { g: 9.81 }, [5]],
      [shallowWater.inTwoDimensions(), { g: 9.81 }, [4, 3]],
    ];
    for (const [equation, parameters, shape] of cases) {
      const { fields, coefficients } = equation as stencil.Equation;
      const states = await Promise.all(['javascript', backend].map(async (each) => {
        await using run = await stencil.simulate(equation as stencil.Equation, {
          shape, dt: 0.01, parameters, coefficients: Object.fromEntries(coefficients.map((name) => [name, (x: number) => 1 + x])), backend: each,
          initial: Object.fromEntries(fields.map((name, at) => [name, (x: number) => 1 + 0.1 * Math.sin(x + at)])) } as never);
        await run.advance(9);
        return joined(await run.state() as stencil.State<string>);
      }));
      same(states[1]!, states[0]!, fields.join());
    }
  });
});
