// Assigns the buffers of a program to addresses in WebAssembly's memory.
import type { Buffer, Program } from '../ir.ts';
import { bytesOf } from './wasm-binary.ts';

/** Where a buffer is. */
export interface WasmPlace {
  /** Address; in a thread's own part of the memory, the offset in bytes from its start. */
  readonly at: number;
  readonly isOwn: boolean;
  /** The memory there holds the address of the buffer, which must be set before each call. */
  readonly isPointer: boolean;
}

export interface WasmLayout {
  readonly places: ReadonlyMap<Buffer, WasmPlace>;
  /** Pages before the threads' own parts. */
  readonly pages: number;
  /** Size of a thread's own part, in bytes. */
  readonly ownBytes: number;
}

export const pageBytes = 65536;
/** Buffers are aligned to cache lines. */
const line = 64;

/**
 * Each thread has its own copy of local buffers, of pointers to external buffers of unknown length, and of the buffers that `isOwn`
 * selects; everything else is shared.
 */
export function layoutWasm(program: Program, isOwn: (buffer: Buffer) => boolean = () => false): WasmLayout {
  const places = new Map<Buffer, WasmPlace>();
  const next = { shared: 0, own: 0 };
  for (const buffer of [...program.buffers, ...program.functions.flatMap(({ buffers }) => buffers)]) {
    const isPointer = buffer.length === undefined;
    const which = isPointer || buffer.role === 'local' || isOwn(buffer) ? 'own' : 'shared';
    places.set(buffer, { at: next[which], isOwn: which === 'own', isPointer });
    next[which] = line * Math.ceil((next[which] + (buffer.length === undefined ? 4 : buffer.length * bytesOf[buffer.element])) / line);
  }
  return { places, pages: Math.ceil(next.shared / pageBytes), ownBytes: next.own };
}
