// What a statement does: the shared arrays it touches, barriers, variables, global memory.
import type { FunctionModel } from './model.ts';
import type { FunctionNode } from './program.ts';
import type { Field } from './structs.ts';
import type { Sym } from './symbols.ts';
import type { SyntaxNode } from './syntax.ts';

/** How memory or a variable is touched. */
export type Mode = 'r' | 'w' | 'rw';

/** One touch of a shared array. */
export interface Access {
  readonly array: number;
  readonly mode: Mode;
  readonly node: SyntaxNode;
  /** Place in the order of evaluation of its statement. */
  readonly order: number;
}

/** A pointer into (dimensions ≥ 1), or an element or part of an element (0) of a shared array. */
export interface Shape {
  readonly array: number;
  readonly dimensions: number;
  readonly type: string;
  readonly fields: ReadonlyMap<string, Field> | undefined;
}

/** What memory outside of shared arrays an access means: a parameter, a dynamic shared array, a global by name, or unknown. */
export type MemoryBase = Sym | string;

/** Anything at all. */
export const kAnyMemory = '?';

/** A function as it is entered from one place. */
export interface Instance {
  readonly model: FunctionModel;
  /** Shared memory that its parameters stand for. */
  readonly bindings: ReadonlyMap<Sym, Shape>;
  /** Global memory that its pointer parameters stand for. */
  readonly bases: ReadonlyMap<Sym, MemoryBase>;
  readonly parent: Instance | undefined;
  readonly call: SyntaxNode | undefined;
  /** Local pointers and references into shared arrays. */
  readonly aliases: Map<Sym, Shape | undefined>;
  /** Names of shared arrays and aliases that the analysis has seen. */
  readonly visited: Set<SyntaxNode>;
}

/** A barrier of the block, with the number of shared accesses in its arguments. */
export interface BarrierCall {
  readonly node: SyntaxNode;
  readonly accesses: number;
}

/** A call of a function that holds barriers. */
export interface InlinedCall {
  readonly call: SyntaxNode;
  readonly fn: FunctionNode;
  readonly instance: Instance;
}

/** What one statement, with all that it calls, does. */
export class Effects {
  readonly accesses: Access[] = [];
  readonly barriers: BarrierCall[] = [];
  readonly inlined: InlinedCall[] = [];
  readonly shuffles: number[] = [];
  readonly reads = new Set<Sym>();
  readonly writes = new Set<Sym>();
  readonly memory: { readonly base: MemoryBase; readonly mode: Mode }[] = [];
  /** Where threads may leave the kernel. */
  readonly returns: SyntaxNode[] = [];
  /** Does something that must stay in its place: prints, exchanges lanes, reads a clock, updates atomically. */
  opaque = false;
  /** Holds a loop. */
  loops = false;
  order = 0;

  variable(sym: Sym, mode: Mode): void {
    if (mode !== 'w') this.reads.add(sym);
    if (mode !== 'r') this.writes.add(sym);
  }
}
