// The CUDA program that times kernels before and after the scratchpad pass: example kernels as written, side by side in a pool
// where they are too large for static shared memory, and as rewritten.
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { packageRoot } from '../lib/core/binding.ts';
import { layOut } from '../lib/kernel/memory/layout.ts';
import { Work } from '../lib/kernel/memory/work.ts';
import { readModule } from '../lib/kernel/ptx/module.ts';
import { optimize, type OptimizeOptions } from '../lib/scratchpad/index.ts';
import { analyse } from '../lib/scratchpad/ptx/analysis.ts';
import { applyEdits, emit, staticLimit } from '../lib/scratchpad/ptx/emit.ts';
import { compile } from '../lib/scratchpad/toolkit.ts';

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
  readonly ptx: string;
  readonly dynamicBytes: number;
}

/** The arrays side by side in a pool, for kernels that need more than 48 KB as written. */
async function apart(ptx: string): Promise<{ ptx: string; dynamicBytes: number }> {
  const module = readModule(ptx);
  const analysis = analyse(module, module.functions.find((fn) => fn.isEntry)!);
  const layout = await layOut(analysis, 'exact', false, new Work());
  if (layout.plan.bytes <= staticLimit) return { ptx, dynamicBytes: 0 };
  return { ptx: applyEdits(ptx, emit(module, analysis, layout, 0).edits), dynamicBytes: layout.plan.bytes };
}

/** A kernel as written, by the paper's algorithm, and by the best planner; and the latter without its new barriers. */
async function formsOf({ file, options }: Timed, root: string): Promise<Form[]> {
  const text = await readFile(join(root, `examples/kernels/${file}.cu`), 'utf8');
  const compilerOptions = ['-std=c++17', '-fmad=false', '-arch=sm_90', '-w'];
  const common = { ...options, compilerOptions, barriers: 'any' } as const;
  const plain = await apart(await compile(text, { compilerOptions }));
  const [greedy, exact] = [await optimize(text, { ...common, planner: 'greedy' }), await optimize(text, common)];
  const form = (name: string, { ptx, dynamicBytes = 0 }: { ptx: string; dynamicBytes?: number }): Form => ({ name, ptx, dynamicBytes });
  return [form('naive', plain), form('greedy', greedy), form('optimised', exact),
    form('broken', { ...exact, ptx: exact.ptx.replaceAll('bar.sync \t0;\n\t', '') })];
}

const symbolOf = (ptx: string): string => /\.entry\s+(\w+)/.exec(ptx)![1]!;

function table(name: string, rows: readonly { timed: Timed; index: number; forms: readonly Form[] }[]): string {
  const lines = rows.map(({ timed, index, forms }) => {
    const dim = (extents: readonly number[]) => `dim3(${extents.join(', ')})`;
    const variants = forms.map((form) =>
      `{"${form.name}", load(folder, "${form.name}${index}", "${symbolOf(form.ptx)}"), ${form.dynamicBytes}}`);
    return `  {"${timed.file}", ${timed.dimensions}, ${dim(timed.tile)}, ${dim(timed.threads)}, {${variants.join(', ')}},\n`
      + `   {${timed.sizes.join(', ')}}, {${timed.carveouts.join(', ')}}},`;
  });
  return `static std::vector<scratchpad_time::Kernel> ${name}(const std::string& folder) {\n  using scratchpad_time::load;\n`
    + `  return {\n${lines.join('\n')}\n  };\n}`;
}

type All = readonly { timed: Timed; index: number; forms: readonly Form[] }[];

/** The text of the program. */
function deviceProgram(all: All): string {
  const only = (isBroken: boolean): All =>
    all.map((each) => ({ ...each, forms: each.forms.filter(({ name }) => (name === 'broken') === isBroken) }));
  return ['#include "bench/device/scratchpad_time.cuh"', table('kernels', only(false)), table('broken_kernels', only(true)),
    'int main(int argc, char** argv) { return scratchpad_time::run(argc, argv, kernels, broken_kernels); }', ''].join('\n');
}

/**
 * Builds two programs for sm_90, each with a folder of kernels beside it: `capped`, at most 32 registers a thread, so that registers
 * allow 2048 threads, and `free`, as many as the compiler likes.
 */
export async function buildPrograms(folder: string, nvcc: string, root = packageRoot()): Promise<{ capped: string; free: string }> {
  const all = await Promise.all(timedKernels.map(async (timed, index) => ({ timed, index, forms: await formsOf(timed, root) })));
  const programs = { capped: join(folder, 'capped'), free: join(folder, 'free') };
  await mkdir(folder, { recursive: true });
  const source = join(folder, 'scratchpad.cu');
  await writeFile(source, deviceProgram(all));
  await run(nvcc, ['-std=c++17', '-O2', '-arch=sm_90', '-w', '-I.', source, '-o', programs.free], { cwd: root, maxBuffer: 1 << 26 });
  await copyFile(programs.free, programs.capped);
  for (const [name, extra] of [['capped', ['-maxrregcount=32']], ['free', []]] as const) {
    const cubins = `${programs[name]}.cubins`;
    await mkdir(cubins, { recursive: true });
    for (const { index, forms } of all) {
      for (const form of forms) {
        const path = join(cubins, `${form.name}${index}`);
        await writeFile(`${path}.ptx`, form.ptx);
        await run(nvcc, ['-cubin', '-arch=sm_90', '-lineinfo', ...extra, `${path}.ptx`, '-o', `${path}.cubin`], { maxBuffer: 1 << 26 });
      }
    }
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
