// Long JavaScript loops in slices, between which the event loop can run.

/** Milliseconds of a slice: nobody notices a stall as short as this. */
const sliceTime = 4;

/** How a loop is cut. */
export interface SliceOptions {
  /** Checked between slices. */
  readonly signal?: AbortSignal | undefined;
  /** Number of items after which the clock is checked: about a tenth of a millisecond of work. */
  readonly grain: number;
}

/** Lets the event loop run once. */
export function nextTurn(): Promise<void> {
  return new Promise((settle) => { setImmediate(settle); });
}

/** Calls `work` until it reports that it is done, and lets the event loop run in between. Rejects with `signal.reason` if aborted. */
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
