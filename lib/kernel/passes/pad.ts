// Inserts gaps into buffers in banked memory. If neighbouring threads access elements a power of two apart, gaps spread the accesses over
// the banks.
import { binary, exact, i32, valueOf, type Buffer, type Expression, type Program } from '../ir.ts';
import { placeBuffers } from './place.ts';

/** By buffer: the exponent s, if a gap of one element follows every 2^s elements. */
export type Gaps = ReadonlyMap<Buffer, number>;

/** The position of element `index` in a buffer with a gap of one element after every 2^`shift` elements. */
export function paddedIndex(index: number, shift: number): number {
  return index + Math.floor(index / 2 ** shift);
}

/** The same in code. */
export function paddedPlace(index: Expression, shift: number): Expression {
  const known = valueOf(index);
  return known === undefined ? exact('add', index, binary('shr', index, i32(shift))) : i32(paddedIndex(known, shift));
}

/** Changes all accesses to buffers with gaps. The caller makes the buffers larger; they must not contain vectors. */
export function padBuffers(program: Program, gaps: Gaps): Program {
  return placeBuffers(program, new Map([...gaps].map(([buffer, shift]) => [buffer, (index) => paddedPlace(index, shift)])));
}
