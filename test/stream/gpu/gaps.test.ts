// Gaps in shared memory: threads that move neighbouring items by one instruction, or one by one, meet in no bank.
import assert from 'node:assert/strict';
import { accessesIn, gapsFor, noGaps, placeWith, type Gaps } from '../../../lib/stream/targets/cuda-gaps.ts';
import type { Kind } from '../../../lib/stream/plan/layout.ts';
import { parseProgram } from '../../../lib/kernel/parse.ts';

const banks = 32;

/** Where iterations of `moved` items begin, in words of four bytes. */
function begins(gaps: Gaps, moved: number, words: number): number[] {
  return Array.from({ length: 256 }, (_, turn) => placeWith(gaps, 1, turn * moved) * words);
}

const rows = (kind: Kind, moved: readonly number[], isDense: boolean): Gaps => gapsFor({ moved, kind, beside: 0, stride: 1, isDense });

describe('gaps in shared memory', () => {
  it('let threads move 16 bytes each without conflicts, whatever a multiple of 16 bytes they begin apart', () => {
    for (const [kind, words] of [['f', 1], ['i', 1], ['d', 2]] as const) {
      for (let moved = 4 / words; moved <= 1024; moved += 4 / words) {
        const gaps = rows(kind, [moved], true);
        const places = begins(gaps, moved, words);
        for (let first = 0; first < places.length; first += 8) { // eight threads fill all banks
          const own = places.slice(first, first + 8).map((at) => at % banks / 4);
          assert.equal(new Set(own).size, 8, `${kind} ${moved}: ${own.join(' ')}`);
          assert.ok(own.every(Number.isInteger), `${kind} ${moved}`);
        }
        // No more room than an eighth of it is lost, and a row or more lies between gaps.
        assert.ok(gaps.gap * 8 <= Math.max(gaps.row, 8 * 4 / words), `${kind} ${moved}`);
        assert.equal(gaps.row % moved, 0);
      }
    }
  });

  it('let threads move pairs or single scalars without conflicts', () => {
    for (let moved = 1; moved <= 511; moved += 2) {
      assert.equal(new Set(begins(rows('f', [2 * moved], true), 2 * moved, 1).slice(0, 16).map((at) => at % banks)).size, 16);
      for (const dense of [false, true]) assert.equal(new Set(begins(rows('f', [moved], dense), moved, 1).slice(0, 32).map((at) => at % banks)).size, 32);
      assert.equal(new Set(begins(rows('f', [2 * moved], false), 2 * moved, 1).slice(0, 32).map((at) => at % banks)).size, 32);
    }
  });

  it('stand where both ends of a channel find them: behind rows of whole iterations, or of powers of two for windows', () => {
    assert.deepEqual(rows('f', [16, 8], true), { shift: noGaps, row: 32, gap: 4 });
    assert.deepEqual(rows('f', [16, 8], false), { shift: noGaps, row: 16, gap: 1 });
    assert.deepEqual(gapsFor({ moved: [1, 16], kind: 'f', beside: 31, stride: 1, isDense: true }), { shift: 4, row: 0, gap: 0 });
    assert.deepEqual(gapsFor({ moved: [], kind: 'i', beside: 0, stride: 1, isDense: false, isPlain: true }), { shift: noGaps, row: 0, gap: 0 });
  });

  it('leave windows side by side where threads load 16 bytes of them at once', () => {
    const windows = (moved: readonly number[], isWide: boolean): Gaps =>
      gapsFor({ moved, kind: 'f', beside: 63, stride: 1, isDense: false, isWide });
    assert.deepEqual(windows([4, 50], true), { shift: noGaps, row: 0, gap: 0 });
    for (const [moved, isWide] of [[4, false], [8, true], [16, true]] as const) {
      assert.deepEqual(windows([moved, 50], isWide), { shift: Math.log2(moved), row: 0, gap: 0 });
    }
    const own = begins(windows([4], true), 4, 1).slice(0, 8).map((at) => at % banks / 4);
    assert.equal(new Set(own).size, 8);
  });

  it('depend on how many elements a call touches, loops and copies included', () => {
    const program = parseProgram(`external x i32[40]
external y i32[40]
function f(n: i32) { var i: i32 for L: i = 0 to 5 step 1 { y[i] = x[i] } copy y[0] = x[0] for 7 }`);
    const [f] = program.functions, [x, y] = program.buffers;
    assert.deepEqual([x, y].map((buffer) => accessesIn(f!).get(buffer!)), [12, 12]);
  });
});
