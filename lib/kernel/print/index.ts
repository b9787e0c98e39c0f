// The printers, one line each.
import type { Program } from '../ir.ts';
import { printCpp } from './cpp.ts';
import { printCuda } from './cuda.ts';
import { layoutWasm } from './wasm-layout.ts';
import { printWasm } from './wasm.ts';

/** Prints a verified program with the printer's usual options. */
export const printers = {
  wasm: (program: Program): Uint8Array => printWasm(program, { layout: layoutWasm(program) }),
  cpp: printCpp,
  cuda: printCuda,
} as const;

export type PrinterName = keyof typeof printers;
