// The interface of the visitor that its parts use.
import type { KernelArrays } from './arrays.ts';
import type { Effects, Instance, MemoryBase, Mode } from './effects.ts';
import type { Library } from './model.ts';
import { forbiddenWords } from './names.ts';
import { Refusal } from './refusal.ts';
import { Shapes } from './shapes.ts';
import type { SyntaxNode } from './syntax.ts';

/** Notes effects of expressions and statements. Calls, macros and copies of elements have files of their own, which come back to it. */
export abstract class Walker extends Shapes {
  /** Functions that the caller vouches for. */
  readonly trusted: ReadonlySet<string>;
  /** Template parameters of the kernel that values of shared arrays initialise: they must not stand for classes. */
  readonly plainParameters = new Set<string>();

  constructor(library: Library, arrays: KernelArrays, trusted: ReadonlySet<string>) {
    super(library, arrays);
    this.trusted = trusted;
  }

  /** Notes what a statement or expression does. */
  abstract visit(node: SyntaxNode, instance: Instance, effects: Effects, mode: Mode): void;

  /** Notes what computing the place of a peeked expression does. */
  abstract touch(node: SyntaxNode, instance: Instance, effects: Effects): void;

  /** The memory a pointer expression leads to; undefined: constant memory, which nobody writes. */
  abstract base(node: SyntaxNode, instance: Instance, depth?: number): MemoryBase | undefined;

  /** Every name of a shared array in a function must have been followed. */
  abstract requireAllSeen(instance: Instance): void;
}

/** Refuses words that stand for machinery the analysis does not know. */
export function requireAllowed(name: string, node: SyntaxNode): void {
  for (const word of name.split('::')) {
    for (const [pattern, code, reason] of forbiddenWords) if (pattern.test(word)) throw new Refusal(code, node, `${word}: ${reason}`);
    if (word === 'asm' || word === '__asm__') throw new Refusal('inline-assembly', node, 'inline assembly can touch any memory');
  }
  if (/^cuda::(?:barrier|pipeline)/.test(name)) throw new Refusal('barrier-object', node, `${name} keeps state in shared memory`);
}
