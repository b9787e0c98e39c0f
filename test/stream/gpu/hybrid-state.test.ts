// State and feedback loops on either side of a hybrid plan: what cores had before the first iteration is brought to the device, and goes
// back behind the last one. Rings hold garbage, and so does what is kept.
import assert from 'node:assert/strict';
import type { Device } from '../../../lib/core/device.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import type { HybridCompileOptions } from '../../../lib/stream/run/hybrid.ts';
import { eachBackend } from '../../support/backends.ts';
import { randomInput } from '../emit/random-programs.ts';
import { graphOf } from '../support.ts';
import { hybridOf, hybridTogether, inputFor, partitions, small, together } from './hybrid.ts';
import { loopGraph, loopPrograms } from './loop-programs.ts';
import { deviceBackends } from './support.ts';

const isAll: HybridCompileOptions['onDevice'] = () => true;

describe('state and loops on cores and a device together', function () {
  this.timeout(120_000);

  eachBackend((backend, opened) => {
    let device: Device;
    before(async () => { device = await opened(); });

    it('give what the interpreter and WebAssembly give, wherever they are', async () => {
      const some = loopPrograms.filter((_, i) => backend === 'cuda' || i % 2 === 0);
      const samples = some.map((each, i) => ({ graph: loopGraph(each), options: {
        ...small, cores: 1 + i % 3, processors: 1 + i % 4, maxUnroll: 1 + i % 3,
        onDevice: i % 4 === 3 ? partitions['cut at random']!(i) : isAll,
      } }));
      const compiled = await hybridTogether(device, samples);
      let fields = 0, loops = 0;
      for (const [i, made] of compiled.entries()) {
        const { name, type } = some[i]!, { graph } = samples[i]!;
        assert.ok(made !== undefined, name);
        fields += made.parts.lists.fields.length;
        loops += made.parts.lists.loops.length;
        const blame = (error: Error): never => { throw new Error(`${name}: ${error.message}`, { cause: error }); };
        for (const [iterations, more] of [[0, 2], [1, 0], [2 + i % 6, -1]] as const) {
          const length = Math.min(60_000, Math.max(0, inputFor(made, iterations) + more));
          assert.ok(await together(made, graph, randomInput(i, type, length)).catch(blame) || iterations < 2, name);
        }
        const few = randomInput(i + 1, type, Math.min(inputFor(made, 1), 1500));
        assert.deepEqual([...(await made.run(few, {})).output], interpretSync(graph, { input: few }).output, name);
      }
      for (const made of compiled) made?.dispose();
      assert.ok(fields >= 5 && loops >= 20, `${fields} fields, ${loops} channels in loops`);
    });

    it('are placed by what they cost', async () => {
      const graph = graphOf(`float->float filter Fir { work pop 1 push 1 peek 64 { float s = 0; for (int i = 0; i < 64; i++) s += peek(i) * (0.1 + i);
          push(s); pop(); } } float->float filter Smooth { float y; work pop 1 push 1 {
          float x = pop(); for (int i = 0; i < 6; i++) y = 0.9 * y + 0.1 * x; push(y); } }
        float->float pipeline Main { add Fir; add Smooth; add Fir; }`);
      const link = { latency: 1, toGpu: 1e4, toCpu: 1e4, shuffle: 1e3, deshuffle: 1e3 };
      for (const [microseconds, isOnGpu] of [[1e-3, false], [100, true]] as const) {
        using made = await hybridOf(device, graph, {
          mode: 'synergistic', link, cores: 2, threads: 32, shuffleItems: 32, launchMicroseconds: 0, processors: 4, maxUnroll: 4,
          costs: graph.nodes.map(({ name }) => (name.startsWith('Smooth') ? microseconds : 50)),
        });
        const { plan, program, lists } = made.parts;
        assert.deepEqual(plan.onGpu.filter((_, id) => program.inOrder[id] && program.nodes[id] !== undefined), [isOnGpu]);
        assert.equal(lists.fields.length, isOnGpu ? 1 : 0);
        assert.ok(await together(made, graph, randomInput(3, 'float', inputFor(made, 3) + 1)));
      }
    });

    it('are not right if what is kept is not brought, or not taken back, or loops have other rings', async () => {
      const graph = loopGraph(loopPrograms.find(({ name }) => name === 'state inside a loop')!);
      for (const change of ['fields', 'loops', 'tokens'] as const) {
        using made = await hybridOf(device, graph, { ...small, maxUnroll: 1, onDevice: isAll }, (parts) => ({ ...parts, lists: {
          ...parts.lists, ...change === 'tokens' ? { loops: parts.lists.loops.map((loop) => ({ ...loop, tokens: Math.max(0, loop.tokens - 1) })) }
            : { [change]: [] } } }));
        const input = randomInput(5, 'int', inputFor(made, 3) + 2);
        await assert.rejects(together(made, graph, input), { name: 'AssertionError' }, change);
      }
    });
  }, { backends: deviceBackends, cases: 3 });
});
