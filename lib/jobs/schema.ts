// Job files: zod schemas, from which the published JSON Schema is generated.
import { z } from 'zod';
import { common, path, positive } from './schema-common.ts';
import { denoiseJobSchema, registerJobSchema, segmentJobSchema } from './imaging-schema.ts';
import { simulateJobSchema } from './simulate-schema.ts';
import { streamJobSchema } from './stream-schema.ts';

export { deviceSchema } from './schema-common.ts';

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
  algorithm: z.enum(['auto', 'cr', 'pcr', 'cr-pcr', 'pcr-thomas', 'thomas', 'cr-regpack', 'pivoting', 'partition'])
    .default('auto'),
  depth: z.union([z.literal(2), z.literal(4), z.literal(8), z.literal(16), z.literal(32)]).optional()
    .describe('rows per thread of cr-regpack'),
  periodic: z.boolean().default(false),
  transpose: z.enum(['none', 'transpose', 'conjugate']).default('none'),
  stable: z.boolean().default(false).describe('pivoted solver'),
  check: z.boolean().default(true).describe('measure backward errors; re-solve by pivoting what fails'),
  refine: z.boolean().default(false).describe('residuals and solution in twice the precision'),
});

/** `heat-adi`: the two-dimensional heat equation by ADI. */
export const heatAdiJobSchema = z.strictObject({
  ...common,
  kind: z.literal('heat-adi'),
  initial: z.strictObject({
    file: path.describe('.npy of shape (height, width), .png, or a .json raster with width, height, values'),
    enlarge: z.number().int().min(1).max(64).default(1).describe('repeat each cell so often in x and y'),
  }),
  precision: z.enum(['float32', 'float64']).default('float64'),
  diffusivity: positive.default(1).describe('length² / time'),
  dx: positive.default(1), dy: positive.optional(),
  dt: positive.describe('time step'),
  steps: z.number().int().min(1),
  snapshots: z.number().int().min(1).max(1000).default(4).describe('pictures after the initial one'),
  boundary: z.enum(['neumann', 'dirichlet', 'periodic']).default('neumann'),
});

/** `spline`: cubic-spline interpolation of measured series. */
export const splineJobSchema = z.strictObject({
  ...common,
  kind: z.literal('spline'),
  file: path.describe('.csv with a header line'),
  x: z.string().min(1).describe('column of abscissas: numbers or ISO dates (as years)'),
  y: z.array(z.string().min(1)).min(1).describe('columns to interpolate'),
  boundary: z.enum(['natural', 'clamped', 'periodic']).default('natural'),
  every: z.number().int().min(1).default(1).describe('use every so many rows as knots; the others test the fit'),
  samples: z.number().int().min(2).max(1_000_000).default(2000).describe('points of the drawn curve'),
});

/** Any job file. */
export const jobSchema = z.discriminatedUnion('kind', [
  solveJobSchema, heatAdiJobSchema, splineJobSchema, simulateJobSchema, denoiseJobSchema, segmentJobSchema, registerJobSchema,
  streamJobSchema,
]);
export type Job = z.infer<typeof jobSchema>;
export type SolveJob = z.infer<typeof solveJobSchema>;
export type HeatAdiJob = z.infer<typeof heatAdiJobSchema>;
export type SplineJob = z.infer<typeof splineJobSchema>;
export type { DenoiseJob, RegisterJob, SegmentJob } from './imaging-schema.ts';
export type { SimulateJob } from './simulate-schema.ts';
export type { StreamJob } from './stream-schema.ts';

/** The JSON Schema of job files (draft 2020-12), as published in examples/jobs/job.schema.json. */
export function jobJsonSchema(): object {
  return { title: 'Warploom job', ...z.toJSONSchema(jobSchema, { io: 'input' }) };
}
