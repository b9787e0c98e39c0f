// A queue of items, counted against a memory limit.
import { required } from '../../core/known.ts';
import { Fault } from './fault.ts';
import type { Value } from './values.ts';

/** How many bytes the queues of a run may still use. */
export interface Meter {
  bytes: number;
}

export class Fifo {
  #items: Value[] = [];
  #head = 0;
  /** How many items have been popped so far. */
  popped = 0;
  readonly #meter: Meter;
  readonly #itemBytes: number;

  constructor(meter: Meter, itemBytes: number) {
    this.#meter = meter;
    this.#itemBytes = itemBytes;
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: Value): void {
    this.#meter.bytes -= this.#itemBytes;
    if (this.#meter.bytes < 0) throw new Fault('S5006', 'the items on the channels take more memory than the limit allows', undefined,
      { fatal: true });
    this.#items.push(item);
  }

  /** The item `index` places after the first. */
  peek(index: number): Value {
    return required(this.#items[this.#head + index]);
  }

  pop(): Value {
    const item = required(this.#items[this.#head]);
    this.#meter.bytes += this.#itemBytes;
    ++this.popped;
    this.#items[this.#head++] = 0;
    if (this.#head > 1024 && 2 * this.#head > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
