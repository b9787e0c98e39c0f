// The paper's Table 1 and Figs. 6 and 7 for the real kernels (Davidson, Owens 2011).
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fitModel } from '../lib/tridiagonal/model.ts';
import type { BenchContext } from './domain.ts';
import { precisions, type Shape } from './systems.ts';
import { algorithmVariants, benchmarkVariants, nameOf } from './tridiagonal.ts';

/** The four shapes of the paper's Figs. 6 and 7. */
const paperShapes: readonly Shape[] = [512, 1024, 2048, 4096].map((size) => ({ systems: size, n: size }));
const quickShapes: readonly Shape[] = [{ systems: 32, n: 64 }];
const depths = [2, 4, 8, 16, 32];

const shapesOf = (context: BenchContext): readonly Shape[] => (context.quick ? quickShapes : paperShapes);

/** Fig. 6: `figure6/<shape>/<precision>/hot/depth-<d>`. */
export async function benchmarkFigure6(context: BenchContext): Promise<void> {
  for (const shape of shapesOf(context)) {
    for (const precision of precisions) {
      const variants = depths.map((depth) => ({
        id: `figure6/${nameOf(shape)}/${precision}/hot/depth-${depth}`, algorithm: 'cr-regpack', depth,
      }));
      await benchmarkVariants(context, shape, precision, 'hot', variants);
    }
  }
}

/** Fig. 7: `figure7/<shape>/<precision>/hot/<algorithm>`. */
export async function benchmarkFigure7(context: BenchContext): Promise<void> {
  for (const shape of shapesOf(context)) {
    for (const precision of precisions) {
      const prefix = `figure7/${nameOf(shape)}/${precision}/hot`;
      await benchmarkVariants(context, shape, precision, 'hot', algorithmVariants(prefix));
    }
  }
}

/** One kernel of build/kernels/report.json (scripts/check-kernels.mjs). */
interface Kernel {
  readonly entry: string;
  readonly architecture: string;
  readonly registers: number;
  readonly spilledBytes: number;
}

/** The largest figure of the register-packed kernels of one architecture, type and depth. */
export interface PackedKernel {
  readonly architecture: string;
  readonly agent: string;
  readonly type: 'float32' | 'float64';
  readonly depth: number;
  readonly registers: number;
  readonly spilledBytes: number;
}

/** Register-packed kernels of a compiler report. */
export function packedKernels(report: readonly Kernel[]): PackedKernel[] {
  const worst = new Map<string, PackedKernel>();
  for (const { entry, architecture, registers, spilledBytes } of report) {
    const match = /(\w+RegpackAgent)<(float|double), (?:\(int\))?(\d+)/.exec(entry);
    if (match === null || !entry.includes('tridiagonal')) continue;
    const [, agent = '', scalar, depth] = match;
    const type = scalar === 'float' ? 'float32' as const : 'float64' as const;
    const key = `${architecture} ${agent} ${type} ${depth}`;
    const before = worst.get(key);
    worst.set(key, {
      architecture, agent, type, depth: Number(depth),
      registers: Math.max(registers, before?.registers ?? 0),
      spilledBytes: Math.max(spilledBytes, before?.spilledBytes ?? 0),
    });
  }
  return [...worst.values()].sort((a, b) => a.depth - b.depth);
}

const registersOfMultiprocessor = 65536;
const threadsOfMultiprocessor = 2048;

/** Share of a multiprocessor's 2048 threads that the registers allow: allocated per warp in steps of 256. */
export function occupancyByRegisters(registers: number): number {
  const perWarp = Math.ceil((registers * 32) / 256) * 256;
  const warps = Math.min(threadsOfMultiprocessor / 32, Math.floor(registersOfMultiprocessor / perWarp));
  return (warps * 32) / threadsOfMultiprocessor;
}

/** Prints Table 1 for each architecture, agent and type, with alpha and beta of equation 1 refitted. */
export function printTable1(root: string): void {
  const path = join(root, 'build/kernels/report.json');
  if (!existsSync(path)) throw new Error('no compiler report: run npm run kernels first (needs nvcc)');
  const kernels = packedKernels(JSON.parse(readFileSync(path, 'utf8')) as Kernel[]);
  const groups = groupBy(kernels);
  for (const [key, rows] of groups) {
    const fit = rows.length > 1 ? fitModel(rows.map(({ depth, registers }) => ({ depth, registersPerThread: registers }))) : undefined;
    console.log(`\n${key}`);
    console.table(rows.map(({ depth, registers, spilledBytes }) => ({
      depth, 'threads of 512': Math.ceil(512 / depth),
      'registers, paper model': 15 + 4 * depth,
      'registers, refitted': fit === undefined ? '' : Number((fit.alpha + fit.beta * depth).toFixed(1)),
      'registers, compiler': registers, 'bytes spilled': spilledBytes,
      'occupancy by registers': `${(100 * occupancyByRegisters(registers)).toFixed(0)} %`,
    })));
    if (fit !== undefined) {
      console.log(`registers = ${fit.alpha.toFixed(1)} + ${fit.beta.toFixed(2)} depth, off by at most ${fit.worst.toFixed(1)}`);
    }
  }
}

const keyOf = ({ architecture, agent, type }: PackedKernel): string => `${architecture} ${agent} ${type}`;

function groupBy(kernels: readonly PackedKernel[]): Map<string, PackedKernel[]> {
  const groups = new Map<string, PackedKernel[]>();
  for (const kernel of kernels) groups.set(keyOf(kernel), [...groups.get(keyOf(kernel)) ?? [], kernel]);
  return groups;
}
