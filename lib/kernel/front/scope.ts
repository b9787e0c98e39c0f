// Names and what they stand for.
import type { Staged } from './values.ts';

export interface Binding {
  readonly value: Staged;
  /** `let`: may be assigned. */
  readonly isVariable: boolean;
  /** The call in which it was declared: only that one may assign it. */
  readonly owner: object;
  /** An array whose elements that call may assign. */
  readonly isOwn?: boolean;
}

/** The names of a block, and those around it. */
export class Scope {
  readonly #names = new Map<string, Binding>();
  readonly #outer: Scope | undefined;

  constructor(outer?: Scope) {
    this.#outer = outer;
  }

  find(name: string): Binding | undefined {
    return this.#names.get(name) ?? this.#outer?.find(name);
  }

  /** Whether this block itself declares the name. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  declare(name: string, binding: Binding): void {
    this.#names.set(name, binding);
  }
}
