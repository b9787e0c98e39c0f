// The `segment` job: active contours without edges on a file or a phantom.
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { z } from 'zod';
import { writeFileAtomic } from '../../core/files.ts';
import { elementAt, required } from '../../core/known.ts';
import { formatNpy } from '../../files/npy.ts';
import {
  diceEitherWay, hausdorff, segment, segmentSteps, writeImage, type ImageMeta, type InitialContour,
} from '../../imaging/index.ts';
import { count, path, positive } from '../fields.ts';
import { image as imageFields, input } from '../images/fields.ts';
import { loadImage, outputFormat, readLabels, type HostImage, type LoadedImage } from '../images/input.ts';
import { panelsSvg, type LabelledPanel } from '../images/labelled.ts';
import { historyPlot, linesSvg } from '../images/pictures.ts';
import { sideFiles, writeSides } from '../images/sides.ts';
import type { ItemFunction, ItemReport, JobKind, Running } from '../kind.ts';
import { plotSvg } from '../../pictures/plot.ts';

const point = z.array(z.number()).min(2).max(3);
/** Initial contours and their positions, in pixels, x first. */
const shapes = [
  z.strictObject({ kind: z.literal('checkerboard'), square: positive.optional().describe('side of a square, default 5') }),
  z.strictObject({
    kind: z.literal('ball'), centre: point.optional().describe('default the image\'s'),
    radius: positive.optional().describe('default a third of the shortest side'),
  }),
  z.strictObject({ kind: z.literal('box'), low: point.optional(), high: point.optional() }),
] as const;

/** `segment`: active contours without edges. */
export const segmentJobSchema = z.strictObject({
  ...imageFields,
  kind: z.literal('segment'),
  input,
  mu: z.number().min(0).optional().describe('weight of the contour\'s length. Default 0.25'),
  nu: z.number().optional().describe('weight of the area inside. Default 0'),
  lambda1: positive.optional().describe('weight of the differences inside. Default 1'),
  lambda2: positive.optional().describe('weight of the differences outside. Default 1'),
  dt: positive.optional().describe('step of the level set\'s evolution. Default 0.5'),
  tolerance: z.number().min(0).optional().describe('root mean square change of the level set to stop at'),
  iterations: z.number().int().min(1).max(1_000_000).optional().describe('most iterations'),
  step: z.enum(segmentSteps).default('semi-implicit'),
  initial: z.union([z.enum(['checkerboard', 'ball', 'box']), ...shapes]).default('checkerboard').describe('first contour'),
  reinitialize: count.optional().describe('turn the level set back into a distance function every so many iterations; 0 (default): never'),
  truth: path.optional().describe('a mask to compare with (nonzero is inside), as an image file of the same extents'),
});
export type SegmentJob = z.infer<typeof segmentJobSchema>;

/** A closed line through points, x first. */
export type Ring = readonly (readonly [number, number])[];

/** Result of {@link runSegment}. */
export interface Segmented {
  readonly mask: Uint8Array;
  readonly levelSet: Float32Array | Float64Array;
  /** The contours of a two-dimensional image; those of the middle slice of a volume. */
  readonly contours: readonly Ring[];
  readonly energies: Readonly<Record<string, readonly number[]>>;
  readonly report: Pick<ItemReport, 'summary' | 'figures' | 'accuracy' | 'notes'>;
}

async function hausdorffOf(mask: Uint8Array, truth: Uint8Array, image: HostImage): Promise<Record<string, number>> {
  const distance = await hausdorff(mask, truth, image);
  if (!Number.isFinite(distance)) return {};
  return image.spacing === undefined ? { hausdorffPixels: distance } : { hausdorffMillimetres: distance };
}

/** Mean values in the units of the file. */
function meansOf({ inside, outside }: { inside: ArrayLike<number>; outside: ArrayLike<number> }, { range: [low, high] }: LoadedImage) {
  const own = (value: number) => value * (high - low) + low;
  return { meanInside: own(elementAt(inside, 0)), meanOutside: own(elementAt(outside, 0)) };
}

/** Segments a loaded image. */
export async function runSegment(
  job: SegmentJob, loaded: LoadedImage, { device, signal, onProgress }: Running, truthPath?: string,
): Promise<Segmented> {
  const { mu, nu, lambda1, lambda2, dt, tolerance, iterations, step, initial, reinitialize } = job;
  const { image } = loaded;
  const truth = truthPath === undefined ? loaded.mask : await readLabels(truthPath, image, 'truth');
  const begin = performance.now();
  const given = { mu, nu, lambda1, lambda2, dt, tolerance, iterations, reinitializeEvery: reinitialize, mask: loaded.region };
  const result = await segment(image, {
    step, initial: initial as InitialContour<Float32Array | Float64Array>, energyEvery: 10, device, signal,
    onProgress: (done, total, { energy }) => onProgress(done, total, { energy }),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  });
  const seconds = (performance.now() - begin) / 1000;
  const { mask } = result;
  const inside = mask.reduce((sum, value) => sum + value, 0);
  const agreement: Record<string, number> = truth === undefined ? {}
    : { dice: diceEitherWay(mask, truth), ...await hausdorffOf(mask, truth, image) };
  const accuracy = truth === undefined ? { value: result.change, meaning: 'root mean square of the last step' }
    : { value: 1 - required(agreement['dice']), meaning: '1 - Dice coefficient' };
  return {
    mask, levelSet: result.levelSet, contours: await result.contours({ signal }),
    energies: { iteration: result.history.map((entry) => entry.iteration), energy: result.history.map((entry) => entry.energy) },
    report: {
      summary: `${loaded.label}, active contour, ${result.iterations} iterations, ${job.precision}`,
      figures: {
        iterations: result.iterations, energy: result.energy, pixelsInside: inside, shareInside: inside / mask.length,
        ...meansOf(result.means, loaded), seconds, deviceSeconds: result.info.deviceSeconds, ...agreement,
      },
      accuracy, notes: [...loaded.notes ?? [], ...(result.converged || job.tolerance === 0 ? [] : [result.status.message])],
    },
  };
}

/** The image, and with the outline of the mask. */
export function segmentPanels(
  { image }: LoadedImage, mask: Uint8Array, { shareInside, dice }: Readonly<Record<string, number>>,
): LabelledPanel[] {
  const measure = `${(100 * required(shareInside)).toFixed(1)} % inside${dice === undefined ? '' : `, Dice ${dice.toFixed(4)}`}`;
  return [{ image, label: 'image' }, { image, outline: mask, label: 'outline', measure }];
}

/** Contours over the image. */
export const contoursSvg = ({ image, label }: LoadedImage, contours: readonly Ring[]): string =>
  linesSvg(image, contours, { closed: true, title: `Contours of ${label}` });

/** A mask as an image file: 8 bits, 255 inside (NIfTI and .npy: 1). */
export async function writeMask(path: string, mask: Uint8Array, { image, meta }: LoadedImage): Promise<void> {
  const { width, height, depth = 1 } = image;
  const plain = /\.(nii|nii\.gz|npy|raw)$/i.test(path);
  const { affine, spacing } = meta ?? {};
  const place: Partial<ImageMeta> = { ...(affine === undefined ? {} : { affine }), ...(spacing === undefined ? {} : { spacing }) };
  const data = Float32Array.from(mask);
  await writeImage(path, { data, width, height, depth }, plain ? { ...place, sampleType: 'uint8' } : { sampleType: 'uint8' });
}

/** Segments and writes the mask, the level set, the contours over the image and the energy. */
export const segmentItem: ItemFunction<SegmentJob> = async (job, context) => {
  const { folder } = context;
  const loaded = await loadImage(job.input, job, context.input);
  const { mask, levelSet, contours, energies, report } = await runSegment(job, loaded, context, job.truth && context.input(job.truth));
  const { width, height, depth = 1 } = loaded.image;
  const { ending } = outputFormat(loaded);
  await writeMask(join(folder, `mask${ending}`), mask, loaded);
  const shape = depth > 1 ? [depth, height, width] : [height, width];
  await writeFileAtomic(join(folder, 'level-set.npy'), formatNpy({ type: job.precision, shape, data: levelSet }));
  await writeFileAtomic(join(folder, 'before-after.svg'), panelsSvg(segmentPanels(loaded, mask, report.figures), loaded.meta?.spacing));
  await writeSides(folder, { image: loaded.image }, { image: loaded.image, outline: mask }, loaded.meta?.spacing);
  await writeFileAtomic(join(folder, 'contours.svg'), contoursSvg(loaded, contours));
  const svg = await plotSvg(historyPlot(job.description ?? job.name, { energy: required(energies['energy']) }));
  if (svg !== undefined) await writeFileAtomic(join(folder, 'energy.svg'), svg);
  const files = [
    `mask${ending}`, 'level-set.npy', 'before-after.svg', ...sideFiles, 'contours.svg', ...(svg === undefined ? [] : ['energy.svg']),
  ];
  return { ...report, files };
};

/** The kind `segment`. */
export const segmentKind: JobKind<'segment', typeof segmentJobSchema> = {
  kind: 'segment', schema: segmentJobSchema,
  inputs: (job) => ({ input: job.input, truth: job.truth, mask: job.mask }),
  run: segmentItem,
};
