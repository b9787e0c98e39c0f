// The `register` job: curvature registration of two files, or of a generated pair.
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { z } from 'zod';
import { describeValue } from '../../core/arrays.ts';
import { refusal } from '../../core/errors.ts';
import { readBytes, writeFileAtomic } from '../../core/files.ts';
import { elementAt } from '../../core/known.ts';
import { formatNpy, parseNpy } from '../../files/npy.ts';
import {
  alignModels, register, registrationMeasures, registrationPair, targetRegistrationError, writeImage,
} from '../../imaging/index.ts';
import { path, positive } from '../fields.ts';
import { dimensions, image as imageFields, size } from '../images/fields.ts';
import { extentsOf, loadImage, outputFormat, rescale, type HostImage, type LoadedImage } from '../images/input.ts';
import { panelsSvg, type LabelledPanel } from '../images/labelled.ts';
import { gridLines, historyPlot, linesSvg } from '../images/pictures.ts';
import { sideFiles, writeSides } from '../images/sides.ts';
import type { ItemFunction, ItemReport, JobKind, Running } from '../kind.ts';
import { plotSvg } from '../../pictures/plot.ts';

/** A pair with a known displacement. */
const pair = z.strictObject({
  phantom: z.literal('registration-pair'), size, dimensions, amplitude: positive.optional().describe('pixels; default size / 32'),
});

/** `register`: curvature registration. */
export const registerJobSchema = z.strictObject({
  ...imageFields,
  kind: z.literal('register'),
  reference: z.union([path, pair]).describe('the fixed image, or a generated pair'),
  template: path.optional().describe('the image that is warped onto it'),
  measure: z.enum(registrationMeasures).default('ssd').describe('sum of squared differences, or normalised cross-correlation'),
  weights: z.array(z.number().min(0)).min(1).optional().describe('weight of each channel, with ssd; default 1 each'),
  align: z.enum(alignModels).optional().describe('a map of this model first; results are those of both together'),
  alpha: positive.optional().describe('weight of the curvature of the displacement'),
  tau: positive.optional().describe('step of the semi-implicit scheme; default from the template\'s gradients'),
  levels: z.number().int().min(1).max(12).optional().describe('levels of the pyramid'),
  iterations: z.number().int().min(1).max(100_000).optional().describe('most iterations per level'),
  tolerance: z.number().min(0).optional().describe('relative change of the measure to stop at'),
  landmarks: path.optional()
    .describe('.npy of shape (n, 2, dimensions): points of the reference and of the template in pixels, x first'),
});
export type RegisterJob = z.infer<typeof registerJobSchema>;

/** Corresponding points of the reference and the template, in pixels, x first. */
export interface Landmarks {
  readonly reference: Float64Array;
  readonly template: Float64Array;
}

/** The two images of a job, and what is known about the answer. */
export interface LoadedPair {
  readonly reference: LoadedImage;
  readonly template: LoadedImage;
  readonly exact: { readonly displacement: HostImage; readonly mask: Uint8Array } | undefined;
  readonly landmarks: Landmarks | undefined;
}

/** Result of {@link runRegister}. */
export interface Registered {
  readonly displacement: HostImage;
  readonly warped: HostImage;
  /** The measure before and after, in words. */
  readonly measures: readonly [string, string];
  /** The measure at every iteration, by level. */
  readonly history: Readonly<Record<string, ArrayLike<number>>>;
  readonly report: Pick<ItemReport, 'summary' | 'figures' | 'accuracy' | 'notes'>;
}

/** Reads landmarks from a .npy file of shape (n, 2, dimensions): for each pair, the point of the reference, then that of the template. */
async function readLandmarks(path: string, dimensions: number): Promise<Landmarks> {
  const { shape, data } = parseNpy(await readBytes(path), 'landmarks');
  if (shape.length !== 3 || shape[1] !== 2 || shape[2] !== dimensions) {
    throw refusal('landmarks', `shape (n, 2, ${dimensions})`, `(${shape.join(', ')})`);
  }
  const half = (which: number) => Float64Array.from({ length: elementAt(shape, 0) * dimensions }, (_, i) =>
    Number(data[(2 * Math.floor(i / dimensions) + which) * dimensions + (i % dimensions)]));
  return { reference: half(0), template: half(1) };
}

const single = (image: HostImage, meta: LoadedImage['meta'], range: LoadedImage['range'], label: string): LoadedImage =>
  ({ image, meta, range, truth: undefined, mask: undefined, region: undefined, label });

/** Reads or generates the pair. Both files are scaled by the reference's range, so that their intensities stay comparable. */
export async function loadPair(job: RegisterJob, resolve: (path: string) => string): Promise<LoadedPair> {
  const { reference, template } = job;
  if (typeof reference !== 'string') {
    if (template !== undefined) throw refusal('template', 'none: a generated pair has its own', describeValue(template));
    const { size, dimensions, amplitude } = reference;
    const pair = registrationPair(size, { type: job.precision, dimensions, ...(amplitude === undefined ? {} : { amplitude }) });
    const label = `pair ${extentsOf(pair.reference)}`;
    return {
      reference: single(pair.reference, undefined, [0, 1], label), template: single(pair.template, undefined, [0, 1], label),
      exact: { displacement: pair.displacement, mask: pair.mask }, landmarks: undefined,
    };
  }
  if (template === undefined) throw refusal('template', 'the image that is warped onto the reference', 'none');
  const first = await loadImage(reference, job, resolve);
  const second = await loadImage(template, { ...job, mask: undefined, range: [...first.range] as [number, number] }, resolve);
  const sides = (first.image.depth ?? 1) > 1 ? 3 : 2;
  const landmarks = job.landmarks === undefined ? undefined : await readLandmarks(resolve(job.landmarks), sides);
  return { reference: first, template: second, exact: undefined, landmarks };
}

export async function runRegister(job: RegisterJob, pair: LoadedPair, { device, signal, onProgress }: Running): Promise<Registered> {
  const { measure, weights, align, alpha, tau, levels, iterations, tolerance } = job;
  const { reference, template, exact, landmarks } = pair;
  const begin = performance.now();
  const given = { weights, align, alpha, tau, levels, iterations, tolerance, landmarks, mask: reference.region };
  const result = await register(reference.image, template.image, {
    measure, device, signal, onProgress, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  });
  const seconds = (performance.now() - begin) / 1000;
  const { displacement, warped, jacobian } = result;
  const error = exact === undefined ? result.tre : await targetRegistrationError(displacement, exact.displacement, exact.mask);
  const start = exact === undefined ? undefined : await targetRegistrationError(
    { ...exact.displacement, data: new Float32Array(exact.displacement.data.length) }, exact.displacement, exact.mask);
  const unit = reference.image.spacing === undefined ? 'Pixels' : 'Millimetres';
  const ratio = result.measure === result.initialMeasure ? 1 : result.measure / result.initialMeasure; // also of equal images, 0 / 0
  const accuracy = error === undefined ? { value: ratio, meaning: `${measure} after, relative to before` }
    : { value: error.mean, meaning: `mean error of the displacement, ${unit.toLowerCase()}` };
  const folds = `the displacement folds at ${jacobian.folded} pixels: least Jacobian determinant ${jacobian.min.toPrecision(3)}`;
  const named = (value: number): string => `${measure === 'ssd' ? 'mean squared difference' : '1 - correlation'} ${value.toPrecision(3)}`;
  return {
    displacement, warped, measures: [named(result.initialMeasure), named(result.measure)],
    history: Object.fromEntries(result.history.map((level) => [`${level.width} × ${level.height}`, level.values])),
    report: {
      summary: [reference.label, ...(align === undefined ? [] : [`${align} alignment`]), 'curvature registration',
        `${result.iterations} iterations`, job.precision].join(', '),
      figures: {
        ...(result.alignment === undefined ? {} : { alignmentIterations: result.alignment.iterations }),
        iterations: result.iterations, levels: result.history.length, [`${measure}Ratio`]: ratio, leastJacobian: jacobian.min,
        largestJacobian: jacobian.max, ...(start === undefined ? {} : { meanDisplacementPixels: start.mean }),
        ...(error === undefined ? {} : { [`meanError${unit}`]: error.mean, [`p95Error${unit}`]: error.p95 }),
        seconds, deviceSeconds: result.info.deviceSeconds,
      },
      accuracy, notes: [
        ...reference.notes ?? [], ...template.notes ?? [],
        ...(jacobian.min > 0 ? [] : [folds]),
        ...(result.alignment?.converged === false ? [`alignment: ${result.alignment.status.message}`] : []),
        ...(result.converged || tolerance === 0 ? [] : [result.status.message]),
      ],
    },
  };
}

/** Absolute differences; black means none. */
const difference = (a: HostImage, b: HostImage): HostImage =>
  ({ ...a, data: a.data.map((value: number, i: number) => Math.abs(value - elementAt(b.data, i))) });

/** Reference, template, warped template; differences before and after. */
export function registerPanels({ reference: { image }, template }: LoadedPair, { warped, measures }: Registered): LabelledPanel[] {
  const shades = [0, 0.5] as const;
  const scale = 'absolute, white: 0.5 and more';
  return [
    { image, label: 'reference' }, { image: template.image, label: 'template', measure: measures[0] },
    { image: warped, label: 'warped template', measure: measures[1] },
    { image: difference(template.image, image), shades, label: 'difference before', measure: scale },
    { image: difference(warped, image), shades, label: 'difference after', measure: scale },
  ];
}

/** A regular grid moved by the displacement, drawn over the template. */
export const gridSvg = ({ template }: LoadedPair, displacement: HostImage): string =>
  linesSvg(template.image, gridLines(displacement), { faint: true, colour: '#0a62c9', title: 'A regular grid, moved by the displacement' });

/** Registers and writes the warped image, the displacement, pictures and the history of the measure. */
export const registerItem: ItemFunction<RegisterJob> = async (job, context) => {
  const { folder } = context;
  const pair = await loadPair(job, context.input);
  const found = await runRegister(job, pair, context);
  const { displacement, warped, history, report } = found;
  const { ending, meta } = outputFormat(pair.reference);
  await writeImage(join(folder, `warped${ending}`), rescale(warped, pair.reference.range, true), meta);
  const { width, height, depth = 1, channels = 2 } = displacement;
  const shape = depth > 1 ? [channels, depth, height, width] : [channels, height, width];
  await writeFileAtomic(join(folder, 'displacement.npy'), formatNpy({ type: job.precision, shape, data: displacement.data }));
  await writeFileAtomic(join(folder, 'before-after.svg'), panelsSvg(registerPanels(pair, found), pair.reference.meta?.spacing));
  await writeSides(folder, { image: pair.template.image }, { image: warped }, pair.reference.meta?.spacing);
  await writeFileAtomic(join(folder, 'grid.svg'), gridSvg(pair, displacement));
  const svg = await plotSvg(historyPlot(job.description ?? job.name, history, { log: true }));
  if (svg !== undefined) await writeFileAtomic(join(folder, 'measure.svg'), svg);
  const files = [
    `warped${ending}`, 'displacement.npy', 'before-after.svg', ...sideFiles, 'grid.svg', ...(svg === undefined ? [] : ['measure.svg']),
  ];
  return { ...report, files };
};

/** The kind `register`. */
export const registerKind: JobKind<'register', typeof registerJobSchema> = {
  kind: 'register', schema: registerJobSchema,
  inputs: ({ reference, template, landmarks, mask }) => ({ reference, template, landmarks, mask }),
  run: registerItem,
};
