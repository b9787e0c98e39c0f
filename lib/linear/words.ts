// Outcomes of a call: status words that the operation writes to memory of the call itself, and of which it reports those that are
// not zero.
import { makeResult } from '../core/arrays.ts';
import { DeviceArray, resultArray, type Device } from '../core/device.ts';
import { Held } from '../core/pack.ts';
import type { CommonReports } from '../core/operations.gen.ts';
import { SystemStatuses } from './status.ts';
import type { SplitComplex, Vector } from './types.ts';
import { isSplit } from './views.ts';

/** Backward errors of `check`: in the same memory as the right-hand sides. */
export type BackwardErrors<V extends Vector> =
  Vector extends V ? Float64Array | DeviceArray
    : V extends DeviceArray | SplitComplex<DeviceArray> ? DeviceArray : Float64Array;

/**
 * Words of at most so many (system, right-hand side) pairs are looked through on the host. Those of larger batches stay on the
 * device, which counts them, and follow only where the count says that something is not plainly ok.
 */
const smallBatch = 4096;

/** The parameters of an operation for its status words. */
export interface CallWords {
  readonly status: Held;
  readonly row: Held;
  /** Whether the device counts them. */
  readonly summarize: boolean;
}

/** Device memory that the status words of a call with `length` outcomes take while it runs. */
export function wordBytes(length: number): number {
  return length <= smallBatch ? 0 : 8 * length;
}

/** Space for the status words of a call with `length` outcomes. */
export function makeWords(length: number): CallWords {
  const words = new Held(length);
  return { status: words, row: words, summarize: length > smallBatch };
}

/** The outcomes that the status words of a call with `length` outcomes describe. */
export function statusesOf(
  length: number, rhsCount: number, { noted }: Pick<CommonReports, 'noted'>,
): SystemStatuses {
  if (noted === undefined) return new SystemStatuses(length, undefined, rhsCount);
  const [places, words, rows] = [noted.column('place'), noted.column('word'), noted.column('row')];
  return new SystemStatuses(length, { places, words, rows }, rhsCount);
}

/** Space for the backward errors of a call with right-hand sides `rhs`. */
export function backwardErrorsLike<V extends Vector>(rhs: V, device: Device, length: number): BackwardErrors<V> {
  const onDevice = (isSplit(rhs) ? rhs.re : rhs) instanceof DeviceArray;
  return (onDevice ? resultArray(device, 'float64', length) : makeResult('float64', length)) as BackwardErrors<V>;
}
