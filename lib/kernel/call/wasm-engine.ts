// Runs host programs (host-program.ts) that were compiled to WebAssembly. Worker threads load this module, and no compiler with it.
import { required } from '../../core/known.ts';
import { engine } from '../../core/wasm-engine.ts';
import type { ScalarType } from '../ir.ts';
import type { HostArray } from './types.ts';

/** What runs chunks: arrays to put inputs into and take results from. */
export interface HostEngine {
  readonly inputs: readonly HostArray[];
  readonly outputs: readonly HostArray[];
  /** Runs the program on the first `count` elements; returns what it returns. */
  run(count: number, scalars: readonly number[]): readonly number[];
}

/** The code of a program as WebAssembly, and where its buffers are: data that can be sent to a worker. */
export interface WasmCode {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly pages: number;
  readonly own: number;
  readonly inputs: readonly Place[];
  readonly outputs: readonly Place[];
}

/** Where a buffer is. */
export interface Place {
  readonly element: ScalarType;
  readonly at: number;
  readonly length: number;
}

/** Whether there is WebAssembly: not with --jitless. */
export const hasWasm = (engine as unknown) !== undefined;

const arrayKinds = { i32: Int32Array, f32: Float32Array, f64: Float64Array } as const;

/** An instance of a program. */
export function wasmEngine(code: WasmCode): HostEngine {
  const memory = new engine.Memory({ initial: code.pages, maximum: code.pages });
  const imports = { host: { memory, own: code.own, mod: (a: number, b: number) => a % b } };
  const { exports } = new engine.Instance(new engine.Module(code.bytes), imports);
  const run = required(exports['run']) as unknown as (...args: number[]) => number | readonly number[] | undefined;
  const views = (places: readonly Place[]): HostArray[] =>
    places.map(({ element, at, length }) => new arrayKinds[element](memory.buffer as ArrayBuffer, at, length));
  return {
    inputs: views(code.inputs), outputs: views(code.outputs),
    run(count, scalars) {
      const made = run(count, ...scalars);
      return typeof made === 'number' ? [made] : made ?? [];
    },
  };
}
