// Programs as C++17. A trap calls `wl_trap(int site, double value)`, which does not come back and which the caller defines.
import type { Buffer, Program } from '../ir.ts';
import { bufferParameters, printCFamily, type CFamily } from './c-family.ts';

export const cppFamily: CFamily = {
  traps: 'call', qualifiers: 'static', restrict: '__restrict', isParameter: ({ role }) => role === 'external',
};

/** Prints a verified program, to stand behind arithmetic.h and a declaration of `wl_trap`. External buffers are parameters. */
export function printCpp(program: Program): string {
  return printCFamily(program, cppFamily);
}

/** Pointers that a printed function takes behind its arguments and results, in order. */
export function cppParameters(program: Program, name: string): readonly Buffer[] {
  return bufferParameters(program, cppFamily, name);
}
