// Child processes that are asked again and again, through pipes.
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { WarploomError } from '../errors.ts';
import { cannotRun, endOf, startChild, type StartedChild } from './child.ts';

/** What waits for bytes. */
interface Reader {
  readonly bytes: number;
  readonly resolve: (found: Uint8Array<ArrayBuffer>) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A program that reads requests from its standard input and answers on its standard output. It ends with {@link dispose}, with its input,
 * or with this process, which it does not keep alive unless an answer is awaited.
 */
export class PipedChild {
  readonly #started: StartedChild;
  readonly #pipes: readonly Socket[];
  #chunks: Buffer[] = [];
  #arrived = 0;
  #reader: Reader | undefined;
  /** Why nothing more will arrive. */
  #gone: Error | undefined;

  /** Throws UnavailableError where this process may not start others. `what`: the program, in messages. */
  constructor(path: string, args: readonly string[], what: string) {
    const started = startChild(path, args, { cwd: tmpdir() }, ['pipe', 'pipe', 'ignore']);
    const { child } = started;
    this.#started = started;
    this.#pipes = [child.stdin, child.stdout].filter((pipe) => pipe !== null) as unknown as Socket[];
    // Why a pipe broke shows in how the program ended.
    for (const pipe of this.#pipes) pipe.on('error', () => undefined);
    child.stdout?.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#arrived += chunk.length;
      this.#deliver();
    });
    child.on('error', (error) => { this.#end(cannotRun(path, error)); });
    child.on('close', (code, killed) => {
      this.#end(new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `${what} ${endOf(code, killed)}`));
    });
    this.#hold(false);
  }

  /** Sends these bytes, which must not change until the answer has come. */
  write(parts: readonly Uint8Array[]): void {
    const { stdin } = this.#started.child;
    if (this.#gone !== undefined || stdin === null) return;
    stdin.cork();
    for (const part of parts) if (part.length > 0) stdin.write(part);
    stdin.uncork();
  }

  /** The next bytes of the answer, at the start of a buffer of their own. One call at a time. Rejects once the program has ended. */
  read(bytes: number): Promise<Uint8Array<ArrayBuffer>> {
    return new Promise((resolve, reject) => {
      this.#reader = { bytes, resolve, reject };
      this.#hold(true);
      this.#deliver();
    });
  }

  /** Ends the program. */
  dispose(): void {
    this.#started.stop();
  }

  #end(error: Error): void {
    this.#gone ??= error;
    this.#started.ended();
    this.#deliver();
  }

  #deliver(): void {
    const reader = this.#reader;
    if (reader === undefined || (this.#arrived < reader.bytes && this.#gone === undefined)) return;
    this.#reader = undefined;
    this.#hold(false);
    if (this.#arrived < reader.bytes) reader.reject(this.#gone as Error);
    else reader.resolve(this.#take(reader.bytes));
  }

  #take(bytes: number): Uint8Array<ArrayBuffer> {
    const found = new Uint8Array(bytes);
    let at = 0;
    while (at < bytes) {
      const chunk = this.#chunks[0] as Buffer;
      const count = Math.min(chunk.length, bytes - at);
      found.set(chunk.subarray(0, count), at);
      at += count;
      if (count === chunk.length) this.#chunks.shift();
      else this.#chunks[0] = chunk.subarray(count);
    }
    this.#arrived -= bytes;
    return found;
  }

  /** Whether the process waits for it. */
  #hold(isWaiting: boolean): void {
    for (const each of [this.#started.child, ...this.#pipes]) {
      if (isWaiting) each.ref();
      else each.unref();
    }
  }
}
