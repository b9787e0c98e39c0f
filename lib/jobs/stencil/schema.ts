// `stencil` jobs: an explicit scheme of the user's or of the library, on a grid of one, two or three dimensions.
import { z } from 'zod';
import { methods, stencilVariants } from '../../stencil/index.ts';
import { common, path, pictureFields, positive, units, zarrFields } from '../fields.ts';
import { libraryHint, libraryNames } from './library.ts';

const finite = z.number();
const code = z.string().min(1).describe('the text of a JavaScript function, which is compiled and never evaluated');
const names = z.array(z.string()).optional();
const count = z.number().int();
const perAxis = <T extends z.ZodType>(one: T) => z.union([one, z.array(one).min(1).max(3)]);

const definition = z.strictObject({
  dimensions: z.union([z.literal(1), z.literal(2), z.literal(3)]), fields: z.array(z.string()).min(1),
  parameters: names, coefficients: names,
  rate: code.optional(), step: z.union([code, z.array(code).min(1)]).optional(), method: z.enum(methods).optional(),
  admissible: code.optional(), speed: code.optional(), diffusivity: code.optional(),
  functions: z.record(z.string(), code).optional()
    .describe('functions that all others may call, those of initial values and boundary conditions too, by name'),
}).describe('an equation, as stencil.define takes it, with the texts of its functions');

const values = z.record(z.string(), z.union([
  finite, code, z.strictObject({ file: path.describe('.npy with a number for each cell, the last axis varying fastest') }),
])).optional();

/** The fields of a job of kind `stencil`. Those that an equation file has defaults for are optional. */
export const stencilJobSchema = z.strictObject({
  ...common, ...zarrFields, ...pictureFields,
  kind: z.literal('stencil'),
  equation: z.union([
    z.enum(libraryNames), z.strictObject({ file: path.describe('a module (.mjs, .js, .ts) that exports an equation; its code is run') }),
    definition,
  ], { error: ({ input }) => (typeof input === 'string' ? `there is no equation '${input}'; ${libraryHint(input)}` : undefined) })
    .describe('an equation of the library, a file, or a definition'),
  shape: z.array(count.min(1)).min(1).max(3).optional().describe('cells along each axis'),
  spacing: perAxis(positive).optional().describe('distance of cells; default 1'),
  origin: perAxis(finite).optional().describe('the lower corner of the domain; default 0'),
  dt: z.union([
    positive, z.strictObject({ cfl: positive.optional(), diffusion: positive.optional(), most: positive.optional() }),
  ]).optional().describe('time step, or numbers that every step keeps to, as in stencil.simulate; snapshots are then at times'),
  until: z.union([
    z.strictObject({ time: positive }), z.strictObject({ steps: count.min(1) }),
  ]).optional().describe('the time to reach exactly, or the number of steps'),
  snapshots: count.min(1).max(100_000).optional()
    .describe('states kept after the initial one, at whole steps, evenly spaced; default 50'),
  initial: values.describe('by field: a number, the text of a function of the place, or a file'),
  coefficients: values.describe('by coefficient: as initial'),
  boundary: z.union([z.string(), z.record(z.string(), z.unknown())]).optional().describe('as in stencil.simulate; functions as texts'),
  parameters: z.record(z.string(), finite).optional(),
  precision: z.enum(['float32', 'float64']).optional(),
  variant: z.enum(stencilVariants).optional().describe('how the steps are computed on a device; all variants produce the same bits'),
  units: units.describe('units for pictures and result.zarr, by name: fields, x, y, z and t'),
  film: z.union([z.boolean(), z.string()]).optional().describe('whether to make a film of the first field, or of which field'),
});

/** A job of kind `stencil`. */
export type StencilJob = z.infer<typeof stencilJobSchema>;
