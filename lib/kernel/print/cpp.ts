// Programs as C++17. A trap calls `wl_trap(int site, double value)`, which does not come back and which the caller defines.
import type { Buffer, KernelFunction, Program } from '../ir.ts';
import { bufferParameters, printCFamily, type CFamily } from './c-family.ts';

export interface CppOptions {
  /** Buffers of the program of which each thread has its own. Default: none. */
  readonly isOwn?: (buffer: Buffer) => boolean;
  /** Words before a function: attributes of the compiler. */
  readonly attributes?: (f: KernelFunction) => string;
  /** The text that the program stands behind has declared its imports. Default: they are declared here, as functions of the file. */
  readonly knowsImports?: boolean;
}

/** Elements from which on a function's own buffer does not belong on the stack. */
const mostOnStack = 4096;

function familyOf({ isOwn, attributes, knowsImports = false }: CppOptions): CFamily {
  const aligned = 'alignas(64) ';
  const global = (buffer: Buffer): string => (isOwn?.(buffer) === true ? 'static thread_local ' : 'static ');
  return {
    traps: 'call', qualifiers: 'static', restrict: '__restrict', isParameter: ({ role }) => role === 'external', knowsImports,
    storage: (buffer) => aligned + (buffer.role === 'constant' ? 'WL_TABLE ' : global(buffer)),
    ownStorage: ({ length = 0 }) => `${aligned}${length > mostOnStack ? 'static thread_local ' : ''}`,
    ...(attributes === undefined ? {} : { attributes }),
  };
}

/** Prints a verified program, to stand behind arithmetic.h and a declaration of `wl_trap`. External buffers are parameters. */
export function printCpp(program: Program, options: CppOptions = {}): string {
  return printCFamily(program, familyOf(options));
}

/** Pointers that printed functions take behind their arguments and results, in order, by name. */
export function cppParameters(program: Program): ReadonlyMap<string, readonly Buffer[]> {
  return bufferParameters(program, familyOf({}));
}
