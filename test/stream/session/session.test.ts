// Sessions give what runs give, to the bit, however the input is cut.
import assert from 'node:assert/strict';
import { benchmarkPrograms, randomInput } from '../../../examples/stream/programs.ts';
import { open, run, type SessionBackend } from '../../../lib/stream/index.ts';
import { randomInput as randomItems, randomProgram } from '../emit/random-programs.ts';
import { program } from '../programs/support.ts';
import { styles } from '../programs/styles.ts';
import { graphOf } from '../support.ts';
import { cut, inChunks, type Cut } from './support.ts';

const backends: readonly SessionBackend[] = ['wasm', 'interpret'];
const cuts: readonly Cut[] = [1, 7, 64, 997, 'random', 1e9];

describe('sessions', function () {
  this.timeout(60_000);

  for (const sample of benchmarkPrograms) {
    it(`run ${sample.name} in chunks`, async () => {
      const graph = program(sample.name);
      const items = 3 * sample.inputItems + 500 + 13;
      const input = randomInput(sample, items);
      const { output } = await run(graph, { input, backend: 'wasm' });
      for (const backend of backends) {
        for (const how of backend === 'wasm' ? cuts : [97, 'random'] as const) {
          const found = await inChunks(graph, cut(input, how), { backend });
          assert.deepEqual([found.backend, found.error], [backend, undefined]);
          assert.deepEqual(found.output, [...output as Float32Array], `${backend} in chunks of ${how}`);
        }
      }
    });
  }

  it('run programs of all styles', async () => {
    let ran = 0;
    for (const { name, source } of styles) {
      const graph = graphOf(source);
      if (graph.input === undefined) continue;
      ++ran;
      const input = Array.from({ length: 24 }, (_, i) => i + 1);
      const expected = await run(graph, { input });
      for (const how of [1, 5, 'random'] as const) {
        const found = await inChunks(graph, cut(input, how));
        assert.equal(found.error, undefined, name);
        assert.deepEqual([found.output, found.text], [[...expected.output as Float32Array], expected.printed], name);
      }
    }
    assert.ok(ran > 20, `${ran} programs`);
  });

  for (const first of [0, 50]) {
    it(`run random programs ${first} to ${first + 49}`, async () => {
      for (let seed = first; seed < first + 50; ++seed) {
        const { source, type } = randomProgram(seed);
        const graph = graphOf(source);
        const input = randomItems(seed, type, 151);
        const expected = await run(graph, { input, backend: 'wasm' }).then((made) => made, (error: unknown) => ({ error }));
        for (const backend of backends) {
          const found = await inChunks(graph, cut(input, 'random', seed), { backend });
          if ('error' in expected) assert.equal((found.error as Error | undefined)?.message, (expected.error as Error).message, `seed ${seed}`);
          else assert.deepEqual([found.output, found.error], [[...expected.output as Float32Array], undefined], `seed ${seed} ${backend}\n${source}`);
        }
      }
    });
  }

  it('end at once, and with too little input', async () => {
    const graph = program('fm-radio');
    for (const backend of backends) {
      for (const items of [0, 1, 63, 64, 68, 69]) {
        const input = Float32Array.from({ length: items }, (_, i) => Math.sin(i));
        const { output } = await run(graph, { input, backend: 'wasm' });
        assert.deepEqual((await inChunks(graph, cut(input, 10), { backend })).output, [...output as Float32Array]);
      }
    }
    const session = await open(graph);
    await session.end();
    await assert.rejects(session.push([1]), { code: 'ERR_WARPLOOM_DISPOSED' });
    await assert.rejects(session.end(), { code: 'ERR_WARPLOOM_DISPOSED' });
  });
});
