// Numbers as the words of 32 bits that launches hand on.
import type { ScalarType } from '../../kernel/ir.ts';

/** The words of a number, the lower one first. */
export function wordsOf(type: ScalarType, x: number): number[] {
  if (type === 'i32') return [x];
  return [...new Int32Array(type === 'f32' ? Float32Array.of(x).buffer : Float64Array.of(x).buffer)];
}
