// Programs as device functions of CUDA C++. They never trap: a function that can fail takes a `wl_fault&` as its last parameter; if it
// fails, it records the fault and returns false. All others return nothing. The caller owns memory that outlives a call, so globals are
// parameters too.
import type { Buffer, Program } from '../ir.ts';
import type { CFamily } from './c-family.ts';
import { bufferParameters, canTrap, printCFamily } from './c-program.ts';

export const cudaFamily: CFamily = {
  traps: 'result', qualifiers: 'WARPLOOM_DEVICE', restrict: '__restrict__',
  isParameter: ({ role }) => role === 'external' || role === 'global', storage: () => 'WL_TABLE ', ownStorage: () => '',
};

/** Prints a verified program, to follow arithmetic.h. */
export function printCuda(program: Program): string {
  return printCFamily(program, cudaFamily);
}

/** The buffers that printed functions take as pointers after their arguments and results, in order, by function name. */
export function cudaParameters(program: Program): ReadonlyMap<string, readonly Buffer[]> {
  return bufferParameters(program, cudaFamily);
}

/** Whether a printed function can fail, returning false after recording a fault. */
export function cudaCanFail(program: Program, name: string): boolean {
  return canTrap(program, cudaFamily, name);
}
