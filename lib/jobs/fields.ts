// What all kinds of jobs have in common.
import { z } from 'zod';
import { compressions } from '../files/zarr-options.ts';

export const positive = z.number().positive();
export const count = z.number().int().min(0);
/** A file or folder that a job reads. */
export const path = z.string().min(1).meta({ format: 'path' });

/** Names with their units. */
export const units = z.record(z.string(), z.string()).optional();

/** Where a job runs; every field is optional. */
export const deviceSchema = z.strictObject({
  backend: z.enum(['auto', 'cuda', 'cpu', 'simt']).default('auto')
    .describe('auto uses the GPU if there is one'),
  index: count.optional().describe('which device of the backend'),
  memoryLimit: z.number().int().positive().optional().describe('maximum device memory that the job may use, in bytes'),
});

/** How simulations write their fields. */
export const zarrFields = {
  zarrFormat: z.literal([2, 3]).optional().describe('format of result.zarr: 3 (default), or 2 for older readers'),
  compression: z.enum(compressions).optional().describe('of result.zarr: none (default), blosc (Zstandard on shuffled bytes) or zstd'),
};

/** How kinds with maps draw them. */
export const pictureFields = {
  colours: z.enum(['shared', 'own']).optional()
    .describe('whether the maps of a sweep\'s items share one range of colours (default), or each item has its own'),
  pictures: z.boolean().optional().describe('whether items draw pictures and films (default), which takes longer than small runs'),
};

/** Fields of every job. */
export const common = {
  $schema: z.string().optional(),
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/)
    .describe('names the results folder: up to 64 letters, digits, "_", "." and "-", the first a letter or a digit'),
  description: z.string().optional(),
  device: deviceSchema.optional(),
  sweep: z.record(z.string(), z.array(z.unknown()).min(1)).optional()
    .describe('parameters to vary: field name to the list of its values; every combination is one item'),
};
