// Small calls of `kernel` and `stencil` for the tools of compute-sanitizer (see sanitized.test.ts).
import { deepStrictEqual } from 'node:assert/strict';
import { kernel, stencil, type Device } from '../../lib/index.ts';
import { eachBackend } from '../support/backends.ts';

const numbers = (length: number): Float64Array => Float64Array.from({ length }, (_, i) => Math.sin(i * i * 0.37));
const sizes = [1, 33, 4099, 100_003];

const { grayScott, heat, wave } = stencil.equations;
type AnyEquation = stencil.Equation;
interface March { readonly equation: AnyEquation; readonly shape: readonly number[]; readonly parameters: Readonly<Record<string, number>> }
const marches: Readonly<Record<string, March>> = {
  'heat in 1-D': { equation: heat.equation(1) as never, shape: [1501], parameters: { D: 1 } },
  'heat in 2-D': { equation: heat.equation(2) as never, shape: [37, 303], parameters: { D: 1 } },
  'heat in 3-D': { equation: heat.equation(3) as never, shape: [11, 13, 70], parameters: { D: 1 } },
  'two fields in 2-D': { equation: grayScott.equation(2) as never, shape: [41, 270], parameters: grayScott.patterns.spots },
  'four stages in 2-D': { equation: wave.equation(2) as never, shape: [19, 150], parameters: { c: 1 } },
};

async function state(march: March, steps: number, on: object): Promise<unknown> {
  const { equation, shape, parameters } = march;
  const initial = Object.fromEntries(equation.fields.map((field, i) => [field, numbers(shape.reduce((a, b) => a * b)).map((x) => 0.1 * x + i / 4)]));
  await using run = await stencil.simulate(equation, { shape, dt: 0.05, initial, parameters, ...on } as never);
  await run.advance(steps);
  return run.state();
}

describe('sanitized: functions and equations', function () {
  this.timeout(600_000);
  eachBackend((_, device) => {
    it('maps and reduces', async () => {
      const own: Device = await device();
      for (const length of sizes) {
        const [x, y] = [numbers(length), numbers(length).reverse()];
        const f = (a: number, b: number): number => (a > b ? a * b : a - Math.floor(4 * b));
        deepStrictEqual(await kernel.map(f, [x, y], { device: own }), await kernel.map(f, [x, y], { backend: 'wasm' }));
        for (const by of ['sum', 'min', 'max'] as const) {
          deepStrictEqual(await kernel.reduce(f, [x, y], by, { device: own }), await kernel.reduce(f, [x, y], by, { backend: 'wasm' }), by);
        }
      }
    });
    for (const [name, march] of Object.entries(marches)) {
      for (const variant of march.shape.length < 3 ? ['graph', 'streaming'] : ['classic']) {
        it(`advances ${name}, ${variant}`, async () => {
          deepStrictEqual(await state(march, 70, { device: await device(), variant }), await state(march, 70, { backend: 'wasm' }));
        });
      }
    }
  }, { backends: ['simt', 'cuda'] }); // where there are kernels
});
