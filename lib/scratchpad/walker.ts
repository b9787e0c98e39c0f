// The visitor's interface for its parts.
import type { KernelArrays } from './arrays.ts';
import type { Effects, Instance, MemoryBase, Mode } from './effects.ts';
import type { Library } from './model.ts';
import { forbiddenWords } from './names.ts';
import { Refusal } from './refusal.ts';
import { Shapes } from './shapes.ts';
import type { SyntaxNode } from './syntax.ts';

/** Records effects of expressions and statements. Calls, macros and copies of elements are handled in other files, which call back. */
export abstract class Walker extends Shapes {
  /** Functions for which the caller vouches. */
  readonly trusted: ReadonlySet<string>;
  /** Template parameters of the kernel that are initialised with values of shared arrays: they must not be classes. */
  readonly plainParameters = new Set<string>();

  constructor(library: Library, arrays: KernelArrays, trusted: ReadonlySet<string>) {
    super(library, arrays);
    this.trusted = trusted;
  }

  /** Records the effects of a statement or expression. */
  abstract visit(node: SyntaxNode, instance: Instance, effects: Effects, mode: Mode): void;

  /** Records the effects of computing the place of a peeked expression. */
  abstract touch(node: SyntaxNode, instance: Instance, effects: Effects): void;

  /** The memory to which a pointer expression points; undefined: constant memory, which nothing writes. */
  abstract base(node: SyntaxNode, instance: Instance, depth?: number): MemoryBase | undefined;

  /** Checks that every mention of a shared array in a function has been visited. */
  abstract requireAllSeen(instance: Instance): void;
}

/** Refuses names of features that the analysis does not support. */
export function requireAllowed(name: string, node: SyntaxNode): void {
  for (const word of name.split('::')) {
    for (const [pattern, code, reason] of forbiddenWords) if (pattern.test(word)) throw new Refusal(code, node, `${word}: ${reason}`);
    if (word === 'asm' || word === '__asm__') throw new Refusal('inline-assembly', node, 'inline assembly can touch any memory');
  }
  if (/^cuda::(?:barrier|pipeline)/.test(name)) throw new Refusal('barrier-object', node, `${name} keeps state in shared memory`);
}
