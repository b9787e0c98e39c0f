// Programs as device functions of CUDA C++. They never trap: a function that can fail takes a `wl_fault&` as its last parameter,
// and records the fault and returns false if it fails; all others return nothing. Memory that outlives a call is the caller's:
// globals are parameters too.
import type { Buffer, Program } from '../ir.ts';
import type { CFamily } from './c-family.ts';
import { bufferParameters, canTrap, printCFamily } from './c-program.ts';

export const cudaFamily: CFamily = {
  traps: 'result', qualifiers: 'WARPLOOM_DEVICE', restrict: '__restrict__',
  isParameter: ({ role }) => role === 'external' || role === 'global', storage: () => 'WL_TABLE ', ownStorage: () => '',
};

/** Prints a verified program, to stand behind arithmetic.h. */
export function printCuda(program: Program): string {
  return printCFamily(program, cudaFamily);
}

/** Pointers that printed functions take behind their arguments and results, in order, by name. */
export function cudaParameters(program: Program): ReadonlyMap<string, readonly Buffer[]> {
  return bufferParameters(program, cudaFamily);
}

/** Whether a printed function gives false, with a fault noted, where it fails. */
export function cudaCanFail(program: Program, name: string): boolean {
  return canTrap(program, cudaFamily, name);
}
