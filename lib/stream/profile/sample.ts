// Generated items, for measuring a program without real ones.
import { scalarsOf } from '../interpret/files.ts';
import type { IrType } from '../ir.ts';

/** Scalars of whole items: floats in [-1, 1), ints of 0 to 255, bits; from a seed. */
export function sampleInput(type: IrType, scalars: number, seed: number): Float64Array {
  const names = scalarsOf(type);
  const numbers = new Float64Array(Math.ceil(scalars / Math.max(names.length, 1)) * names.length);
  let state = seed >>> 0;
  for (let i = 0; i < numbers.length; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const name = names[i % names.length];
    numbers[i] = name === 'int' ? state >>> 24 : name === 'float' || name === 'double' ? (state >>> 8) / 2 ** 23 - 1 : state >>> 31;
  }
  return numbers;
}
