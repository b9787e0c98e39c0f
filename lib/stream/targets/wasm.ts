// Prints planned programs as WebAssembly modules and lays out their memory.
import type { Buffer, Program } from '../../kernel/ir.ts';
import { dropCopies } from '../../kernel/passes/copies.ts';
import { keepElements } from '../../kernel/passes/keep.ts';
import { dropNeedlessFills } from '../../kernel/passes/scalars.ts';
import { jamSums } from '../../kernel/passes/sums.ts';
import { tabulate } from '../../kernel/passes/tables.ts';
import { tidy } from '../../kernel/passes/tidy.ts';
import { vectoriseLanes } from '../../kernel/passes/vectorise-lanes.ts';
import { vectoriseLoops } from '../../kernel/passes/vectorise-loops.ts';
import { layoutWasm, pageBytes, type WasmPlace } from '../../kernel/print/wasm-layout.ts';
import { mostPages } from '../../kernel/print/wasm-binary.ts';
import { printWasm } from '../../kernel/print/wasm.ts';
import type { Kind } from '../plan/layout.ts';
import { type PlanOptions, type ProgramPlan } from '../plan/plan.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { lowerProgram, togetherForWasm, type LoweredProgram, type LowerOptions } from '../lower/program.ts';

/** A stretch of memory. */
export interface ArrayPlace {
  readonly name: string;
  readonly kind: Kind;
  /** Address; for memory that each thread has of its own, the offset in bytes from the start of the thread's part. */
  readonly at: number;
  readonly isOwn: boolean;
  readonly length: number;
}

/** The memory layout of a module. */
export interface MemoryLayout {
  readonly places: readonly ArrayPlace[];
  /** Pages before the memory of the threads. */
  readonly pages: number;
  /** Bytes of the memory that each thread has of its own. */
  readonly ownBytes: number;
}

export interface WasmModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly layout: MemoryLayout;
}

export const defaultWasmPlan: PlanOptions = { groupSize: 16_000, filterSize: 6000, blockBytes: 65_536 };

/** Passes that C++ compilers do themselves, and {@link tabulate}. */
function passes(program: Program): Program {
  const direct = dropCopies(dropNeedlessFills(tabulate(program)));
  return vectoriseLanes(vectoriseLoops(keepElements(tidy(program, jamSums(direct)))));
}

/** Lowers a plan for WebAssembly. */
export function lowerForWasm(plan: ProgramPlan, options: Omit<LowerOptions, 'together' | 'baseline' | 'passes'> = {}): LoweredProgram {
  return lowerProgram(plan, { ...options, together: togetherForWasm, passes });
}

const kindOf = { i32: 'i', f32: 'f', f64: 'd' } as const;

/** Prints a program. `isShared`: several threads use its memory. */
export function wasmModule({ program, plan, system, declarations }: LoweredProgram, isShared: boolean): WasmModule {
  const own = new Set([system.ix, system.steps]);
  const layout = layoutWasm(program, (buffer) => own.has(buffer));
  if (layout.pages + layout.ownBytes / pageBytes > 0.75 * mostPages) {
    throw new UnsupportedProgram(`channels and state take ${(layout.pages * pageBytes / 2 ** 30).toFixed(1)} GiB, too much for one memory`);
  }
  const streams = new Set(plan.streamArrays.map(({ name }) => name));
  const placeOf = (buffer: Buffer): ArrayPlace => {
    const { at, isOwn, isPointer } = layout.places.get(buffer) as WasmPlace;
    return isPointer ? { name: buffer.name, kind: 'i', at, isOwn, length: 1 }
      : { name: buffer.name, kind: kindOf[buffer.element], at, isOwn, length: buffer.length ?? 0 };
  };
  const seen = [...declarations.map(({ buffer }) => buffer), ...Object.values(system) as Buffer[],
    ...program.buffers.filter(({ name }) => streams.has(name))];
  return {
    bytes: printWasm(program, { layout, isShared }),
    layout: { places: seen.map(placeOf), pages: layout.pages, ownBytes: layout.ownBytes },
  };
}
