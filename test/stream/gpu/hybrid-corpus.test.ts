// Programs in many people's styles on cores and a device together, and programs with the shim's threads in other orders and on a device with
// slow memory of its own: what WebAssembly makes of them, bit for bit.
import assert from 'node:assert/strict';
import { openDevice } from '../../../lib/core/device.ts';
import { scalarCount } from '../../../lib/stream/interpret/values.ts';
import { casesOf } from '../../support/thorough.ts';
import { drillBackends, eachBackend } from '../../support/backends.ts';
import { program } from '../programs/support.ts';
import { samples, sameOutcome } from './corpus.ts';
import { hybridTogether, inputFor, partitions, small, together } from './hybrid.ts';
import { deviceBackends } from './support.ts';

const cuts = [partitions['all on the device']!, partitions['alternating']!, partitions['cut at random']!];
const batch = 20, mostScalars = casesOf(20_000, 100_000);

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
        for (const [i, sample] of some.entries()) {
          const { name, graph } = sample;
          const made = compiled[i];
          if (made === undefined) continue;
          if (made.parts.lists.entries > 0) ++taken;
          for (const iterations of [1, 3]) {
            const scalars = scalarCount(graph.input!.type) * inputFor(made, iterations) + iterations;
            if (scalars > mostScalars) continue;
            await sameOutcome(sample, scalars, name, (input) => made.run(input, {}), (input) => together(made, graph, input));
          }
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
