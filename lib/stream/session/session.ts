// A session as its users see it: calls, iteration, and streams of Node and of the web.
import type { Duplex } from 'node:stream';
import { describeValue } from '../../core/arrays.ts';
import { isArray } from '../../core/checks.ts';
import type { DeviceArray } from '../../core/device.ts';
import { ArgumentError, DisposedError, refusal } from '../../core/errors.ts';
import { required } from '../../core/known.ts';
import { reasonOf } from '../../core/progress.ts';
import type { LinearFilter } from '../algebra/index.ts';
import type { StreamGraph } from '../graph.ts';
import { StreamRunError } from '../interpret/error.ts';
import { inputChecks } from '../options.ts';
import type { StreamBackend } from '../run/backends.ts';
import type { Scalars } from '../run/prepare.ts';
import { ByteReader, bytesOf } from './bytes.ts';
import { widthOf, type Made, type MadeArray, type Outlet, type SessionEngine, type StreamBlock } from './engine.ts';
import { formOptions, type Source, type StreamChunk, type StreamFormOptions } from './forms.ts';
import { Gathered, partsOf } from './items.ts';
import { duplexOf, pairOf, type StreamPair } from './streams.ts';

/** How a session is made. */
export interface SessionParts extends Partial<Pick<StreamSession, 'algebraic'>> {
  readonly graph: StreamGraph;
  readonly engine: SessionEngine;
  readonly outlet: Outlet;
  readonly latency: number | undefined;
  readonly chunk: number;
  readonly print: ((text: string) => void) | undefined;
  readonly stop: AbortController;
  /** Called once, when the session is over. */
  readonly close: () => void;
}

/** The number of blocks under way, as results of calls. */
type Next = { readonly done: boolean; readonly value?: unknown };

/**
 * A run whose input comes piece by piece, made by `open`. Calls are processed in their order; what is given is copied at the call.
 * Close it with `await using`, {@link close}, or by ending its stream; the garbage collector alone does not.
 */
export class StreamSession<Block extends StreamBlock = StreamBlock> {
  readonly graph: StreamGraph;
  /** With `algebraic`: the linear filters that replaced others in `graph`; undefined without. */
  readonly algebraic: readonly LinearFilter[] | undefined;
  /** The most items of input that are processed at once. */
  readonly chunk: number;
  /**
   * How many items of input the program holds back: a session that was given n items, at least `latency`, has given all output that a run
   * on n − latency items has. Undefined for programs without a steady state (dynamic rates); 0 without an open input.
   */
  readonly latency: number | undefined;
  readonly #parts: SessionParts;
  readonly #whenStopped = new Set<() => void>();
  /** What ended it before its end. */
  #error: Error | undefined;
  /** What went wrong behind output that was given. */
  #fault: Error | undefined;
  #isEnding = false;
  /** Whether the program gives nothing more. */
  #isDry = false;
  #isOver = false;
  /** The beginning of a line. */
  #line = '';

  /** @internal Use `open`. */
  constructor(parts: SessionParts) {
    ({ graph: this.graph, algebraic: this.algebraic, chunk: this.chunk, latency: this.latency } = parts);
    this.#parts = parts;
    parts.stop.signal.addEventListener('abort', () => { this.#stopped(); }, { once: true });
  }

  /** The back end that runs it. */
  get backend(): Exclude<StreamBackend, 'auto'> {
    return this.#parts.engine.backend;
  }

  /** Why another back end than requested runs it. */
  get note(): string | undefined {
    return this.#parts.engine.note;
  }

  /** Whether the session is over: ended, failed or closed. */
  get closed(): boolean {
    return this.#isOver;
  }

  /**
   * Takes scalars of items, in memory order, and gives the output that they complete. They are copied at the call; an item may be given in
   * parts. Where the program fails, the output before that is given, and the next call fails.
   *
   * @throws StreamRunError if the program fails, DisposedError if the session is over, ArgumentError for what are no numbers
   */
  push(items: ArrayLike<number>): Promise<Block>;
  /**
   * The same for items in memory of the session's device: the output is an array there, which the caller disposes of. The given array must
   * not change before the call settles. Only the items around its ends pass through JavaScript's memory.
   */
  push(items: DeviceArray): Promise<DeviceArray>;
  push(items: ArrayLike<number> | DeviceArray): Promise<Block | DeviceArray> {
    if (this.#isOnDevice(items)) return this.#pushArray(items);
    return this.#call(() => {
      inputChecks.input(items, 'items');
      if (this.graph.input === undefined) {
        throw refusal('items', 'none, as the program has no open input: call pull()', describeValue(items));
      }
      return this.#parts.engine.push(items);
    });
  }

  /** Of a program without an open input: makes the next block of about `chunk` items, or of some lines. */
  pull(): Promise<Block> {
    return this.#call(() => {
      if (this.graph.input !== undefined) {
        throw refusal('graph', 'a program without an open input', 'one that has one: call push(items)');
      }
      return this.#parts.engine.pull(this.chunk);
    });
  }

  /**
   * Ends the input, and gives what is left of the output: all that a run would give. The session is then over. Where the program fails
   * there, what it made before is the error's `output`.
   *
   * @throws StreamRunError if the program fails, DisposedError if the session is over
   */
  async end(): Promise<Block> {
    const block = await this.#rest();
    if (this.#fault === undefined) return block;
    if (this.#fault instanceof StreamRunError) this.#fault.output = block;
    throw this.#fault;
  }

  /** What is left of the output, as far as it goes. */
  #rest(): Promise<Block> {
    return this.#call(() => {
      this.#isEnding = true;
      return this.#parts.engine.end();
    }, true);
  }

  /**
   * Gives the output block by block, as the consumer asks for it. Chunks of the source are processed as they come, those of more than
   * `chunk` items in parts; single numbers are collected into such chunks. No more of the source is read than output is taken (on devices
   * at most two chunks more). The session is over when the iteration is, at its end or before.
   *
   * @param source typed arrays, arrays or single numbers; none for programs without an open input, which never end
   */
  process(source?: AsyncIterable<StreamChunk> | Iterable<StreamChunk>, options?: { readonly bytes?: false }): AsyncGenerator<Block, void>;
  process(
    source: AsyncIterable<Uint8Array> | Iterable<Uint8Array> | undefined, options: { readonly bytes: true },
  ): AsyncGenerator<Uint8Array, void>;
  process(source?: Source, given: StreamFormOptions = {}): AsyncGenerator<Block | Uint8Array, void> {
    const { bytes } = formOptions.read(given);
    this.#requireSource(source);
    const chunks = source === undefined ? undefined : this.#chunks(source, bytes);
    return this.#process(chunks, bytes);
  }

  /** A pair of web streams for `pipeThrough`: what is written to one comes out of the other, as in {@link process}. */
  transform(given: StreamFormOptions = {}): StreamPair<Block | Uint8Array> {
    const options = formOptions.read(given);
    this.#requireSource([]);
    return pairOf((source) => this.#process(this.#chunks(source, options.bytes), options.bytes));
  }

  /** A Node stream in object mode (with `bytes`, of bytes): chunks in, blocks out. Its end, an error and `destroy` end the session. */
  duplex(given: StreamFormOptions = {}): Duplex {
    const options = formOptions.read(given);
    this.#requireSource([]);
    return duplexOf((source) => this.#process(this.#chunks(source, options.bytes), options.bytes), options.bytes);
  }

  /** Ends the session now: calls under way fail, what it holds is freed. Calling it again has no effect. */
  close(): Promise<void> {
    if (!this.#isOver) this.#fail(new DisposedError('the session was closed'));
    return Promise.resolve();
  }

  /** The same as `close()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #requireSource(source: unknown): void {
    const isThere = typeof source === 'object' && source !== null && (Symbol.asyncIterator in source || Symbol.iterator in source);
    if (this.graph.input === undefined ? source !== undefined : !isThere) {
      throw refusal('source', this.graph.input === undefined ? 'none, as the program has no open input' : 'something to iterate over',
        describeValue(source));
    }
    this.#requireGoing();
  }

  #requireGoing(): void {
    if (this.#error !== undefined) throw this.#error;
    if (this.#isEnding) throw new DisposedError('the session was ended');
  }

  /** Makes a call of the engine, and keeps the session in order. */
  async #call(work: () => Promise<Made>, isLast = false): Promise<Block> {
    this.#requireGoing();
    const made = work();
    let found: Made;
    try {
      found = await made;
    } catch (error) {
      throw this.#fail(error as Error);
    }
    if (this.#error !== undefined) throw this.#error;
    const { output, text, error, isOver } = found;
    if (isOver === true) this.#isDry = true;
    if (error !== undefined) this.#fault = this.#fail(error);
    else if (isLast) this.#finish();
    const block = this.#block(output, text, isLast || error !== undefined);
    if (error !== undefined && block.length === 0) throw error;
    return block;
  }

  #isOnDevice(items: unknown): items is DeviceArray {
    return this.#parts.engine.takes?.(items) === true;
  }

  async #pushArray(items: DeviceArray): Promise<DeviceArray> {
    this.#requireGoing();
    const made = this.#parts.engine.pushArray?.(items);
    let found: MadeArray;
    try {
      found = await required(made);
    } catch (error) {
      // An array that does not fit the program is refused, and the session goes on.
      throw error instanceof ArgumentError ? error : this.#fail(error as Error);
    }
    const { output, error } = found;
    if (error === undefined && this.#error === undefined) return output;
    const failure = this.#fail(error ?? required(this.#error));
    if (output.length > 0 && failure === error) return output;
    output.dispose();
    throw failure;
  }

  #block(output: Scalars, text: string, isLast: boolean): Block {
    const { outlet: { type }, print } = this.#parts;
    if (type !== undefined) {
      if (text !== '') print?.(text);
      return output as Block;
    }
    const all = this.#line + text;
    const end = isLast ? all.length : all.lastIndexOf('\n') + 1;
    this.#line = all.slice(end);
    return all.slice(0, end) as Block;
  }

  /** Ends the session with an error, unless it has ended with one; returns the one that later calls throw. */
  #fail(error: Error): Error {
    this.#error ??= error;
    this.#finish();
    return this.#error;
  }

  #stopped(): void {
    this.#fail(reasonOf(this.#parts.stop.signal));
    for (const wake of [...this.#whenStopped]) wake();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#isEnding = true;
    const { engine, stop, close } = this.#parts;
    close();
    engine.dispose();
    // What waits for anything is told.
    const reason = this.#error ?? new DisposedError('the session was ended');
    if (!stop.signal.aborted) stop.abort(reason);
  }

  /** Waits for something, or until the session is closed, whichever comes first. */
  #orStopped<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this.#parts.stop;
    if (signal.aborted) {
      promise.catch(() => undefined);
      return Promise.reject(reasonOf(signal));
    }
    return new Promise((resolve, reject) => {
      const wake = (): void => { reject(reasonOf(signal)); };
      const settle = (): void => { this.#whenStopped.delete(wake); };
      this.#whenStopped.add(wake);
      promise.then((value) => {
        settle();
        resolve(value);
      }, (error: unknown) => {
        settle();
        reject(error);
      });
    });
  }

  /** Chunks of numbers from whatever the source gives. */
  async* #chunks(source: Source, isBytes: boolean): AsyncGenerator<ArrayLike<number>, void> {
    const { input } = this.graph;
    const most = this.chunk * widthOf(input?.type);
    const reader = isBytes && input !== undefined ? new ByteReader(input.type) : undefined;
    const gathered = new Gathered(most);
    const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    let isOver = false, isWaiting = false;
    try {
      for (;;) {
        isWaiting = true;
        const next = await this.#orStopped(Promise.resolve(iterator.next())) as Next;
        isWaiting = false;
        if (next.done) break;
        const chunk = next.value;
        if (typeof chunk === 'number' && reader === undefined) {
          const full = gathered.add(chunk);
          if (full !== undefined) yield full;
          continue;
        }
        const before = gathered.take();
        if (before !== undefined) yield before;
        yield* partsOf(reader === undefined ? numbersIn(chunk) : reader.read(chunk), most);
      }
      isOver = true;
      const rest = gathered.take();
      if (rest !== undefined) yield rest;
    } catch (error) {
      // One that failed is over.
      isOver = isWaiting && !this.#parts.stop.signal.aborted;
      throw error;
    } finally {
      const returned = isOver ? undefined : Promise.resolve(iterator.return?.()).catch(() => undefined);
      // A source that is waiting for something does not answer before it has that.
      if (!isWaiting) await returned;
    }
  }

  async* #process(
    chunks: AsyncGenerator<ArrayLike<number>, void> | undefined, isBytes: boolean,
  ): AsyncGenerator<Block | Uint8Array, void> {
    const bytes = isBytes ? bytesOf(this.#parts.outlet.type) : undefined;
    const give = function* (block: Block): Generator<Block | Uint8Array> {
      const given = bytes === undefined ? block : bytes.write(block);
      if (given.length > 0) yield given;
    };
    try {
      if (chunks === undefined) while (!this.#isDry) yield* give(await this.pull());
      else for await (const block of this.#pushed(chunks)) yield* give(block);
      yield* give(await this.#rest());
      if (this.#fault !== undefined) throw this.#fault;
      const rest = bytes?.end();
      if (rest !== undefined && rest.length > 0) yield rest;
    } finally {
      await this.close();
    }
  }

  /** What comes out of each chunk, with some of them under way where that helps. */
  async* #pushed(chunks: AsyncGenerator<ArrayLike<number>, void>): AsyncGenerator<Block, void> {
    const { depth } = this.#parts.engine;
    const underWay: Promise<Block>[] = [];
    let next: Promise<IteratorResult<ArrayLike<number>, void>> | undefined;
    let failure: Error | undefined;
    try {
      for (let isOver = false; !isOver || underWay.length > 0;) {
        if (!isOver && underWay.length < depth) next ??= chunks.next();
        const [first] = underWay;
        const ready = await Promise.race([...(first === undefined ? [] : [first.then(() => 'block', () => 'block')]),
          ...(next === undefined ? [] : [next.then(() => 'chunk', () => 'chunk')])]);
        if (ready === 'block') {
          yield await (underWay.shift() as Promise<Block>);
          continue;
        }
        const found = await (next as NonNullable<typeof next>).catch((error: unknown) => {
          failure = error as Error;
          return { done: true, value: undefined } as const;
        });
        next = undefined;
        if (found.done === true) isOver = true;
        else {
          const pushed = this.push(found.value);
          pushed.catch(() => undefined);
          underWay.push(pushed);
        }
      }
      if (failure !== undefined) throw failure;
    } finally {
      const returned = chunks.return().catch(() => undefined);
      if (next === undefined) await returned;
      else next.catch(() => undefined);
    }
  }
}

/** A chunk of a source. */
function numbersIn(chunk: unknown): ArrayLike<number> {
  if (Buffer.isBuffer(chunk)) throw refusal('source', "numbers (for raw bytes, give { bytes: true })", 'a Buffer');
  if (!isArray(chunk)) throw refusal('source', 'arrays, typed arrays or numbers', describeValue(chunk));
  inputChecks.input(chunk, 'source');
  return chunk as ArrayLike<number>;
}
