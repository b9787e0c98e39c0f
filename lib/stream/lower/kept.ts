// Values that a function keeps in locals while it runs: loaded at its start, stored at its end.
import { get, i32, load, set, store, type Body, type Buffer, type Expression, type Local, type ScalarType, type Statement } from
  '../../kernel/ir.ts';

interface Kept {
  readonly local: Local;
  readonly initial: Expression;
  readonly store: ((value: Expression) => Statement) | undefined;
  /** Starts at 0 in each iteration of a group. */
  readonly isOfIteration: boolean;
}

export class KeptLocals {
  readonly #kept = new Map<string, Kept>();

  find(name: string): Local | undefined {
    return this.#kept.get(name)?.local;
  }

  #keep(name: string, type: ScalarType, kept: Omit<Kept, 'local'>): Local {
    let found = this.#kept.get(name);
    if (found === undefined) this.#kept.set(name, found = { ...kept, local: { name, type } });
    return found.local;
  }

  /** An integer with an initial value. `isOfIteration`: it is reset to 0 after each iteration of a group. */
  counter(name: string, initial: number, isOfIteration: boolean): Local {
    return this.#keep(name, 'i32', { initial: i32(initial), store: undefined, isOfIteration });
  }

  /** An element of a buffer of the program. */
  element(name: string, buffer: Buffer, place: number): Local {
    return this.#keep(name, buffer.element, {
      initial: load(buffer, i32(place)), store: (value) => store(buffer, i32(place), value), isOfIteration: false,
    });
  }

  ofIteration(): Local[] {
    return [...this.#kept.values()].filter(({ isOfIteration }) => isOfIteration).map(({ local }) => local);
  }

  /** Puts a body between the loads and the stores. */
  around(body: Body): Body {
    const kept = [...this.#kept.values()];
    return [
      ...kept.map(({ local, initial }) => set(local, initial)), ...body,
      ...kept.flatMap(({ local, store: put }) => (put === undefined ? [] : [put(get(local))])),
    ];
  }
}
