// Inputs of calls that share a launch (core/batching), one after the other as one batch, and each call's part of the results.
import { joined, partOf } from '../core/batching/parts.ts';
import { outcomeOf, type Outcome, type TakenCall } from '../core/batching/rule.ts';
import type { Device } from '../core/device.ts';
import { elementAt } from '../core/known.ts';
import { snapshot } from '../core/snapshot.ts';
import type { Problem } from '../linear/problem.ts';
import { SystemStatuses } from '../linear/status.ts';
import type { Band, RealArray, Vector } from '../linear/types.ts';
import { isConstant, isRealArray } from '../linear/views.ts';

/** Systems of so many rows or more gain nothing from company: the cpu backend divides them among its threads from here on. */
const mostRows = 2 ** 14;

export type Matrix = Readonly<Record<'lower' | 'diagonal' | 'upper', Band | undefined>>;

/** Whether all of a call's arrays are plain ones that follow each other as the systems do. */
export function isPlain(
  { offsets, shape }: Problem, { layout, layouts }: { readonly layout: unknown; readonly layouts?: unknown }, arrays: readonly unknown[],
): boolean {
  const plain = (array: unknown): boolean => array === undefined || isRealArray(array) || isConstant(array);
  return offsets === undefined && layout === 'contiguous' && layouts === undefined && shape.n > 0 && shape.n < mostRows && shape.batch > 0
    && shape.rhsCount > 0 && arrays.every(plain);
}

/** Whether a band is one for several systems, which some backends make use of. */
export function isSharedBand(band: Band | undefined, { shape: { n, batch }, type }: Problem): boolean {
  if (band === undefined || batch === 1) return false;
  return isConstant(band) || (band as RealArray).length < n * batch * (type.startsWith('complex') ? 2 : 1);
}

/** Writes a band with one entry for every row of every system. */
function writeBand(all: RealArray, band: Band, isComplex: boolean): void {
  if (!isConstant(band)) {
    const { length } = band as RealArray;
    for (let at = 0; at < all.length; at += length) all.set(band as RealArray, at);
  } else if (isComplex) {
    const { re, im } = typeof band === 'number' ? { re: band, im: 0 } : band;
    for (let i = 0; i < all.length; i += 2) {
      all[i] = re;
      all[i + 1] = im;
    }
  } else {
    all.fill(band as number);
  }
}

/**
 * All inputs of a call, complete: bands with one entry for every row of every system, and vectors. They are copies in one piece of memory;
 * of arrays that are `owned`, only bands that have to be completed are copied.
 */
export function completeInputs(
  { lower, diagonal, upper }: Matrix, vectors: Arrays, { shape: { n, batch }, type }: Problem, owned: boolean,
): Arrays {
  const isComplex = type.startsWith('complex');
  const length = n * batch * (isComplex ? 2 : 1);
  const given = Object.entries({ lower, diagonal, upper, ...vectors }).filter(([, array]) => array !== undefined);
  const isBand = (name: string): boolean => !(name in vectors);
  const lengthOf = (name: string, array: unknown): number => (isBand(name) ? length : (array as RealArray).length);
  const isKept = (name: string, array: unknown): boolean =>
    owned && isRealArray(array) && array.length === lengthOf(name, array);
  const total = given.reduce((sum, [name, array]) => sum + (isKept(name, array) ? 0 : lengthOf(name, array)), 0);
  const all = type === 'float32' || type === 'complex64' ? new Float32Array(total) : new Float64Array(total);
  let at = 0;
  const arrays: Record<string, RealArray> = {};
  for (const [name, array] of given) {
    if (isKept(name, array)) {
      arrays[name] = array as RealArray;
      continue;
    }
    const copy = arrays[name] = all.subarray(at, at += lengthOf(name, array));
    if (isBand(name)) writeBand(copy, array as Band, isComplex);
    else copy.set(array as RealArray);
  }
  return arrays;
}

/** Arrays by the option's name: all of a call's, or of all calls'. */
export type Arrays = Readonly<Partial<Record<string, RealArray>>>;

export function bytesOf(arrays: Arrays): number {
  return Object.values(arrays).reduce((sum, array) => sum + (array?.byteLength ?? 0), 0);
}

/** Arrays of all calls, one after the other. */
export function joinedArrays(calls: readonly { readonly arrays: Arrays }[]): Readonly<Record<string, RealArray>> {
  const { arrays } = elementAt(calls, 0);
  return Object.fromEntries(Object.keys(arrays).map((name) => [name, joined(calls.map((call) => call.arrays[name] as RealArray))]));
}

/** Outcomes `first`…`first + count - 1`. */
export function statusPart(status: SystemStatuses, first: number, count: number): SystemStatuses {
  if (status.allOk && status.counts().resolvedByPivoting === 0) return new SystemStatuses(count, undefined, status.rhsCount);
  return new SystemStatuses(status.words.slice(first, first + count), status.rows.slice(first, first + count), status.rhsCount);
}

/** A call that runs alone, with everything that its options name copied. */
export function takenAlone<Options extends { readonly signal?: AbortSignal; readonly out?: Vector }>(
  name: string, options: Options, call: (options: Options, device: Device) => Promise<unknown>,
): TakenCall<Device> {
  const { signal, out } = options;
  const copy = snapshot(options);
  const bytes = Object.values(options).reduce<number>((sum, value) => sum + (isRealArray(value) ? value.byteLength : 0), 0);
  return {
    name, bytes, items: 1, signal,
    alone: (device, stop) => {
      const { signal: _, ...rest } = copy;
      return call({ ...rest, ...(stop === undefined ? {} : { signal: stop }), ...(out === undefined ? {} : { out }) } as Options, device);
    },
  };
}

/** The results of calls that ran as one, from the result of all of them. */
export function partsOf<Call>(calls: readonly Call[], make: (call: Call, index: number) => unknown): readonly Outcome[] {
  return calls.map((call, index) => outcomeOf(() => make(call, index)));
}

/** One call's part of the result array of all calls. */
export function resultPart(all: Vector, index: number, count: number, out: Vector | undefined, owned = false): RealArray {
  return partOf(all as RealArray, index, count, out as RealArray | undefined, owned);
}
