// Schedules of feedback loops repeat themselves: repeated parts become loops instead of repeated code.
import { elementAt } from '../../core/known.ts';
import type { Step } from '../schedule/index.ts';

/** Steps in order, `times` times. */
export interface Round {
  readonly steps: readonly Step[];
  readonly times: number;
}

/** The maximum length of a repeated part. */
const mostSteps = 256;

/** How often the `length` steps starting at `at` repeat consecutively. */
function timesAt(steps: readonly Step[], at: number, length: number): number {
  let end = at + length;
  const isRepeated = ({ actor, count }: Step, before: Step): boolean => actor === before.actor && count === before.count;
  while (end < steps.length && isRepeated(elementAt(steps, end), elementAt(steps, end - length))) ++end;
  return Math.floor((end - at) / length);
}

/** Splits the steps into repeated parts: at each position, the shortest one that covers the most steps. */
export function rounds(steps: readonly Step[]): Round[] {
  const found: Round[] = [];
  let single: Step[] = [];
  const close = (): void => {
    if (single.length > 0) found.push({ steps: single, times: 1 });
    single = [];
  };
  for (let at = 0; at < steps.length;) {
    let best = { length: 1, times: 1 };
    for (let length = 1; length <= Math.min(mostSteps, (steps.length - at) / 2); ++length) {
      const times = timesAt(steps, at, length);
      if (times > 1 && times * length > best.length * best.times) best = { length, times };
    }
    if (best.times === 1) single.push(elementAt(steps, at++));
    else {
      close();
      found.push({ steps: steps.slice(at, at + best.length), times: best.times });
      at += best.length * best.times;
    }
  }
  close();
  return found;
}
