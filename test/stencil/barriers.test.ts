// Every barrier of the kernels that take several steps is needed: without one, bits differ in some order of the threads.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Device, openDevice, stencil, type ModuleOptions } from '../../lib/index.ts';
import { joined } from './support.ts';

const orders = ['forward', 'reverse', 'random:7'];

/** The parameter `without` is the number of the barrier that a run leaves out. */
const equationOf = (dimensions: 1 | 2 | 3): stencil.Equation<'u', 'without'> => stencil.define({
  dimensions, fields: ['u'], parameters: ['without'], method: 'midpoint',
  rate: dimensions === 1 ? '({ u }, {}, { laplacian }) => ({ u: laplacian(u) + 0.1 * u(-2) })'
    : dimensions === 2 ? '({ u }, {}, { laplacian }) => ({ u: laplacian(u) + 0.1 * u(-1, 1) })'
    : '({ u }, {}, { laplacian }) => ({ u: laplacian(u) + 0.1 * u(-1, 1, 0) - 0.1 * u(-2, -1, 0) })',
});

/** Makes the barriers of a header depend on that parameter; returns how many there are. */
function withChoice(header: string, options: ModuleOptions): [ModuleOptions, count: number] {
  let count = 0;
  const text = readFileSync(new URL(`../../cuda/stencil/${header}`, import.meta.url), 'utf8').replace('#pragma once', '')
    .replace(/(here\.)?block\.sync\(\);/g, (barrier, here: string | undefined) => `if (${here ?? ''}q.p[0] != ${++count}) ${barrier}`);
  const source = options.source.replace(`#include "cuda/stencil/${header}"`, '#include "chosen.cuh"');
  assert.notEqual(source, options.source);
  return [{ ...options, source, headers: { ...options.headers, 'chosen.cuh': text } }, count];
}

describe('stencil: barriers', function () {
  this.timeout(120_000);

  const { module } = Device.prototype;
  const before = process.env['WARPLOOM_SIMT_ORDER'];
  afterEach(() => {
    Device.prototype.module = module;
    if (before === undefined) delete process.env['WARPLOOM_SIMT_ORDER'];
    else process.env['WARPLOOM_SIMT_ORDER'] = before;
  });

  for (const [header, dimensions, shape, variant, boundary, depth] of [
    ['swept.cuh', 2, [16, 32], 'swept', 'periodic', 2], ['planes.cuh', 3, [9, 14, 40], 'streaming', 'mirror', 1],
    ['resident.cuh', 2, [20, 40], 'persistent', 'mirror', 2], ['line.cuh', 1, [700], 'streaming', 'mirror', 16],
    ['line_resident.cuh', 1, [300], 'persistent', 'mirror', 2],
  ] as const) {
    it(`of ${header} are needed, all of them`, async () => {
      let count = 0;
      Device.prototype.module = function (options: ModuleOptions) {
        const [changed, found] = withChoice(header, options);
        count = found;
        return module.call(this, changed);
      };
      const equation = equationOf(dimensions);
      const options = { shape, dt: 0.05, boundary, initial: { u: (x: number, y: number, z: number) => Math.sin(3 * x * (y ?? 1) + 7 * (y ?? x * x) + (z ?? 0)) } };
      const after = async (without: number, more: object): Promise<stencil.RealArray> => {
        await using run = await stencil.simulate(equation, { ...options, parameters: { without }, ...more } as never);
        await run.advance(5);
        return joined(await run.state());
      };
      const right = await after(0, { backend: 'wasm' });
      const wrong = new Set<number>();
      for (const order of orders) {
        process.env['WARPLOOM_SIMT_ORDER'] = order;
        await using device = await openDevice({ backend: 'simt' });
        for (let without = 0; without <= count; ++without) {
          const cut = { depth, ...(dimensions === 1 ? { points: 4 } : {}) };
          const made = await after(without, { device, variant, ...cut }).catch((error: unknown) => String(error));
          if (typeof made === 'string' || made.some((value, i) => !Object.is(value, right[i]))) wrong.add(without);
        }
      }
      assert.ok(count > 0);
      assert.deepEqual([...wrong].sort(), Array.from({ length: count }, (_, i) => i + 1));
    });
  }
});
