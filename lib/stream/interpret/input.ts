// The open input of a run: all of it given at the start, or in parts while the run goes on.
import type { IrType } from '../ir.ts';
import { Fifo } from './fifo.ts';
import { scalarCount, unflatten } from './values.ts';

/**
 * Of an input that goes on. `wait` blocks until there is more of it, or none will come; without it, a node for which the input is too short
 * does not fire yet.
 */
export interface OpenOptions {
  readonly wait?: () => void;
}

export class OpenInput {
  readonly fifo = new Fifo({ bytes: Infinity }, 0);
  /** Whether more may come. */
  isOpen: boolean;
  readonly #type: IrType;
  readonly #wait: (() => void) | undefined;

  constructor(type: IrType, numbers: ArrayLike<number>, open?: OpenOptions) {
    this.#type = type;
    this.isOpen = open !== undefined;
    this.#wait = open?.wait;
    this.give(numbers);
  }

  /** Appends whole items, given as scalars in memory order. */
  give(numbers: ArrayLike<number>): void {
    const from = { at: 0 };
    const size = scalarCount(this.#type);
    while (from.at + size <= numbers.length) this.fifo.push(unflatten(this.#type, numbers, from));
  }

  /** No more will come. */
  close(): void {
    this.isOpen = false;
  }

  /** Whether so many items are there; waits for them if it can. */
  has(count: number): boolean {
    while (this.fifo.length < count && this.isOpen && this.#wait !== undefined) this.#wait();
    return this.fifo.length >= count;
  }
}
