// Where the buffers of a program are in WebAssembly's memory.
import type { Buffer, Program } from '../ir.ts';
import { bytesOf } from './wasm-binary.ts';

/** Where a buffer lies. */
export interface WasmPlace {
  /** Address, or of a thread's own part of memory: bytes from its start. */
  readonly at: number;
  readonly isOwn: boolean;
  /** What lies there is the address of the buffer, to be set before each call. */
  readonly isPointer: boolean;
}

export interface WasmLayout {
  readonly places: ReadonlyMap<Buffer, WasmPlace>;
  /** Pages before the threads' own parts. */
  readonly pages: number;
  /** Bytes of a thread's own part. */
  readonly ownBytes: number;
}

export const pageBytes = 65536;
/** Buffers begin with lines of the cache. */
const line = 64;

/** Local buffers and pointers to external ones of unknown length are each thread's own, and what `isOwn` says; all else is shared. */
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
