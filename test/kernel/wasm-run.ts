// Runs programs of random.ts as WebAssembly.
import type { Buffer, Program } from '../../lib/kernel/ir.ts';
import type { Elements } from '../../lib/kernel/interpret.ts';
import { layoutWasm, pageBytes } from '../../lib/kernel/print/wasm-layout.ts';
import { printWasm } from '../../lib/kernel/print/wasm.ts';
import { mostPages } from '../../lib/kernel/print/wasm-binary.ts';
import { changing, noted, outcomeOf, type Outcome, type RunInput } from './random.ts';

/** The engine's WebAssembly, for which the types that libraries for Node come with have no names. */
const { WebAssembly: engine } = globalThis as unknown as { readonly WebAssembly: {
  Memory: new (of: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer };
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: unknown) => { readonly exports: Record<string, unknown> };
} };

class Fault extends Error {}
const kinds = { i32: Int32Array, f32: Float32Array, f64: Float64Array };

export function runWasm(program: Program, { args, external }: RunInput): Outcome {
  const layout = layoutWasm(program);
  const bytes = printWasm(program, { layout });
  const spare = layout.pages * pageBytes + layout.ownBytes;
  const memory = new engine.Memory({ initial: Math.ceil((spare + 4096) / pageBytes) + 1, maximum: mostPages });
  const base = layout.pages * pageBytes;
  let free = 64 * Math.ceil(spare / 64);
  const viewOf = (buffer: Buffer, length: number): Elements => {
    const { at, isOwn, isPointer } = layout.places.get(buffer)!;
    let address = at + (isOwn ? base : 0);
    if (isPointer) {
      new Int32Array(memory.buffer)[address / 4] = free;
      address = free;
      free += 256;
    }
    return new kinds[buffer.element](memory.buffer, address, length);
  };
  const views = program.buffers.map((buffer) => {
    const given = external[buffer.name] ?? buffer.initial ?? [];
    const view = viewOf(buffer, buffer.length ?? given.length);
    view.set(given);
    return [buffer.name, view] as const;
  });
  const notes: number[][] = [];
  let trap: { site: number; value: number } | undefined;
  const host = {
    mod: (a: number, b: number) => a % b, memory, own: base,
    note: (i: number, x: number) => {
      notes.push([i, x]);
      return noted(i, x);
    },
    trap: (site: number, value: number) => {
      trap = { site, value };
      throw new Fault();
    },
  };
  const { exports } = new engine.Instance(new engine.Module(bytes), { host });
  let results: readonly number[] = [];
  try {
    results = (exports.main as (...args: number[]) => number[])(...args);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
  return outcomeOf({ results, trap, notes, buffers: changing.map((name) => views.find(([each]) => each === name)![1]) });
}
