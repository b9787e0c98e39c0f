// Kernel files of the tests: text, and launches from their comments.
//
//   // run: NAME<ARGUMENTS><<<GRID, BLOCK, BYTES>>>(in f32 128, out f32 128, 5)
//
// GRID and BLOCK are counts or (x, y, z); BYTES of dynamic shared memory may be left out. An argument is an array with direction (in, out, inout), element type and length, or a
// literal. A kernel may have several launches.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One argument of a launch. */
export type Argument =
  | { readonly literal: string }
  | { readonly direction: 'i' | 'o' | 'x'; readonly type: string; readonly count: number };

/** One launch of a kernel. */
export interface Launch {
  /** Template arguments and namespaces included. */
  readonly kernel: string;
  readonly grid: readonly number[];
  readonly block: readonly number[];
  readonly dynamicBytes: number;
  readonly arguments: readonly Argument[];
}

/** A file of kernels. */
export interface KernelFile {
  readonly name: string;
  readonly text: string;
  readonly launches: readonly Launch[];
}

const typeLetters: Readonly<Record<string, string>> = { f32: 'f', f64: 'd', i32: 'i', u32: 'u', i64: 'l', i16: 's', u8: 'b' };
const directions: Readonly<Record<string, 'i' | 'o' | 'x'>> = { in: 'i', out: 'o', inout: 'x' };

function extent(text: string): number[] {
  const parts = text.replace(/[()]/g, '').split(',').map(Number);
  if (parts.some((part) => !Number.isSafeInteger(part) || part < 1)) throw new Error(`launch extent ${text}`);
  return [...parts, 1, 1].slice(0, 3);
}

function argument(text: string): Argument {
  const parts = text.trim().split(/\s+/);
  if (parts.length !== 3) return { literal: text.trim() };
  const [direction, type] = [directions[parts[0]!], typeLetters[parts[1]!]];
  if (direction === undefined || type === undefined) throw new Error(`launch argument ${text}`);
  return { direction, type, count: Number(parts[2]) };
}

/** Launches that comments of a text name. */
export function launchesOf(text: string): Launch[] {
  const lines = text.matchAll(/^\/\/ run: (.+?)<<<\s*(\([\d, ]+\)|\d+)\s*,\s*(\([\d, ]+\)|\d+)\s*(?:,\s*(\d+)\s*)?>>>\((.*)\)\s*$/gm);
  const launches = [...lines].map(([, kernel, grid, block, bytes = '0', list]) => ({
    kernel: kernel!, grid: extent(grid!), block: extent(block!), dynamicBytes: Number(bytes), arguments: list!.split(',').map(argument) }));
  const said = text.match(/^\/\/ run:/gm)?.length ?? 0;
  if (launches.length !== said) throw new Error(`${said} launches, ${launches.length} of them readable`);
  return launches;
}

/** Test folder of the scratchpad pass. */
export const testFolder = dirname(fileURLToPath(import.meta.url));

/** All .cu files of a folder, by name. */
export function readKernels(folder: string): KernelFile[] {
  return readdirSync(folder).filter((name) => name.endsWith('.cu')).sort().map((file) => {
    const text = readFileSync(join(folder, file), 'utf8');
    return { name: basename(file, '.cu'), text, launches: launchesOf(text) };
  });
}
