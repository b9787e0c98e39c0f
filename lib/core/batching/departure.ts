// That the caller of a queued call has gone away, told without the cost of an AbortSignal.

/** Whether somebody still waits for a call. It has one listener, the queue, and makes a signal only if asked for one. */
export class Departure {
  /** When the call's launch began, by `performance.now()`, and how many calls shared it. */
  launched: number | undefined;
  company = 0;
  /** Called at most once, when the caller leaves. */
  onLeave: ((reason: unknown) => void) | undefined;
  #controller: AbortController | undefined;
  #gone: { readonly reason: unknown } | undefined;

  /** Throws the reason if the caller has left. */
  requirePresence(): void {
    if (this.#gone !== undefined) throw this.#gone.reason;
  }

  leave(reason: unknown): void {
    if (this.#gone !== undefined) return;
    this.#gone = { reason };
    this.onLeave?.(reason);
    this.#controller?.abort(reason);
  }

  /** A signal that comes when the caller leaves. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#gone !== undefined) this.#controller.abort(this.#gone.reason);
    }
    return this.#controller.signal;
  }
}
