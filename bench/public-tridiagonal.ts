// Public kernels as rows of their own: constants, timed elsewhere (public-tridiagonal.json says how).
//
//   batch/<systems>x<n>/<float32|float64>/<cold|hot>/public-<kernel>
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { packageRoot } from '../lib/core/binding.ts';
import type { BenchContext } from './domain.ts';

const fileSchema = z.strictObject({
  /** Where the figures come from. */
  source: z.string(),
  /** What each kernel is. */
  methods: z.record(z.string(), z.string()),
  columns: z.array(z.string()),
  /** Kernel, precision, systems, n, temperature, median µs, share of that run's floor, backward error on weakly dominant rows. */
  rows: z.array(z.tuple([
    z.string(), z.enum(['float32', 'float64']), z.int(), z.int(), z.enum(['cold', 'hot']), z.number(), z.number(), z.number(),
  ])),
});

export type PublicKernels = z.infer<typeof fileSchema>;

export function readPublicKernels(): PublicKernels {
  return fileSchema.parse(JSON.parse(readFileSync(join(packageRoot(), 'bench/public-tridiagonal.json'), 'utf8')));
}

/** Emits the rows of a batch. */
export function emitPublicKernels(context: BenchContext, prefix: string): void {
  const { source, methods, rows } = readPublicKernels();
  for (const [method, precision, systems, n, temperature, microseconds, fraction, error] of rows) {
    const id = `${prefix}/public-${method}`;
    if (prefix !== `batch/${systems}x${n}/${precision}/${temperature}` || !context.wanted(id)) continue;
    const value = microseconds * 1e-6;
    context.emit({
      id, value, unit: 's', limit: value * fraction, fraction, spread: 0, elsewhere: source,
      note: `${methods[method]!}; backward error ${error.toExponential(1)} on weakly dominant rows`,
    });
  }
}
