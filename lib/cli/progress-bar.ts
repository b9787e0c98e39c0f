// Progress on one line: a bar on a terminal, elsewhere a line every ten seconds.

/** A stream that may be a terminal. */
export type Output = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

/** How a bar behaves. */
export interface ProgressOptions {
  /** Write nothing. */
  readonly silent?: boolean;
  /** Milliseconds; default: those of the system. */
  readonly now?: () => number;
}

/** Milliseconds between lines where there is no terminal, as in logs of clusters and of continuous integration. */
const pause = 10_000;

/** Draws `name [#####-----] 52 %  1:23 left` on a stream. */
export class ProgressBar {
  readonly #stream: Output;
  readonly #silent: boolean;
  readonly #now: () => number;
  /** When the present work began, and how much of it had been done before. */
  #start = 0;
  #before = 0;
  #name: string | undefined;
  /** When something was drawn; undefined when nothing stands there. */
  #drawn: number | undefined;
  /** When the last line was written without a terminal. */
  #said: number;

  constructor(stream: Output, { silent = false, now = Date.now }: ProgressOptions = {}) {
    this.#stream = stream;
    this.#silent = silent;
    this.#now = now;
    this.#said = now();
  }

  /** Redraws at most ten times a second, and always at the end. The time left is that of the same work, by default of the same name. */
  update(name: string, done: number, total: number, work = name): void {
    if (this.#silent || !(total > 0)) return;
    const now = this.#now();
    const share = Math.min(1, Math.max(0, done / total));
    const isNew = work !== this.#name;
    if (isNew) [this.#name, this.#start, this.#before] = [work, now, share];
    const made = share - this.#before;
    const left = made > 0.01 && share < 1 ? Math.round(((now - this.#start) / 1000) * ((1 - share) / made)) : NaN;
    const clock = Number.isNaN(left) ? '' : `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')} left`;
    if (this.#stream.isTTY !== true) {
      if (now - this.#said < pause) return;
      this.#said = now;
      this.#stream.write(`${`${name}: ${Math.floor(share * 100)} %  ${clock}`.trimEnd()}\n`);
      return;
    }
    if (!isNew && done < total && this.#drawn !== undefined && now - this.#drawn < 100) return;
    this.#drawn = now;
    const filled = Math.round(share * 24);
    const text = `${name} [${'#'.repeat(filled)}${'-'.repeat(24 - filled)}] ${Math.round(share * 100)} %  ${clock}`;
    this.#stream.write(`\r\u001b[K${text.slice(0, (this.#stream.columns ?? 80) - 1)}`);
  }

  /** Removes the bar. */
  clear(): void {
    if (this.#stream.isTTY === true && this.#drawn !== undefined) this.#stream.write('\r\u001b[K');
    this.#drawn = undefined;
  }
}
