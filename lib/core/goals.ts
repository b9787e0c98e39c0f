// The steps and times at which a loop over snapshots stops.
import { describeValue } from './arrays.ts';
import { refusal } from './errors.ts';
import { number, oneOf, whole, type Check } from './checks.ts';
import { cancelChecks, optionsOf, type ChecksOf, type Taken } from './options.ts';
import type { CallOptions } from './progress.ts';

/** Which snapshots to take: exactly one of `every`, `steps` and `times`. `onProgress` tells of the way to the next one. */
export interface SnapshotOptions extends CallOptions {
  /** After each so many steps from here, up to `until`. */
  readonly every?: number;
  /** With `every`: the step at which to end, with a snapshot there too. */
  readonly until?: number;
  /** At these steps of the simulation, ascending, none in the past. */
  readonly steps?: readonly number[];
  /** At these times, ascending, none in the past; each is met exactly. */
  readonly times?: readonly number[];
}

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
