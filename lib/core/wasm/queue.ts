// The calls of a device of the WebAssembly backend: they run one after another, between turns of the event loop.
import { plainError } from './machine.ts';

interface Task {
  readonly id: number;
  readonly run: () => unknown;
  readonly settle: (value: unknown) => void;
  readonly refuse: (error: unknown) => void;
  /** Of what the task would have freed. */
  readonly drop: () => void;
  readonly counted: boolean;
}

/** Milliseconds that calls may take in one turn; a longer call takes what it needs. */
const turnMilliseconds = 4;

type Turn = (task: () => void) => void;

/** Runs a function in a later turn of the event loop, after timers and messages had theirs. */
function turnOf(): Turn {
  const { setImmediate: immediate } = globalThis as { setImmediate?: Turn };
  if (immediate !== undefined) return immediate;
  const { port1, port2 } = new MessageChannel();
  const waiting: (() => void)[] = [];
  (port1 as unknown as { onmessage: () => void }).onmessage = () => waiting.shift()?.();
  return (task) => {
    waiting.push(task);
    port2.postMessage(0);
  };
}

let later: Turn | undefined;

export class Queue {
  readonly #limit: number;
  #tasks: Task[] = [];
  #isTurning = false;
  /** The error of all later calls, after one that left the module unusable. */
  #lost: Error | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Queues a task; `id` as `cancel` takes it, 0: none. `counted`: against the limit. */
  add<T>(id: number, run: () => T, { counted = true, drop = (): void => undefined } = {}): Promise<T> {
    if (counted && this.#tasks.filter((task) => task.counted).length >= this.#limit) {
      drop();
      return Promise.reject(plainError('QUEUE_FULL', `the device already has ${this.#limit} calls waiting; `
        + 'await some of them, or open it with a larger queueLimit'));
    }
    return new Promise((settle, refuse) => {
      this.#tasks.push({ id, run, settle: settle as (value: unknown) => void, refuse, drop, counted });
      this.#turn();
    });
  }

  cancel(id: number): void {
    const found = this.#tasks.find((task) => id !== 0 && task.id === id);
    if (found === undefined) return;
    this.#tasks = this.#tasks.filter((task) => task !== found);
    found.drop();
    found.refuse(plainError('CANCELLED', 'the call was cancelled'));
  }

  #turn(): void {
    if (this.#isTurning || this.#tasks.length === 0) return;
    this.#isTurning = true;
    later ??= turnOf();
    later(() => {
      const end = performance.now() + turnMilliseconds;
      do this.#perform(this.#tasks.shift());
      while (this.#tasks.length > 0 && performance.now() < end);
      this.#isTurning = false;
      this.#turn();
    });
  }

  #perform(task: Task | undefined): void {
    if (task === undefined) return;
    if (this.#lost !== undefined) {
      task.refuse(this.#lost);
      return;
    }
    try {
      task.settle(task.run());
    } catch (error) {
      // The module's own errors have a code; anything else is a trap, which leaves its memory in an unknown state.
      if ((error as { code?: string }).code === undefined) {
        this.#lost = Object.assign(plainError('DEVICE_LOST', 'an earlier fault made the device unusable; open another'), { cause: error });
      }
      task.refuse(this.#lost ?? error);
    }
  }
}
