// Kernel files put through the pass.
import { optimize } from '../../../lib/scratchpad/optimize.ts';
import type { OptimizeOptions } from '../../../lib/scratchpad/options.ts';
import type { KernelReport, RefusedKernel } from '../../../lib/scratchpad/report.ts';
import type { Pair } from './batch.ts';
import type { KernelFile } from './kernels.ts';

/** A pair with what the pass reported. */
export interface Treated extends Pair {
  readonly kernels: readonly KernelReport[];
  readonly refused: readonly RefusedKernel[];
}

/** Runs the pass over one file. */
export async function treat(file: KernelFile, options: OptimizeOptions = {}): Promise<Treated> {
  const { source, report, dynamicBytes } = await optimize(file.text, { ...file.options, ...options });
  return {
    file, rewritten: source, dynamicBytes, kernels: report.kernels, refused: report.refused,
    inserted: report.kernels.flatMap((kernel) => kernel.barriersAdded.map((barrier) => ({ kernel: kernel.kernel, line: barrier.newLine }))),
  };
}
