// Loops that look for the largest or smallest value are shared out among lanes, and give the same bits, zeros and NaN included.
import assert from 'node:assert/strict';
import type { CompiledGpu } from '../../../lib/stream/run/gpu.ts';
import type { FusedOptions } from '../../../lib/stream/targets/cuda-layout.ts';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { eachBackend } from '../../support/backends.ts';
import { graphOf } from '../support.ts';
import { agrees, compileTogether, deviceBackends, firstState, inputItems } from './support.ts';

/** A filter that looks at 40 items in turns of an outer loop. */
const filter = (type: string, body: string, fields = ''): string =>
  `${type}->${type} filter Look { ${fields} work pop 35 push 1 peek 40 { ${body} for (int i = 0; i < 35; i++) pop(); } } `
  + `${type}->${type} pipeline Main { add Look; }`;
const sums = (type: string, start: string, join: string): string => filter(type, `${type} best = ${start}; for (int k = 1; k < 37; k++) { `
  + `${type} sum = 0; for (int i = k; i < 40; i++) sum += peek(i) * peek(i - k); ${join} } push(best);`);
const differences = (start: string, join: string): string => filter('float', `float best = ${start}; for (int k = 0; k < 28; k++) { `
  + `float x = peek(k); for (int i = 0; i < 12; i++) x = x * peek(k + i); ${join} } push(best);`);

/** By program: whether lanes share its loop. */
const programs: readonly (readonly [name: string, source: string, isShared: boolean])[] = [
  ['the largest sum, from 0', sums('float', '0', 'best = sum > best ? sum : best;'), true],
  ['the smallest sum, the other way round', sums('float', '1000', 'best = best > sum ? sum : best;'), true],
  ['a condition instead', sums('float', '-5', 'if (sum > best) best = sum;'), true],
  ['integers', sums('int', '-2147483647', 'best = best < sum ? sum : best;'), true],
  ['the function max', sums('float', '-1', 'best = max(best, sum);'), true],
  ['the function min of doubles', sums('double', '3', 'best = min(sum, best);'), true],
  ['zeros of both signs behind negative numbers', differences('-1e30', 'best = x > best ? x : best;'), true],
  ['zeros of both signs before positive numbers', differences('1e30', 'best = x < best ? x : best;'), true],
  ['a start that comes in', differences('peek(3)', 'best = x > best ? x : best;'), true],
  ['what follows from the result', sums('int', '7', 'best = sum > best ? sum : best;').replace('push(best)', 'push(best / 3 + peek(best & 31))'), true],
  ['a comparison that NaN wins', differences('0', 'best = best >= x ? best : x;'), false],
  ['where the largest one is', filter('float', 'float best = 0; int at = 0; for (int k = 1; k < 37; k++) { float sum = 0; '
    + 'for (int i = k; i < 40; i++) sum += peek(i) * peek(i - k); if (sum > best) { best = sum; at = k; } } push(best + at);'), false],
  ['a value that the next iteration sees', sums('float', '0', 'best = sum + best * 0.5 > best ? sum + best * 0.5 : best;'), false],
  ['beside state', filter('int', 'int best = 0; for (int k = 1; k < 37; k++) { int sum = 0; for (int i = k; i < 40; i++) sum += peek(i) * peek(i - k); '
    + 'best = sum > best ? sum : best; } n = n + peek(0); push(best + n);', 'int n;'), true],
];

const special = [0, -0, 1, -1, NaN, 0.5, -0, 0, Infinity, -0.25, 3];
const options: readonly FusedOptions[] = [{ threads: 96, sharedBytes: 1300 }, { threads: 256, sharedBytes: 4000 }, {}];

describe('lanes that look for a value together', function () {
  this.timeout(120_000);

  eachBackend((_, opened) => {
    let made: (CompiledGpu | undefined)[][];
    const graphs = programs.map(([, source]) => graphOf(source));
    before(async () => {
      const device = await opened();
      made = await Promise.all(options.map((each) => compileTogether(device, graphs.map((graph) => ({ graph, options: each })))));
    });
    after(() => { for (const [first] of made) first?.dispose(); });

    programs.forEach(([name, source, isShared], i) => it(name, async () => {
      const shared = options.map((each) => /fold_lanes/.test(fusedProgram(graphs[i]!, each).source));
      assert.equal(shared.some(Boolean), isShared);
      for (const all of made) {
        const compiled = all[i];
        assert.ok(compiled !== undefined, 'it is not for devices');
        const { states } = compiled.program;
        for (const more of [1, states, 3 * states + 1, 40]) {
          const length = inputItems(compiled, firstState(compiled) + more) + 1;
          const few = Float64Array.from({ length }, (__, k) => Math.imul(k + 5, 0x9e3779b1) >> 28);
          // Bits of a NaN that comes out are not specified.
          const kinds = /max|min/.test(source) || (name.includes('NaN') && compiled.device.backend === 'cuda') ? special.filter(Number.isFinite) : special;
          const given = source.startsWith('int') ? Int32Array.from(few) : few.map((x, k) => (x > 3 ? kinds[k % kinds.length]! : x / 4));
          await agrees(compiled, graphs[i]!, source.startsWith('float') ? Float32Array.from(given) : given);
        }
      }
    }));
  }, { backends: deviceBackends, cases: programs.length });
});
