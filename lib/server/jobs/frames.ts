// Snapshots of a finished simulation, small enough to be sent all at once.
import { isThere } from '../../core/files.ts';
import { elementAt } from '../../core/known.ts';
import { FieldSeries } from '../../files/zarr.ts';
import { frameOf, type Frame } from '../../jobs/frame.ts';
import { kindOf } from '../../jobs/kinds/index.ts';
import type { JobItem } from '../../jobs/loaded.ts';
import { RequestError } from '../errors.ts';

/** Numbers that an answer has at most, snapshots of it, and points along an axis. */
const mostNumbers = 1_000_000, mostFrames = 200, mostPoints = 256;

/** Evenly spaced places in a list, with the first and the last one. */
function evenly(count: number, most: number): number[] {
  const kept = Math.min(count, most);
  return Array.from({ length: kept }, (_, i) => (kept < 2 ? 0 : Math.round((i * (count - 1)) / (kept - 1))));
}

/** The frames of a result.zarr; those that were never written are left out. */
export async function framesOf(
  folder: string, { name: item, job }: Pick<JobItem, 'name' | 'job'>,
): Promise<{ readonly frames: readonly (Frame & { readonly item: string })[] }> {
  if (!isThere(folder)) throw new RequestError(404, 'the item has no snapshots');
  const { series, fields, axes, times, steps } = await FieldSeries.open(folder);
  const isLine = axes.length === 1;
  const places = evenly(times.length, isLine ? mostFrames : Math.max(2, Math.floor(mostNumbers / (64 ** 2 * fields.length))));
  const share = mostNumbers / (places.length * fields.length);
  const most = Math.min(mostPoints, Math.max(32, Math.floor(isLine ? share : Math.sqrt(share))));
  const frames: (Frame & { item: string })[] = [];
  for (const index of places) {
    const values = Object.fromEntries(await Promise.all(fields.map(async (name) => [name, await series.read(name, index)] as const)));
    const state = { step: steps?.[index] ?? index, time: elementAt(times, index), axes, fields: values };
    const frame = frameOf(state, most, kindOf(job).totals?.(job, state));
    if (Object.values(frame.fields).some((field) => field.some((value) => value !== null))) frames.push({ item, ...frame });
  }
  return { frames };
}
