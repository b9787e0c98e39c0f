// imaging.segment: two regions by active contours without edges.
import { describeValue, holds, isObject, typedCopy } from '../core/arrays.ts';
import { deviceFor, requireOut } from '../core/call.ts';
import { anything, choice, positive } from '../core/checks.ts';
import { DeviceArray, inputArray } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import { elementAt } from '../core/known.ts';
import { normally, optionsOf } from '../core/options.ts';
import { checkImage, relativeSpacing, type CheckedImage, type Image, type Pixels } from '../files/image.ts';
import { checkMask, hideOutside, hostPixels, placed } from './mask.ts';
import { realImage, type SampleImage } from '../files/samples.ts';
import { segmentInChunks } from './segment-call.ts';
import { segmentOptions, type SegmentCall, type SegmentOptions, type SegmentResult, type TakenSegmentOptions } from './segment-options.ts';

function optionsFrom<V extends Pixels>(given: SegmentOptions<V>): TakenSegmentOptions<V> {
  if (isObject(given) && 'contours' in given) {
    throw refusal('contours', 'no such option: contours are traced by `await result.contours()`', describeValue(given.contours));
  }
  return segmentOptions.read(given);
}

function checkWeights(weights: unknown, channels: number): void {
  if (weights === undefined) return;
  const numbers = Array.isArray(weights) || ArrayBuffer.isView(weights) ? Array.from(weights as unknown as ArrayLike<unknown>) : [];
  const fits = (weight: unknown) => typeof weight === 'number' && weight >= 0 && weight <= 1e6;
  const good = numbers.length === channels && numbers.every(fits);
  if (!good) throw refusal('weights', `${channels} numbers from 0 to 1e6, one per channel`, describeValue(weights));
}

/** Coordinates of a point, one per axis. */
function requirePoint(value: unknown, name: string, axes: number): readonly number[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.length !== axes || !value.every(Number.isFinite)) {
    throw refusal(name, `${axes} finite numbers, x first`, describeValue(value));
  }
  return value as number[];
}

const corner = (letters: readonly string[], point: readonly number[]): Record<string, number> =>
  Object.fromEntries(point.map((value, axis) => [elementAt(letters, axis), value]));

const kind = choice(['checkerboard', 'ball', 'box'] as const);
const shapes = {
  checkerboard: optionsOf('a checkerboard', { kind, square: normally(positive, 5) }),
  ball: optionsOf('a ball', { kind, centre: anything, radius: positive }),
  box: optionsOf('a box', { kind, low: anything, high: anything }),
};

/** The fields of the operation for a shape. */
function shapeFields(
  shape: { readonly kind: keyof typeof shapes } & Record<string, unknown>, image: CheckedImage,
): Record<string, unknown> {
  kind(shape.kind, 'initial.kind');
  const fields: Record<string, unknown> = shapes[shape.kind].read(shape, 'initial');
  const sides = [image.width, image.height, ...(image.depth > 1 ? [image.depth] : [])];
  if (shape.kind === 'checkerboard') return { initial: 'checkerboard', square: fields['square'] };
  if (shape.kind === 'ball') {
    const centre = requirePoint(fields['centre'], 'initial.centre', sides.length) ?? sides.map((side) => (side - 1) / 2);
    const distances = relativeSpacing(image);
    const shortest = Math.min(...sides.map((side, axis) => side * elementAt(distances, axis)));
    return { initial: 'ball', radius: fields['radius'] ?? Math.max(0.5, shortest / 3), ...corner(['x0', 'y0', 'z0'], centre) };
  }
  const low = requirePoint(fields['low'], 'initial.low', sides.length) ?? sides.map((side) => (side - 1) / 4);
  const high = requirePoint(fields['high'], 'initial.high', sides.length) ?? sides.map((side) => (3 * (side - 1)) / 4);
  return { initial: 'box', ...corner(['x0', 'y0', 'z0'], low), ...corner(['x1', 'y1', 'z1'], high) };
}

function checkInitial(initial: unknown, image: CheckedImage): Pick<SegmentCall, 'initial' | 'given'> {
  if (ArrayBuffer.isView(initial) || initial instanceof DeviceArray) {
    requireOut(initial, image.type, image.points, 'initial');
    return { initial: { initial: 'given' }, given: initial as Pixels };
  }
  if (typeof initial === 'string') return { initial: shapeFields({ kind: initial as keyof typeof shapes }, image), given: undefined };
  if (typeof initial !== 'object' || initial === null || Array.isArray(initial)) {
    throw refusal('initial', 'a level set or a shape', describeValue(initial));
  }
  return { initial: shapeFields(initial as { kind: keyof typeof shapes }, image), given: undefined };
}

const outFields = optionsOf('out', { levelSet: anything, mask: anything });

function checkOut(out: SegmentOptions['out'], image: CheckedImage): void {
  if (out === undefined) return;
  outFields.read(out, 'out');
  requireOut(out.levelSet, image.type, image.points, 'out.levelSet');
  const mask: unknown = out.mask;
  if (mask === undefined) return;
  const fits = holds(mask, 'uint8') || (mask instanceof DeviceArray && mask.type === 'uint8');
  if (!fits || (mask as Uint8Array).length !== image.points) throw refusal('out.mask', `${image.points} bytes`, describeValue(mask));
}

/** Options that later chunks read, as they are at the call. */
function takenOptions(options: TakenSegmentOptions): TakenSegmentOptions {
  const { weights, out } = options;
  return {
    ...options, ...(weights === undefined ? {} : { weights: [...weights] }), ...(out === undefined ? {} : { out: { ...out } }),
  };
}

/**
 * Divides an image or a volume into two regions that are as uniform as possible, with a short contour between them: minimises
 * mu × length + nu × area inside + Σ over the channels of weight × (lambda1 ∫ inside (f - c1)² + lambda2 ∫ outside (f - c2)²)
 * by gradient descent on a level set (Chan and Vese 2001; the semi-implicit step after Getreuer 2012, for all points at once).
 * Lengths, the level set's among them, count in units of the smallest `spacing` of the image, areas and volumes in pixels.
 *
 * Images of 8 and 16 bits are taken too: unsigned ones are computed as 0 to 1, signed ones as they are.
 *
 * Pixels with a value that is not finite (in any channel) have no data: only the curvature and nu act there, and they do not count
 * in any mean. `inside` may be the bright region or the dark one, depending on the initial contour. Results have the same bits on
 * every backend, with every variant and number of threads. docs/imaging-segment.md has the formulas.
 *
 * @example
 * const found = await imaging.segment({ data, width: 512, height: 512 }, { mu: 0.1 });
 * draw(found.mask, await found.contours());
 *
 * @throws ArgumentError (`ERR_WARPLOOM_INVALID_ARGUMENT`) naming the argument, before any work; `ERR_WARPLOOM_UNSUPPORTED` for a variant
 *   that the device or the image does not go with; `ERR_WARPLOOM_OUT_OF_MEMORY`; `ERR_WARPLOOM_DEVICE_LOST`. Aborted calls reject
 *   with `signal.reason`.
 */
export function segment<V extends Pixels>(image: Image<V>, given?: SegmentOptions<V>): Promise<SegmentResult<V>>;
export function segment(image: SampleImage, given?: SegmentOptions<Float32Array>): Promise<SegmentResult<Float32Array>>;
export async function segment(image: Image | SampleImage, given: SegmentOptions = {}): Promise<unknown> {
  const options = optionsFrom(given);
  const checked = checkImage(realImage(image), 'image');
  const inside = checkMask(options.mask, checked);
  checkWeights(options.weights, checked.channels);
  const start = checkInitial(options.initial, checked);
  checkOut(options.out, checked);
  const arrays = [checked.data, start.given, options.out?.levelSet, options.out?.mask];
  const device = deviceFor(options, arrays);
  const call = { device, image: checked, options: takenOptions(options), ...start };
  return inside === undefined ? await segmentInChunks(call) : await segmentInside(call, inside);
}

/** Segments where a mask says: pixels outside have no data, and are outside the result. */
async function segmentInside(call: SegmentCall, inside: Uint8Array): Promise<SegmentResult> {
  const { device, image, given, options: { signal } } = call;
  const first = given instanceof DeviceArray ? inputArray(device, given) as Pixels : given === undefined ? given : typedCopy(given);
  const hidden = await hostPixels(image.data, signal);
  hideOutside(hidden, inside);
  const data = placed(device, image.data, hidden);
  try {
    const result = await segmentInChunks({ ...call, image: { ...image, data }, given: first });
    const mask: unknown = result.mask;
    const found = mask instanceof DeviceArray ? await mask.read(undefined, 0, { signal }) as Uint8Array : mask as Uint8Array;
    for (let i = 0; i < found.length; i += 1) if (inside[i] === 0) found[i] = 0;
    if (mask instanceof DeviceArray) await mask.write(found);
    return result;
  } finally {
    for (const array of [data, first]) if (array instanceof DeviceArray) array.dispose();
  }
}
