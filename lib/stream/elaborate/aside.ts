// Elaboration that does not block other work of the process and can be stopped.
import { apart, NoWorker } from '../apart/index.ts';
import type { Checked } from '../front/checked.ts';
import { shownGraph } from '../pictures/shown-graph.ts';
import { trusted } from '../require.ts';
import { longestTime, timeOver, within } from '../stop.ts';
import { elaboration, type Elaborated, type ElaborateOptions } from './index.ts';

/** What can end an elaboration early. */
export interface ElaborationStop {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds, counted from `begin`. */
  readonly timeout: number;
  readonly begin: number;
}

/** How long an elaboration may keep the calling thread, and how long code of the program may run in it at a stretch; in milliseconds. */
const sliceMilliseconds = 20;
const ownStretch = 50;

/** Code of the program runs too long for the calling thread. */
class TooLong extends Error {}

/** Runs in the calling thread, which can do other work between streams. `moves`: code that runs long throws {@link TooLong}. */
async function elaborateHere(checked: Checked, options: ElaborateOptions, stop: ElaborationStop, moves: boolean): Promise<Elaborated> {
  const { signal, timeout, begin } = stop;
  let since = performance.now();
  const requireTime = (now: number): void => { if (now - begin > timeout) throw timeOver(timeout, 'elaboration'); };
  const work = elaboration(checked, options, () => {
    const now = performance.now();
    requireTime(now);
    if (moves && now - since > ownStretch) throw new TooLong();
  });
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    const now = performance.now();
    if (now - since < sliceMilliseconds) continue;
    await new Promise((resolve) => { setImmediate(resolve); });
    signal?.throwIfAborted();
    requireTime(performance.now());
    since = performance.now();
  }
}

/**
 * Like `elaborate`, but in slices between which the event loop runs. If code of the program (bodies, `init`, `static` sections) runs longer
 * than 50 ms at a stretch, the elaboration starts again on a worker thread, where `signal` and `timeout` end it at once. Without worker
 * threads, `timeout` applies all the same, and `signal` is checked only between streams.
 */
export async function elaborateAside(checked: Checked, options: ElaborateOptions, stop: ElaborationStop): Promise<Elaborated> {
  const { signal, timeout, begin } = stop;
  try {
    return await elaborateHere(checked, options, stop, true);
  } catch (error) {
    if (!(error instanceof TooLong)) throw error;
  }
  try {
    const task = { kind: 'elaborate', program: checked.program, options } as const;
    const ends = { signal, timeout: Math.min(timeout, longestTime) };
    const made = await within(ends, (end) => apart<Elaborated>(task, end), begin, 'elaboration');
    return made.graph === undefined ? made : { ...made, graph: trusted(shownGraph(made.graph)) };
  } catch (error) {
    if (!(error instanceof NoWorker)) throw error;
    return elaborateHere(checked, options, stop, false);
  }
}
