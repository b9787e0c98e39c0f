// A one-line progress bar on a terminal; silent elsewhere.

/** Draws `name [#####-----] 52 %  1:23 left` on a stream that is a terminal. */
export class ProgressBar {
  #stream: NodeJS.WritableStream & { isTTY?: boolean; columns?: number };
  #start = 0;
  #name = '';
  #drawn = 0;

  constructor(stream: NodeJS.WritableStream & { isTTY?: boolean; columns?: number }) {
    this.#stream = stream;
  }

  /** Redraws at most ten times a second, and always at the end. */
  update(name: string, done: number, total: number): void {
    if (this.#stream.isTTY !== true || !(total > 0)) return;
    const now = Date.now();
    if (name !== this.#name) {
      this.#name = name;
      this.#start = now;
    } else if (done < total && now - this.#drawn < 100) {
      return;
    }
    this.#drawn = now;
    const share = Math.min(1, done / total);
    const left = share > 0.01 ? Math.round(((now - this.#start) / 1000) * (1 / share - 1)) : NaN;
    const clock = Number.isNaN(left) ? '' : `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')} left`;
    const filled = Math.round(share * 24);
    const text = `${name} [${'#'.repeat(filled)}${'-'.repeat(24 - filled)}] ${Math.round(share * 100)} %  ${clock}`;
    this.#stream.write(`\r\u001b[K${text.slice(0, (this.#stream.columns ?? 80) - 1)}`);
  }

  /** Removes the bar. */
  clear(): void {
    if (this.#stream.isTTY === true && this.#drawn > 0) this.#stream.write('\r\u001b[K');
    this.#drawn = 0;
  }
}
