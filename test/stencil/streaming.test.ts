// Passes of several steps give the bits of single steps: random equations and boundary conditions on the shim, at every depth.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { InstabilityError, openDevice, stencil } from '../../lib/index.ts';
import { after, randomBoundary, randomPoint, same, sequence, pick, type Case } from './support.ts';

function streamed(seed: number, dimensions: 1 | 2 | 3): Case & { readonly depth: number; readonly points: number } {
  const draw = sequence(seed);
  const fields = draw() % 2 === 0 ? ['u'] : ['u', 'v'];
  const isStep = draw() % 3 === 0;
  const hasCoefficient = draw() % 2 === 0;
  const text = randomPoint(draw, dimensions, { fields, isStep, hasCoefficient, reach: pick(draw, 1, 1, 1, 2) });
  const f = new Function(`return ${text}`)() as never;
  const equation = stencil.define({
    dimensions, fields, parameters: ['p', 'q'], coefficients: hasCoefficient ? ['c'] : [], boundary: randomBoundary(draw, dimensions, fields),
    ...(isStep ? { step: f } : { rate: f, method: pick(draw, 'euler', 'euler', 'midpoint', 'ssprk2', 'ssprk3', 'rk4') }),
  } as never);
  const members = pick(draw, 1, 1, 2);
  const shape = { 1: [60 + (draw() % 900)], 2: [1 + (draw() % 40), 60 + (draw() % 150)],
    3: [1 + (draw() % 7), pick(draw, 1 + (draw() % 9), 8, 12, 17), pick(draw, 1 + (draw() % 9), 32, 40, 67)] }[dimensions];
  const cells = shape.reduce((a, b) => a * b);
  const numbers = (length: number): Float64Array => Float64Array.from({ length }, () => ((draw() % 2001) - 1000) / 1000);
  const options = {
    shape, spacing: 0.5, dt: 0.125, initial: Object.fromEntries(fields.map((name) => [name, numbers(cells)])),
    parameters: { p: 0.7, q: members === 1 ? 0.3 : [0.3, 0.1] }, coefficients: hasCoefficient ? { c: numbers(cells) } : {},
  };
  return { equation: equation as never, options, steps: 1 + (draw() % 9), text, depth: 1 + (draw() % 3), points: dimensions === 3 ? pick(draw, 1, 2) : pick(draw, 2, 4) };
}

describe('stencil: streaming', function () {
  this.timeout(120_000);

  it('gives the bits of classic: random equations', async () => {
    await using device = await openDevice({ backend: 'simt' });
    let ran = 0;
    for (let seed = 0; seed < 18; ++seed) {
      const each = streamed(seed);
      const { depth, points, text, options } = each;
      let made: stencil.RealArray;
      try {
        made = await after(each, { device, variant: 'streaming', depth, points });
      } catch (error) {
        if ((error as { code?: string }).code === 'ERR_WARPLOOM_INVALID_ARGUMENT'
          && /streaming|boundary conditions read/.test(String(error))) continue;
        throw new Error(`seed ${seed}\n${text}`, { cause: error });
      }
      ran += 1;
      same(made, await after(each, { backend: 'wasm' }), `seed ${seed}, ${options.shape.join(' × ')}, ${each.equation.method}, ${depth} × ${points}\n${text}`);
    }
    if (ran < 9) throw new Error(`only ${ran} ran`);
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

  it('is refused where it is not possible, with the reason', async () => {
    await using device = await openDevice({ backend: 'simt' });
    const { heat, wave } = stencil.equations;
    const reasonOf = async (run: Promise<stencil.Run<'u'>>): Promise<string> => (await run).info.reason;
    const cube = { shape: [4, 4, 4], dt: 0.1, initial: { u: 0 }, parameters: { D: 1 }, device };
    ok(/streaming is for one and two dimensions/.test(await reasonOf(stencil.simulate(heat.equation(3), cube))));
    await rejects(stencil.simulate(heat.equation(3), { ...cube, variant: 'streaming' }), /'streaming': streaming is for one and two/);
    const medium = { shape: [40, 300], dt: 0.1, initial: { u: 0, v: 0 }, coefficients: { c2: 1 }, device, variant: 'streaming' as const };
    await rejects(stencil.simulate(wave.inMedium(2), medium), /no coefficient fields yet/);
    await rejects(stencil.simulate(heat.equation(2), { ...cube, shape: [40, 9], boundary: 'mirror', variant: 'streaming' }), /too narrow/);
  });
});
