// Random programs: WebAssembly and C++ give what the interpreter gives, bit for bit. In C++ one of five, of every plan and of every
// tenth of the seeds, because compilers take most of the time; 500 programs, all of them in C++, with WARPLOOM_THOROUGH=1.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { StreamRunError } from '../../../lib/stream/interpret/error.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { compileCppTogether } from '../../../lib/stream/run/cpp.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import { graphOf, hasCompiler } from '../support.ts';
import { casesOf, isThorough } from '../../support/thorough.ts';
import { randomInput, randomProgram } from './random-programs.ts';

const programs = casesOf(100, 500);
const together = 50;
const inCpp = isThorough ? 5 : 1;
const plans = [{}, { groupSize: 1, filterSize: 0, maxMultiplicity: 2 }, { groupSize: 50_000, filterSize: 20_000, maxMultiplicity: 5 }];

/** A program, its input, and what the interpreter makes of it: its output or the code of its error. */
interface Sample {
  readonly seed: number;
  readonly source: string;
  readonly graph: StreamGraph;
  readonly input: readonly number[];
  readonly expected: readonly number[] | string;
}

function sample(seed: number): Sample {
  const { source, type } = randomProgram(seed);
  const graph = graphOf(source);
  const input = randomInput(seed, type, 400);
  try {
    return { seed, source, graph, input, expected: interpretSync(graph, { input }).output };
  } catch (error) {
    assert.ok(error instanceof StreamRunError, `seed ${seed}\n${source}\n${String(error)}`);
    return { seed, source, graph, input, expected: error.diagnostic.code };
  }
}

describe('random programs', function () {
  this.timeout(240_000);
  const folder = mkdtempSync(join(tmpdir(), 'warploom-test-'));
  const samples: Sample[] = [];
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (let from = 0; from < programs; from += together) {
    it(`${from} to ${from + together - 1} as WebAssembly`, () => {
      for (let seed = from; seed < from + together; ++seed) {
        const { source, graph, input, expected } = samples[seed] = sample(seed);
        const compiled = compileWasm(graph, plans[seed % plans.length]);
        if (typeof expected === 'string') assert.throws(() => compiled.run(input), (error) => error instanceof StreamRunError);
        else assert.deepEqual([...compiled.run(input).output], expected, `seed ${seed}\n${source}`);
      }
    });

    it(`${from} to ${from + together - 1} in C++, ${inCpp} of 5`, async function () {
      if (!hasCompiler()) this.skip();
      const some = samples.slice(from, from + together).filter(({ seed }) => seed % 5 < inCpp);
      assert.equal(some.length, together * inCpp / 5);
      const compiled = await compileCppTogether(some.map(({ graph }) => graph), { cacheFolder: folder, effort: 1 });
      for (const [i, { seed, source, input, expected }] of some.entries()) {
        if (typeof expected === 'string') await assert.rejects(async () => compiled[i]!.run(input), (error) => error instanceof StreamRunError);
        else assert.deepEqual([...(await compiled[i]!.run(input)).output], expected, `seed ${seed}\n${source}`);
      }
    });
  }

  it('go through every kind of stream', () => {
    const all = samples.map(({ source }) => source).join('\n');
    for (const word of ['feedbackloop', 'split duplicate', 'split roundrobin', 'prework', 'peek(2)', 'P->P filter', 'Identity', 'int->float', 'bit->int']) {
      assert.ok(all.split(word).length > programs / 50, word);
    }
    assert.ok(samples.filter(({ expected }) => typeof expected !== 'string' && expected.length > 20).length > 0.9 * programs);
  });
});
