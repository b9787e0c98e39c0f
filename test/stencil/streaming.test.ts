// Passes of several steps give the bits of single steps: random equations and boundary conditions on the shim, at every depth.
import { openDevice, stencil } from '../../lib/index.ts';
import { after, randomBoundary, randomPoint, same, sequence, pick, type Case } from './support.ts';

function streamed(seed: number): Case & { readonly depth: number; readonly points: number } {
  const draw = sequence(seed);
  const fields = draw() % 2 === 0 ? ['u'] : ['u', 'v'];
  const isStep = draw() % 3 === 0;
  const dimensions = pick(draw, 1, 2, 2);
  const text = randomPoint(draw, dimensions, { fields, isStep, hasCoefficient: false, reach: pick(draw, 1, 1, 1, 2) });
  const f = new Function(`return ${text}`)() as never;
  const equation = stencil.define({
    dimensions, fields, parameters: ['p', 'q'], boundary: randomBoundary(draw, dimensions, fields),
    ...(isStep ? { step: f } : { rate: f, method: pick(draw, 'euler', 'euler', 'midpoint', 'ssprk2', 'ssprk3', 'rk4') }),
  } as never);
  const members = pick(draw, 1, 1, 2);
  const shape = dimensions === 1 ? [60 + (draw() % 900)] : [1 + (draw() % 40), 60 + (draw() % 150)];
  const numbers = (length: number): Float64Array => Float64Array.from({ length }, () => ((draw() % 2001) - 1000) / 1000);
  const options = {
    shape, spacing: 0.5, dt: 0.125, initial: Object.fromEntries(fields.map((name) => [name, numbers(shape.reduce((a, b) => a * b))])),
    parameters: { p: 0.7, q: members === 1 ? 0.3 : [0.3, 0.1] }, coefficients: {},
  };
  return { equation: equation as never, options, steps: 1 + (draw() % 9), text, depth: 1 + (draw() % 3), points: pick(draw, 2, 4) };
}

describe('stencil: streaming', function () {
  this.timeout(120_000);

  it('gives the bits of classic: random equations', async () => {
    await using device = await openDevice({ backend: 'simt' });
    let ran = 0;
    for (let seed = 0; seed < 30; ++seed) {
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
      same(made, await after(each, { backend: 'wasm' }), `seed ${seed}, ${options.shape.join(' × ')}, ${each.equation.method}, depth ${depth}, points ${points}\n${text}`);
    }
    if (ran < 15) throw new Error(`only ${ran} ran`);
  });
});
