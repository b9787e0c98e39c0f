// Types of the engine's WebAssembly API that are missing from the type definitions for Node.

export interface WasmMemory {
  readonly buffer: ArrayBuffer | SharedArrayBuffer;
  /** Adds pages; returns the previous number of pages. */
  grow(pages: number): number;
}

/** An exported function. The type says `number` for functions without results too. */
export type WasmFunction = (...args: number[]) => number;

export const { WebAssembly: engine } = globalThis as unknown as { readonly WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  readonly Memory: new (options: { readonly initial: number; readonly maximum: number; readonly shared?: boolean }) => WasmMemory;
  readonly Instance: new (module: object, imports: object) => { readonly exports: Readonly<Record<string, WasmFunction | undefined>> };
} };
