// The steps and times at which a loop over snapshots stops.
import { describeValue } from '../core/arrays.ts';
import { refusal } from '../core/errors.ts';
import { number, oneOf, whole, type Check } from '../core/checks.ts';
import { cancelChecks, optionsOf, type ChecksOf, type Taken } from '../core/options.ts';
import type { SnapshotOptions } from './types.ts';

/** Where to stop. */
export type Goal = { readonly step: number } | { readonly time: number };

/** An ascending list of numbers that the check takes. */
const ascending = (each: Check<number>): Check<readonly number[]> => (values, name) => {
  if (!Array.isArray(values)) throw refusal(name, 'an array of numbers', describeValue(values));
  values.forEach((value: unknown, i) => {
    each(value, `${name}[${i}]`);
    if (i > 0 && (value as number) < (values[i - 1] as number)) throw refusal(`${name}[${i}]`, 'ascending values', describeValue(value));
  });
};

const checks = {
  every: whole(1, 2 ** 52), until: whole(0, 2 ** 52), steps: ascending(whole(0)), times: ascending(number()), ...cancelChecks,
} satisfies ChecksOf<SnapshotOptions>;
const snapshotOptions = optionsOf('snapshots', checks);

/** Reads the options of a loop. */
export function checkedSnapshots(given: SnapshotOptions): Taken<SnapshotOptions, typeof checks> {
  const options = snapshotOptions.read(given);
  const { until } = options;
  const way = oneOf(options, ['every', 'steps', 'times']);
  if (way === undefined) throw refusal('every', 'every, steps or times', 'none of them');
  if (until !== undefined && way !== 'every') {
    throw refusal('until', `none with ${way}, which end by themselves (until is for every)`, describeValue(until));
  }
  return options;
}

/** The goals, generated as the loop goes on; without `until` there is no last one. */
export function* goals({ every, until = Infinity, steps, times }: SnapshotOptions, present: () => number): Generator<Goal> {
  if (steps !== undefined) for (const step of steps) yield { step };
  if (times !== undefined) for (const time of times) yield { time };
  if (every === undefined) return;
  for (let step = present(); step < until;) {
    step = Math.min(step + every, until);
    yield { step };
  }
}
