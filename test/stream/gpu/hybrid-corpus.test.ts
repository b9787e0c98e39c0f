// Programs in many people's styles on cores and a device together, and programs with the shim's threads in other orders and on a device with
// slow memory of its own: what WebAssembly makes of them, bit for bit.
import assert from 'node:assert/strict';
import { openDevice } from '../../../lib/core/device.ts';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { scalarCount } from '../../../lib/stream/interpret/values.ts';
import type { HybridGpu } from '../../../lib/stream/run/hybrid.ts';
import { compiledWasm } from '../../../lib/stream/run/wasm.ts';
import { drillBackends, eachBackend } from '../../support/backends.ts';
import { apps } from '../programs/apps/index.ts';
import { program } from '../programs/support.ts';
import { styles } from '../programs/styles.ts';
import { graphOf } from '../support.ts';
import { hybridTogether, inputFor, partitions, small, together } from './hybrid.ts';
import { deviceBackends } from './support.ts';

const upTo24 = Array.from({ length: 24 }, (_, i) => i + 1);
const samples = [
  ...styles.map(({ name, source }) => ({ name, graph: graphOf(source), items: upTo24 })),
  ...apps.map(({ name, source, input = [] }) => ({ name, graph: graphOf(source), items: input })),
].filter(({ graph }) => graph.input !== undefined);
const cuts = [partitions['all on the device']!, partitions['alternating']!, partitions['cut at random']!];
const batch = 20, mostScalars = 100_000;

describe('programs in many styles on cores and a device together', function () {
  this.timeout(240_000);

  eachBackend((_, opened) => {
    let taken = 0;
    for (let at = 0; at < samples.length; at += batch) {
      const some = samples.slice(at, at + batch);
      it(`${some[0]!.name} … ${some.at(-1)!.name}`, async () => {
        const compiled = await hybridTogether(await opened(), some.map(({ graph }, i) => ({ graph, options: {
          ...small, processors: 1 + (at + i) % 4, onDevice: cuts[(at + i) % cuts.length]!(i),
        } })));
        for (const [i, { name, graph, items }] of some.entries()) {
          const made = compiled[i];
          if (made === undefined) continue;
          if (made.parts.lists.entries > 0) ++taken;
          for (const iterations of [1, 3]) await sameOutcome(made, graph, items, iterations, name);
        }
        for (const each of compiled) each?.dispose();
      });
    }

    it('are mostly for both', () => assert.ok(taken > 50, `${taken} of ${samples.length}`));
  }, { backends: deviceBackends, cases: Math.ceil(samples.length / batch) + 1 });

  const settings = [
    { WARPLOOM_SIMT_ORDER: 'reverse' }, { WARPLOOM_SIMT_ORDER: 'random:5' }, { WARPLOOM_SIMT_DISCRETE: '1', WARPLOOM_SIMT_DELAY: '5' },
  ];
  const graphs = ['bitonic', 'filterbank', 'fm-radio', 'dct'].map((name) => program(name));
  for (const setting of drillBackends(settings.length, ['simt']).flatMap(() => settings)) {
    it(Object.entries(setting).flat().join(' '), async () => {
      Object.assign(process.env, setting);
      try {
        await using device = await openDevice({ backend: 'simt' });
        const compiled = await hybridTogether(device, graphs.map((graph, i) => ({ graph, options: { ...small, onDevice: cuts[i % cuts.length]!(i) } })));
        for (const [i, made] of compiled.entries()) {
          const length = inputFor(made!, 3) + 1;
          assert.ok(await together(made!, graphs[i]!, Float32Array.from({ length }, (_, at) => (at * 7919) % 1009)));
        }
        for (const made of compiled) made!.dispose();
      } finally {
        for (const name of Object.keys(setting)) delete process.env[name];
      }
    });
  }
});

/** Runs a program on its own items, over and over, for so many iterations of its plan. */
async function sameOutcome(made: HybridGpu, graph: StreamGraph, items: readonly number[], iterations: number, name: string): Promise<void> {
  const scalars = scalarCount(graph.input!.type) * inputFor(made, iterations) + iterations;
  if (scalars > mostScalars) return;
  const input = Array.from({ length: scalars }, (_, i) => items[i % items.length]!);
  try {
    compiledWasm(graph).run(input, {});
  } catch (error) {
    await assert.rejects(async () => made.run(input, {}), { code: (error as { code: string }).code, message: (error as Error).message }, name);
    return;
  }
  await together(made, graph, input).catch((error: Error) => {
    error.message = `${name}: ${error.message}`;
    throw error;
  });
}
