// Functions on the CPU: short calls in this thread, at once; long ones on worker threads, with copies of the arrays.
import { availableParallelism } from 'node:os';
import { elementAt } from '../../core/known.ts';
import { nextTurn } from '../../core/slices.ts';
import { hasThreads } from '../../core/thread.ts';
import { chunkItems, mapChunk, reduceChunk, scatter, type ChunkWork, type SteppedArray } from './chunks.ts';
import { runByThreads } from './crew.ts';
import { interpreted, wasmCode, type HostProgram } from './host-program.ts';
import { plainStrides, spanOf, stepsOf, type Operand, type View } from './operands.ts';
import { wasmEngine, type HostEngine, type WasmCode } from './wasm-engine.ts';
import type { HostArray } from './types.ts';

/** Milliseconds for which a call may keep the calling thread, and after which it looks how long it will take. */
const mostHere = 20, firstLook = 1;
/** Milliseconds for which the calling thread is kept by each byte that it copies into new shared memory, for other threads to read. */
const copiedByte = 4e-7;

let lastId = 0;

/** A program, compiled as it is needed. */
export class HostKernel {
  readonly program: HostProgram;
  readonly backend: 'wasm' | 'interpreter';
  readonly #id = ++lastId;
  #code: WasmCode | undefined;
  #engine: HostEngine | undefined;

  constructor(program: HostProgram, backend: 'wasm' | 'interpreter') {
    this.program = program;
    this.backend = backend;
  }

  get code(): WasmCode {
    return this.#code ??= wasmCode(this.program);
  }

  /** The instance in this thread. */
  get #here(): HostEngine {
    return this.#engine ??= this.backend === 'wasm' ? wasmEngine(this.code) : interpreted(this.program);
  }

  /** Compiles it now. */
  prepare(): void {
    void this.#here;
  }

  /** Stores the function's values of all elements: at once if that is soon done. The arrays are read before this returns. */
  map(operands: readonly Operand[], outputs: readonly View[], shape: readonly number[], options: HostOptions): Promise<void> | undefined {
    const work = workOf(operands, outputs, shape);
    return this.#run(work, options, undefined, (first, length) => { mapChunk(this.#here, work, first, length); });
  }

  /** The function's values, reduced within blocks of 4096 elements: one result after the other. */
  reduce(
    operands: readonly Operand[], shape: readonly number[], results: number, options: HostOptions,
  ): Promise<Float64Array> | Float64Array {
    const work = workOf(operands, [], shape);
    const blocks = Math.ceil(options.count / chunkItems);
    const partial = new Float64Array(new SharedArrayBuffer(8 * blocks * results));
    const more = this.#run(work, options, partial, (first, length) => {
      reduceChunk(this.#here, work, first, length).forEach((value, r) => { partial[r * blocks + first / chunkItems] = value; });
    });
    return more?.then(() => partial) ?? partial;
  }

  /** The function's values of a few elements, of the program's types. */
  values(operands: readonly Operand[], shape: readonly number[], first: number, count: number): Float64Array[] {
    mapChunk(this.#here, workOf(operands, [], shape), first, count);
    return this.#here.outputs.map((output) => Float64Array.from(output.subarray(0, count)));
  }

  #run(
    work: ChunkWork, { count, threads, signal }: HostOptions, partial: Float64Array | undefined,
    chunk: (first: number, length: number) => void,
  ): Promise<void> | undefined {
    const began = performance.now();
    const copying = threads === undefined && this.backend === 'wasm' ? copiedByte * bytesCopied(work.inputs) : 0;
    for (let first = 0; first < count; first += chunkItems) {
      const spent = performance.now() - began;
      // The arrays are read before the call returns: where copying them takes as long as the work itself, threads do not help.
      if (first > 0 && spent > firstLook && spent / first > copying && (spent / first) * (count - first) > mostHere) {
        if (this.backend === 'interpreter' || !hasThreads) return this.#slowly(count, first, chunk, signal);
        const most = Math.ceil((count - first) / chunkItems);
        return this.#aside(work, count, first, partial, Math.min(threads ?? availableParallelism(), most), signal);
      }
      chunk(first, Math.min(chunkItems, count - first));
    }
    return undefined;
  }

  /** In this thread, with pauses: the interpreter has no threads, and a page has none. */
  async #slowly(
    count: number, begin: number, chunk: (first: number, length: number) => void, signal: AbortSignal | undefined,
  ): Promise<void> {
    for (let first = begin; first < count; first += chunkItems) {
      await nextTurn();
      signal?.throwIfAborted();
      chunk(first, Math.min(chunkItems, count - first));
    }
  }

  /** On worker threads, beginning with the element `begin`. */
  async #aside(
    work: ChunkWork, count: number, begin: number, partial: Float64Array | undefined, threads: number, signal: AbortSignal | undefined,
  ): Promise<void> {
    const { extents, inputs, outputs, scalars } = work;
    const shared = inputs.map((input) => sharedPart(input, extents));
    const made = outputs.map(({ data }): SteppedArray =>
      ({ data: sharedArray(data, count), offset: 0, strides: plainStrides(extents) }));
    const state = new Int32Array(new SharedArrayBuffer(8));
    state[0] = begin / chunkItems;
    const message = { id: this.#id, work: { inputs: shared, outputs: made, extents, scalars }, count, partial, state };
    await runByThreads(message, this.code, threads, signal);
    for (const [i, output] of outputs.entries()) await copyBack(elementAt(made, i).data, output, extents, begin, count);
  }
}

export interface HostOptions {
  readonly count: number;
  readonly threads?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

function workOf(operands: readonly Operand[], outputs: readonly View[], shape: readonly number[]): ChunkWork {
  const arrays = operands.filter((operand) => typeof operand !== 'number');
  const { extents, strides } = stepsOf([...arrays, ...outputs], shape);
  const stepped = ({ data, offset }: View, i: number): SteppedArray =>
    ({ data: data as HostArray, offset, strides: elementAt(strides, i) });
  return {
    inputs: arrays.map(stepped), outputs: outputs.map((output, i) => stepped(output, arrays.length + i)), extents,
    scalars: operands.filter((operand) => typeof operand === 'number'),
  };
}

function sharedArray(like: HostArray, length: number): HostArray {
  const Kind = like.constructor as new (buffer: SharedArrayBuffer) => HostArray;
  return new Kind(new SharedArrayBuffer(length * like.BYTES_PER_ELEMENT));
}

/** Bytes that are copied for each element before other threads can work. */
const bytesCopied = (inputs: readonly SteppedArray[]): number =>
  inputs.reduce((sum, { data, strides }) => sum + (data.buffer instanceof SharedArrayBuffer || strides.every((by) => by === 0) ? 0
    : data.BYTES_PER_ELEMENT), 0);

/** The part of an array that a call reads, in shared memory: itself, or a copy. */
function sharedPart(array: SteppedArray, extents: readonly number[]): SteppedArray {
  const { data, offset, strides } = array;
  if (data.buffer instanceof SharedArrayBuffer) return array;
  const [low, high] = spanOf({ offset, shape: extents, strides }) ?? [0, -1];
  const copy = sharedArray(data, high + 1 - low);
  copy.set(data.subarray(low, high + 1));
  return { data: copy, offset: offset - low, strides };
}

/** Elements that are copied without a pause. */
const copied = 2 ** 20;

async function copyBack(from: HostArray, to: SteppedArray, extents: readonly number[], begin: number, count: number): Promise<void> {
  for (let first = begin; first < count; first += copied) {
    if (first > begin) await nextTurn();
    const length = Math.min(copied, count - first);
    scatter(to, extents, first, length, from.subarray(first, first + length));
  }
}

