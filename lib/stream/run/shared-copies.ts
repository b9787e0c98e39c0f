// Copies of large arrays in memory that threads share, in memory of earlier copies if there is any.
import { holds } from '../../core/arrays.ts';
import { KeptBuffers } from '../../core/kept-buffers.ts';
import { shared } from './common.ts';
import type { Scalars } from './prepare.ts';

const kept = new KeptBuffers<SharedArrayBuffer>(2 ** 20);

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
  const found = kept.take(array.byteLength);
  const copy = found !== undefined ? viewOf(array, found)
    : shared(holds(array, 'int32') ? 'i' : holds(array, 'float32') ? 'f' : 'd', array.length);
  copy.set(array);
  return copy;
}

/** Takes back what {@link sharedCopy} made of another array. No thread may use the copy any more. */
export function returnShared({ buffer }: Scalars): void {
  if (buffer instanceof SharedArrayBuffer) kept.give(buffer);
}
