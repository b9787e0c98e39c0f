// Loops in which some iterations have no effect: those that remain must still find the values that others computed.
import assert from 'node:assert/strict';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import { Random } from '../emit/random-programs.ts';
import { graphOf } from '../support.ts';
import { casesOf } from '../../support/thorough.ts';
import { loopProgram } from './random-loops.ts';

const programs = casesOf(75, 150);
const plans = [{}, { groupSize: 1, filterSize: 0 }, { groupSize: 50_000, filterSize: 20_000, maxMultiplicity: 5 }];

function inputFor(seed: number, type: 'int' | 'float', length: number): number[] {
  const r = new Random(seed);
  const real = (): number => r.pick([0, -0, Infinity, NaN, ...Array.from({ length: 4 }, () => Math.fround(r.below(2001) / 64 - 16))]);
  return Array.from({ length }, () => (type === 'int' ? r.below(41) - 20 : real()));
}

function sameAsInterpreted(source: string, input: readonly number[], options = {}): void {
  const graph = graphOf(source);
  assert.deepEqual([...compileWasm(graph, options).run(input).output], interpretSync(graph, { input }).output, source);
}

describe('loops with iterations that have no effect', function () {
  this.timeout(120_000);

  it('leave values alone that others are equal to', () => {
    const zeros = 'float->float filter Zeros { work pop 1 push 1 { pop(); push(0); } }';
    for (const work of [
      'for (int i = 0; i < 4; i++) u = peek(1); b = u;',
      'for (int i = 0; i < 4; i++) u = peek(1); for (int i = 0; i < 2; i++) { b = u; if (i == 9) break; }',
      'for (int i = 0; i < 4; i++) u = peek(1); for (int i = 0; i < 9; i++) { b = u; c += i; }',
      'for (int i = 0; i < 4; i++) u = peek(1); c = c + u;',
      'for (int i = 0; i < 4; i++) u = peek(1) + 1; c = c * u;',
      'for (int i = 0; i < 4; i++) u = peek(1); b = x > 3 ? u : 0;',
      'for (int i = 0; i < 4; i++) u = peek(1); if (x > 3) b = u;',
      'for (int i = 1; i < 8; i *= 2) { c += u; u = peek(1); } for (int i = 0; i < 8; i++) if (i == 2 || i == 7) b = u * i; else c -= u;',
    ]) {
      sameAsInterpreted(`${zeros} float->float filter F { work pop 2 push 2 peek 4 { float x = peek(0); float u = 3; float b = 0; float c = 1;
        ${work} push(b); push(c); pop(); pop(); } }
        float->float pipeline Main { add splitjoin { split roundrobin(1, 1); add Identity<float>; add Zeros; join roundrobin(1, 1); }; add F; }`,
      Array.from({ length: 40 }, (_, i) => i % 7));
    }
  });

  it(`in ${programs} random programs`, () => {
    for (let seed = 0; seed < programs; ++seed) {
      const { source, type } = loopProgram(seed);
      for (const length of [1, 50, 397]) sameAsInterpreted(source, inputFor(seed + length, type, length), plans[seed % plans.length]);
    }
  });
});
