// warploom denoise: total variation denoising of one image from flags.
import { writeFileAtomic } from '../core/files.ts';
import { required } from '../core/known.ts';
import { writeImage } from '../imaging/index.ts';
import { panelsFile } from '../jobs/images/labelled.ts';
import { denoiseJobSchema, denoisePanels, runDenoise } from '../jobs/kinds/denoise.ts';
import { loadImage, outputFormat, rescale } from '../jobs/images/input.ts';
import { checkOutput, outputMeta } from '../jobs/images/output.ts';
import { parseFlags, UsageError, type Command, type Options } from './command.ts';
import {
  exitCodesHelp, imageFlags, imageHelp, imageJobFields, imageResult, inputFlag, outputFlag, parseImageJob, previewFlag, realFlag,
  requireApart, wholeFlag, withImageDevice,
} from './imaging-flags.ts';
import { withInputs } from './standard-input.ts';
import { endingOf, withOutput } from './standard-output.ts';
import { formatSeconds } from './table.ts';

const text = { type: 'string' } as const;

const options = {
    ...imageFlags, weight: text, sigma: text, noise: { type: 'string', values: ['gaussian', 'impulse'] },
  method: { type: 'string', values: ['primal-dual', 'flow'] }, iterations: text, tolerance: text,
    separate: { type: 'boolean' }, fill: { type: 'boolean' },
} as const satisfies Options;

/** `warploom denoise`. */
export const denoiseCommand: Command = {
  name: 'denoise',
  summary: 'remove noise from an image or a volume, keep its edges (total variation)',
  help: `Usage: warploom denoise IN -o OUT [options]

Finds the image u near the given one f whose total variation is small: it minimises
  weight TV(u) + 1/2 |u - f|²          (Rudin, Osher and Fatemi; for noise on every pixel)
  weight TV(u) + |u - f|_1             (--noise impulse; for dead and hot pixels)
Edges stay sharp; noise and fine texture are removed. Colours and other channels share their edges.

  -o, --out FILE         PNG, TIFF, NIfTI (keeps header and orientation), .npy or raw, by its extension
      --preview FILE     before and after side by side: an SVG with their measures, or a PNG
      --weight W         of the total variation, for intensities 0 to 1: usually 0.02 to 0.1; larger is smoother
      --sigma S          instead of the weight: the noise's standard deviation (0 to 1), or "estimate" (default)
      --noise MODEL      gaussian (default), impulse (needs a weight; usually 0.5 to 1.5)
      --method M         primal-dual (default: to a proven distance from the optimum), flow (curvature flow)
      --separate         treat each channel on its own: colours do not share their edges
      --fill             fill pixels that are NaN from their surroundings instead of rejecting them
      --iterations N     maximum number
      --tolerance T      relative duality gap at which to stop

${imageHelp}
Examples
  warploom denoise photo.png -o smooth.png --sigma estimate --preview before-after.svg
  warploom denoise head.nii.gz -o head-tv.nii.gz --weight 0.05
  warploom denoise phantom:shepp-logan,size=64,dimensions=3 --add-noise gaussian:sigma=0.1 --weight 0.06 -o head.tif

${exitCodesHelp}`,
  options,
  async run(argv, context) {
    const { values, positionals } = parseFlags(options, argv);
    const [input, ...more] = positionals;
    if (input === undefined || more.length > 0) throw new UsageError('name one image');
    const out = await outputFlag(values);
    const preview = previewFlag(values);
    requireApart({ out, preview });
    const job = parseImageJob(denoiseJobSchema, {
      kind: 'denoise', name: 'denoise', input: inputFlag(input), ...imageJobFields(values), weight: realFlag(values, 'weight'),
      sigma: values.sigma === 'estimate' ? values.sigma : realFlag(values, 'sigma'), noise: values.noise, method: values.method,
      coupled: values.separate === true ? false : undefined, missing: values.fill === true ? 'fill' : undefined,
      iterations: wholeFlag(values, 'iterations', 1, 1_000_000), tolerance: realFlag(values, 'tolerance'),
    });
    const loaded = await withInputs([input], context, (resolve) => loadImage(job.input, job, resolve));
    const { ending } = outputFormat(loaded);
    await checkOutput(endingOf(out, ending), loaded);
    return withImageDevice('denoise', values, context, (running) => withOutput(out, ending, context, async (place) => {
      const { image, report } = await runDenoise(job, loaded, running);
      await writeImage(place.path, rescale(image, loaded.range, true), outputMeta(place.path, loaded));
      if (preview !== undefined) {
        await writeFileAtomic(preview, panelsFile(preview, denoisePanels(loaded, image, report.figures), loaded.meta?.spacing));
      }
      const { psnr, psnrBefore, seconds } = report.figures;
      const files = { out, ...(preview === undefined ? {} : { preview }) };
      place.tell(imageResult(report, running.device, files),
        `${report.summary} on ${running.device.backend}: ${formatSeconds(required(seconds))}, ${report.accuracy.meaning} `
        + report.accuracy.value.toExponential(2)
        + `${psnr === undefined ? '' : `, PSNR ${required(psnrBefore).toFixed(2)} → ${psnr.toFixed(2)} dB`}\n`
        + `result in ${place.name}${preview === undefined ? '' : `, before and after in ${preview}`}`);
      for (const note of report.notes ?? []) context.note(note);
    }));
  },
};
