// The effects of a statement: accesses to shared arrays, variables and global memory, and barriers.
import type { FunctionModel } from './model.ts';
import type { FunctionNode } from './program.ts';
import type { Field } from './structs.ts';
import type { Sym } from './symbols.ts';
import type { SyntaxNode } from './syntax.ts';

/** How memory or a variable is accessed. */
export type Mode = 'r' | 'w' | 'rw';

/** One access to a shared array. */
export interface Access {
  readonly array: number;
  readonly mode: Mode;
  readonly node: SyntaxNode;
  /** Position in the order of evaluation of its statement. */
  readonly order: number;
}

/** A pointer into a shared array (dimensions ≥ 1), or an element or part of an element (0). */
export interface Shape {
  readonly array: number;
  readonly dimensions: number;
  readonly type: string;
  readonly fields: ReadonlyMap<string, Field> | undefined;
}

/** The memory outside of shared arrays that an access refers to: a parameter, a dynamic shared array, a global by name, or unknown. */
export type MemoryBase = Sym | string;

/** Unknown memory. */
export const kAnyMemory = '?';

/** A function as entered from one call. */
export interface Instance {
  readonly model: FunctionModel;
  /** Shared memory that is bound to its parameters. */
  readonly bindings: ReadonlyMap<Sym, Shape>;
  /** Global memory that is bound to its pointer parameters. */
  readonly bases: ReadonlyMap<Sym, MemoryBase>;
  readonly parent: Instance | undefined;
  readonly call: SyntaxNode | undefined;
  /** Local pointers and references into shared arrays. */
  readonly aliases: Map<Sym, Shape | undefined>;
  /** Names of shared arrays and aliases that the analysis has visited. */
  readonly visited: Set<SyntaxNode>;
}

/** A barrier of the block, with the number of shared accesses in its arguments. */
export interface BarrierCall {
  readonly node: SyntaxNode;
  readonly accesses: number;
}

/** A call of a function that contains barriers. */
export interface InlinedCall {
  readonly call: SyntaxNode;
  readonly fn: FunctionNode;
  readonly instance: Instance;
}

/** The effects of one statement, including the functions it calls. */
export class Effects {
  readonly accesses: Access[] = [];
  readonly barriers: BarrierCall[] = [];
  readonly inlined: InlinedCall[] = [];
  readonly shuffles: number[] = [];
  readonly reads = new Set<Sym>();
  readonly writes = new Set<Sym>();
  readonly memory: { readonly base: MemoryBase; readonly mode: Mode }[] = [];
  /** Statements by which threads may leave the kernel. */
  readonly returns: SyntaxNode[] = [];
  /** Must not be moved: it prints, exchanges values between lanes, reads a clock, or performs atomic updates. */
  opaque = false;
  /** Contains a loop. */
  loops = false;
  order = 0;

  variable(sym: Sym, mode: Mode): void {
    if (mode !== 'w') this.reads.add(sym);
    if (mode !== 'r') this.writes.add(sym);
  }
}
