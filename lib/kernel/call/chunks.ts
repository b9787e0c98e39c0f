// Runs a host program over arrays, chunk by chunk: elements are gathered into its buffers and results scattered from them. This module is
// loaded by worker threads too.
import { elementAt } from '../../core/known.ts';
import type { HostEngine } from './wasm-engine.ts';
import type { HostArray } from './types.ts';

/** Elements of a chunk: as many as a block of a reduction has. */
export const chunkItems = 4096;

/** An array that is stepped through with the others. */
export interface SteppedArray {
  readonly data: HostArray;
  readonly offset: number;
  readonly strides: readonly number[];
}

/** What a run works on. */
export interface ChunkWork {
  readonly inputs: readonly SteppedArray[];
  readonly outputs: readonly SteppedArray[];
  readonly extents: readonly number[];
  readonly scalars: readonly number[];
}

/** Calls `use` for each stretch of the elements first … first + count - 1 along the last dimension. */
function eachRow(
  { offset, strides }: SteppedArray, extents: readonly number[], first: number, count: number,
  use: (place: number, at: number, length: number) => void,
): void {
  const last = extents.length - 1;
  const width = elementAt(extents, last);
  for (let done = 0; done < count;) {
    let rest = first + done;
    const column = rest % width;
    rest = (rest - column) / width;
    let place = offset + column * elementAt(strides, last);
    for (let d = last - 1; d >= 0; --d) {
      const extent = elementAt(extents, d);
      place += (rest % extent) * elementAt(strides, d);
      rest = Math.floor(rest / extent);
    }
    const length = Math.min(width - column, count - done);
    use(place, done, length);
    done += length;
  }
}

function gather(array: SteppedArray, extents: readonly number[], first: number, count: number, to: HostArray): void {
  const { data, offset, strides } = array;
  const step = strides[extents.length - 1] ?? 0;
  if (extents.length === 0) to[0] = Number(data[offset]);
  else if (extents.length === 1 && step === 1) to.set(data.subarray(offset + first, offset + first + count));
  else {
    eachRow(array, extents, first, count, (place, at, length) => {
      if (step === 1 && length > 16) to.set(data.subarray(place, place + length), at);
      else if (step === 0) to.fill(Number(data[place]), at, at + length);
      else for (let i = 0; i < length; ++i) to[at + i] = Number(data[place + i * step]);
    });
  }
}

export function scatter(array: SteppedArray, extents: readonly number[], first: number, count: number, from: HostArray): void {
  const { data, offset, strides } = array;
  const step = strides[extents.length - 1] ?? 0;
  if (extents.length === 0) data[offset] = Number(from[0]);
  else if (extents.length === 1 && step === 1) data.set(count === from.length ? from : from.subarray(0, count), offset + first);
  else {
    eachRow(array, extents, first, count, (place, at, length) => {
      for (let i = 0; i < length; ++i) data[place + i * step] = Number(from[at + i]);
    });
  }
}

/** Maps the elements of a chunk, `first` being its first. */
export function mapChunk(engine: HostEngine, { inputs, outputs, extents, scalars }: ChunkWork, first: number, count: number): void {
  inputs.forEach((input, i) => { gather(input, extents, first, count, elementAt(engine.inputs, i)); });
  engine.run(count, scalars);
  outputs.forEach((output, i) => { scatter(output, extents, first, count, elementAt(engine.outputs, i)); });
}

/** Reduces the elements of a block. */
export function reduceChunk(engine: HostEngine, { inputs, extents, scalars }: ChunkWork, first: number, count: number): readonly number[] {
  inputs.forEach((input, i) => { gather(input, extents, first, count, elementAt(engine.inputs, i)); });
  return engine.run(count, scalars);
}
