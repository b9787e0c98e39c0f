// Steps that are recorded and repeated, on the shim: time and the number of a step come from the device then.
import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert/strict';
import { InstabilityError, openDevice, stencil } from '../../lib/index.ts';
import { after, randomCase, same } from './support.ts';

describe('stencil: graph', function () {
  this.timeout(120_000);

  it('gives the bits of other ways: random equations, boundaries that depend on time, ensembles, several rounds', async () => {
    await using device = await openDevice({ backend: 'simt' });
    for (const [seed, dimensions, steps] of [[3000, 1, 131], [3001, 2, 70], [3002, 3, 66], [3006, 2, 129]] as const) {
      const each = { ...await randomCase(seed, dimensions), steps };
      const precision = seed === 3001 ? 'float32' : 'float64';
      same(await after(each, { device, variant: 'graph', precision }), await after(each, { backend: 'wasm', precision }), `seed ${seed}\n${each.text}`);
    }
  });

  it('takes any number of steps per call, shortens the last one, and finds the first bad step in a later round', async () => {
    await using device = await openDevice({ backend: 'simt' });
    const doubling = stencil.define({ dimensions: 2, fields: ['u'], step: ({ u }, _, { t }) => ({ u: t > 0.5 ? u() * 32 : u(1, 0) + t }) });
    const states: stencil.RealArray[] = [], bad: number[] = [];
    for (const more of [{ device, variant: 'graph' as const }, { backend: 'wasm' as const }]) {
      await using run = await stencil.simulate(doubling, { shape: [3, 4], dt: 0.01, initial: { u: (x: number, y: number) => x * y }, ...more });
      for (const steps of [1, 64, 3]) await run.advance(steps);
      await run.advanceTo(0.7051);
      states.push((await run.state()).u);
      await rejects(run.advance(500), (error: unknown) => {
        ok(error instanceof InstabilityError);
        bad.push(error.step);
        return true;
      });
      strictEqual(run.stepsDone, bad.at(-1)! - 1);
      states.push((await run.state()).u);
    }
    same(states[0]!, states[2]!, 'before');
    same(states[1]!, states[3]!, 'at the last good step');
    ok(bad[0]! > 200);
    strictEqual(bad[0], bad[1]);
  });

  it('is what auto takes for small grids that other variants do not take', async () => {
    await using device = await openDevice({ backend: 'simt' });
    const options = { dt: 0.1, initial: { u: 0 }, parameters: { D: 1 }, device, boundary: 'mirror' as const };
    const { heat } = stencil.equations;
    await using run = await stencil.simulate(heat.equation(2), { ...options, shape: [40, 9] });
    deepStrictEqual([run.info.variant, run.info.depth], ['graph', 1]);
    match(run.info.reason, /in graphs: the grid is too narrow/);
    await rejects(stencil.simulate(heat.equation(2), { ...options, shape: [40, 9], variant: 'graph', dt: { diffusion: 0.2 } }), /vary in length/);
    await rejects(stencil.simulate(heat.equation(2), { ...options, device: undefined, backend: 'wasm', shape: [40, 9], variant: 'graph' } as never), /variant/);
  });
});
