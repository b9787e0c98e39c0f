// Times operations and peers through the addon's benchmark hooks: many calls back to back on the device.
import type { Device, DeviceArray } from '../lib/core/device.ts';
import { benchmark, type ParameterSet } from './native.ts';
import { summarise } from './statistics.ts';

export interface TimingOptions {
  /** Least seconds of one repeat. Default 2 ms on a GPU, 20 ms on the host. */
  readonly repeatSeconds?: number;
  /** Default 15, and 3 for calls beyond 50 ms. */
  readonly repeats?: number;
}

export interface Timing {
  /** Median seconds of one call. */
  readonly seconds: number;
  /** Interquartile range over the median. */
  readonly spread: number;
  /** What the operation reported of its last call. */
  readonly report: Readonly<Record<string, unknown>>;
}

/** Calls per repeat: a multiple of the sets, long enough for the clock, short enough for one graph. */
function callsPerRepeat(estimate: number, sets: number, wanted: number): number {
  const rounds = Math.ceil(wanted / Math.max(estimate, 1e-9) / sets);
  return sets * Math.max(1, Math.min(rounds, Math.ceil(400 / sets)));
}

/** Times `operation` over the sets in turn. */
export async function time(
  device: Device, anchor: DeviceArray, operation: string, sets: readonly ParameterSet[], options: TimingOptions = {},
): Promise<Timing> {
  const { repeatSeconds = device.backend === 'cuda' ? 2e-3 : 2e-2 } = options;
  const probe = await benchmark(anchor, operation, sets, { calls: sets.length, repeats: 3, warmup: 1 });
  const estimate = summarise(probe.seconds).median;
  const calls = callsPerRepeat(estimate, sets.length, repeatSeconds);
  const { repeats = estimate > 0.05 ? 3 : 15 } = options;
  const measured = await benchmark(anchor, operation, sets, { calls, repeats, warmup: 0 });
  const { median, spread } = summarise(measured.seconds);
  return { seconds: median, spread, report: measured.report };
}
