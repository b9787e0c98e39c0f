// A run that begins in WebAssembly, which is there at once, and goes on as C++ once it has turned out to be long enough for a compiler.
import type { RealArray, RunBackend, ShapeInfo } from '../types.ts';
import type { Engine, Outcome, Span } from './span.ts';

/** Seconds in WebAssembly after which the compiler is started; it takes one or two, and milliseconds if it has compiled the same before. */
const patience = 0.5;

/** What the run goes on with. */
export type Successor = (state: RealArray, signal: AbortSignal) => Promise<Engine>;
/** Compiles, so that the successor begins without delay. */
export type Preparation = (signal: AbortSignal) => Promise<void>;

export class GrowingEngine implements Engine {
  #now: Engine;
  readonly #prepare: Preparation;
  readonly #successor: Successor;
  readonly #stop = new AbortController();
  #seconds = 0;
  #state: 'short' | 'compiling' | 'ready' | 'settled' = 'short';
  #note = 'goes on as C++ if it takes longer';

  constructor(first: Engine, prepare: Preparation, successor: Successor) {
    this.#now = first;
    this.#prepare = prepare;
    this.#successor = successor;
  }

  get backend(): RunBackend { return this.#now.backend; }
  get variant(): Engine['variant'] { return this.#now.variant; }
  get threads(): number { return this.#now.threads; }
  get depth(): number { return this.#now.depth; }
  get shapes(): readonly ShapeInfo[] { return this.#now.shapes; }
  get reason(): string { return this.#note === '' ? this.#now.reason : `${this.#now.reason}; ${this.#note}`; }

  async advance(span: Span): Promise<Outcome> {
    if (this.#state === 'ready') await this.#change();
    const outcome = await this.#now.advance(span);
    this.#seconds += outcome.seconds;
    if (this.#state === 'short' && this.#seconds > patience) {
      this.#state = 'compiling';
      this.#note = 'C++ is being compiled';
      this.#prepare(this.#stop.signal).then(() => { this.#state = 'ready'; }, (error: unknown) => { this.#stay(error); });
    }
    return outcome;
  }

  probe(span: Span): Promise<RealArray> {
    return this.#now.probe(span);
  }

  read(): Promise<RealArray> {
    return this.#now.read();
  }

  dispose(): void {
    this.#stop.abort();
    this.#now.dispose();
  }

  /** Continues in WebAssembly. */
  #stay(error: unknown): void {
    this.#state = 'settled';
    this.#note = `not as C++: ${error instanceof Error ? error.message : String(error)}`;
  }

  async #change(): Promise<void> {
    try {
      const next = await this.#successor(await this.#now.read(), this.#stop.signal);
      this.#now.dispose();
      this.#now = next;
      this.#state = 'settled';
      this.#note = '';
    } catch (error) {
      this.#stay(error);
    }
  }
}
