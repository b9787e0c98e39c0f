// Passes of several steps give the bits of single steps: random equations and boundary conditions on the shim, at every depth.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { InstabilityError, openDevice, stencil } from '../../lib/index.ts';
import { after, joined, randomPasses, same } from './support.ts';

describe('stencil: streaming', function () {
  this.timeout(120_000);

  /** Runs the cases that streaming takes, and returns how many these were. */
  async function agree(seeds: readonly [from: number, to: number], dimensionsOf: (seed: number) => 1 | 2 | 3): Promise<number> {
    await using device = await openDevice({ backend: 'simt' });
    let ran = 0;
    for (let seed = seeds[0]; seed < seeds[1]; ++seed) {
      const each = randomPasses(seed, dimensionsOf(seed));
      const { depth, points, text, options } = each;
      const precision = seed % 4 === 3 ? 'float32' as const : 'float64' as const;
      let made: stencil.RealArray | undefined;
      try {
        made = await after(each, { device, variant: 'streaming', depth, points, precision });
      } catch (error) {
        const isRefused = (error as { code?: string }).code === 'ERR_WARPLOOM_INVALID_ARGUMENT' && /streaming|boundary conditions read/.test(String(error));
        if (!isRefused) throw new Error(`seed ${seed}\n${text}`, { cause: error });
      }
      if (made === undefined) continue;
      ran += 1;
      same(made, await after(each, { backend: 'wasm', precision }),
        `seed ${seed}, ${options.shape.join(' × ')}, ${each.equation.method}, ${depth} × ${points}\n${text}`);
    }
    return ran;
  }

  it('gives the bits of classic: random equations in one and two dimensions', async () => {
    const ran = await agree([0, 12], (seed) => (seed % 3 === 0 ? 1 : 2));
    ok(ran >= 5, `only ${ran} ran`);
  });

  it('gives the bits of classic: random equations in three dimensions', async () => {
    const ran = await agree([100, 109], () => 3);
    ok(ran >= 3, `only ${ran} ran`);
  });

  it('gives the bits of classic with a reach of 3 and 4, as persistent does', async () => {
    await using device = await openDevice({ backend: 'simt' });
    const line = stencil.define({ dimensions: 1, fields: ['u', 'v'], method: 'midpoint', boundary: { kind: 'dirichlet', value: 0.5 },
      rate: ({ u, v }) => ({ u: 0.1 * (u(-4) - v(4)) * v(-1), v: 0.2 * (u(3) - v()) }) });
    const plane = stencil.define({ dimensions: 2, fields: ['u'], boundary: { x: 'periodic', y: 'mirror' },
      step: ({ u }, _, { x, t }) => ({ u: 0.3 * (u(-3, 2) + u(3, -3)) - 0.1 * u(-1, 1) * u(2, 3) + 0.01 * x * t }) });
    for (const [equation, shape, reach] of [[line, [150], 4], [plane, [17, 140], 3]] as const) {
      const initial = Object.fromEntries(equation.fields.map((name, i) => [name, (x: number, y = 1) => Math.sin(3 * x * y + i)]));
      const each = { equation: equation as never, steps: 5, text: '', options: { shape, dt: 0.1, initial } };
      const right = await after(each, { backend: 'wasm' });
      for (const variant of ['streaming', 'persistent'] as const) same(await after(each, { device, variant, depth: 2, points: 4 }), right, `reach ${reach}, ${variant}`);
    }
  });

  it('leaves classic its own blocks: wide rows and planes, one after another', async () => {
    await using device = await openDevice({ backend: 'simt' });
    for (const shape of [[700], [600, 230], [130, 9, 50]]) {
      const options = { shape, dt: 0.01, initial: { u: (...at: number[]) => Math.sin(at.reduce((a, b) => 3 * a + b * b)) },
        parameters: { D: 1 }, boundary: 'mirror' as const };
      const equation = stencil.equations.heat.equation(shape.length as 1);
      const made: stencil.RealArray[] = [];
      for (const more of [{ device, variant: 'classic' as const }, { backend: 'wasm' as const }]) {
        await using run = await stencil.simulate(equation, { ...options, ...more } as never);
        await run.advance(3);
        made.push(joined(await run.state()));
      }
      same(made[0]!, made[1]!, shape.join(' × '));
    }
  });

  it('is tuned on the device: the table is in info, the fastest shape first, and the state is untouched', async () => {
    await using device = await openDevice({ backend: 'simt' });
    const options = { shape: [12, 300], dt: 0.1, initial: { u: (x: number, y: number) => x * y }, parameters: { D: 1 } };
    await using run = await stencil.simulate(stencil.equations.heat.equation(2), { ...options, device, variant: 'streaming', tune: true });
    const { shapes, depth, variant } = run.info;
    const measured = shapes.filter((each) => each.measured !== undefined).map((each) => each.measured!);
    ok(measured.length > 2 && measured.every((value, i) => value > 0 && value >= (measured[i - 1] ?? 0)), measured.join());
    deepStrictEqual([variant, depth], ['streaming', shapes[0]!.depth]);
    await run.advance(13);
    await using other = await stencil.simulate(stencil.equations.heat.equation(2), { ...options, backend: 'wasm' });
    await other.advance(13);
    same((await run.state()).u, (await other.state()).u, 'tuned');
  });

  it('finds the first bad step inside a pass', async () => {
    await using device = await openDevice({ backend: 'simt' });
    const blob = { u: (x: number, y: number) => (Math.abs(x - 20.5) < 0.4 && Math.abs(y - 100.5) < 0.4 ? 1e290 : 0) };
    const found: string[] = [];
    for (const variant of ['streaming', 'classic'] as const) {
      await using run = await stencil.simulate(stencil.equations.heat.equation(2), {
        shape: [40, 200], dt: 1e3, initial: blob, parameters: { D: 1 }, device, variant, ...(variant === 'streaming' ? { depth: 4,
          points: 4 } : {}),
      });
      await run.advance(2);
      await rejects(run.advance(50), (error: unknown) => {
        found.push(String(error));
        return error instanceof InstabilityError && error.step === 5;
      });
      deepStrictEqual([run.stepsDone, [...(await run.state()).u].every(Number.isFinite)], [4, true]);
    }
    strictEqual(found[0], found[1]);
  });

  it('finds the first bad step inside a pass along a line, also of states that are not admissible', async () => {
    await using device = await openDevice({ backend: 'simt' });
    const grows = stencil.define({ dimensions: 1, fields: ['u', 'v'], method: 'midpoint', admissible: ({ u }) => u < 2,
      rate: ({ u, v }) => ({ u: 3 * u() * v(1), v: 0.1 * (u(-1) - v()) }) });
    const found: string[] = [];
    for (const more of [{ variant: 'classic' }, { variant: 'streaming', depth: 16, points: 4 }, { variant: 'streaming', depth: 3, points: 8 }] as const) {
      await using run = await stencil.simulate(grows, { shape: [700], dt: 0.05, initial: { u: (x) => 0.5 + 0.4 * Math.sin(x), v: 1 }, device, ...more });
      await run.advance(2);
      await rejects(run.advance(200), (error: unknown) => error instanceof InstabilityError && found.push(`${error.step} ${error.message}`) > 0);
      strictEqual(run.stepsDone, 5);
    }
    deepStrictEqual(found, found.map(() => found[0]));
  });

  it('is refused where it is not possible, with the reason', async () => {
    await using device = await openDevice({ backend: 'simt' });
    const { heat } = stencil.equations;
    const reasonOf = async (run: Promise<stencil.Run<'u'>>): Promise<string> => (await run).info.reason;
    const cube = { shape: [4, 4, 4], dt: 0.1, initial: { u: 0 }, parameters: { D: 1 }, boundary: 'mirror' as const, device };
    ok(/too narrow/.test(await reasonOf(stencil.simulate(heat.equation(3), cube))));
    await rejects(stencil.simulate(heat.equation(3), { ...cube, variant: 'streaming' }), /'streaming': the grid is too narrow/);
    const columns = stencil.define({ dimensions: 2, fields: ['u'], step: ({ u }) => ({ u: 0.5 * (u(-1, 0) + u(1, 0)) }) });
    await rejects(stencil.simulate(columns, { shape: [40, 300], dt: 0.1, initial: { u: 0 }, device, variant: 'streaming' }),
      /neighbours along all axes/);
    await rejects(stencil.simulate(heat.equation(2), { ...cube, shape: [40, 9], boundary: 'mirror', variant: 'streaming' }), /too narrow/);
  });
});
