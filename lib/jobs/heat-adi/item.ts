// Runs a `heat-adi` item: pictures, result.zarr, and a checkpoint from which a killed run continues.
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { loadCheckpoint, removeCheckpoints, writeCheckpoint, type Checkpoint, type CheckpointFormat } from '../../core/checkpoint.ts';
import { choice, text, whole } from '../../core/checks.ts';
import { ArgumentError, refusal } from '../../core/errors.ts';
import { isThere, readBytes, withoutMark, writeFileAtomic } from '../../core/files.ts';
import { elementAt, required } from '../../core/known.ts';
import { record } from '../../core/shapes.ts';
import { version } from '../../core/version.ts';
import { formatNpy, parseNpy } from '../../files/npy.ts';
import { FieldSeries } from '../../files/zarr.ts';
import { groupAttributes } from '../../files/zarr-layout.ts';
import { clippedRange, pngLuminance } from '../../pictures/grid.ts';
import { noPictures } from '../../pictures/plot.ts';
import { seriesUnits } from '../../pictures/units.ts';
import { HeatAdi } from '../../tridiagonal/heat-adi.ts';
import type { ItemContext, ItemFunction } from '../kind.ts';
import { checkpointName } from '../results-folder.ts';
import { axesOf, coloursOf, drawing, pictureName, type Extents } from './draw.ts';
import type { HeatAdiJob } from './schema.ts';

/** A grid of numbers, row by row. */
interface Grid extends Extents { readonly values: Float64Array }

/** A grid from a .npy, a PNG's luminance, or a JSON raster { width, height, values }. */
async function readGrid(file: string): Promise<Grid> {
  const bytes = await readBytes(file);
  if (file.endsWith('.png')) return pngLuminance(bytes);
  if (file.endsWith('.json')) {
    const raster = JSON.parse(withoutMark(bytes.toString('utf8'))) as Partial<{ width: number; height: number; values: number[] }>;
    const { width, height, values } = raster;
    if (!Number.isSafeInteger(width) || !Number.isSafeInteger(height) || values?.length !== required(width) * required(height)) {
      throw refusal('initial.file', 'a JSON raster with width, height and width*height values', file);
    }
    return { width: required(width), height: required(height), values: Float64Array.from(values) };
  }
  const { shape, data, type } = parseNpy(bytes, 'initial.file');
  if (shape.length !== 2 || !(type === 'float32' || type === 'float64')) {
    throw refusal('initial.file', 'float32 or float64 of shape (height, width)',
      `${type} of shape (${shape.join(', ')})`);
  }
  return { width: elementAt(shape, 1), height: elementAt(shape, 0), values: Float64Array.from(data as Float64Array) };
}

function enlarge({ width, height, values }: Grid, times: number): Grid {
  const wide = width * times;
  const tall = height * times;
  const result = new Float64Array(wide * tall);
  for (let y = 0; y < tall; ++y) {
    for (let x = 0; x < wide; ++x) {
      result[y * wide + x] = elementAt(values, Math.floor(y / times) * width + Math.floor(x / times));
    }
  }
  return { width: wide, height: tall, values: result };
}

/** Neumaier's compensated sum: the conserved total, accurate to rounding for any grid size. */
function total(values: ArrayLike<number>): number {
  let sum = 0;
  let lost = 0;
  for (let i = 0; i < values.length; ++i) {
    const value = elementAt(values, i);
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return sum + lost;
}

/**
 * Relative error of the device's result for one cosine mode after `steps` steps, with the grid and step size of the job, compared with the
 * scheme's exact factor. Checks every operation of the run against a known answer.
 */
async function modeError(job: HeatAdiJob, { width, height }: Grid, device: ItemContext['device']): Promise<number> {
  const [p, q, steps] = [Math.min(3, width - 1), Math.min(2, height - 1), 4];
  const base = { width, height, diffusivity: job.diffusivity, dt: job.dt, dx: job.dx, dy: job.dy ?? job.dx };
  const mode = new Float64Array(width * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      mode[y * width + x] = Math.cos((Math.PI * p * (x + 0.5)) / width) * Math.cos((Math.PI * q * (y + 0.5)) / height);
    }
  }
  const initial = job.precision === 'float32' ? Float32Array.from(mode) : mode;
  using heat = await HeatAdi.create({ ...base, initial, boundary: 'neumann', device });
  await heat.advance(steps);
  const after = await heat.read();
  const factor = HeatAdi.modeFactor(p, q, base) ** steps;
  let most = 0;
  for (let i = 0; i < mode.length; ++i) most = Math.max(most, Math.abs(elementAt(after, i) - factor * elementAt(mode, i)));
  return most;
}

const zarrName = 'result.zarr';

/** Kind of the checkpoints; to be changed whenever their contents change. */
const kind = 'heat-adi-job-2';

/** Identifies the run to which a checkpoint belongs. */
interface Belongs {
  /** The item's hash: a state with other parameters or inputs is never continued. */
  readonly hash: string;
  readonly precision: 'float32' | 'float64';
  readonly width: number;
  readonly height: number;
}

/** The step at which each picture is drawn, in order. */
const goalsOf = ({ steps, snapshots }: HeatAdiJob): number[] =>
  Array.from({ length: snapshots }, (_, i) => Math.round((steps * (i + 1)) / snapshots));

/** The format of an item's checkpoints. */
export function checkpointFormat(job: HeatAdiJob, own: Belongs): CheckpointFormat<Belongs> {
  const extent = whole(1, 2 ** 32 - 1);
  return {
    kind,
    parameters: record({
      hash: text(/^[0-9a-f]{64}$/), precision: choice(['float32', 'float64']), width: extent, height: extent,
    }),
    arrays: ({ precision, width, height }) => ({
      state: { type: precision === 'float32' ? 'Float32Array' : 'Float64Array', length: width * height },
    }),
    check({ parameters, step }, refuse) {
      if (parameters.hash !== own.hash) return; // from another run: not continued
      for (const field of ['precision', 'width', 'height'] as const) {
        if (parameters[field] !== own[field]) refuse(`parameters.${field}`, String(own[field]), String(parameters[field]));
      }
      if (step < 1 || !goalsOf(job).includes(step)) refuse('step', 'a step at which a picture is drawn', String(step));
    },
  };
}

/** The checkpoint to continue from; undefined if this item has none. */
async function saved(path: string, job: HeatAdiJob, own: Belongs, warn: ItemContext['warn']): Promise<Checkpoint<Belongs> | undefined> {
  try {
    const found = await loadCheckpoint(path, checkpointFormat(job, own),
      (error) => warn(`${error.message}. The previous checkpoint was used instead`));
    return found?.parameters.hash === own.hash ? found : undefined;
  } catch (error) {
    if (error instanceof ArgumentError && error.argument === 'path') return undefined; // from another kind of job
    throw error;
  }
}

/** Makes the item's result.zarr, or opens that of a run that goes on. */
async function seriesOf(folder: string, job: HeatAdiJob, grid: Grid, hash: string, goOn: boolean): Promise<FieldSeries> {
  const steps = [0, ...goalsOf(job)];
  const { diffusivity, dt, dx, dy = dx, boundary } = job;
  return FieldSeries.create(folder, {
    type: job.precision, zarrFormat: job.zarrFormat, compression: job.compression, fields: ['u'], steps,
    times: steps.map((step) => step * dt), axes: axesOf(job, grid).map(([name, places]) => [name, Float64Array.from(places)]),
    units: seriesUnits(job.units),
    attributes: { warploom: version, equation: 'heat', hash, parameters: { diffusivity, dt, dx, dy, boundary } },
  }, goOn);
}

const noDrawing: Awaited<ReturnType<typeof drawing>> = () => Promise.resolve();

/** Steps the equation, keeps and draws `snapshots` states; resumes from the last one if it was killed. */
export const heatAdiItem: ItemFunction<HeatAdiJob> = async (job, context) => {
  const { device, folder, signal, onProgress, show, hash } = context;
  const grid = enlarge(await readGrid(context.input(job.initial.file)), job.initial.enlarge);
  const { width, height } = grid;
  const cast = (values: Float64Array) => (job.precision === 'float32' ? Float32Array.from(values) : values);
  const parameters: Belongs = { hash, precision: job.precision, width, height };
  const checkpoint = join(folder, checkpointName);
  const zarrFolder = join(folder, zarrName);
  const hasSeries = (await groupAttributes(zarrFolder))?.['hash'] === hash; // the states before the checkpoint's
  const before = hasSeries ? await saved(checkpoint, job, parameters, context.warn) : undefined;
  if (before === undefined) await removeCheckpoints(checkpoint);
  let done = before?.step ?? 0;
  const initial = before === undefined ? cast(grid.values) : (before.arrays['state'] as Float32Array | Float64Array);

  const series = await seriesOf(zarrFolder, job, grid, hash, before !== undefined);
  const range = clippedRange(grid.values);
  const draw = job.pictures === false ? noDrawing : await drawing(job, grid, range, folder);
  const keep = async (index: number, step: number, values: Float32Array | Float64Array): Promise<void> => {
    await series.write('u', index, values);
    await draw(index, step, values);
    await series.flush(); // the checkpoint asserts that everything before it has been written
  };
  if (before === undefined) await keep(0, 0, initial);
  using heat = await HeatAdi.create({
    width, height, initial, diffusivity: job.diffusivity, dt: job.dt, dx: job.dx,
    ...(job.dy === undefined ? {} : { dy: job.dy }), boundary: job.boundary, device });
  if (before === undefined) show(() => ({ step: 0, time: 0, axes: axesOf(job, grid), fields: { u: initial } }));
  let state = initial;
  const stepped = job.steps - done;
  let seconds = 0;
  for (const [index, goal] of goalsOf(job).entries()) {
    if (goal <= done) continue;
    const offset = done;
    const start = performance.now();
    await heat.advance(goal - done, { signal, onProgress: (step) => onProgress(offset + step, job.steps) });
    state = await heat.read();
    seconds += (performance.now() - start) / 1000;
    done = goal;
    await keep(index + 1, goal, state);
    await writeCheckpoint(checkpoint, { kind, parameters, step: done, arrays: { state } });
    const u = state;
    show(() => ({ step: goal, time: goal * job.dt, axes: axesOf(job, grid), fields: { u } }));
  }
  await writeFileAtomic(join(folder, 'final.npy'), formatNpy({ type: job.precision, shape: [height, width], data: state }));
  const drift = job.boundary === 'dirichlet' ? NaN
    : Math.abs(total(state) - total(grid.values)) / total(grid.values.map(Math.abs));
  const pictures = Array.from({ length: job.snapshots + 1 }, (_, i) => pictureName(i)).filter((name) => isThere(join(folder, name)));
  return {
    summary: `${width} × ${height} heat, ${job.steps} ADI steps, ${job.precision}`,
    figures: {
      cells: width * height, steps: job.steps, seconds, secondsPerStep: seconds / Math.max(1, stepped),
      cellUpdatesPerSecond: (width * height * stepped) / Math.max(seconds, Number.MIN_VALUE),
      ...(Number.isNaN(drift) ? {} : { relativeDriftOfTotal: drift }),
    },
    accuracy: { value: await modeError(job, grid, device), meaning: 'error of an exact mode after 4 steps' },
    ...(job.pictures === false ? {} : { colours: coloursOf(range) }), files: [...pictures, zarrName, 'final.npy'],
    notes: job.pictures === false || pictures.length > 0 ? [] : [noPictures],
    failed: state.some((value: number) => !Number.isFinite(value)),
  };
};
