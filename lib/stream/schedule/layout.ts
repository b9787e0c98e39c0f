// Buffer layouts for coalesced access (equations 3.15 to 3.17, and the warp-based form of section 4.2).
//
// A buffer holds one steady state of one channel: `total` items, laid out in rows of `width` (128 in chapter 3, the warp size in chapter
// 4). Lane l of a group of `width` threads owns column l: `total / width` consecutive items of the stream. Position and stream index depend
// on `total` and `width` alone, so producer and consumer agree whatever their rates are.
import { describeValue, holds } from '../../core/arrays.ts';
import { requireCount } from '../../core/checks.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import { requireFields } from '../require.ts';

/** Width of chapter 3: the greatest common divisor of the block sizes it considers. */
export const kBlockGroup = 128 as const;
/** Width of chapter 4: one warp. */
export const kWarpGroup = 32 as const;

/** How one end of a channel runs on the device. */
export interface LayoutEnd {
  /** Items per firing of one thread: base pop or push rate, o or u in the paper. */
  readonly rate: number;
  /** Threads of an instance, a multiple of the width; n_t. */
  readonly threads: number;
  /** Instances in one steady state; k. */
  readonly instances: number;
}

function checkEnd(end: LayoutEnd, width: number): void {
  requireFields('end', end, 'an end with rate, threads and instances');
  for (const name of ['rate', 'threads', 'instances'] as const) requireCount(end[name], name, 1);
  requireCount(width, 'width', 1);
}

/** Items of one steady state; throws {@link ArgumentError} unless all parts are positive integers and threads fill whole groups. */
export function layoutItems(end: LayoutEnd, width: number): number {
  checkEnd(end, width);
  if (end.threads % width !== 0) throw refusal('threads', `a multiple of ${width}`, String(end.threads));
  return end.rate * end.threads * end.instances;
}

function checkNumbers(numbers: Readonly<Record<string, number>>): void {
  for (const [name, x] of Object.entries(numbers)) requireCount(x, name, 0);
}

/** Stream index of the item at `position` of the shuffled buffer: the argument of b in (3.15). `total` is a multiple of `width`. */
export function streamIndexOf(position: number, total: number, width: number): number {
  checkNumbers({ position, total, width });
  return Math.floor(position / width) + (position % width) * (total / width);
}

/** Position of item `index` of the stream in the shuffled buffer: the inverse of {@link streamIndexOf}. */
export function positionOf(index: number, total: number, width: number): number {
  checkNumbers({ index, total, width });
  const column = total / width;
  return (index % column) * width + Math.floor(index / column);
}

/** One access: the `item`-th pop or push of `thread` in `instance`. */
export interface Access {
  readonly instance: number;
  readonly thread: number;
  readonly item: number;
}

/** Position of an access: (3.16), (3.17) and the form of section 4.2 with its instance offset. */
export function accessPosition(end: LayoutEnd, width: number, access: Access): number {
  checkEnd(end, width);
  requireFields('access', access, 'an access with instance, thread and item');
  const { rate, threads } = end;
  const { instance, thread, item } = access;
  checkNumbers({ instance, thread, item });
  return instance * rate * threads + width * item + Math.floor(thread / width) * width * rate + thread % width;
}

/** The access that touches `position`: the inverse of {@link accessPosition}. */
export function accessAt(end: LayoutEnd, width: number, position: number): Access {
  checkEnd(end, width);
  checkNumbers({ position });
  const { rate, threads } = end;
  const inside = position % (rate * threads);
  const group = Math.floor(inside / (width * rate));
  return {
    instance: Math.floor(position / (rate * threads)),
    thread: group * width + inside % width,
    item: Math.floor(inside / width) % rate,
  };
}

/**
 * Which firing, in stream order, a thread performs: it accesses the items `rate · firing` to `rate · (firing + 1) − 1` of the stream.
 * Neighbouring threads perform firings that are `threads · instances / width` apart, which makes their accesses coalesced.
 */
export function firingOf(end: LayoutEnd, width: number, instance: number, thread: number): number {
  checkEnd(end, width);
  checkNumbers({ instance, thread });
  const { threads, instances } = end;
  const groups = threads / width;
  return (thread % width) * groups * instances + instance * groups + Math.floor(thread / width);
}

/** The thread that performs a firing: the inverse of {@link firingOf}. */
export function threadOf(end: LayoutEnd, width: number, firing: number): { instance: number; thread: number } {
  checkEnd(end, width);
  checkNumbers({ firing });
  const { threads, instances } = end;
  const groups = threads / width;
  const lane = Math.floor(firing / (groups * instances));
  const row = firing % (groups * instances);
  return { instance: Math.floor(row / groups), thread: (row % groups) * width + lane };
}

/** Copies a buffer in stream order into the shuffled layout. Lengths are equal and a multiple of `width`. */
export function shuffle<T extends Float64Array | Float32Array | Int32Array>(from: T, to: T, width: number): void {
  checkBuffers(from, to, width);
  for (let position = 0; position < to.length; ++position) to[position] = elementAt(from, streamIndexOf(position, to.length, width));
}

/** Copies a shuffled buffer into stream order. Lengths are equal and a multiple of `width`. */
export function deshuffle<T extends Float64Array | Float32Array | Int32Array>(from: T, to: T, width: number): void {
  checkBuffers(from, to, width);
  for (let position = 0; position < from.length; ++position) to[streamIndexOf(position, from.length, width)] = elementAt(from, position);
}

function checkBuffers(from: ArrayLike<number>, to: ArrayLike<number>, width: number): void {
  for (const [name, buffer] of Object.entries({ from, to })) {
    if (holds(buffer, 'float64') || holds(buffer, 'float32') || holds(buffer, 'int32')) continue;
    throw refusal(name, 'a Float64Array, Float32Array or Int32Array', describeValue(buffer));
  }
  if (from.length !== to.length) throw refusal('to', `${from.length} items`, String(to.length));
  if (!Number.isSafeInteger(width) || width < 1 || from.length % width !== 0) {
    throw refusal('width', `a positive divisor of ${from.length}`, describeValue(width));
  }
}
