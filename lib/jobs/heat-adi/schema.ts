// `heat-adi` jobs: the two-dimensional heat equation by ADI.
import { z } from 'zod';
import { common, path, pictureFields, positive, units, zarrFields } from '../fields.ts';

const ends = z.tuple([z.number(), z.number()]);

/** `heat-adi`: the two-dimensional heat equation by ADI. */
export const heatAdiJobSchema = z.strictObject({
  ...common, ...zarrFields, ...pictureFields,
  kind: z.literal('heat-adi'),
  initial: z.strictObject({
    file: path.describe('.npy of shape (height, width), .png, or a .json raster with width, height, values'),
    enlarge: z.number().int().min(1).max(64).default(1).describe('number of times each cell is repeated in x and y'),
  }),
  precision: z.enum(['float32', 'float64']).default('float64'),
  diffusivity: positive.default(1).describe('length² / time'),
  dx: positive.default(1), dy: positive.optional(),
  dt: positive.describe('time step'),
  steps: z.number().int().min(1),
  snapshots: z.number().int().min(1).max(1000).default(4).describe('states kept and drawn after the initial one'),
  boundary: z.enum(['neumann', 'dirichlet', 'periodic']).default('neumann'),
  extent: z.strictObject({
    x: ends.describe('places of the left and the right edge'), y: ends.describe('places of the bottom and the top edge'),
  }).optional().describe('axes of the pictures; default: x from 0, and y from 0 downwards, as rows are read'),
  units: units.describe('units for pictures and result.zarr, by name: u, x, y and t'),
});
export type HeatAdiJob = z.infer<typeof heatAdiJobSchema>;
