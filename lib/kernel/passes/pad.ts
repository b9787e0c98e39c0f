// Inserts gaps into buffers in banked memory. If neighbouring threads access elements a power of two apart, gaps spread the accesses over
// the banks.
import { binary, exact, i32, valueOf, type Buffer, type Expression, type Local, type Program } from '../ir.ts';
import { linearOf } from './linear.ts';
import { placeBuffers } from './place.ts';
import { residueOf, residuesIn, type Residue } from './residues.ts';

/** By buffer: the exponent s, if a gap of one element follows every 2^s elements. */
export type Gaps = ReadonlyMap<Buffer, number>;

/** The position of element `index` in a buffer with a gap of one element after every 2^`shift` elements. */
export function paddedIndex(index: number, shift: number): number {
  return index + Math.floor(index / 2 ** shift);
}

/**
 * The same in code. Indices are often constants behind one that is known modulo 2^`shift`; then the places are constants behind one, too.
 * @param locals what is known of locals
 */
export function paddedPlace(index: Expression, shift: number, locals: ReadonlyMap<Local, Residue> = new Map()): Expression {
  const known = valueOf(index);
  if (known !== undefined) return i32(paddedIndex(known, shift));
  const { terms, constant } = linearOf(index);
  const aligned: Expression[] = [], rest: Expression[] = [];
  let residue = 0;
  for (const { of, factor } of terms) {
    const term = factor === 1 ? of : binary('mul', of, i32(factor));
    const found = residueOf(term, locals);
    if (found === undefined || found.modulus < 2 ** shift) rest.push(term);
    else {
      aligned.push(term);
      residue = (residue + found.value) % 2 ** shift;
    }
  }
  const [first, ...others] = aligned;
  if (first === undefined) return exact('add', index, binary('shr', index, i32(shift)));
  const front = plus(first, others);
  const base = exact('add', front, binary('shr', plus(front, [], -residue), i32(shift)));
  const [next, ...more] = rest;
  if (next === undefined) return plus(base, [], constant + Math.floor((constant + residue) / 2 ** shift));
  const behind = plus(next, more);
  return exact('add', base, exact('add', plus(behind, [], constant), binary('shr', plus(behind, [], constant + residue), i32(shift))));
}

function plus(first: Expression, others: readonly Expression[], constant = 0): Expression {
  const sum = others.reduce((a, b) => binary('add', a, b), first);
  return constant === 0 ? sum : exact('add', sum, i32(constant));
}

/**
 * Changes all accesses to buffers with gaps. The caller makes the buffers larger; they must not contain vectors.
 * @param residues what is known of the parameters of functions
 */
export function padBuffers(program: Program, gaps: Gaps, residues: ReadonlyMap<Local, Residue> = new Map()): Program {
  if (gaps.size === 0) return program;
  return placeBuffers(program, (f) => {
    const locals = residuesIn(f, residues);
    return new Map([...gaps].map(([buffer, shift]) => [buffer, (index: Expression) => paddedPlace(index, shift, locals)]));
  });
}
