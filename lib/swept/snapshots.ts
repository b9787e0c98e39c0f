// Which steps and times a loop over snapshots stops at.
import { describeValue } from '../core/arrays.ts';
import { refusal } from '../core/errors.ts';
import { oneOf, requireCall, requireWhole } from '../core/checks.ts';
import type { SnapshotOptions } from './types.ts';

/** Where to stop. */
export type Goal = { readonly step: number } | { readonly time: number };

function requireAscending(values: unknown, name: string, whole: boolean): void {
  if (values === undefined) return;
  if (!Array.isArray(values)) throw refusal(name, 'an array of numbers', describeValue(values));
  values.forEach((value: unknown, i) => {
    const fits = whole ? Number.isSafeInteger(value) && (value as number) >= 0 : Number.isFinite(value);
    if (!fits) throw refusal(`${name}[${i}]`, whole ? 'a whole number of at least 0' : 'a finite number', describeValue(value));
    if (i > 0 && (value as number) < (values[i - 1] as number)) throw refusal(`${name}[${i}]`, 'ascending values', describeValue(value));
  });
}

/** Checks the options of a loop. */
export function checkSnapshots(options: SnapshotOptions): void {
  requireCall(options, ['every', 'until', 'steps', 'times'], 'snapshots');
  const { every, until, steps, times } = options;
  requireWhole(every, 'every', 1, 2 ** 52);
  requireWhole(until, 'until', 0, 2 ** 52);
  requireAscending(steps, 'steps', true);
  requireAscending(times, 'times', false);
  const given = oneOf(options, ['every', 'steps', 'times']);
  if (given === undefined) throw refusal('every', 'every, steps or times', 'none of them');
  if (until !== undefined && given !== 'every') {
    throw refusal('until', `none with ${given}, which end by themselves (it goes with every)`, describeValue(until));
  }
}

/** The goals, made as the loop goes on; without `until` there is no last one. */
export function* goals({ every, until = Infinity, steps, times }: SnapshotOptions, present: () => number): Generator<Goal> {
  if (steps !== undefined) for (const step of steps) yield { step };
  if (times !== undefined) for (const time of times) yield { time };
  if (every === undefined) return;
  for (let step = present(); step < until;) {
    step = Math.min(step + every, until);
    yield { step };
  }
}
