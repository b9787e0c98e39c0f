// Where a call's words per system are while it runs, and how they become its SystemStatuses.
import { makeResult } from '../core/arrays.ts';
import { type Device, DeviceArray, resultArray, type RunResult } from '../core/device.ts';
import { elementAt } from '../core/known.ts';
import type { Reports } from '../core/operations.gen.ts';
import { SystemStatuses, type NotedWords } from './status.ts';
import type { SplitComplex, Vector } from './types.ts';
import { isSplit } from './views.ts';

/** Backward errors of `check`: kept where the right-hand sides are. */
export type BackwardErrors<V extends Vector> =
  Vector extends V ? Float64Array | DeviceArray
    : V extends DeviceArray | SplitComplex<DeviceArray> ? DeviceArray : Float64Array;

/**
 * Batches of at most so many (system, right-hand side) pairs bring their words back with the call. Larger ones leave them
 * on the device and bring back a summary; the words follow only where it says that something is not plainly ok.
 */
export const smallBatch = 4096;

/** Words read at a time from the device: host memory does not grow with the batch. */
const wordsPerRead = 1 << 18;

/** The word arrays among an operation's parameters. */
export interface CallWords {
  status: Int32Array | DeviceArray;
  row: Int32Array | DeviceArray;
  /** Whether the call reports what they come to. */
  summarize: boolean;
}

/** What the words of a call come to. */
type Summary = NonNullable<Reports['tridiagonal.solve']['summary']>;

/** What the calls that write words give back. */
type Summarised = RunResult<{ readonly summary: Summary | undefined }>;

/** Device memory that the words of a call of `length` outcomes take while it runs. */
export function wordBytes(length: number): number {
  return length <= smallBatch ? 0 : 8 * length;
}

/** Word arrays for a call of `length` outcomes on `device`. */
export function makeWords(device: Device, length: number): CallWords {
  if (length <= smallBatch) return { status: new Int32Array(length), row: new Int32Array(length).fill(-1), summarize: false };
  return { status: resultArray(device, 'int32', length), row: resultArray(device, 'int32', length), summarize: true };
}

/** Runs a call that writes `words`, and gives their memory on the device back whatever comes of it. */
export async function withWords<R extends Summarised>(
  words: CallWords, rhsCount: number, run: () => Promise<R>,
): Promise<[R, SystemStatuses]> {
  try {
    const result = await run();
    const found = statusesOf(words, result.report.summary, rhsCount);
    return [result, found instanceof SystemStatuses ? found : await found]; // an await that is not needed takes part of a microsecond
  } finally {
    freeWords(words);
  }
}

function freeWords({ status, row }: CallWords): void {
  for (const array of [status, row]) if (!(array instanceof Int32Array)) array.dispose();
}

function statusesOf(
  { status, row }: CallWords, summary: Summary | undefined, rhsCount: number,
): SystemStatuses | Promise<SystemStatuses> {
  if (status instanceof Int32Array || row instanceof Int32Array || summary === undefined) {
    return new SystemStatuses(status as Int32Array, row as Int32Array, rhsCount);
  }
  const { zeroPivots, nonFinites, inaccurates, resolved, firstFailed } = summary;
  const failed = zeroPivots + nonFinites + inaccurates;
  if (failed + resolved === 0) return new SystemStatuses(status.length, undefined, rhsCount);
  const from = resolved > 0 ? 0 : firstFailed;
  return readNoted(status, row, from, resolved > 0 ? Infinity : failed)
    .then((noted) => new SystemStatuses(status.length, noted, rhsCount));
}

/** Fetches the words from place `from` on that are not zero, in pieces, until `count` are found. */
async function readNoted(status: DeviceArray, row: DeviceArray, from: number, count: number): Promise<NotedWords> {
  const places: number[] = [], words: number[] = [], rows: number[] = [];
  for (let at = from; at < status.length && places.length < count; at += wordsPerRead) {
    const piece = () => new Int32Array(Math.min(wordsPerRead, status.length - at));
    const found = await status.read(piece(), at) as Int32Array;
    if (found.every((word) => word === 0)) continue;
    const foundRows = await row.read(piece(), at) as Int32Array;
    for (let i = 0; i < found.length; i += 1) {
      if (found[i] === 0) continue;
      places.push(at + i);
      words.push(elementAt(found, i));
      rows.push(elementAt(foundRows, i));
    }
  }
  return { places, words, rows };
}

/** Space for the backward errors of a call with right-hand sides `rhs`. */
export function backwardErrorsLike<V extends Vector>(rhs: V, device: Device, length: number): BackwardErrors<V> {
  const onDevice = (isSplit(rhs) ? rhs.re : rhs) instanceof DeviceArray;
  return (onDevice ? resultArray(device, 'float64', length) : makeResult('float64', length)) as BackwardErrors<V>;
}
