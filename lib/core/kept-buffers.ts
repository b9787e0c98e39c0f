// Memory of copies that are no longer needed, kept for the next ones: memory that the system has just provided takes several times longer
// to fill than memory that was used before.
import { totalmem } from 'node:os';

/** Bytes that are kept at most, of each kind of buffer. */
const mostBytes = Math.min(2 ** 30, totalmem() / 16);
/** Milliseconds for which unused buffers are kept. */
const keptMilliseconds = 10_000;

/** Buffers of one kind that nobody uses. */
export class KeptBuffers<Kind extends ArrayBufferLike> {
  readonly #leastBytes: number;
  readonly #free = new Set<Kind>();
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param leastBytes size from which on buffers are kept */
  constructor(leastBytes: number) {
    this.#leastBytes = leastBytes;
  }

  /** A buffer of at least so many bytes, and at most twice as many; its contents are undefined. Undefined: none is kept. */
  take(bytes: number): Kind | undefined {
    if (bytes < this.#leastBytes) return undefined;
    for (const buffer of this.#free) {
      if (buffer.byteLength < bytes || buffer.byteLength > 2 * bytes) continue;
      this.#drop(buffer);
      return buffer;
    }
    return undefined;
  }

  /** Keeps a buffer. Nobody may use it any more. */
  give(buffer: Kind): void {
    const { byteLength } = buffer;
    if (byteLength < this.#leastBytes || byteLength > mostBytes || this.#free.has(buffer)) return;
    for (const old of this.#free) if (this.#bytes + byteLength > mostBytes) this.#drop(old);
    this.#free.add(buffer);
    this.#bytes += byteLength;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#free.clear();
      this.#bytes = 0;
    }, keptMilliseconds).unref();
  }

  #drop(buffer: Kind): void {
    if (this.#free.delete(buffer)) this.#bytes -= buffer.byteLength;
  }
}
