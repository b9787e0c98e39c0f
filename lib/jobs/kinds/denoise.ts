// The `denoise` job: total variation denoising of a file or a phantom.
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { z } from 'zod';
import { writeFileAtomic } from '../../core/files.ts';
import { required } from '../../core/known.ts';
import { denoise, denoiseMethods, noiseKinds, psnr, ssim, writeImage } from '../../imaging/index.ts';
import { positive } from '../fields.ts';
import { image as imageFields, input } from '../images/fields.ts';
import { loadImage, outputFormat, rescale, type HostImage, type LoadedImage } from '../images/input.ts';
import { changeLabel, panelsSvg, qualityLabel, withMeasure, type LabelledPanel } from '../images/labelled.ts';
import { historyPlot } from '../images/pictures.ts';
import { sideFiles, writeSides } from '../images/sides.ts';
import type { ItemFunction, ItemReport, JobKind, Running } from '../kind.ts';
import { plotSvg } from '../../pictures/plot.ts';

/** `denoise`: total variation. */
export const denoiseJobSchema = z.strictObject({
  ...imageFields,
  kind: z.literal('denoise'),
  input,
  method: z.enum(denoiseMethods).default('primal-dual')
    .describe('primal-dual: to the optimum, with a duality gap; flow: curvature flow, explicit gradient descent'),
  noise: z.enum(noiseKinds).default('gaussian')
    .describe('gaussian: squared differences (ROF); impulse: absolute ones, for dead and hot pixels (TV-L1)'),
  weight: positive.optional().describe('weight of the total variation; or give sigma'),
  sigma: z.union([positive, z.literal('estimate')]).optional()
    .describe('standard deviation of the noise, which determines the weight; "estimate" estimates it from the image'),
  coupled: z.boolean().default(true).describe('one norm over all channels: colours share their edges'),
  missing: z.enum(['refuse', 'fill']).default('refuse').describe('pixels that are NaN: an error, or filled in from their surroundings'),
  iterations: z.number().int().min(1).max(1_000_000).optional().describe('most iterations'),
  tolerance: positive.optional().describe('relative duality gap (flow: relative decrease of the energy) to stop at'),
});
export type DenoiseJob = z.infer<typeof denoiseJobSchema>;

/** Result of {@link runDenoise}. */
export interface Denoised {
  /** Pixels in the range of the computation, 0 to 1. */
  readonly image: HostImage;
  /** Energy per pixel and relative gap (flow: relative decrease) at every check. */
  readonly energies: readonly number[];
  readonly gaps: readonly number[];
  readonly every: number;
  readonly report: Pick<ItemReport, 'summary' | 'figures' | 'accuracy' | 'notes'>;
}

/** Quality metrics, if the ground truth is known. */
async function quality(image: HostImage, { truth, image: noisy }: LoadedImage): Promise<Record<string, number>> {
  if (truth === undefined) return {};
  const sides = [image.width, image.height, ...((image.depth ?? 1) > 1 ? [required(image.depth)] : [])];
  const similar: Record<string, number> = Math.min(...sides) < 7 ? {}
    : { ssim: await ssim(image, truth), ssimBefore: await ssim(noisy, truth) };
  return { psnr: psnr(image, truth), psnrBefore: psnr(noisy, truth), ...similar };
}

export async function runDenoise(job: DenoiseJob, loaded: LoadedImage, { device, signal, onProgress }: Running): Promise<Denoised> {
  const { method, noise, weight, sigma, coupled, missing, iterations, tolerance } = job;
  const begin = performance.now();
  const result = await denoise(loaded.image, {
    method, noise, coupled, missing, device, signal, onProgress: (done, most, { energy }) => onProgress(done, most, { energy }),
    ...(loaded.region === undefined ? {} : { mask: loaded.region }), ...(weight === undefined ? {} : { weight }),
    ...(sigma === undefined ? {} : { sigma }),
    ...(iterations === undefined ? {} : { iterations }), ...(tolerance === undefined ? {} : { tolerance }),
  });
  const seconds = (performance.now() - begin) / 1000;
  const measured = await quality(result.image, loaded);
  const accuracy = measured['psnr'] !== undefined
    ? { value: 10 ** (-measured['psnr'] / 20), meaning: 'root mean square error against the ground truth' }
    : {
      value: result.gap ?? result.history.at(-1)?.decrease ?? NaN,
      meaning: method === 'flow' ? 'relative decrease at the end' : 'relative duality gap',
    };
  return {
    image: result.image, energies: result.history.map(({ energy }) => energy),
    gaps: result.history.map(({ gap, decrease }) => gap ?? decrease ?? NaN),
    every: result.history[0]?.iteration ?? 1,
    report: {
      summary: `${loaded.label}, ${method}, ${result.iterations} iterations, ${job.precision}`,
      figures: {
        iterations: result.iterations, energy: result.energy, weight: result.weight,
        ...(result.sigma === undefined ? {} : { sigma: result.sigma }), ...(result.filled > 0 ? { filledPixels: result.filled } : {}),
        seconds, deviceSeconds: result.info.deviceSeconds, ...measured,
      },
      accuracy, notes: [...loaded.notes ?? [], ...(result.converged ? [] : [result.status.message])],
    },
  };
}

/** Before and after side by side, with the ground truth if it is known, and their measures. */
export function denoisePanels(
  { image, truth, range }: LoadedImage, after: HostImage, figures: Readonly<Record<string, number>>,
): LabelledPanel[] {
  return [
    withMeasure({ image }, 'before', qualityLabel(figures, 'Before')),
    withMeasure({ image: after }, 'after', qualityLabel(figures) ?? changeLabel(after.data, image.data, range)),
    ...(truth === undefined ? [] : [{ image: truth, label: 'ground truth' }]),
  ];
}

/** Denoises and writes the image, before-after.svg, before.png, after.png and convergence.svg. */
export const denoiseItem: ItemFunction<DenoiseJob> = async (job, context) => {
  const { folder } = context;
  const loaded = await loadImage(job.input, job, context.input);
  const { image, energies, gaps, every, report } = await runDenoise(job, loaded, context);
  const { ending, meta } = outputFormat(loaded);
  await writeImage(join(folder, `denoised${ending}`), rescale(image, loaded.range, true), meta);
  await writeFileAtomic(join(folder, 'before-after.svg'), panelsSvg(denoisePanels(loaded, image, report.figures), loaded.meta?.spacing));
  await writeSides(folder, { image: loaded.image }, { image }, loaded.meta?.spacing);
  const title = job.description ?? job.name;
  const series = { 'energy per pixel': energies, [job.method === 'flow' ? 'relative decrease' : 'relative gap']: gaps };
  const svg = await plotSvg(historyPlot(title, series, { every, log: true }));
  if (svg !== undefined) await writeFileAtomic(join(folder, 'convergence.svg'), svg);
  return { ...report, files: [`denoised${ending}`, 'before-after.svg', ...sideFiles, ...(svg === undefined ? [] : ['convergence.svg'])] };
};

/** The kind `denoise`. */
export const denoiseKind: JobKind<'denoise', typeof denoiseJobSchema> = {
  kind: 'denoise', schema: denoiseJobSchema,
  inputs: (job) => ({ input: job.input, mask: job.mask }),
  run: denoiseItem,
};
