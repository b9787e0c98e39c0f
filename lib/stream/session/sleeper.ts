// The interpreter of a session whose program has dynamic rates, in a thread (worker.ts): it sleeps where it needs input.
import { receiveMessageOnPort } from 'node:worker_threads';
import { required } from '../../core/known.ts';
import { Engine } from '../interpret/engine.ts';
import { partsOf, type ThreadAnswer, type ThreadCall, type ThreadData } from './thread-calls.ts';
import { walk, walked } from './walk.ts';

/** Takes calls, and fires in between. */
export class Sleeper {
  readonly #data: ThreadData;
  #made: Engine | undefined;
  /** Calls that were taken; whether one has yet to be answered. */
  #taken = 0;
  #isAsked = false;
  /** Items that must have come out for the call to be answered, and whether it is the last. */
  #wanted = Infinity;
  #isOver = false;
  /** Whether nothing can fire any longer. */
  #isDone = false;

  constructor(data: ThreadData) {
    this.#data = data;
  }

  get #engine(): Engine {
    return required(this.#made);
  }

  /** Never returns. */
  run(): never {
    const { graph, options } = this.#data;
    try {
      this.#made = new Engine(graph, { ...options, input: [], open: { wait: () => { this.#take(); } } });
      if (graph.input === undefined) this.#take();
      for (const _ of walk(this.#engine)) while (this.#engine.items >= this.#wanted) this.#take();
      this.#isDone = true;
      this.#answer();
    } catch (error) {
      // What is wrong with the program from the start is the answer to the first call.
      if (!this.#isAsked) this.#next();
      this.#answer(error);
    }
    // Later calls find that nothing is left to do.
    for (;;) {
      this.#next();
      this.#answer();
    }
  }

  #answer(error?: unknown): void {
    if (!this.#isAsked) return;
    this.#isAsked = false;
    const { outlet, port } = this.#data;
    const { numbers, text } = this.#made === undefined ? { numbers: [], text: '' } : walked(outlet, this.#made.take(this.#isOver));
    const answer: ThreadAnswer = { numbers, text, isOver: this.#isDone, ...(error === undefined ? {} : partsOf(error)) };
    port.postMessage(answer);
  }

  /** Sleeps until there is a call. */
  #next(): ThreadCall {
    const { port, calls } = this.#data;
    for (;;) {
      const found = receiveMessageOnPort(port);
      if (found !== undefined) {
        this.#taken += 1;
        this.#isAsked = true;
        return found.message as ThreadCall;
      }
      Atomics.wait(calls, 0, this.#taken);
    }
  }

  #take(): void {
    this.#answer();
    const call = this.#next();
    const engine = this.#engine;
    engine.renew();
    this.#wanted = call.kind === 'pull' ? engine.items + call.items : Infinity;
    if (call.kind === 'push') engine.input?.give(call.numbers);
    if (call.kind !== 'end') return;
    this.#isOver = true;
    engine.input?.close();
    if (engine.input === undefined) this.#wanted = 0;
  }
}
