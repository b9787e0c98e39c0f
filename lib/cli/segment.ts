// warploom segment: divides one image into two regions, from flags.
import { writeFileAtomic } from '../core/files.ts';
import { required } from '../core/known.ts';
import { writeImage } from '../imaging/index.ts';
import { loadImage, outputFormat } from '../jobs/images/input.ts';
import { panelsFile } from '../jobs/images/labelled.ts';
import { checkOutput, outputMeta } from '../jobs/images/output.ts';
import { contoursSvg, runSegment, segmentJobSchema, segmentPanels, writeMask } from '../jobs/kinds/segment.ts';
import { parseFlags, UsageError, type Command, type Options } from './command.ts';
import {
  contourFlag, exitCodesHelp, imageFlags, imageHelp, imageJobFields, imagePathFlag, imageResult, inputFlag,
  outputFlag, parseImageJob, present, previewFlag, realFlag, requireApart, wholeFlag, withImageDevice,
} from './imaging-flags.ts';
import { withInputs } from './standard-input.ts';
import { endingOf, withOutput } from './standard-output.ts';
import { formatSeconds } from './table.ts';

const text = { type: 'string' } as const;
const file = { type: 'string', takes: 'file' } as const;

const options = {
    ...imageFlags, contours: file, 'level-set': file, truth: file, mu: text, nu: text, lambda1: text, lambda2: text, initial: text,
    step: { type: 'string', values: ['semi-implicit', 'explicit'] }, dt: text, iterations: text, tolerance: text, reinitialize: text,
} as const satisfies Options;

/** `warploom segment`. */
export const segmentCommand: Command = {
  name: 'segment',
  summary: 'find objects in an image or a volume by an active contour without edges',
  help: `Usage: warploom segment IN -o MASK [options]

Divides the image into two regions, each close to its mean, with a short border between them
(Chan and Vese): it minimises
  mu length + nu area inside + lambda1 Σ_inside (f - c1)² + lambda2 Σ_outside (f - c2)²
Objects need no sharp edges; the length term suppresses noise.

  -o, --out FILE         the mask: PNG or TIFF (255 inside), NIfTI or .npy (1 inside)
      --preview FILE     the image, and with the outline: an SVG with labels, or a PNG
      --contours FILE    the contours over the image as SVG, or as JSON (lists of points), by the extension
      --level-set FILE   the level set as .npy, .nii, .tif: positive inside
      --truth FILE       a mask to compare with: Dice and Hausdorff
      --mu M             weight of the border's length, default 0.25; smaller finds finer detail
      --nu, --lambda1, --lambda2     default 0, 1, 1
      --initial I        checkerboard (default: finds objects anywhere), ball, box; with a position in pixels:
                         ball:x=170,y=105,radius=40 or box:x0=4,y0=4,x1=60,y1=60 or checkerboard:square=9
      --step S           semi-implicit (default), explicit
      --dt D             step of the evolution, default 0.5
      --iterations N     maximum number, default 500
      --tolerance T      change of the level set at which to stop, default 1e-3
      --reinitialize N   turn the level set into a distance function every N iterations; 0 (default): never

${imageHelp}
Examples
  warploom segment cell.png -o cell-mask.png --contours cell.svg --preview outline.png
  warploom segment cell.png -o cell.png --initial ball:x=170,y=105,radius=40 --mu 2 --lambda1 25 --lambda2 25 --reinitialize 10
  warploom segment ct.nii.gz -o bone.nii.gz --range 0,1500 --mu 0.1
  warploom segment phantom:discs,size=256 --add-noise gaussian:sigma=0.3,seed=2 --mu 0.1 -o discs.png

${exitCodesHelp}`,
  options,
  async run(argv, context) {
    const { values, positionals } = parseFlags(options, argv);
    const [input, ...more] = positionals;
    if (input === undefined || more.length > 0) throw new UsageError('name one image');
    const out = await outputFlag(values);
    const preview = previewFlag(values);
    const levels = imagePathFlag(values, 'level-set');
    requireApart({ out, preview, 'level-set': levels, contours: values.contours });
    const number = (name: string) => realFlag(values, name);
    const job = parseImageJob(segmentJobSchema, {
      kind: 'segment', name: 'segment', input: inputFlag(input), ...imageJobFields(values), mu: number('mu'), nu: number('nu'),
      lambda1: number('lambda1'), lambda2: number('lambda2'), initial: contourFlag(values.initial), step: values.step, dt: number('dt'),
      iterations: wholeFlag(values, 'iterations', 1, 1_000_000), tolerance: number('tolerance'),
      reinitialize: wholeFlag(values, 'reinitialize', 0, 1_000_000), truth: values.truth,
    });
    const loaded = await withInputs([input], context, (resolve) => loadImage(job.input, job, resolve));
    const { ending } = outputFormat(loaded);
    await checkOutput(endingOf(out, ending), loaded, { ...loaded.image, channels: 1 });
    return withImageDevice('segment', values, context, (running) => withOutput(out, ending, context, async (place) => {
      const { mask, levelSet, contours, report } = await runSegment(job, loaded, running, job.truth);
      await writeMask(place.path, mask, loaded);
      const { width, height, depth = 1 } = loaded.image;
      if (levels !== undefined) await writeImage(levels, { data: levelSet, width, height, depth }, outputMeta(levels, loaded));
      if (preview !== undefined) {
        await writeFileAtomic(preview, panelsFile(preview, segmentPanels(loaded, mask, report.figures), loaded.meta?.spacing));
      }
      const lines = values.contours;
      if (lines !== undefined) {
        await writeFileAtomic(lines, lines.endsWith('.json') ? `${JSON.stringify(contours)}\n` : contoursSvg(loaded, contours));
      }
      const { seconds, shareInside, dice } = report.figures;
      const found = `${contours.length} contour${contours.length === 1 ? '' : 's'}`;
      const files = present({ out, preview, contours: lines, levelSet: levels });
      place.tell(imageResult(report, running.device, files),
        `${report.summary} on ${running.device.backend}: ${formatSeconds(required(seconds))}, ${found}, `
        + `${(100 * required(shareInside)).toFixed(1)} % inside${dice === undefined ? '' : `, Dice ${dice.toFixed(4)}`}\n`
        + `mask in ${place.name}`);
      for (const note of report.notes ?? []) context.note(note);
    }));
  },
};
