// The engine's WebAssembly, for which the types that libraries for Node come with have no names.

export interface WasmMemory {
  readonly buffer: ArrayBuffer | SharedArrayBuffer;
  /** Adds pages; gives the number of those before. */
  grow(pages: number): number;
}

/** A function of a compiled program, for `n` firings or iterations. */
export type WasmFunction = (n: number) => void;

export const { WebAssembly: engine } = globalThis as unknown as { readonly WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  readonly Memory: new (options: { readonly initial: number; readonly maximum: number; readonly shared?: boolean }) => WasmMemory;
  readonly Instance: new (module: object, imports: object) => { readonly exports: Readonly<Record<string, WasmFunction | undefined>> };
} };
