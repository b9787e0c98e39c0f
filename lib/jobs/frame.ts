// Frames: the state of a running item, small enough to be sent to whoever follows it.
import { elementAt } from '../core/known.ts';

/** An axis of a {@link Frame}. */
export interface FrameAxis {
  readonly name: string;
  /** The places of the points that the frame holds. */
  readonly values: readonly number[];
}

/**
 * The state of an item at a snapshot, as plain data for JSON: at most two axes, each with no more points than asked for. Points are left
 * out evenly, none are averaged; a volume is shown by the slice through the middle of its last axis.
 */
export interface Frame {
  /** Steps done, and the time reached in the job's units. */
  readonly step: number;
  readonly time: number;
  /** Axes, the last varying fastest. */
  readonly axes: readonly FrameAxis[];
  /** Values of each field by name, one for each point; null for NaN and infinities, which JSON does not have. */
  readonly fields: Readonly<Record<string, readonly (number | null)[]>>;
  /** Totals over the whole domain by name, where the equation has such: `totalMass`, `totalEnergy`, `totalOfU`; null as in `fields`. */
  readonly totals?: Readonly<Record<string, number | null>>;
}

/** A state as a kind of job has it: axes, the last varying fastest, and fields over all of their points. */
export interface FrameState {
  readonly step: number;
  readonly time: number;
  readonly axes: readonly (readonly [name: string, places: ArrayLike<number>])[];
  readonly fields: Readonly<Record<string, ArrayLike<number>>>;
}

/** Which of `extent` points are kept if there may be `most`: evenly spaced, with the first and the last one. */
function kept(extent: number, most: number): number[] {
  if (extent <= most) return Array.from({ length: extent }, (_, i) => i);
  return Array.from({ length: most }, (_, i) => Math.round((i * (extent - 1)) / (most - 1)));
}

/** Thins a state out to at most `most` points along each of at most two axes; `totals` are added to it. */
export function frameOf({ step, time, axes, fields }: FrameState, most: number, totals: Readonly<Record<string, number>> = {}): Frame {
  const extents = axes.map(([, places]) => places.length);
  const stride = extents.map((_, axis) => extents.slice(axis + 1).reduce((a, b) => a * b, 1));
  const shown = axes.slice(0, 2).map(([name, places], axis) =>
    ({ name, places, at: kept(places.length, most), stride: elementAt(stride, axis) }));
  const middle = extents.slice(2).reduce((sum, extent, i) => sum + Math.floor(extent / 2) * elementAt(stride, i + 2), 0);
  const points = shown.reduce<number[]>((some, axis) => some.flatMap((base) => axis.at.map((i) => base + i * axis.stride)), [middle]);
  const plain = (value: number): number | null => (Number.isFinite(value) ? value : null);
  return {
    step, time,
    axes: shown.map(({ name, places, at }) => ({ name, values: at.map((i) => elementAt(places, i)) })),
    fields: Object.fromEntries(Object.entries(fields).map(([name, values]) => [name, points.map((i) => plain(elementAt(values, i)))])),
    ...(Object.keys(totals).length === 0 ? {}
      : { totals: Object.fromEntries(Object.entries(totals).map(([name, value]) => [name, plain(value)])) }),
  };
}
