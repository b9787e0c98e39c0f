// A worker thread that runs chunks of functions on shared memory. It takes the next few chunks whenever it has finished some.
import { parentPort } from 'node:worker_threads';
import { required } from '../../core/known.ts';
import { chunkItems, mapChunk, reduceChunk, type ChunkWork } from './chunks.ts';
import { wasmEngine, type HostEngine, type WasmCode } from './wasm-engine.ts';

/** A run, of which every worker gets the same message. */
export interface SharedRun {
  readonly id: number;
  /** The program; undefined if the worker has it. */
  readonly code: WasmCode | undefined;
  readonly work: ChunkWork;
  readonly count: number;
  /** For reductions: results by chunk, one result of the function after the other. */
  readonly partial: Float64Array | undefined;
  /** Shared: the next chunk that nobody has taken, and whether to stop. */
  readonly state: Int32Array;
}

/** Chunks that a worker takes at once. */
const taken = 16;
const mostEngines = 8;
const engines = new Map<number, HostEngine>();

function run({ work, count, partial, state }: SharedRun, engine: HostEngine): void {
  const chunks = Math.ceil(count / chunkItems);
  while (Atomics.load(state, 1) === 0) {
    const begin = Atomics.add(state, 0, taken);
    if (begin >= chunks) return;
    for (let chunk = begin; chunk < Math.min(chunks, begin + taken); ++chunk) {
      const first = chunk * chunkItems;
      const length = Math.min(chunkItems, count - first);
      if (partial === undefined) mapChunk(engine, work, first, length);
      else reduceChunk(engine, work, first, length).forEach((value, r) => { partial[r * chunks + chunk] = value; });
    }
  }
}

const port = required(parentPort);
port.on('message', (message: SharedRun) => {
  try {
    let engine = engines.get(message.id);
    if (engine === undefined) {
      const [oldest] = engines.keys();
      if (engines.size >= mostEngines && oldest !== undefined) engines.delete(oldest);
      engines.set(message.id, engine = wasmEngine(required(message.code)));
    }
    run(message, engine);
    port.postMessage(undefined);
  } catch (error) {
    port.postMessage(String(error));
  }
});
