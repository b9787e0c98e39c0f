// The `simulate` job: heat, Kuramoto–Sivashinsky and Euler in one dimension, as Zarr, pictures and figures.
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { isReal } from '../../core/arrays.ts';
import { version } from '../../core/version.ts';
import { removeCheckpoints } from '../../core/checkpoint.ts';
import { ArgumentError, refusal } from '../../core/errors.ts';
import { readBytes } from '../../core/files.ts';
import { elementAt, lastOf, required } from '../../core/known.ts';
import { parseNpy } from '../../files/npy.ts';
import { FieldSeries } from '../../files/zarr.ts';
import { groupAttributes } from '../../files/zarr-layout.ts';
import * as swept from '../../swept/index.ts';
import type { ItemContext, ItemFunction, ItemReport } from '../kind.ts';
import { noPictures } from '../../pictures/plot.ts';
import { seriesUnits } from '../../pictures/units.ts';
import { checkpointName } from '../results-folder.ts';
import { timetable } from '../timetable.ts';
import type { Fields } from './fields.ts';
import { drawAll } from './draw.ts';
import { exactFields, exactOf, l1Errors, type Exact } from './exact.ts';
import type { SimulateJob } from './schema.ts';

type RealArray = swept.RealArray;

/** Seconds between two checkpoints. */
const checkpointEvery = 0.5;

async function readInitial(initial: SimulateJob['initial'], input: (path: string) => string): Promise<unknown> {
  if (typeof initial !== 'object' || !('file' in initial)) return initial;
  const { data, type } = parseNpy(await readBytes(input(initial.file)), 'initial.file');
  if (isReal(data)) return data;
  throw refusal('initial.file', 'float32 or float64 values', type);
}

/** Starts the job's simulation from time 0. */
function start(job: SimulateJob, initial: unknown, device: ItemContext['device']): Promise<swept.AnySimulation> {
  const { n, dx, length, dt, precision, variant, paper, onUnstable } = job;
  const checked = { boundary: job.boundary as never, initial: initial as never }; // checked by the schema, and by the library
  const options = { n, dx, length, dt, precision, variant, paper, onUnstable, device, ...checked };
  switch (job.equation) {
    case 'heat': return swept.heat({ ...options, diffusivity: job.diffusivity, fourier: job.fourier });
    case 'kuramoto-sivashinsky': return swept.kuramotoSivashinsky(options);
    case 'euler': return swept.euler({ ...options, gamma: job.gamma, cfl: job.cfl, limiter: job.limiter });
  }
}

/** The simulation of an earlier, killed run of the same item; undefined if there is none. */
async function resume(
  path: string, fresh: swept.AnySimulation, job: SimulateJob, context: ItemContext,
): Promise<swept.AnySimulation | undefined> {
  try {
    return await swept.restore(path, {
      device: fresh.device, variant: job.variant, parameters: fresh.setup, tag: context.hash,
      onDamaged: (error) => context.warn(`${error.message}. The previous checkpoint was used instead`),
    });
  } catch (error) {
    if (error instanceof ArgumentError && /^(path|tag|parameters\b)/.test(error.argument)) return undefined;
    throw error;
  }
}

function fieldsOf(state: RealArray | swept.GasFields): Fields {
  if (isReal(state)) return { u: state };
  const { density, velocity, pressure, energy } = state;
  return { density, velocity, pressure, energy };
}

type Sums = Readonly<Record<string, { readonly sum: number; readonly size: number }>>;

/** Sums that boundaries do not change (for a gas: until a wave reaches an open end), with the sum of absolute values. */
async function conservedSums(simulation: swept.AnySimulation): Promise<Sums> {
  const { equation, left, right } = simulation.setup;
  const periodic = left === 'periodic';
  const names = equation === 'euler' ? ['mass', ...(periodic ? ['momentum'] : []), 'energy']
    : periodic || (equation === 'heat' && left !== 'dirichlet' && right !== 'dirichlet') ? ['total'] : [];
  const totals = { ...await simulation.totals() } as Record<string, number>;
  const figures = await simulation.figures();
  const component: Record<string, number> = { total: 0, mass: 0, momentum: 1, energy: 2 };
  return Object.fromEntries(names.map((name) =>
    [name, { sum: required(totals[name]), size: simulation.dx * figures.at(required(component[name])).absoluteSum }]));
}

/** Runs from the simulation's current state to the last snapshot and writes each one, with a checkpoint now and then. */
async function march(
  job: SimulateJob, simulation: swept.AnySimulation, series: FieldSeries, context: ItemContext,
): Promise<void> {
  const { signal, onProgress, show, folder, hash } = context;
  const { steps } = timetable(job, simulation.dt);
  const total = lastOf(steps);
  const options = { signal, onProgress: () => onProgress(simulation.stepsDone, total) };
  let saved = performance.now();
  const save = async (): Promise<void> => {
    await series.flush(); // the checkpoint asserts that everything before it has been written
    await simulation.save(join(folder, checkpointName), { tag: hash });
    saved = performance.now();
  };
  const advance = async (goal: number): Promise<void> => {
    while (simulation.stepsDone < goal) {
      const { steps: done, deviceSeconds } = simulation.info;
      const piece = done === 0 ? 1 : Math.max(1, Math.floor((checkpointEvery * done) / Math.max(deviceSeconds, 1e-9)));
      await simulation.advance(Math.min(piece, goal - simulation.stepsDone), options);
      if (performance.now() - saved > checkpointEvery * 1000) await save();
    }
  };
  try {
    // A checkpoint at a snapshot's step may have been saved before the snapshot was written.
    const first = steps.findIndex((step, k) => k > 0 && step >= simulation.stepsDone);
    for (let index = first; index > 0 && index < steps.length; index += 1) {
      const end = index + 1 === steps.length && 'time' in job.until ? job.until.time : undefined;
      await advance(end === undefined ? elementAt(steps, index) : total - 1); // the last step to a given time may be shortened
      if (end !== undefined) await simulation.advanceTo(end, options);
      const fields = fieldsOf(await simulation.read());
      for (const [name, values] of Object.entries(fields)) await series.write(name, index, values);
      show(() => ({ step: simulation.stepsDone, time: simulation.time, axes: [['x', simulation.x]], fields }));
    }
  } catch (error) {
    await save().catch(() => undefined); // the error that stopped the run says more
    throw error;
  }
  await save();
}

interface Outcome {
  readonly job: SimulateJob;
  readonly simulation: swept.AnySimulation;
  readonly final: Fields;
  readonly exact: Exact | undefined;
  readonly colours: ItemReport['colours'];
  readonly drift: Record<string, number>;
  readonly seconds: number;
}

const capital = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** Changes of the conserved sums, relative to the sums of absolute values. */
async function driftOf(before: Sums, simulation: swept.AnySimulation): Promise<Record<string, number>> {
  const after = await conservedSums(simulation);
  return Object.fromEntries(Object.entries(after).map(([name, { sum, size }]) => {
    const first = required(before[name]);
    return [`relativeDriftOf${capital(name)}`, Math.abs(sum - first.sum) / Math.max(size, first.size, Number.MIN_VALUE)];
  }));
}

function report({ job, simulation, final, exact, colours, drift, seconds }: Outcome, files: string[]): ItemReport {
  const { info, n } = simulation;
  const errors = exact === undefined ? {} : l1Errors(simulation, final, exact);
  const [name, error] = Object.entries(errors)[0] ?? [];
  const accuracy = error !== undefined ? { value: error, meaning: `L1 error of ${name} against the exact solution` }
    : Object.keys(drift).length > 0 ? { value: Math.max(...Object.values(drift)), meaning: 'largest relative drift of a conserved sum' }
      : { value: NaN, meaning: 'no exact solution, and boundaries that conserve nothing' };
  const figures = {
    points: n, steps: simulation.stepsDone, timeStep: simulation.dt, time: simulation.time, seconds,
    ...(info.steps > 0 ? { deviceSeconds: info.deviceSeconds, pointUpdatesPerSecond: info.pointUpdatesPerSecond } : {}),
    ...drift, ...Object.fromEntries(Object.entries(errors).map(([field, value]) => [`l1ErrorOf${capital(field)}`, value])),
  };
  return {
    summary: `${job.equation}, ${n} points, ${simulation.stepsDone} steps, ${job.precision}, ${info.variant}`,
    figures, accuracy, failed: false, ...(colours === undefined ? {} : { colours }), files,
    notes: job.pictures === false || files.length > 1 ? [] : [noPictures],
  };
}

/** Steps the equation and writes result.zarr, space-time.svg and profile.svg; resumes from its checkpoint if it was killed. */
export const simulateItem: ItemFunction<SimulateJob> = async (job, context) => {
  const { folder, device } = context;
  const begin = performance.now();
  const given = await readInitial(job.initial, context.input);
  await using fresh = await start(job, given, device);
  const before = await conservedSums(fresh);
  const initial = fieldsOf(await fresh.read());
  const names = Object.keys(initial);
  const zarrFolder = join(folder, 'result.zarr');
  const checkpoint = join(folder, checkpointName);
  const resumed = await groupAttributes(zarrFolder) !== undefined ? await resume(checkpoint, fresh, job, context) : undefined;
  if (resumed === undefined) await removeCheckpoints(checkpoint); // before this run writes anything over the results of that one
  await using simulation = resumed ?? fresh;
  const { steps, times } = timetable(job, simulation.dt);
  const series = await FieldSeries.create(zarrFolder, {
    type: job.precision, zarrFormat: job.zarrFormat, compression: job.compression, fields: names, axes: [['x', simulation.x]], steps, times,
    units: seriesUnits(job.units), attributes: { warploom: version, equation: job.equation, setup: simulation.setup },
  }, resumed !== undefined);
  if (resumed === undefined) {
    for (const name of names) await series.write(name, 0, required(initial[name]));
    context.show(() => ({ step: 0, time: 0, axes: [['x', simulation.x]], fields: initial }));
  }
  await march(job, simulation, series, context);
  const final = fieldsOf(await simulation.read());
  const exact = exactOf(job, simulation.setup, simulation.time);
  const { x, time } = simulation;
  const pictures = job.pictures === false ? { files: [], colours: undefined } : await drawAll(job, { series, fields: names, times, x }, {
    x, initial, final, time, exact: exact === undefined ? undefined : exactFields(x, exact),
  }, folder);
  const outcome = {
    job, simulation, final, exact, colours: pictures.colours, drift: await driftOf(before, simulation),
    seconds: (performance.now() - begin) / 1000,
  };
  return report(outcome, ['result.zarr', ...pictures.files]);
};
