// Copies of large arrays in memory that threads share. Memory that the system has just provided takes several times longer to fill than
// memory that was used before, so that of copies which are no longer needed serves the next ones.
import { totalmem } from 'node:os';
import { holds } from '../../core/arrays.ts';
import { shared } from './common.ts';
import type { Scalars } from './prepare.ts';

/** Smaller copies are not kept. */
const leastBytes = 2 ** 20;
/** Bytes that may be kept, and milliseconds for which unused ones are. */
const mostBytes = Math.min(2 ** 30, totalmem() / 16), keptMilliseconds = 5000;

const free = new Set<SharedArrayBuffer>();
let timer: NodeJS.Timeout | undefined;

const bytesKept = (): number => [...free].reduce((sum, { byteLength }) => sum + byteLength, 0);

function viewOf(array: Scalars, buffer: SharedArrayBuffer): Scalars {
  const { length } = array;
  if (holds(array, 'int32')) return new Int32Array(buffer, 0, length);
  return holds(array, 'float32') ? new Float32Array(buffer, 0, length) : new Float64Array(buffer, 0, length);
}

/** Whether threads can share an array as it is. */
export const isShared = (array: Scalars): boolean => array.buffer instanceof SharedArrayBuffer;

/** The array itself if threads can share it, or else a copy; see {@link returnShared}. */
export function sharedCopy(array: Scalars): Scalars {
  if (isShared(array)) return array;
  const { byteLength } = array;
  const found = [...free].find((buffer) => buffer.byteLength >= byteLength && buffer.byteLength <= 2 * byteLength);
  if (found !== undefined) free.delete(found);
  const copy = found !== undefined ? viewOf(array, found)
    : shared(holds(array, 'int32') ? 'i' : holds(array, 'float32') ? 'f' : 'd', array.length);
  copy.set(array);
  return copy;
}

/** Takes back what {@link sharedCopy} made of another array. No thread may use the copy any more. */
export function returnShared(copy: Scalars): void {
  const { buffer } = copy;
  if (!(buffer instanceof SharedArrayBuffer) || buffer.byteLength < leastBytes || buffer.byteLength > mostBytes) return;
  for (const old of free) if (bytesKept() + buffer.byteLength > mostBytes) free.delete(old);
  free.add(buffer);
  clearTimeout(timer);
  timer = setTimeout(() => { free.clear(); }, keptMilliseconds).unref();
}
