// The CUDA program that times kernels before and after the scratchpad pass: example kernels as written, side by side in a pool
// where they are too large for static shared memory, and as rewritten.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { packageRoot } from '../lib/core/binding.ts';
import { optimize, type OptimizeOptions } from '../lib/scratchpad/index.ts';

const run = promisify(execFile);

/** A kernel of examples/kernels and how it is timed. */
interface Timed {
  readonly file: string;
  readonly kernel: string;
  readonly dimensions: 0 | 2 | 3;
  readonly tile: readonly number[];
  readonly threads: readonly number[];
  readonly sizes: readonly number[];
  /** KiB of shared memory, 0: the driver's choice. */
  readonly carveouts: readonly number[];
  readonly options?: OptimizeOptions;
}

const volumes = [16, 32, 64, 128, 256];
const planes = [64, 128, 256, 512, 1024, 2048, 4096];
const limited = [0, 16, 32, 64];
const wide = [0, 228];
/** Kernels of Tables II and III, the same with large tiles, and the registration step. */
export const timedKernels: readonly Timed[] = [
  { file: 'curvature3d', kernel: 'curvature3d', dimensions: 3, tile: [16, 16, 1], threads: [16, 16], sizes: volumes, carveouts: limited },
  {
    file: 'curvature3d_tiles', kernel: 'curvature3d_tiles', dimensions: 3, tile: [32, 8, 8], threads: [512], sizes: volumes,
    carveouts: wide,
  },
  { file: 'curvature2d', kernel: 'curvature2d', dimensions: 2, tile: [16, 16], threads: [16, 16], sizes: planes, carveouts: limited },
  { file: 'curvature2d_tiles', kernel: 'curvature2d_tiles', dimensions: 2, tile: [64, 64], threads: [512], sizes: planes, carveouts: wide },
  {
    file: 'registration', kernel: 'registration_step', dimensions: 0, tile: [16, 24], threads: [16, 24], sizes: [256, 1024, 4096],
    carveouts: limited, options: { reorder: true },
  },
];

interface Form {
  readonly name: string;
  readonly text: string;
  readonly dynamicBytes: number;
}

/** A kernel as written, by the paper's algorithm, and by the best planner. Over 48 KB the first is a pool without reuse. */
async function formsOf({ file, options }: Timed, root: string): Promise<{ forms: Form[]; broken: Form }> {
  const text = await readFile(join(root, `examples/kernels/${file}.cu`), 'utf8');
  const exact = await optimize(text, { ...options, planner: 'exact' });
  const greedy = await optimize(text, { ...options, planner: 'greedy' });
  const apart = exact.dynamicBytes === undefined ? { source: text, dynamicBytes: 0 } : await optimize(text, { reuse: false });
  const lines = exact.source.split('\n');
  for (const { newLine } of exact.report.kernels.flatMap((kernel) => kernel.barriersAdded)) {
    lines[newLine - 1] = lines[newLine - 1]!.replace('__syncthreads();', '');
  }
  const form = (name: string, result: { source: string; dynamicBytes?: number }): Form => (
    { name, text: result.source, dynamicBytes: result.dynamicBytes ?? 0 });
  return {
    forms: [form('naive', apart), form('greedy', greedy), form('optimised', exact)],
    broken: { name: 'broken', text: lines.join('\n'), dynamicBytes: exact.dynamicBytes ?? 0 },
  };
}

const definitions = (text: string): string[] => [...text.matchAll(/^[ \t]*#[ \t]*define[ \t]+(\w+)/gm)].map(([, name]) => name!);

function table(name: string, rows: readonly { timed: Timed; index: number; forms: readonly Form[] }[]): string {
  const lines = rows.map(({ timed, index, forms }) => {
    const dim = (extents: readonly number[]) => `dim3(${extents.join(', ')})`;
    const variants = forms.map((form) => `{"${form.name}", (const void*)${form.name}${index}::${timed.kernel}, ${form.dynamicBytes}}`);
    return `  {"${timed.file}", ${timed.dimensions}, ${dim(timed.tile)}, ${dim(timed.threads)}, {${variants.join(', ')}},\n`
      + `   {${timed.sizes.join(', ')}}, {${timed.carveouts.join(', ')}}},`;
  });
  return `static std::vector<scratchpad_time::Kernel> ${name}() {\n  return {\n${lines.join('\n')}\n  };\n}`;
}

/** The text of the program. */
export async function deviceProgram(root = packageRoot()): Promise<string> {
  const all = await Promise.all(timedKernels.map(async (timed, index) => ({ timed, index, ...await formsOf(timed, root) })));
  const parts = ['#include "bench/device/scratchpad_time.cuh"'];
  for (const { forms, broken, index } of all) {
    for (const { name, text } of [...forms, broken]) {
      parts.push(`namespace ${name}${index} {`, text, '}', ...definitions(text).map((word) => `#undef ${word}`));
    }
  }
  parts.push(table('kernels', all), table('broken_kernels', all.map(({ timed, index, broken }) => ({ timed, index, forms: [broken] }))),
    'int main(int argc, char** argv) { return scratchpad_time::run(argc, argv, kernels(), broken_kernels()); }', '');
  return parts.join('\n');
}

/** nvcc on the path or in the toolkit's usual folder. */
export function findNvcc(): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/local/cuda/bin'];
  return folders.map((folder) => join(folder, 'nvcc')).find((path) => existsSync(path));
}

/**
 * Compiles two programs for sm_90 and PTX: `capped`, at most 32 registers a thread, so that registers allow 2048 threads, and
 * `free`, as many as the compiler likes.
 */
export async function buildPrograms(folder: string, nvcc: string, root = packageRoot()): Promise<{ capped: string; free: string }> {
  await mkdir(folder, { recursive: true });
  const source = join(folder, 'scratchpad.cu');
  const programs = { capped: join(folder, 'capped'), free: join(folder, 'free') };
  await writeFile(source, await deviceProgram(root));
  const flags = ['-std=c++17', '-O3', '-fmad=false', '-lineinfo', '-w', '-gencode=arch=compute_90,code=[sm_90,compute_90]', '-I.', source];
  for (const [name, extra] of [['capped', ['-maxrregcount=32']], ['free', []]] as const) {
    await run(nvcc, [...flags, ...extra, '-o', programs[name]], { cwd: root, maxBuffer: 1 << 26 });
  }
  return programs;
}

const lineSchema = z.strictObject({
  kernel: z.string(), size: z.number(), carveout: z.number(), variant: z.string(), threads: z.number(), sharedBytes: z.number(),
  registers: z.number(), blocks: z.number(), occupancy: z.number(), equal: z.boolean(), seconds: z.array(z.number().positive()).min(1),
});
const headSchema = z.strictObject({ device: z.string(), driver: z.string() });

/** One measurement of the program. */
export type Measured = z.infer<typeof lineSchema>;

/** What the program printed. */
export function parseMeasured(text: string): { device: string; driver: string; rows: Measured[] } {
  const [head, ...rest] = text.trim().split('\n').map((line) => JSON.parse(line) as unknown);
  return { ...headSchema.parse(head), rows: rest.map((line) => lineSchema.parse(line)) };
}

/** Runs the program; undefined where there is no device. */
export async function runProgram(program: string): Promise<string | undefined> {
  try {
    return (await run(program, ['time'], { maxBuffer: 1 << 26 })).stdout;
  } catch (error) {
    if ((error as { code?: unknown }).code === 3) return undefined;
    throw error;
  }
}
