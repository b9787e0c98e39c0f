// Random linear programs, collapsed: the same output within rounding (to the bit for ints), the same bits on all back ends.
import assert from 'node:assert/strict';
import { openDevice, type Device } from '../../../lib/core/device.ts';
import { collapseLinear, elaborate, interpret, type StreamGraph } from '../../../lib/stream/index.ts';
import { compiledWasm } from '../../../lib/stream/run/wasm.ts';
import { Random } from '../emit/random-programs.ts';
import { agrees, compileTogether, firstState, inputItems } from '../gpu/support.ts';
import { casesOf } from '../../support/thorough.ts';
import { linearProgram, type Items } from './random-linear.ts';

function inputOf(type: Items, items: number, seed: number): number[] {
  const r = new Random(seed);
  return Array.from({ length: items }, () => (type === 'int' ? r.below(2 ** 32) | 0 : Math.fround(r.below(2000) / 500 - 2)));
}

async function graphOf(source: string): Promise<StreamGraph> {
  return (await elaborate(source)).graph;
}

/** Half a unit in the last place of 1, times the sums that a random program can add up on the way of an item. */
const rounding = { int: 0, float: 400 * 2 ** -24, double: 400 * 2 ** -53 };

/** Checks one program; the collapsed one, if anything was replaced. */
async function check(seed: number, type: Items): Promise<StreamGraph | undefined> {
  const { source, majorant } = linearProgram(seed, type);
  const graph = await graphOf(source);
  const made = await collapseLinear(graph);
  if (made.filters.length === 0) {
    assert.equal(made.graph, graph);
    return undefined;
  }
  for (const { before, after } of made.filters) assert.ok(after < before);
  const input = inputOf(type, 300, seed);
  const [before, after] = [await interpret(graph, { input }), await interpret(made.graph, { input })];
  const most = type === 'int' ? [] : (await interpret(await graphOf(majorant), { input: input.map(Math.abs) })).output;
  const missing = before.output.length - after.output.length;
  assert.ok(missing >= 0 && missing <= 64 * Math.max(...made.filters.map(({ push }) => push)), `${missing} items are missing`);
  after.output.forEach((found, i) => {
    const expected = before.output[i]!;
    assert.ok(type === 'int' ? found === expected : Math.abs(found - expected) <= rounding[type] * most[i]! + 1e-300,
      `${type} ${seed}, item ${i}: ${found}, not ${expected}, which is at most ${most[i]}\n${source}`);
  });
  const compiled = compiledWasm(made.graph).run(input);
  assert.deepEqual(Array.from(compiled.output), after.output);
  // Steady states are the same.
  const [whole, fewer] = [await interpret(graph, { input, iterations: 2 }), await interpret(made.graph, { input, iterations: 2 })];
  if (!whole.exhausted && !fewer.exhausted) assert.equal(fewer.output.length, whole.output.length);
  return made.graph;
}

const programs = casesOf(20, 40);

describe('collapsed random programs', function () {
  this.timeout(120_000);

  for (const type of ['int', 'float', 'double'] as const) {
    it(`give the same output as before, within rounding: ${type}`, async () => {
      let changed = 0;
      for (let seed = 1; seed <= programs; ++seed) if (await check(seed, type) !== undefined) ++changed;
      assert.ok(changed >= programs / 2, `only ${changed} programs of ${programs} changed`);
    });
  }

  it('give the same bits on a device', async () => {
    const device: Device = await openDevice({ backend: 'simt' });
    try {
      const samples: { graph: StreamGraph; type: Items }[] = [];
      for (let seed = 101; samples.length < 6; ++seed) {
        const type = seed % 2 === 0 ? 'float' : 'int';
        const { graph, filters } = await collapseLinear(await graphOf(linearProgram(seed, type).source));
        if (filters.length > 0 && graph.nodes.length < 12) samples.push({ graph, type });
      }
      const compiled = await compileTogether(device, samples);
      let onDevice = 0;
      for (const [i, { graph, type }] of samples.entries()) {
        const made = compiled[i];
        if (made === undefined) continue;
        await agrees(made, graph, inputOf(type, inputItems(made, firstState(made) + 300), i));
        ++onDevice;
      }
      assert.ok(onDevice >= 3, `only ${onDevice} on the device`);
    } finally {
      device.close();
    }
  });
});
