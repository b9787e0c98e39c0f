// Fields that the kinds `denoise`, `segment` and `register` share.
import { z } from 'zod';
import { common, count, path } from '../fields.ts';

export const size = z.number().int().min(4).max(4096);
export const dimensions = z.union([z.literal(2), z.literal(3)]).default(2);

const noise = z.strictObject({
  kind: z.enum(['gaussian', 'impulsive']).default('gaussian'),
  sigma: z.number().min(0).default(0.1).describe('standard deviation of Gaussian noise; pixels are 0 to 1'),
  amount: z.number().min(0).max(1).default(0.1).describe('share of the pixels that impulsive noise replaces'),
  seed: count.default(0),
});

/** A generated image whose ground truth is known. */
const phantom = z.strictObject({
  phantom: z.enum(['shepp-logan', 'discs']),
  size: size.describe('pixels of each side'),
  dimensions,
});

/** An image file, or a generated image. */
export const input = z.union([path, phantom])
  .describe('PNG, JPEG, WebP, TIFF, NIfTI, DICOM (a file or a folder), .npy or raw file; or a phantom with its size');

/** How files are read, and what their numbers mean. */
const read = z.strictObject({
  page: count.optional().describe('one page of a TIFF, from 0; default all, as slices'),
  series: z.string().optional().describe('SeriesInstanceUID of a DICOM folder that holds several'),
  axes: z.enum(['yx', 'zyx', 'cyx', 'czyx', 'yxc', 'zyxc']).optional().describe('axes of a .npy array, slowest first'),
  maxPixels: z.number().int().min(1).optional().describe('maximum number of samples in an image'),
  raw: z.strictObject({
    width: z.number().int().min(1), height: z.number().int().min(1), depth: z.number().int().min(1).optional(),
    channels: z.number().int().min(1).optional(),
    sampleType: z.enum(['uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32', 'uint64', 'int64', 'float32', 'float64']),
    littleEndian: z.boolean().optional(), offset: count.optional(), interleaved: z.boolean().optional(),
  }).optional().describe('layout of a file of samples without a header'),
});

/** Fields of all three. */
export const image = {
  ...common,
  read: read.optional(),
  precision: z.enum(['float32', 'float64']).default('float32'),
  range: z.union([z.enum(['unit', 'own']), z.tuple([z.number(), z.number()])]).optional()
    .describe('intensities that are mapped to 0 and 1 for the computation, and back afterwards: "unit" uses them as they are '
      + '(default for PNG, JPEG, WebP and TIFF integers and phantoms), '
      + '"own" maps the smallest and largest value (default for all others), or two numbers'),
  mask: path.optional().describe('an image file of the same extents: the operation measures where it is not 0'),
  addNoise: noise.optional().describe('noise that is added before the computation'),
};

/** What jobs over images have in common. */
export type ImageJob = Pick<z.infer<z.ZodObject<typeof image>>, 'read' | 'precision' | 'range' | 'mask' | 'addNoise'>;
export type ImageInput = z.infer<typeof input>;
