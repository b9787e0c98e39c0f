// Sessions as streams of Node and of the web: whoever writes waits until the session has taken what was written, and the session goes on
// only while somebody reads.
import { Duplex } from 'node:stream';
import { ReadableStream, WritableStream } from 'node:stream/web';

/** A pair of streams, as `pipeThrough` takes it. */
export interface StreamPair<Block> {
  readonly readable: ReadableStream<Block>;
  readonly writable: WritableStream<unknown>;
}

/** Makes blocks from a source. */
type Process<Block> = (source: AsyncIterable<unknown>) => AsyncGenerator<Block, void>;

/** Something asked for, or waited for. */
interface Waiting {
  resolve(next: IteratorResult<unknown, undefined>): void;
  reject(error: unknown): void;
}

/** Hands chunks from a writer to an iterating reader, one at a time. */
class Handoff implements AsyncIterableIterator<unknown, undefined> {
  #asked: Waiting | undefined;
  #given: { readonly chunk: unknown; readonly taken: () => void } | undefined;
  #isOver = false;
  #error: { readonly reason: unknown } | undefined;
  /** Called when the reader wants no more. */
  onReturn: () => void = () => undefined;

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<unknown, undefined>> {
    if (this.#error !== undefined) return Promise.reject(this.#error.reason);
    if (this.#given !== undefined) {
      const { chunk, taken } = this.#given;
      this.#given = undefined;
      taken();
      return Promise.resolve({ done: false, value: chunk });
    }
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => { this.#asked = { resolve, reject }; });
  }

  return(): Promise<IteratorResult<unknown, undefined>> {
    this.#isOver = true;
    this.#given?.taken();
    this.#given = undefined;
    this.onReturn();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Gives a chunk; settles when it was taken. */
  put(chunk: unknown): Promise<void> {
    const asked = this.#asked;
    this.#asked = undefined;
    if (asked === undefined) return new Promise((resolve) => { this.#given = { chunk, taken: resolve }; });
    asked.resolve({ done: false, value: chunk });
    return Promise.resolve();
  }

  end(): void {
    this.#isOver = true;
    this.#asked?.resolve({ done: true, value: undefined });
    this.#asked = undefined;
  }

  fail(reason: unknown): void {
    this.#error ??= { reason };
    this.#given?.taken();
    this.#given = undefined;
    this.#asked?.reject(reason);
    this.#asked = undefined;
  }
}

/** A pair of web streams. */
export function pairOf<Block>(process: Process<Block>): StreamPair<Block> {
  const source = new Handoff();
  const blocks = process(source);
  let failWriter: (reason: unknown) => void = () => undefined;
  const writable = new WritableStream<unknown>({
    start: (controller) => { failWriter = (reason) => { controller.error(reason); }; },
    write: (chunk) => source.put(chunk),
    close: () => { source.end(); },
    abort: (reason) => { source.fail(reason); },
  });
  const readable = new ReadableStream<Block>({
    pull: async (controller) => {
      try {
        const next = await blocks.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      } catch (error) {
        failWriter(error);
        throw error;
      }
    },
    cancel: async (reason) => {
      failWriter(reason);
      source.fail(reason);
      await blocks.return();
    },
  }, { highWaterMark: 0 });
  return { readable, writable };
}

/** A Node stream. */
export function duplexOf(process: Process<unknown>, isBytes: boolean): Duplex {
  const source = new Handoff();
  const blocks = process(source);
  let isReading = false;
  const made = new Duplex({
    objectMode: !isBytes, ...(isBytes ? {} : { writableHighWaterMark: 1, readableHighWaterMark: 1 }), decodeStrings: true,
    write: (chunk: unknown, _encoding, done) => { void source.put(chunk).then(() => { done(); }); },
    final: (done) => {
      source.end();
      done();
    },
    read: () => {
      if (isReading) return;
      isReading = true;
      void (async () => {
        try {
          for (let wants = true; wants;) {
            const next = await blocks.next();
            wants = made.push(next.done === true ? null : next.value) && next.done !== true;
          }
          isReading = false;
        } catch (error) {
          made.destroy(error as Error);
        }
      })();
    },
    destroy: (error, done) => {
      source.fail(error ?? new Error('the stream was destroyed'));
      void blocks.return().catch(() => undefined).then(() => { done(error); });
    },
  });
  return made;
}
