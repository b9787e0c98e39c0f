// Branches that differ only in constants run one function, which finds them in tables by the number of the branch.
import assert from 'node:assert/strict';
import { benchmarkPrograms, randomInput } from '../../../examples/stream/programs.ts';
import type { CompiledGpu } from '../../../lib/stream/run/gpu.ts';
import type { FusedOptions } from '../../../lib/stream/targets/cuda-layout.ts';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { eachBackend } from '../../support/backends.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';
import { agrees, compileTogether, deviceBackends, firstState, inputItems } from './support.ts';

/** Branches with windows of `taps` items and constants of their own, which a compiler writes out. */
const bands = (type: string, count: number, taps: number): string => `${type}->${type} filter Band(int k) { ${type}[${taps}] h; `
  + `init { for (int i = 0; i < ${taps}; i++) h[i] = (i * 37 + k * 101) % 61 * 2 + 3; } work pop 1 push 1 peek ${taps} { ${type} sum = 0; `
  + `for (int i = 0; i < ${taps}; i++) sum += h[i] * peek(i); push(sum); pop(); } } `
  + `${type}->${type} splitjoin Main { split duplicate; for (int k = 0; k < ${count}; k++) add Band(k); join roundrobin; }`;

const programs = {
  'floats in 12 bands': bands('float', 12, 64), 'doubles in 11 bands': bands('double', 11, 64),
};
const options: readonly FusedOptions[] = [
  { threads: 64, sharedBytes: 20_000, width: 1 }, { threads: 96, sharedBytes: 30_000 }, { threads: 128, sharedBytes: 60_000, width: 4 },
];

describe('branches that find their constants in tables', function () {
  this.timeout(120_000);

  eachBackend((_, opened) => {
    let made: (CompiledGpu | undefined)[];
    const samples = Object.entries(programs).flatMap(([name, source]) =>
      options.map((each) => ({ name, source, graph: graphOf(source), options: { ...each, hasTables: true } })));
    before(async () => { made = await compileTogether(await opened(), samples); });
    after(() => { made[0]?.dispose(); });

    for (const name of Object.keys(programs)) {
      it(name, async () => {
        for (const [i, sample] of samples.entries()) {
          if (sample.name !== name) continue;
          const text = fusedProgram(sample.graph, sample.options).source;
          const alone = fusedProgram(sample.graph, { ...sample.options, hasTables: false }).source;
          assert.match(text, /of_members_0\[/);
          assert.ok(!alone.includes('of_members_') && text.length < alone.length / 2);
          const compiled = made[i]!;
          for (const more of [1, compiled.program.states, 2 * compiled.program.states + 1]) {
            const length = inputItems(compiled, firstState(compiled) + more) + 1;
            const numbers = Float64Array.from({ length }, (__, k) => (Math.imul(k + 5, 0x9e3779b1) >> 20) / 64);
            await agrees(compiled, sample.graph, name.startsWith('float') ? Float32Array.from(numbers) : numbers);
          }
        }
      });
    }

    it('the vocoder', async () => {
      const each = benchmarkPrograms.find(({ name }) => name === 'channel-vocoder')!;
      const graph = program(each.name);
      const [compiled] = await compileTogether(await opened(), [{ graph, options: { hasTables: true } }]);
      assert.match(compiled!.program.source, /of_members_1\[/);
      const items = inputItems(compiled!, firstState(compiled!) + compiled!.program.states + 3);
      await agrees(compiled!, graph, randomInput(each, Math.ceil(items / each.inputItems) * each.inputItems, 3).subarray(0, items));
      compiled!.dispose();
    });
  }, { backends: deviceBackends, cases: Object.keys(programs).length + 1 });
});
