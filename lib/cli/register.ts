// warploom register: warps one image onto another, from flags.
import { writeFileAtomic } from '../core/files.ts';
import { required } from '../core/known.ts';
import { alignModels, writeImage } from '../imaging/index.ts';
import { outputFormat, rescale } from '../jobs/images/input.ts';
import { panelsFile } from '../jobs/images/labelled.ts';
import { checkOutput, outputMeta } from '../jobs/images/output.ts';
import { gridSvg, loadPair, registerJobSchema, registerPanels, runRegister } from '../jobs/kinds/register.ts';
import { parseFlags, UsageError, type Command, type Options } from './command.ts';
import {
  exitCodesHelp, imageFlags, imageHelp, imageJobFields, imagePathFlag, imageResult, inputFlag, outputFlag,
  numbersFlag, parseImageJob, present, previewFlag, realFlag, requireApart, wholeFlag, withImageDevice,
} from './imaging-flags.ts';
import { withInputs } from './standard-input.ts';
import { endingOf, withOutput } from './standard-output.ts';
import { formatSeconds } from './table.ts';

const text = { type: 'string' } as const;
const file = { type: 'string', takes: 'file' } as const;

const options = {
    ...imageFlags, displacement: file, grid: file, measure: { type: 'string', values: ['ssd', 'ncc'] },
    align: { type: 'string', values: alignModels }, weights: text, alpha: text, tau: text, levels: text, iterations: text,
    tolerance: text, landmarks: file,
} as const satisfies Options;

/** `warploom register`. */
export const registerCommand: Command = {
  name: 'register',
  summary: 'warp an image or a volume onto another one (curvature registration)',
  help: `Usage: warploom register REFERENCE TEMPLATE -o WARPED [options]
       warploom register phantom:registration-pair,size=128 -o WARPED [options]

Finds a smooth displacement u such that TEMPLATE(x + u(x)) looks like REFERENCE(x): it minimises
  1/2 |TEMPLATE(x + u) - REFERENCE|² + alpha/2 Σ |Δu|²        (Fischer and Modersitzki)
from coarse to fine. Both images have the same extents and channels. Affine motion costs nothing, but
images that are far apart are found only with --align.

  -o, --out FILE         the warped template, in the format of its extension
      --displacement FILE   u in pixels: .npy of shape (components, …), .nii or .tif
      --preview FILE     reference, template, warped, differences before and after: an SVG with their
                         measures, or a PNG
      --grid FILE        an SVG of a regular grid moved by u
      --measure M        ssd (default: same intensities), ncc (intensities differ by scale and offset)
      --align MODEL      first translation, rigid or affine; results are those of both together
      --weights W,W,…    of the channels, with ssd; default 1 each
      --alpha A          weight of the curvature: larger is stiffer
      --tau T            step of the semi-implicit scheme; default from the template's gradients
      --levels L         of the pyramid: how many
      --iterations N     maximum number on each level
      --tolerance T      relative change of the measure at which to stop
      --landmarks FILE   .npy of shape (n, 2, dimensions): points of reference and template, for the error (TRE)

${imageHelp}
Examples
  warploom register before.png after.png -o aligned.png --preview compare.svg --grid grid.svg
  warploom register atlas.nii.gz subject.nii.gz -o warped.nii.gz --displacement u.nii.gz --measure ncc

${exitCodesHelp}`,
  options,
  async run(argv, context) {
    const { values, positionals } = parseFlags(options, argv);
    const [reference, template, ...more] = positionals;
    const generated = reference?.startsWith('phantom:') === true;
    if (reference === undefined || more.length > 0 || (template === undefined) !== generated) {
      throw new UsageError('name a reference and a template');
    }
    const out = await outputFlag(values);
    const preview = previewFlag(values);
    const field = imagePathFlag(values, 'displacement');
    requireApart({ out, preview, displacement: field, grid: values.grid });
    const job = parseImageJob(registerJobSchema, {
      kind: 'register', name: 'register', reference: inputFlag(reference), template, ...imageJobFields(values), measure: values.measure,
      align: values.align, weights: numbersFlag(values, 'weights'),
      alpha: realFlag(values, 'alpha'), tau: realFlag(values, 'tau'), levels: wholeFlag(values, 'levels', 1, 12),
      iterations: wholeFlag(values, 'iterations', 1, 100_000), tolerance: realFlag(values, 'tolerance'), landmarks: values.landmarks,
    });
    const pair = await withInputs([reference, template], context, (resolve) => loadPair(job, resolve));
    const { ending } = outputFormat(pair.reference);
    await checkOutput(endingOf(out, ending), pair.reference);
    if (field !== undefined) {
      const { depth = 1 } = pair.reference.image;
      await checkOutput(field, pair.reference, { ...pair.reference.image, channels: depth > 1 ? 3 : 2 });
    }
    return withImageDevice('register', values, context, (running) => withOutput(out, ending, context, async (place) => {
      const found = await runRegister(job, pair, running);
      const { displacement, warped, report } = found;
      await writeImage(place.path, rescale(warped, pair.reference.range, true), outputMeta(place.path, pair.reference));
      if (field !== undefined) await writeImage(field, displacement, outputMeta(field, pair.reference));
      if (preview !== undefined) {
        await writeFileAtomic(preview, panelsFile(preview, registerPanels(pair, found), pair.reference.meta?.spacing));
      }
      if (values.grid !== undefined) await writeFileAtomic(values.grid, gridSvg(pair, displacement));
      const { seconds, leastJacobian } = report.figures;
      const files = present({ out, displacement: field, preview, grid: values.grid });
      place.tell(imageResult(report, running.device, files),
        `${report.summary} on ${running.device.backend}: ${formatSeconds(required(seconds))}, ${report.accuracy.meaning} `
        + `${report.accuracy.value.toPrecision(3)}, least Jacobian ${required(leastJacobian).toPrecision(3)}\nresult in ${place.name}`);
      for (const note of report.notes ?? []) context.note(note);
    }));
  },
};
