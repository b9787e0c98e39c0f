// How segment calls its operation: once, or in chunks of iterations where the caller wants to hear of progress.
import { makeResult } from '../core/arrays.ts';
import { newReals, viewOf, withResults } from '../core/call.ts';
import { abortSignal, anything } from '../core/checks.ts';
import { DeviceArray, inputArray, resultArray, type RunResult } from '../core/device.ts';
import { briefly } from '../core/display.ts';
import { lastOf } from '../core/known.ts';
import type { Reports } from '../core/operations.gen.ts';
import { optionsOf, type ChecksOf } from '../core/options.ts';
import { statusOf } from './status.ts';
import { contourRingsInTurns, type ContourOptions } from './contour.ts';
import { spacingFields, type CheckedImage, type Pixels } from '../files/image.ts';
import { segmentParameters, type SegmentCall, type SegmentResult } from './segment-options.ts';

/** Seconds that a chunk should take: a few reports a second. */
const chunkSeconds = 0.2;

/** One run of the operation. */
type Run = RunResult<Reports['imaging.segment']>;

/** What one run begins with and where it writes. */
interface Arrays {
  readonly image: Pixels;
  readonly given: Pixels | undefined;
  readonly levelSet: Pixels;
  readonly mask: Uint8Array | DeviceArray;
}

function lcm(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y !== 0) [x, y] = [y, x % y];
  return (a / x) * b;
}

const coefficientNames = Object.keys(segmentParameters) as (keyof typeof segmentParameters)[];

async function runOnce(call: SegmentCall, arrays: Arrays, iterations: number, energyEvery: number): Promise<Run> {
  const { image, options, initial, device } = call;
  const { width, height, depth, channels, type } = image;
  const coefficients = Object.fromEntries(coefficientNames.map((name) => [name, options[name]]));
  return device.run('imaging.segment', {
    type, width, height, depth, ...spacingFields(image), channels, ...coefficients, iterations, energyEvery,
    ...(arrays.given === undefined ? initial : { initial: 'given', given: viewOf(arrays.given) }),
    image: viewOf(arrays.image), levelSet: viewOf(arrays.levelSet), mask: arrays.mask,
    ...(options.weights === undefined ? {} : { weights: Float64Array.from(options.weights) }),
  }, { signal: options.signal });
}

/** The energies of a run, `before` iterations having been made already. */
function entriesOf({ report }: Run, before: number): { iteration: number; energy: number }[] {
  return [...report.history].map(({ iteration, energy }) => ({ iteration: before + iteration, energy }));
}

/**
 * Runs in chunks of whole multiples of `unit` iterations, on arrays of the device, and reports after each. A chunk continues from
 * the level set of the last one and finds exactly the sums it ended with: the bits are those of a single run.
 */
async function runChunks(call: SegmentCall, arrays: Arrays, iterations: number, energyEvery: number) {
  const { options } = call;
  const unit = lcm(Math.max(1, energyEvery), Math.max(1, options.reinitializeEvery));
  const history: { iteration: number; energy: number }[] = [];
  let [done, chunk, deviceSeconds, given] = [0, unit, 0, arrays.given];
  for (;;) {
    const count = Math.min(chunk, iterations - done);
    const run = await runOnce(call, { ...arrays, given }, count, energyEvery);
    const entries = entriesOf(run, done);
    // Each chunk after the first begins with the energy that the one before ended with, which counts only where it falls due.
    history.push(...(done === 0 ? entries : entries.slice(1)));
    const { energy, change, converged } = run.report;
    done += run.report.iterations;
    deviceSeconds += run.deviceSeconds;
    options.onProgress?.(done, iterations, { energy, change });
    if (done >= iterations || converged) return { run: { ...run, deviceSeconds }, history, done };
    if (run.deviceSeconds < chunkSeconds) chunk *= 2;
    given = arrays.levelSet;
    const last = lastOf(history);
    if (energyEvery === 0 || last.iteration % energyEvery !== 0) history.pop();
    await new Promise((settle) => setImmediate(settle));
  }
}

/** The arrays of a call on the device, as they are at the call: where it runs in chunks, typed arrays would travel with each. */
function onDevice(call: SegmentCall, arrays: Arrays, temporary: DeviceArray[]): Arrays {
  const { device, image: { type, points } } = call;
  const keep = (array: DeviceArray) => {
    temporary.push(array);
    return array;
  };
  const { image, given, levelSet, mask } = arrays;
  return {
    image: keep(inputArray(device, image)), given: given === undefined ? undefined : keep(inputArray(device, given)),
    levelSet: levelSet instanceof DeviceArray ? levelSet : keep(resultArray(device, type, points)),
    mask: mask instanceof DeviceArray ? mask : keep(resultArray(device, 'uint8', points)),
  };
}

async function runWhole(call: SegmentCall, arrays: Arrays) {
  const { iterations, energyEvery, onProgress } = call.options;
  if (onProgress === undefined) {
    const run = await runOnce(call, arrays, iterations, energyEvery);
    return { run, history: entriesOf(run, 0), done: run.report.iterations };
  }
  const temporary: DeviceArray[] = [];
  try {
    const placed = onDevice(call, arrays, temporary);
    const result = await runChunks(call, placed, iterations, energyEvery);
    if (!(arrays.levelSet instanceof DeviceArray)) await (placed.levelSet as DeviceArray).read(arrays.levelSet);
    if (!(arrays.mask instanceof DeviceArray)) await (placed.mask as DeviceArray).read(arrays.mask);
    return result;
  } finally {
    for (const array of temporary) array.dispose();
  }
}

const contoursOptions = optionsOf('contours', {
  level: anything, slice: anything, signal: abortSignal, // by contourRings
} satisfies ChecksOf<ContourOptions & { readonly signal?: AbortSignal }>);

/** {@link SegmentResult.contours} of a result. */
function contoursOf({ width, height, depth }: CheckedImage, levelSet: Pixels): SegmentResult['contours'] {
  return async (options = {}) => {
    const { signal, ...which } = contoursOptions.read(options);
    signal?.throwIfAborted();
    const data = levelSet instanceof DeviceArray ? await levelSet.read(undefined, 0, { signal }) : levelSet;
    return contourRingsInTurns({ data: data as Float32Array | Float64Array, width, height, depth }, which, signal);
  };
}

/** Runs a checked call. @internal */
export async function segmentInChunks(call: SegmentCall): Promise<SegmentResult> {
  const { device, image, given, options } = call;
  const { out } = options;
  const onIt = image.data instanceof DeviceArray;
  const made: Pixels[] = [];
  const levelSet = out?.levelSet ?? newReals(image.data, image.type, image.points, device);
  if (out?.levelSet === undefined) made.push(levelSet);
  const newMask = () => (onIt ? resultArray(device, 'uint8', image.points) : makeResult('uint8', image.points));
  const mask = (out?.mask ?? newMask()) as Uint8Array | DeviceArray;
  if (out?.mask === undefined && mask instanceof DeviceArray) made.push(mask);
  return await withResults(made, async () => {
    const { run: { deviceSeconds, report }, history, done } = await runWhole(call, { image: image.data, given, levelSet, mask });
    const { means, variant, converged, energy, change, inside } = report;
    const { tolerance } = options;
    return briefly('Segmented', {
      status: statusOf({ converged, iterations: done, measure: done > 0 ? change : NaN, tolerance }, 'root mean square of the last step',
        'raise iterations or tolerance, or raise mu for a smoother contour'),
      levelSet, mask: mask as never, history, iterations: done, converged,
      means: { inside: means.column('inside'), outside: means.column('outside') }, energy, change, inside,
      contours: contoursOf(image, levelSet), info: { backend: device.backend, deviceSeconds, type: image.type, variant },
    });
  });
}
