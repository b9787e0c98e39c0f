// The paper's Table 1 and Figs. 6 and 7 for the real kernels (Davidson, Owens 2011).
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fitModel, model } from '../lib/tridiagonal/model.ts';
import type { ModelCoefficients } from '../lib/tridiagonal/types.ts';
import type { BenchContext } from './domain.ts';
import { provenance } from './provenance.ts';
import { writeReport, type Row } from './report.ts';
import { bytesOf, precisions, type Shape } from './systems.ts';
import { algorithmVariants, benchmarkVariants, nameOf, paperVariant } from './tridiagonal.ts';

/** The four shapes of the paper's Figs. 6 and 7. */
const paperShapes: readonly Shape[] = [512, 1024, 2048, 4096].map((size) => ({ systems: size, n: size }));
const quickShapes: readonly Shape[] = [{ systems: 32, n: 64 }];
const depths = [2, 4, 8, 16, 32];

const shapesOf = (context: BenchContext): readonly Shape[] => (context.quick ? quickShapes : paperShapes);

/** Depths of the paper's Table 1. */
const paperDepths = [4, 8, 16];

/** Fig. 6: `figure6/<shape>/<precision>/hot/depth-<d>`, and `…/paper-depth-<d>` of CR-RegPack as it is printed. */
export async function benchmarkFigure6(context: BenchContext): Promise<void> {
  for (const shape of shapesOf(context)) {
    for (const precision of precisions) {
      const variants = depths.map((depth) => ({
        id: `figure6/${nameOf(shape)}/${precision}/hot/depth-${depth}`, algorithm: 'cr-regpack', depth,
      }));
      const printed = paperDepths.map((depth) => paperVariant(`figure6/${nameOf(shape)}/${precision}/hot/paper-depth-${depth}`, depth));
      await benchmarkVariants(context, shape, precision, 'hot', [...variants, ...printed]);
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
  readonly type: 'float32' | 'float64';
  readonly depth: number;
  readonly registers: number;
  readonly spilledBytes: number;
}

/** Register-packed kernels of a compiler report. */
export function packedKernels(report: readonly Kernel[]): PackedKernel[] {
  const worst = new Map<string, PackedKernel>();
  for (const { entry, architecture, registers, spilledBytes } of report) {
    const match = /\w+RegpackAgent<(float|double), (?:\(int\))?(\d+)/.exec(entry);
    if (match === null || !entry.includes('tridiagonal') || entry.includes('PeriodicRegpack')) continue; // those hold more per row
    const [, scalar, depth] = match;
    const type = scalar === 'float' ? 'float32' as const : 'float64' as const;
    const key = `${architecture} ${type} ${depth}`;
    const before = worst.get(key);
    worst.set(key, {
      architecture, type, depth: Number(depth),
      registers: Math.max(registers, before?.registers ?? 0),
      spilledBytes: Math.max(spilledBytes, before?.spilledBytes ?? 0),
    });
  }
  return [...worst.values()].sort((a, b) => a.depth - b.depth);
}

const registersOfMultiprocessor = 65536;
const threadsOfMultiprocessor = 2048;
/** Kilobytes of shared memory that blocks may take: 164 of sm_80, 228 of sm_90, 100 of the small ones. */
const sharedBytesOf: Readonly<Record<string, number>> = { sm_80: 164 * 1024, sm_90: 228 * 1024 };
const smallestSharedBytes = 100 * 1024;

/** Share of a multiprocessor's 2048 threads that the registers allow: allocated per warp in steps of 256. */
export function occupancyByRegisters(registers: number): number {
  const perWarp = Math.ceil((registers * 32) / 256) * 256;
  const warps = Math.min(threadsOfMultiprocessor / 32, Math.floor(registersOfMultiprocessor / perWarp));
  return (warps * 32) / threadsOfMultiprocessor;
}

/** The same for shared memory. */
export function occupancyBySharedMemory(architecture: string, bytesPerThread: number): number {
  const bytes = sharedBytesOf[architecture] ?? smallestSharedBytes;
  return Math.min(1, Math.floor(bytes / (bytesPerThread * 32)) * 32 / threadsOfMultiprocessor);
}

/** Bytes of a row on its way through shared memory: one element of each of the four arrays. */
const stagedBytes = (type: 'float32' | 'float64'): number => 4 * bytesOf(type);

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

/**
 * Prints Table 1 for each architecture and type: the paper's model, the compiler's report, occupancy, and alpha and
 * beta of equation 1 refitted to the kernels without spills, whose registers are what they want. Returns the kernels.
 */
export function printTable1(root: string): PackedKernel[] {
  const path = join(root, 'build/kernels/report.json');
  if (!existsSync(path)) throw new Error('no compiler report: run npm run kernels first (needs nvcc)');
  const kernels = packedKernels(JSON.parse(readFileSync(path, 'utf8')) as Kernel[]);
  for (const [key, rows] of groupBy(kernels)) {
    const fit = fitOf(rows);
    console.log(`\n${key}, 512 unknowns`);
    console.table(rows.map(({ architecture, type, depth, registers, spilledBytes }) => {
      const paper = model({ size: 512, depth });
      const shared = stagedBytes(type) * depth;
      return {
        depth, threads: paper.threads,
        'registers: paper': paper.registersPerThread,
        refitted: fit === undefined ? '' : Number((fit.alpha + fit.beta * depth).toFixed(1)),
        compiler: registers, 'bytes spilled': spilledBytes,
        'shared bytes: paper': paper.sharedBytesPerBlock, staged: shared * paper.threads,
        'occupancy by registers': percent(occupancyByRegisters(registers)),
        'by shared memory': percent(occupancyBySharedMemory(architecture, shared)),
      };
    }));
    if (fit !== undefined) {
      console.log(`registers = ${fit.alpha.toFixed(1)} + ${fit.beta.toFixed(2)} depth, off by at most ${fit.worst.toFixed(1)}`);
    }
  }
  return kernels;
}

/** The rows of the paper's Table 1 for the real kernels of an architecture: `table1/<unknowns>/<precision>/depth-<d>`. */
export function table1Rows(kernels: readonly PackedKernel[], architecture: string): Row[] {
  return [512, 1024, 2048, 4096].flatMap((size) => kernels.flatMap(({ architecture: of, type, depth, registers, spilledBytes }) => {
    if (of !== architecture || ![4, 8, 16].includes(depth)) return [];
    const paper = model({ size, depth });
    const staged = stagedBytes(type) * size;
    const shares = `occupancy ${percent(occupancyByRegisters(registers))} by registers, `
      + `${percent(occupancyBySharedMemory(architecture, stagedBytes(type) * depth))} by shared memory`;
    return [{
      id: `table1/${size}/${type}/depth-${depth}`, value: registers, unit: 'registers', spread: 0,
      note: `${paper.threads} threads, ${staged} bytes of shared memory, ${spilledBytes} bytes spilled, ${shares}; `
        + `the paper: ${paper.registersPerThread} registers, ${paper.sharedBytesPerBlock} bytes`,
    }];
  }));
}

/** Stores Table 1 of every architecture of the compiler's report as `FOLDER/<architecture>/table1.json`. */
export async function writeTable1(root: string, folder: string, kernels: readonly PackedKernel[]): Promise<void> {
  const { commit, sourceHash, nvcc } = provenance(root, 'tridiagonal');
  for (const architecture of new Set(kernels.map(({ architecture: of }) => of))) {
    const path = join(folder, architecture, 'table1.json');
    await writeReport(path, {
      schema: 1, domain: 'table1', device: architecture, deviceName: `ptxas for ${architecture}`, driver: '',
      versions: { node: process.versions.node, nvcc }, commit, sourceHash, date: new Date().toISOString(),
      rows: table1Rows(kernels, architecture),
    });
    console.log(`written to ${path}`);
  }
}

/** Equation 1 for kernels that do not spill. */
function fitOf(rows: readonly PackedKernel[]): ReturnType<typeof fitModel> | undefined {
  const samples = rows.filter(({ spilledBytes }) => spilledBytes === 0)
    .map(({ depth, registers }) => ({ depth, registersPerThread: registers }));
  return samples.length > 1 ? fitModel(samples) : undefined;
}

/** Stores the refitted coefficients as lib/tridiagonal/model-table.ts. */
export async function writeModelTable(root: string, kernels: readonly PackedKernel[]): Promise<void> {
  const table: Record<string, Record<string, ModelCoefficients>> = {};
  for (const rows of groupBy(kernels).values()) {
    const { architecture, type } = rows[0]!;
    const fit = fitOf(rows);
    if (fit === undefined) continue;
    const round = (value: number) => Number(value.toPrecision(4));
    (table[architecture] ??= {})[type] = {
      alpha: round(fit.alpha), beta: round(fit.beta), gamma: 0, gammaPerRow: stagedBytes(type), lambda: 6 * bytesOf(type),
      source: `ptxas of nvcc ${provenance(root).nvcc}, off by at most ${fit.worst.toFixed(0)} registers`,
    };
  }
  const path = join(root, 'lib/tridiagonal/model-table.ts');
  const entries = Object.entries(table).sort(([a], [b]) => a.localeCompare(b)).map(([architecture, types]) => {
    const lines = Object.entries(types).map(([type, { source, ...numbers }]) => {
      const fields = Object.entries(numbers).map(([key, value]) => `${key}: ${value}`).join(', ');
      return `    ${type}: {\n      ${fields},\n      source: '${source}',\n    },\n`;
    });
    return `  ${architecture}: {\n${lines.join('')}  },\n`;
  });
  const head = readFileSync(path, 'utf8').replace(/= \{[\s\S]*$/, '= {\n');
  await writeFile(path, `${head}${entries.join('')}};\n`);
  console.log(`written to ${path}`);
}

const keyOf = ({ architecture, type }: PackedKernel): string => `${architecture} ${type}`;

function groupBy(kernels: readonly PackedKernel[]): Map<string, PackedKernel[]> {
  const groups = new Map<string, PackedKernel[]>();
  for (const kernel of kernels) groups.set(keyOf(kernel), [...groups.get(keyOf(kernel)) ?? [], kernel]);
  return groups;
}
