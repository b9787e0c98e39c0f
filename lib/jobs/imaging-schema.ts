// Job kinds `denoise`, `segment` and `register`: images in, images and figures out.
import { z } from 'zod';
import { common, count, path, positive } from './schema-common.ts';

const size = z.number().int().min(4).max(4096);
const dimensions = z.union([z.literal(2), z.literal(3)]).default(2);

const noise = z.strictObject({
  kind: z.enum(['gaussian', 'impulsive']).default('gaussian'),
  sigma: z.number().min(0).default(0.1).describe('standard deviation of Gaussian noise; pixels are 0 to 1'),
  amount: z.number().min(0).max(1).default(0.1).describe('share of the pixels that impulsive noise replaces'),
  seed: count.default(0),
});

/** A generated image whose true answer is known. */
const phantom = z.strictObject({
  phantom: z.enum(['shepp-logan', 'discs']),
  size: size.describe('pixels of each side'),
  dimensions,
});

/** An image file, or a generated image. */
const input = z.union([path, phantom])
  .describe('PNG, TIFF, NIfTI, DICOM (a file or a folder), .npy or raw file; or a phantom with its size');

const point = z.array(z.number()).min(2).max(3);
/** First contours with their places, in pixels, x first. */
const shapes = [
  z.strictObject({ kind: z.literal('checkerboard'), square: positive.optional().describe('side of a square, default 5') }),
  z.strictObject({
    kind: z.literal('ball'), centre: point.optional().describe('default the image\'s'),
    radius: positive.optional().describe('default a third of the shortest side'),
  }),
  z.strictObject({ kind: z.literal('box'), low: point.optional(), high: point.optional() }),
] as const;

/** How files are read and what their numbers mean. */
const read = z.strictObject({
  page: count.optional().describe('one page of a TIFF, from 0; default all, as slices'),
  series: z.string().optional().describe('SeriesInstanceUID of a DICOM folder that holds several'),
  axes: z.enum(['yx', 'zyx', 'cyx', 'czyx', 'yxc', 'zyxc']).optional().describe('axes of a .npy array, slowest first'),
  maxPixels: z.number().int().min(1).optional().describe('most samples that an image may have'),
  raw: z.strictObject({
    width: z.number().int().min(1), height: z.number().int().min(1), depth: z.number().int().min(1).optional(),
    channels: z.number().int().min(1).optional(),
    sampleType: z.enum(['uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32', 'uint64', 'int64', 'float32', 'float64']),
    littleEndian: z.boolean().optional(), offset: count.optional(), interleaved: z.boolean().optional(),
  }).optional().describe('layout of a file of samples without a header'),
});

const image = {
  ...common,
  read: read.optional(),
  precision: z.enum(['float32', 'float64']).default('float32'),
  range: z.union([z.enum(['unit', 'own']), z.tuple([z.number(), z.number()])]).optional()
    .describe('intensities that become 0 and 1 for the computation, and come back after it: "unit" takes them as they are '
      + '(default for PNG and TIFF integers and phantoms), "own" from the least to the greatest (default for all others), or two numbers'),
  addNoise: noise.optional().describe('noise that is added before the computation'),
};

/** `denoise`: total variation. */
export const denoiseJobSchema = z.strictObject({
  ...image,
  kind: z.literal('denoise'),
  input,
  method: z.enum(['primal-dual', 'flow']).default('primal-dual')
    .describe('primal-dual: to the optimum, with a duality gap; flow: curvature flow, explicit gradient descent'),
  noise: z.enum(['gaussian', 'impulse']).default('gaussian')
    .describe('gaussian: squared differences (ROF); impulse: absolute ones, for dead and hot pixels (TV-L1)'),
  weight: positive.optional().describe('weight of the total variation; or give sigma'),
  sigma: z.union([positive, z.literal('estimate')]).optional()
    .describe('standard deviation of the noise, from which the weight is found; "estimate" finds it from the image'),
  coupled: z.boolean().default(true).describe('one norm over all channels: colours share their edges'),
  missing: z.enum(['refuse', 'fill']).default('refuse').describe('pixels that are NaN: an error, or filled from around them'),
  iterations: z.number().int().min(1).max(1_000_000).optional().describe('most iterations'),
  tolerance: positive.optional().describe('relative duality gap (flow: relative decrease of the energy) to stop at'),
});

/** `segment`: active contours without edges. */
export const segmentJobSchema = z.strictObject({
  ...image,
  kind: z.literal('segment'),
  input,
  mu: z.number().min(0).optional().describe('weight of the contour\'s length. Default 0.25'),
  nu: z.number().optional().describe('weight of the area inside. Default 0'),
  lambda1: positive.optional().describe('weight of the differences inside. Default 1'),
  lambda2: positive.optional().describe('weight of the differences outside. Default 1'),
  dt: positive.optional().describe('step of the level set\'s evolution. Default 0.5'),
  tolerance: z.number().min(0).optional().describe('root mean square change of the level set to stop at'),
  iterations: z.number().int().min(1).max(1_000_000).optional().describe('most iterations'),
  step: z.enum(['semi-implicit', 'explicit']).default('semi-implicit'),
  initial: z.union([z.enum(['checkerboard', 'ball', 'box']), ...shapes]).default('checkerboard').describe('first contour'),
  reinitialize: count.optional().describe('make the level set a distance again every so many iterations; 0 (default) never'),
  truth: path.optional().describe('a mask to compare with (nonzero is inside), as an image file of the same extents'),
});

/** A pair with a known displacement. */
const pair = z.strictObject({
  phantom: z.literal('registration-pair'), size, dimensions, amplitude: positive.optional().describe('pixels; default size / 32'),
});

/** `register`: curvature registration. */
export const registerJobSchema = z.strictObject({
  ...image,
  kind: z.literal('register'),
  reference: z.union([path, pair]).describe('the image that stays; or a generated pair'),
  template: path.optional().describe('the image that is warped onto it'),
  measure: z.enum(['ssd', 'ncc']).default('ssd').describe('sum of squared differences, or normalised cross-correlation'),
  alpha: positive.optional().describe('weight of the curvature of the displacement'),
  tau: positive.optional().describe('step of the semi-implicit scheme; default from the template\'s gradients'),
  levels: z.number().int().min(1).max(12).optional().describe('levels of the pyramid'),
  iterations: z.number().int().min(1).max(100_000).optional().describe('most iterations per level'),
  tolerance: z.number().min(0).optional().describe('relative change of the measure to stop at'),
  landmarks: path.optional()
    .describe('.npy of shape (n, 2, dimensions): points of the reference and of the template in pixels, x first'),
});

export type DenoiseJob = z.infer<typeof denoiseJobSchema>;
export type SegmentJob = z.infer<typeof segmentJobSchema>;
export type RegisterJob = z.infer<typeof registerJobSchema>;
/** What the three kinds have in common. */
export type ImageJob = Pick<DenoiseJob, 'read' | 'precision' | 'range' | 'addNoise'>;
export type ImageInput = DenoiseJob['input'];
