// Random programs that do work for nothing: WebAssembly and C++ leave it out, and give what the interpreter gives, bit for bit.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StreamRunError } from '../../../lib/stream/interpret/error.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { compileCppTogether } from '../../../lib/stream/run/cpp.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import { randomInput } from '../emit/random-programs.ts';
import { graphOf, hasCompiler } from '../support.ts';
import { casesOf } from '../../support/thorough.ts';
import { wastefulProgram } from './random-graphs.ts';

const programs = casesOf(90, 300);
const inCpp = casesOf(12, 40);
const mainOf = (source: string): string => source.slice(source.lastIndexOf('float->float pipeline'));
const plans = [{}, { groupSize: 1, filterSize: 0, maxMultiplicity: 2 }, { groupSize: 50_000, filterSize: 20_000, maxMultiplicity: 5 }];

/** Floats with their bits, but for those of NaN. */
function bitsOf(values: ArrayLike<number>): number[] {
  return [...new Int32Array(Float32Array.from(values, (x) => (Number.isNaN(x) ? NaN : x)).buffer)];
}

/** Input with zeros of both signs, and now and then something that is no number. */
function inputOf(seed: number): number[] {
  const input = randomInput(seed, 'float', 500 + seed);
  return input.map((x, i) => (i % 11 === seed % 11 ? -0 : i % 97 === 50 ? (seed % 3 === 0 ? NaN : Infinity) : x / 8));
}

/** What the interpreter gives: bits of the output, or the code of the error. */
function expectedOf(source: string, input: readonly number[]): number[] | string {
  try {
    return bitsOf(interpretSync(graphOf(source), { input }).output);
  } catch (error) {
    assert.ok(error instanceof StreamRunError, `${source}\n${String(error)}`);
    return error.diagnostic.code;
  }
}

describe('random programs that do work for nothing', function () {
  this.timeout(240_000);

  it('give the same as WebAssembly', () => {
    const saved = { nodes: 0, dropped: 0, phases: 0, together: 0 };
    for (let seed = 0; seed < programs; ++seed) {
      const source = wastefulProgram(seed);
      const input = inputOf(seed);
      const expected = expectedOf(source, input);
      const graph = graphOf(source);
      const compiled = compileWasm(graph, plans[seed % plans.length]);
      const { plan } = compiled;
      saved.nodes += graph.nodes.length - plan.graph.nodes.length;
      for (const [id, { codes }] of plan.firings) {
        if (codes.includes(undefined)) ++saved.dropped;
        if (new Set(codes).size < 3) continue;
        ++saved.phases;
        if (plan.groupOf[id]!.isJammed) ++saved.together;
      }
      if (typeof expected === 'string') assert.throws(() => compiled.run(input), StreamRunError, source);
      else {
        const found = compiled.run(input);
        assert.deepEqual(bitsOf(found.output), expected, `seed ${seed}: ${mainOf(source)}`);
        if (seed % 4 === 0) assert.deepEqual(found.firings, compileWasm(graph, { savings: false }).run(input).firings, `seed ${seed}`);
      }
    }
    for (const [what, count] of Object.entries(saved)) assert.ok(count > programs / 30, `${what}: ${count}`);
  });

  it('give the same in C++', async function () {
    if (!hasCompiler()) this.skip();
    const cacheFolder = mkdtempSync(join(tmpdir(), 'warploom-test-'));
    try {
      const seeds = Array.from({ length: inCpp }, (_, i) => i * Math.floor(programs / inCpp));
      const sources = seeds.map(wastefulProgram);
      const compiled = await compileCppTogether(sources.map((source) => graphOf(source)), { cacheFolder, effort: 1 });
      for (const [i, seed] of seeds.entries()) {
        const expected = expectedOf(sources[i]!, inputOf(seed));
        if (typeof expected === 'string') await assert.rejects(compiled[i]!.run(inputOf(seed)), StreamRunError);
        else assert.deepEqual(bitsOf((await compiled[i]!.run(inputOf(seed))).output), expected, `seed ${seed}: ${mainOf(sources[i]!)}`);
      }
    } finally {
      rmSync(cacheFolder, { recursive: true, force: true });
    }
  });
});
