// Long loops of JavaScript in slices, between which the event loop gets its turn.

/** Milliseconds of a slice: nobody notices a stall as short as this. */
const sliceTime = 4;

/** How a loop is cut. */
export interface SliceOptions {
  /** Looked at between slices. */
  readonly signal?: AbortSignal | undefined;
  /** Items between two looks at the clock: about a tenth of a millisecond of work. */
  readonly grain: number;
}

/** Gives the event loop a turn. */
export function nextTurn(): Promise<void> {
  return new Promise((settle) => { setImmediate(settle); });
}

/** Calls `work` until it says that it is done, with turns of the event loop in between. Aborted ones reject with `signal.reason`. */
export async function untilDone(work: () => boolean, signal?: AbortSignal): Promise<void> {
  for (let since = performance.now(); !work();) {
    if (performance.now() - since < sliceTime) continue;
    await nextTurn();
    signal?.throwIfAborted();
    since = performance.now();
  }
}

/** Calls work(begin, end) for consecutive ranges that make up 0…count-1, as {@link untilDone} does. */
export async function inSlices(count: number, work: (begin: number, end: number) => void, { signal, grain }: SliceOptions): Promise<void> {
  let begin = 0;
  await untilDone(() => {
    const end = Math.min(count, begin + grain);
    if (begin < end) work(begin, end);
    begin = end;
    return begin === count;
  }, signal);
}
