// Gaps in buffers that lie in banked memory: where neighbouring threads access elements a power of two apart, gaps spread them over the
// banks.
import { binary, exact, i32, valueOf, type Buffer, type Expression, type Program } from '../ir.ts';
import { placeBuffers } from './place.ts';

/** Elements from which on a gap of one follows, as a power of two. */
export type Gaps = ReadonlyMap<Buffer, number>;

/** Where element `index` of a buffer stands that has a gap of one behind every 2^`shift` elements. */
export function paddedIndex(index: number, shift: number): number {
  return index + Math.floor(index / 2 ** shift);
}

/** The same in code. */
export function paddedPlace(index: Expression, shift: number): Expression {
  const known = valueOf(index);
  return known === undefined ? exact('add', index, binary('shr', index, i32(shift))) : i32(paddedIndex(known, shift));
}

/** Functions in which the buffers have gaps; the caller leaves room for them. Buffers must hold no vectors. */
export function padBuffers(program: Program, gaps: Gaps): Program {
  return placeBuffers(program, new Map([...gaps].map(([buffer, shift]) => [buffer, (index) => paddedPlace(index, shift)])));
}
