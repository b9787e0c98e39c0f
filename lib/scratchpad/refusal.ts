// Why a kernel is left unchanged: stable codes, their meaning, and what the author can do.
import type { SyntaxNode } from './syntax.ts';

const remedies = {
  'parse-error': 'correct the syntax there, or name the macro words that hide it in the option macros',
  'too-deep': 'split the expression or the statement',
  preprocessor: 'preprocess the text first, so that the kernel contains no #if',
  macro: 'write the macro out at this place, or make it a __device__ function',
  'unknown-name': 'declare it in this text, or give its value in the option defines',
  'unknown-function': 'put its body into this text, or name it in the option functions if it touches no shared memory and no barrier',
  'ambiguous-function': 'give the overloads different names',
  'ambiguous-syntax': 'write parentheses, so that the expression reads in one way only',
  recursion: 'write the function as a loop',
  'unknown-extent': 'make the extent a constant of this text, or give its value in the option defines',
  'unknown-type': 'define the type in this text, as a plain struct of known types',
  'object-of-element': 'copy the element into a variable of its own type first',
  constructor: 'use a type without constructors, default values, bases, virtual functions and unions',
  'inline-type': 'name the type in a declaration of its own',
  initializer: 'shared memory takes no initial values: assign after the declaration',
  'address-of': 'index the array where it is used; a local pointer to one array, set where it is declared, is fine',
  'escaping-pointer': 'keep the pointer inside the kernel and the functions of this text',
  'pointer-alias': 'let the pointer point into one array only, from its declaration on',
  'reinterpret-cast': 'declare the array with the type it is used as',
  lambda: 'use the array outside the lambda',
  'range-for': 'write the loop with an index',
  decltype: 'name the type',
  'unrecognised-use': 'write the use as an index expression',
  'volatile-shared': 'drop volatile and order the accesses with __syncthreads()',
  'warp-synchronous': 'separate the accesses with __syncthreads(), or combine the values in registers',
  'divergent-barrier': 'move the barrier to a place that all threads of the block reach, '
    + 'or make it visible that the condition is the same for all of them',
  'divergent-return': 'guard the work with the condition and let all threads reach the barriers',
  'barrier-in-expression': 'give the barrier a statement of its own',
  'spin-wait': 'let threads wait for each other at __syncthreads() only',
  'named-barrier': 'use __syncthreads()',
  'inline-assembly': 'use an intrinsic',
  'async-copy': 'copy through registers',
  'barrier-object': 'use __syncthreads()',
  cluster: 'clusters share memory between blocks: their arrays stay where they are',
  'grid-barrier': 'split the kernel at the grid barrier',
  'matrix-fragment': 'tensor-core loads take shared pointers: their arrays stay where they are',
  'shared-in-callee': 'declare the array in the kernel and pass it',
  'dynamic-and-large': 'over 48 KB the pool must be dynamic shared memory, which the kernel already uses',
  goto: 'use loops and conditions',
  'switch-fallthrough': 'end every case with break',
  'uninitialised-read': 'write the array before it is read',
  'unsupported-statement': 'use plain statements',
  'symbolic-scope': 'declare the array in the outermost block of the kernel with extents of template parameters and global constants',
} as const;

/** Stable codes of the reasons for refusing a kernel. */
export type RefusalCode = keyof typeof remedies;

/** All of them. */
export const refusalCodes = Object.keys(remedies) as RefusalCode[];

/** What to do about a refusal. */
export function remedyOf(code: RefusalCode): string {
  return remedies[code];
}

/** Thrown inside the analysis if a kernel cannot be proved safe; never leaves `optimise()`. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  readonly node: SyntaxNode;

  constructor(code: RefusalCode, node: SyntaxNode, reason: string) {
    super(reason);
    this.code = code;
    this.node = node;
  }
}
