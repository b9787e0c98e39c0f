// Runs a job of kind `stencil`: Zarr, pictures, figures, and a checkpoint from which a killed run continues.
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { version } from '../../core/version.ts';
import { previousCheckpoint, removeCheckpoints } from '../../core/checkpoint.ts';
import { ArgumentError, CheckpointError } from '../../core/errors.ts';
import { isThere, writeFileAtomic } from '../../core/files.ts';
import { elementAt, lastOf, required } from '../../core/known.ts';
import { FieldSeries } from '../../files/zarr.ts';
import { groupAttributes } from '../../files/zarr-layout.ts';
import { noPictures } from '../../pictures/plot.ts';
import { seriesUnits } from '../../pictures/units.ts';
import type { RealArray } from '../../stencil/index.ts';
import { readRequest } from '../../stencil/simulate.ts';
import { prepareRun, type Prepared } from '../../stencil/start.ts';
import type { ItemContext, ItemFunction, ItemReport } from '../kind.ts';
import { checkpointName } from '../results-folder.ts';
import { timetable } from '../timetable.ts';
import { checkpointEvery, single, together, type Course } from './course.ts';
import { placed } from './equation-file.ts';
import { picturesOf } from './pictures.ts';
import { planOf, type Plan } from './plan.ts';
import type { StencilJob } from './schema.ts';
import { centres, valuesOf } from './values.ts';

type Fields = Readonly<Record<string, RealArray>>;

const axisNames = ['x', 'y', 'z'] as const;

/** The axes of the fields, with the centres of the cells. */
const axesOf = (plan: Plan): [string, Float64Array][] => plan.shape.map((_, axis) => [elementAt(axisNames, axis), centres(plan, axis)]);

/** Checks a run, on the context's device where that can compile; `resume`: a checkpoint. */
async function prepared(plan: Plan, { device, input, signal }: ItemContext, resume?: string): Promise<Prepared> {
  const { equation, shape, spacing, origin, dt, boundary, parameters, precision, variant } = plan;
  const options = {
    shape, spacing, origin, dt, boundary: boundary as never, parameters: parameters as never, precision, signal,
    initial: await valuesOf(plan.initial, plan, 'initial', input),
    coefficients: await valuesOf(plan.coefficients, plan, 'coefficients', input) as never,
    ...(resume === undefined ? {} : { resume }),
  };
  const where = device.backend === 'cpu' ? { backend: 'wasm' as const } : { device, backend: 'device' as const, variant };
  return prepareRun(readRequest(equation, { ...options, ...where }));
}

/** The same on the CPU. */
const onCpu = (of: Prepared): Prepared => ({ ...of, request: { ...of.request, device: undefined, backend: 'wasm', variant: 'auto' } });

/** Begins a run, by itself or with those of its group. */
function begin(of: Prepared, { group, device, warn }: ItemContext, given: StencilJob): Promise<Course> {
  const isAsked = given.device !== undefined && given.device.backend !== 'auto';
  const fallback = { warn, onCpu: device.backend === 'cpu' || isAsked ? undefined : onCpu };
  return group === undefined ? single(of, fallback) : together(group, of, fallback);
}

/** The run of an earlier, killed item with the same hash. */
async function resumed(plan: Plan, context: ItemContext, zarrFolder: string): Promise<Prepared | undefined> {
  const { folder, hash, warn } = context;
  const path = join(folder, checkpointName);
  if (!isThere(path)) return undefined;
  const attributes = await groupAttributes(zarrFolder);
  if (attributes?.['hash'] !== hash) return undefined;
  try {
    return await prepared(plan, context, path);
  } catch (error) {
    if (error instanceof ArgumentError && /^(resume|path)\b/.test(error.argument)) return undefined;
    if (!(error instanceof CheckpointError) || !isThere(previousCheckpoint(path))) throw error;
    warn(`${error.message}. The previous checkpoint was used instead`);
    return prepared(plan, context, previousCheckpoint(path));
  }
}

/** Times of the snapshots, and their steps where steps are of one length. */
function snapshotsOf(plan: Plan): { readonly steps?: readonly number[]; readonly times: readonly number[] } {
  if (typeof plan.dt === 'number') return timetable(plan, plan.dt);
  const end = 'time' in plan.until ? plan.until.time : 0;
  return { times: Array.from({ length: plan.snapshots + 1 }, (_, k) => (k * end) / plan.snapshots) };
}

/** Runs to the last snapshot and writes each one, with a checkpoint now and then. */
async function march(plan: Plan, run: Course, series: FieldSeries, { signal, onProgress, show, folder }: ItemContext): Promise<void> {
  const { steps, times } = snapshotsOf(plan);
  const total = steps === undefined ? lastOf(times) : lastOf(steps);
  const options = { signal, onProgress: () => onProgress(steps === undefined ? run.time : run.stepsDone, total) };
  const save = async (): Promise<void> => {
    await series.flush(); // the checkpoint asserts that everything before it has been written
    await run.save(join(folder, checkpointName));
    run.saving.wrote();
  };
  const advance = async (goal: number): Promise<void> => {
    while (run.stepsDone < goal) {
      await run.reach({ step: Math.min(goal, run.stepsDone + run.stepsIn(checkpointEvery)) }, options);
      if (run.saving.isDue(`step ${run.stepsDone}`)) await save();
    }
  };
  try {
    // A checkpoint at a snapshot's step may have been saved before the snapshot was written.
    const first = times.findIndex((time, k) => k > 0 && (steps === undefined ? time >= run.time : elementAt(steps, k) >= run.stepsDone));
    for (let index = first; index > 0 && index < times.length; index += 1) {
      const isEnd = index + 1 === times.length && 'time' in plan.until;
      // The last step to a given time may be shortened.
      if (steps !== undefined) await advance(isEnd ? total - 1 : elementAt(steps, index));
      if (steps === undefined || isEnd) await run.reach({ time: elementAt(times, index) }, options);
      const fields = await run.state();
      for (const [name, values] of Object.entries(fields)) await series.write(name, index, values);
      show(() => ({ step: run.stepsDone, time: run.time, axes: axesOf(plan), fields }));
      if (run.saving.isDue(`snapshot ${index}`)) await save();
    }
  } catch (error) {
    await save().catch(() => undefined); // the error that stopped the run says more
    throw error;
  }
  await save();
}

/** The exact solution at the end, for the fields that the equation file knows one of. */
function exactOf(plan: Plan, time: number): Fields | undefined {
  const names = plan.equation.fields.filter((name) => typeof plan.exact[name] === 'function');
  if (names.length === 0) return undefined;
  const places = plan.shape.map((_, axis) => centres(plan, axis));
  const cells = plan.shape.reduce((a, b) => a * b, 1);
  return Object.fromEntries(names.map((name) => {
    const f = required(plan.exact[name]);
    return [name, Float64Array.from({ length: cells }, (_, cell) => {
      const [x = 0, y = 0, z = 0] = plan.shape.map((extent, axis) => {
        const below = plan.shape.slice(axis + 1).reduce((a, b) => a * b, 1);
        return elementAt(elementAt(places, axis), Math.floor(cell / below) % extent);
      });
      return f({ x, y, z, t: time }, plan.parameters);
    })];
  }));
}

/** Smallest and largest values and sums of the fields, and the L1 errors of those with an exact solution. */
function figuresOf(plan: Plan, final: Fields, exact: Fields | undefined): Record<string, number> {
  const volume = plan.spacing.reduce((a, b) => a * b, 1);
  const figures: Record<string, number> = {};
  for (const [name, values] of Object.entries(final)) {
    let [low, high, sum, error] = [Infinity, -Infinity, 0, 0];
    const known = exact?.[name];
    values.forEach((value, i) => {
      low = Math.min(low, value);
      high = Math.max(high, value);
      sum += value;
      if (known !== undefined) error += Math.abs(value - elementAt(known, i));
    });
    const of = `Of${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    Object.assign(figures, { [`minimum${of}`]: low, [`maximum${of}`]: high, [`integral${of}`]: sum * volume });
    if (known !== undefined) figures[`l1Error${of}`] = error / values.length;
  }
  return figures;
}

function accuracyOf(figures: Readonly<Record<string, number>>): ItemReport['accuracy'] {
  const [name, value] = Object.entries(figures).find(([key]) => key.startsWith('l1ErrorOf')) ?? [];
  if (name === undefined || value === undefined) return { value: NaN, meaning: 'no exact solution is known' };
  return { value, meaning: `mean absolute error of ${name.slice('l1ErrorOf'.length).replace(/^./, (c) => c.toLowerCase())}` };
}

/** The run of an item, and whether it goes on with an earlier one. */
async function courseOf(plan: Plan, context: ItemContext, job: StencilJob, zarrFolder: string): Promise<[Course, isEarlier: boolean]> {
  try {
    const earlier = await resumed(plan, context, zarrFolder);
    // Before this run writes over the results of that one.
    if (earlier === undefined) await removeCheckpoints(join(context.folder, checkpointName));
    return [await begin(earlier ?? await prepared(plan, context), context, job), earlier !== undefined];
  } catch (error) {
    throw plan.file === undefined ? error : placed(error, plan.file);
  }
}

/** Steps the equation and writes result.zarr and pictures; continues from its checkpoint if it was killed. */
export const stencilItem: ItemFunction<StencilJob> = async (job, context) => {
  const begun = performance.now();
  const { folder } = context;
  const plan = await planOf(job, context.input);
  const zarrFolder = join(folder, 'result.zarr');
  const [course, isEarlier] = await courseOf(plan, context, job, zarrFolder);
  await using run = course;
  const { steps, times } = snapshotsOf(plan);
  const { fields, parameters } = plan.equation;
  const series = await FieldSeries.create(zarrFolder, {
    type: plan.precision, zarrFormat: job.zarrFormat, compression: job.compression, fields, times,
    ...(steps === undefined ? {} : { steps }),
    axes: axesOf(plan), units: seriesUnits(plan.units),
    attributes: {
      warploom: version, equation: plan.name, hash: context.hash, units: plan.units,
      parameters: Object.fromEntries(parameters.map((name) => [name, plan.parameters[name]])),
    },
  }, isEarlier);
  if (!isEarlier) {
    const state = await run.state();
    for (const [name, values] of Object.entries(state)) await series.write(name, 0, values);
    context.show(() => ({ step: 0, time: 0, axes: axesOf(plan), fields: state }));
  }
  await march(plan, run, series, context);
  const { info, stepsDone, time } = run;
  const final = await run.state();
  const initial = Object.fromEntries(await Promise.all(fields.map(async (name) => [name, await series.read(name, 0)] as const)));
  const exact = exactOf(plan, time);
  const { files, colours } = job.pictures === false ? { files: {} }
    : await picturesOf({ plan, title: job.description ?? job.name, series, times, initial, final, exact });
  for (const [name, content] of Object.entries(files)) await writeFileAtomic(join(folder, name), content);
  const measured = figuresOf(plan, final, exact);
  return {
    summary: `${plan.name}, ${plan.shape.join(' × ')} cells, ${stepsDone} steps, ${plan.precision}, ${info.backend} ${info.variant}`
      + (run.size === 1 ? '' : `, together with ${run.size - 1} other${run.size === 2 ? '' : 's'}`),
    figures: {
      cells: plan.shape.reduce((a, b) => a * b, 1), steps: stepsDone, timeStep: run.dt, time, seconds: (performance.now() - begun) / 1000,
      ...(info.steps > 0 ? { runSeconds: info.seconds, cellUpdatesPerSecond: info.cellUpdatesPerSecond } : {}), ...measured,
    },
    accuracy: accuracyOf(measured), ...(colours === undefined ? {} : { colours }), failed: false,
    files: ['result.zarr', ...Object.keys(files)],
    notes: job.pictures === false || Object.keys(files).some((name) => name.endsWith('.svg')) ? [] : [noPictures],
  };
};
