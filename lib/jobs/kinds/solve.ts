// The `solve` job: batched tridiagonal systems from .npy files.
import { join } from 'node:path';
import { z } from 'zod';
import { isReal } from '../../core/arrays.ts';
import { refusal } from '../../core/errors.ts';
import { readBytes, writeFileAtomic } from '../../core/files.ts';
import { elementAt } from '../../core/known.ts';
import { formatNpy, parseNpy, type NpyArray } from '../../files/npy.ts';
import * as tridiagonal from '../../tridiagonal/index.ts';
import { common, path } from '../fields.ts';
import type { ItemFunction, JobKind } from '../kind.ts';

/** A band or right-hand side: a .npy file, or one number for a constant (Toeplitz) band. */
const operand = z.union([path, z.number()]);

/** `solve`: batched tridiagonal systems from .npy files. */
export const solveJobSchema = z.strictObject({
  ...common,
  kind: z.literal('solve'),
  lower: operand.describe('sub-diagonal: .npy of shape (n) or (batch, n), entry 0 unused; or a constant'),
  diagonal: operand.describe('diagonal, likewise'),
  upper: operand.describe('super-diagonal, likewise, last entry unused'),
  rhs: path.describe('right-hand sides: .npy of shape (n) or (batch, n)'),
  algorithm: z.enum(tridiagonal.algorithms).default('auto'),
  depth: z.union([z.literal(2), z.literal(4), z.literal(8), z.literal(16), z.literal(32)]).optional()
    .describe('rows per thread of cr-regpack'),
  periodic: z.boolean().default(false),
  transpose: z.enum(tridiagonal.transposes).default('none'),
  stable: z.boolean().default(false).describe('pivoted solver'),
  check: z.boolean().default(true).describe('measure backward errors; solve systems that fail again by pivoting'),
  refine: z.boolean().default(false).describe('residuals and solution in twice the precision'),
});
export type SolveJob = z.infer<typeof solveJobSchema>;

type Real = Float32Array | Float64Array;

async function readOperand(name: string, path: string): Promise<NpyArray & { data: Real }> {
  const array = parseNpy(await readBytes(path), name);
  if (!isReal(array.data)) {
    throw refusal(name, 'float32, float64, complex64 or complex128 elements', array.type);
  }
  if (array.shape.length < 1 || array.shape.length > 2) {
    throw refusal(name, 'shape (n) or (batch, n)', `(${array.shape.join(', ')})`);
  }
  return array as NpyArray & { data: Real };
}

/** A band of the right-hand side's type that is either one system long or as large as the batch. */
async function readBand(name: string, value: string | number, input: (path: string) => string, rhs: NpyArray) {
  if (typeof value === 'number') return value;
  const band = await readOperand(name, input(value));
  if (band.type !== rhs.type) {
    throw refusal(name, `${rhs.type} elements as in rhs`, band.type);
  }
  const n = elementAt(rhs.shape, rhs.shape.length - 1);
  const same = band.shape.length === rhs.shape.length && band.shape.every((e, i) => e === rhs.shape[i]);
  if (!same && !(band.shape.length === 1 && band.shape[0] === n)) {
    throw refusal(name, `shape (${rhs.shape.join(', ')}) or (${n})`, `(${band.shape.join(', ')})`);
  }
  return band.data;
}

/** Solves and writes solution.npy, status.npy, row.npy and, when checked, backward-error.npy. */
export const solveItem: ItemFunction<SolveJob> = async (job, { device, input, folder, signal, onProgress }) => {
  const rhs = await readOperand('rhs', input(job.rhs));
  const n = elementAt(rhs.shape, rhs.shape.length - 1);
  const batch = rhs.shape.length === 2 ? elementAt(rhs.shape, 0) : 1;
  const bands = {
    lower: await readBand('lower', job.lower, input, rhs),
    diagonal: await readBand('diagonal', job.diagonal, input, rhs),
    upper: await readBand('upper', job.upper, input, rhs),
  };
  const { algorithm, depth, periodic, transpose, stable, check, refine } = job;
  const result = await tridiagonal.solve({
    ...bands, rhs: rhs.data, n, batch, complex: rhs.type.startsWith('complex'),
    algorithm, ...(depth === undefined ? {} : { depth }), periodic, transpose, stable, check, refine,
    device, signal, onProgress,
  });
  const solution = result.solution;
  const files: [string, NpyArray][] = [
    ['solution.npy', { type: rhs.type, shape: rhs.shape, data: solution }],
    ['status.npy', { type: 'int32', shape: [batch], data: result.status.words }],
    ['row.npy', { type: 'int32', shape: [batch], data: result.status.rows }],
  ];
  let worst = NaN;
  if (check) {
    const errors = result.backwardError as Float64Array;
    worst = errors.reduce((most, e) => (e > most || Number.isNaN(e) ? e : most), 0);
    files.push(['backward-error.npy', { type: 'float64', shape: [batch], data: errors }]);
  }
  for (const [name, array] of files) await writeFileAtomic(join(folder, name), formatNpy(array));
  const counts = result.status.counts();
  const failed = result.status.length - counts.ok;
  return {
    summary: `${batch} × ${n} ${rhs.type}, ${result.info.algorithm}`,
    figures: {
      systems: batch, unknowns: n, deviceSeconds: result.info.deviceSeconds,
      unknownsPerSecond: (batch * n) / result.info.deviceSeconds, failedSystems: failed, pivotedSystems: counts.resolvedByPivoting,
    },
    accuracy: { value: worst, meaning: check ? 'worst componentwise backward error' : 'not checked' },
    files: files.map(([name]) => name),
    failed: failed > 0,
    notes: failed > 0 ? [`${failed} of ${batch} systems could not be solved: see status.npy and row.npy`] : [],
  };
};

/** The kind `solve`. */
export const solveKind: JobKind<'solve', typeof solveJobSchema> = {
  kind: 'solve', schema: solveJobSchema,
  inputs: ({ lower, diagonal, upper, rhs }) => ({ lower, diagonal, upper, rhs }),
  run: solveItem,
};
