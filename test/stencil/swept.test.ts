// The swept rule in two dimensions, on the shim: the bits of single steps, and what it refuses.
import { deepStrictEqual, match, rejects, strictEqual } from 'node:assert/strict';
import { InstabilityError, openDevice, stencil, type Device } from '../../lib/index.ts';
import { after as stateAfter, pick, randomPoint, same, sequence, type Case } from './support.ts';

/** A random equation with these offsets on a periodic grid of `tiles` tiles. */
function caseOf(seed: number, reach: number, method: stencil.Method | 'step', depth: number, tiles: readonly number[]): Case {
  const draw = sequence(seed);
  const fields = seed % 2 === 0 ? ['u'] : ['u', 'v'];
  const text = randomPoint(draw, 2, { fields, isStep: method === 'step', reach });
  // Corners, so that the reach is what it should be.
  const cornered = text.replace('const w_u = ', `const w_u = u(${reach}, ${-reach}) - u(${-reach}, ${reach}) + `);
  const equation = stencil.define({ dimensions: 2, fields, parameters: ['p', 'q'], coefficients: ['c'],
    ...(method === 'step' ? { step: cornered } : { rate: cornered, method }) } as never);
  const stages = { euler: 1, midpoint: 2, ssprk2: 2, ssprk3: 3, rk4: 4, step: 1 }[method];
  const shape = tiles.map((count) => count * 2 * reach * stages * depth);
  const cells = shape.reduce((a, b) => a * b), members = pick(draw, 1, 2);
  const numbers = (length: number): Float64Array => Float64Array.from({ length }, () => ((draw() % 2001) - 1000) / 1000);
  return { equation: equation as never, steps: 2 * depth + (seed % 3), text: cornered, options: {
    shape, spacing: 0.5, dt: 0.125, initial: Object.fromEntries(fields.map((name) => [name, numbers(cells)])),
    parameters: { p: 0.7, q: members === 1 ? 0.3 : [0.3, 0.1] }, coefficients: { c: numbers(cells) },
  } };
}

describe('stencil: swept', function () {
  this.timeout(120_000);
  let device: Device;
  before(async () => { device = await openDevice({ backend: 'simt' }); });
  after(async () => device[Symbol.asyncDispose]());

  it('gives the bits of other ways: random equations with a reach of 1 to 4, several stages, ensembles, coefficients', async () => {
    for (const [seed, reach, method, depth, tiles, precision] of [
      [0, 1, 'rk4', 2, [1, 2], 'float64'], [1, 2, 'ssprk3', 1, [2, 1], 'float32'], [2, 3, 'step', 2, [2, 2], 'float64'],
      [3, 4, 'step', 1, [3, 1], 'float64'],
    ] as const) {
      const each = caseOf(seed, reach, method, depth, tiles);
      same(await stateAfter(each, { device, variant: 'swept', depth, precision }), await stateAfter(each, { backend: 'wasm', precision }),
        `seed ${seed}, ${each.options.shape.join(' × ')}\n${each.text}`);
    }
  });

  it('takes any number of steps per call, finds the first bad step, and chooses the height of its tiles', async () => {
    const { heat } = stencil.equations;
    const states: stencil.RealArray[] = [];
    for (const more of [{ device, variant: 'swept' as const, depth: 4 }, { backend: 'wasm' as const }]) {
      await using run = await stencil.simulate(heat.equation(2), {
        shape: [24, 16], dt: 0.1, initial: { u: (x: number, y: number) => Math.sin(x * y) }, parameters: { D: 1 }, ...more,
      });
      for (const steps of [1, 3, 4, 13]) await run.advance(steps);
      await run.advanceTo(2.35);
      states.push((await run.state()).u);
    }
    same(states[0]!, states[1]!, 'calls of all lengths');
    await using run = await stencil.simulate(heat.equation(2), {
      shape: [24, 24], dt: 1e3, initial: { u: (x: number, y: number) => (Math.abs(x - 9.5) < 0.4 && Math.abs(y - 10.5) < 0.4 ? 1e290 : 0) },
      parameters: { D: 1 }, device, variant: 'swept',
    });
    strictEqual(run.info.depth, 12);
    match(run.info.reason, /tiles of 24 × 24 cells, 12 steps high/);
    await rejects(run.advance(50), (error: unknown) => error instanceof InstabilityError && error.step === 5);
    deepStrictEqual([run.stepsDone, [...(await run.state()).u].every(Number.isFinite)], [4, true]);
  });

  it('is refused where it is not possible, with the reason', async () => {
    const { heat } = stencil.equations;
    const options = { dt: 0.1, initial: { u: 0 }, parameters: { D: 1 }, device, variant: 'swept' as const };
    const of = (dimensions: 1 | 2 | 3, more: object): Promise<unknown> => stencil.simulate(heat.equation(dimensions), { ...options, ...more } as never);
    await rejects(of(1, { shape: [64] }), /'swept': it is for two dimensions/);
    await rejects(of(2, { shape: [64, 64], boundary: 'mirror' }), /'swept': it needs periodic boundaries/);
    await rejects(of(2, { shape: [64, 63] }), /'swept': its tiles have a multiple of 2 × reach × stages cells along each axis, which does not divide 64 × 63/);
    await rejects(of(2, { shape: [64, 64], depth: 5 }), /× depth cells along each axis/);
    await rejects(of(2, { shape: [4096, 4096], depth: 64 }), /do not fit in shared memory/);
    const columns = stencil.define({ dimensions: 2, fields: ['u'], step: ({ u }) => ({ u: 0.5 * (u(-1, 0) + u(1, 0)) }) });
    await rejects(stencil.simulate(columns, { dt: 0.1, initial: { u: 0 }, device, variant: 'swept', shape: [8, 8] }), /neighbours along all axes/);
  });
});
