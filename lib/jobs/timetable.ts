// When the snapshots of a simulation are taken.
import { Clock } from '../core/clock.ts';

/** The end of a run, and the number of snapshots after the initial state. */
export interface Timing {
  readonly until: { readonly time: number } | { readonly steps: number };
  readonly snapshots: number;
}

/**
 * Step and time of every snapshot, including the initial one. Snapshots are taken after whole steps, so that they do not affect the
 * computation, and the last one at the end of the run. There are fewer if there are fewer steps.
 */
export function timetable({ until, snapshots }: Timing, dt: number): { steps: number[]; times: number[] } {
  const { whole, rest } = 'time' in until ? new Clock(dt).plan(until.time) : { whole: until.steps, rest: 0 };
  const total = whole + Number(rest > 0);
  const count = Math.min(snapshots, total);
  const steps = Array.from({ length: count + 1 }, (_, k) => Math.round((total * k) / count));
  const times = steps.map((step) => step * dt);
  if ('time' in until) times[count] = until.time;
  return { steps, times };
}
