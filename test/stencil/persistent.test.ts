// Grids that stay on the multiprocessors, on the shim: the bits of single steps for random equations and boundary conditions.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { InstabilityError, openDevice, stencil } from '../../lib/index.ts';
import { after, randomPasses, same } from './support.ts';

describe('stencil: persistent', function () {
  this.timeout(120_000);

  it('gives the bits of classic: random equations in one and two dimensions, several rounds', async () => {
    await using device = await openDevice({ backend: 'simt' });
    let ran = 0;
    for (let seed = 200; seed < 206; ++seed) {
      const each = { ...randomPasses(seed, seed % 4 === 0 ? 1 : 2), steps: 7 };
      // The shim runs eight blocks at once.
      const options = { ...each.options, shape: each.options.shape.map((n, axis, all) => (axis === all.length - 1 ? 32 + (n % 60) : n % 24 + 4)) };
      const cells = options.shape.reduce((a, b) => a * b);
      const short = (of: object): never => Object.fromEntries(Object.entries(of).map(([name, values]) =>
        [name, (values as Float64Array).subarray(0, cells)])) as never;
      const own = { ...each, options: { ...options, initial: short(options.initial), coefficients: short(options.coefficients ?? {}) } };
      const precision = seed % 3 === 0 ? 'float32' as const : 'float64' as const;
      let made: stencil.RealArray | undefined;
      try {
        made = await after(own, { device, variant: 'persistent', precision, depth: 1 + (seed % 2) });
      } catch (error) {
        const isRefused = (error as { code?: string }).code === 'ERR_WARPLOOM_INVALID_ARGUMENT' && /persistent|boundary conditions read/.test(String(error));
        if (!isRefused) throw new Error(`seed ${seed}\n${each.text}`, { cause: error });
      }
      if (made === undefined) continue;
      ran += 1;
      same(made, await after(own, { backend: 'wasm', precision }), `seed ${seed}, ${options.shape.join(' × ')}, ${each.equation.method}\n${each.text}`);
    }
    ok(ran >= 3, `only ${ran} ran`);
  });

  it('keeps lines in tiles that exchange their edges: several fields, stages and members, all lengths, with and without ends', async () => {
    await using device = await openDevice({ backend: 'simt' });
    const equation = stencil.define({
      dimensions: 1, fields: ['u', 'v'], parameters: ['p'], coefficients: ['c'], method: 'midpoint',
      rate: ({ u, v, c }, { p }, { x, t }) => ({ u: 0.2 * v(-2) - p * u(1) + 0.1 * c(1), v: 0.1 * v(1) - u() + 0.001 * x - t }),
    });
    let tiles = 0;
    for (const [n, boundary, points, depth] of [[17, 'periodic', 4, 2], [130, 'periodic', 4, 1], [231, { low: 'mirror', high: 'outflow' }, 4, 3]] as const) {
      const options = {
        shape: [n], dt: 0.1, boundary, parameters: { p: [0.3, 0.1] }, coefficients: { c: (x: number) => x / n },
        initial: { u: (x: number) => Math.sin(x * x), v: (x: number) => Math.cos(x) },
      };
      await using run = await stencil.simulate(equation, { ...options, device, variant: 'persistent', points, depth });
      await using right = await stencil.simulate(equation, { ...options, backend: 'wasm', threads: 1 });
      for (const steps of [1, 7, 12]) await Promise.all([run.advance(steps), right.advance(steps)]);
      const [made, expected] = [await run.state(), await right.state()];
      deepStrictEqual(made, expected, `${n} cells, ${run.info.reason}`);
      tiles += Number(/in tiles of (\d+)/.exec(run.info.reason)![1]) < n ? 1 : 0;
    }
    ok(tiles > 0);
    await using run = await stencil.simulate(stencil.equations.heat.fusedInOneDimension(), {
      shape: [400], dt: 1e3, initial: { u: (x: number) => (Math.abs(x - 201.5) < 0.4 ? 1e290 : 0) }, parameters: { D: 1 }, device,
      variant: 'persistent', depth: 3,
    });
    await rejects(run.advance(50), (error: unknown) => error instanceof InstabilityError && error.step === 6);
    deepStrictEqual([run.stepsDone, [...(await run.state()).u].every(Number.isFinite)], [5, true]);
  });

  it('takes any number of steps per call, finds the first bad step, and shortens the last one', async () => {
    await using device = await openDevice({ backend: 'simt' });
    const states: stencil.RealArray[] = [];
    for (const more of [{ device, variant: 'persistent' as const, depth: 4 }, { backend: 'wasm' as const }]) {
      await using run = await stencil.simulate(stencil.equations.heat.equation(2), {
        shape: [18, 40], dt: 0.1, initial: { u: (x: number, y: number) => x * y }, parameters: { D: 1 }, boundary: 'mirror', ...more,
      });
      for (const steps of [1, 3, 4, 9]) await run.advance(steps);
      await run.advanceTo(2.05);
      states.push((await run.state()).u);
    }
    same(states[0]!, states[1]!, 'calls of all lengths');
    await using run = await stencil.simulate(stencil.equations.heat.equation(2), {
      shape: [18, 40], dt: 1e3, initial: { u: (x: number, y: number) => (Math.abs(x - 9.5) < 0.4 && Math.abs(y - 20.5) < 0.4 ? 1e290 : 0) },
      parameters: { D: 1 }, device, variant: 'persistent', depth: 3,
    });
    await rejects(run.advance(50), (error: unknown) => error instanceof InstabilityError && error.step === 5);
    deepStrictEqual([run.stepsDone, [...(await run.state()).u].every(Number.isFinite)], [4, true]);
  });

  it('gives the bits of classic in three dimensions: several slabs, all boundaries, cells read across corners', async () => {
    await using device = await openDevice({ backend: 'simt' });
    const star = stencil.define({ dimensions: 3, fields: ['u'], method: 'euler', rate: ({ u }, _, { laplacian, x, t }) => ({ u: laplacian(u) + x * t }) });
    const corner = stencil.define({ dimensions: 3, fields: ['u', 'v'], method: 'midpoint', coefficients: ['c'],
      rate: ({ u, v, c }) => ({ u: 0.3 * u(-1, 1, 0) - v(1, 0, -1) * c(0, 1, 0), v: 0.1 * u() - v(0, -1, 1) }) });
    const value = '({ x, t }) => x + t';
    for (const [equation, shape, boundary, depth] of [
      [star, [9, 20, 40], { x: 'mirror', y: { kind: 'dirichlet', value }, z: 'odd-mirror' }, 2], [star, [9, 13, 40], 'periodic', 1],
      [corner, [5, 7, 32], { x: { kind: 'neumann', value: 0.5 }, y: 'periodic', z: 'outflow' }, 1], [corner, [4, 7, 28], 'periodic', 1],
    ] as const) {
      const initial = Object.fromEntries(equation.fields.map((name, i) => [name, (x: number, y: number, z: number) => Math.sin(x * x + 3 * y + i - z * y)]));
      const coefficients = equation.coefficients.length > 0 ? { coefficients: { c: (x: number, y: number, z: number) => x - 0.1 * y * z } } : {};
      const each = { equation: equation as never, steps: 5, text: '', options: { shape, dt: 0.1, initial, boundary, ...coefficients } as never };
      same(await after(each, { device, variant: 'persistent', depth }), await after(each, { backend: 'wasm' }), `${shape.join(' × ')}, ${JSON.stringify(boundary)}`);
    }
  });

  it('is what auto takes for small grids, and refused for large ones', async () => {
    await using device = await openDevice({ backend: 'simt' });
    const { heat } = stencil.equations;
    const options = { dt: 0.1, initial: { u: 0 }, parameters: { D: 1 }, device };
    await using run = await stencil.simulate(heat.equation(2), { ...options, shape: [40, 60] });
    strictEqual(run.info.variant, 'persistent', run.info.reason);
    await rejects(stencil.simulate(heat.equation(2), { ...options, shape: [900, 900], variant: 'persistent' }), /does not fit on the multiprocessors/);
    await rejects(stencil.simulate(heat.equation(3), { ...options, shape: [90, 90, 40], variant: 'persistent' }), /does not fit/);
  });
});
