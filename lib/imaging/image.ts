// Images: what every function of the namespace takes and gives back.
import { describeValue, elementTypeOf } from '../core/arrays.ts';
import { requireFields, requireWhole } from '../core/checks.ts';
import { DeviceArray } from '../core/device-array.ts';
import type { Device } from '../core/device.ts';
import { ArgumentError, refusal } from '../core/errors.ts';

/** Arrays that hold pixels. */
export type Pixels = Float32Array | Float64Array | DeviceArray;

/** Extents of a grid of pixels or voxels. */
export interface GridSize {
  /** Pixels in x, which runs fastest. */
  readonly width: number;
  readonly height: number;
  /** Slices of a volume. Default 1: a two-dimensional image. */
  readonly depth?: number;
}

/**
 * An image or a volume: component c of the pixel (x, y, z) is `data[((c * depth + z) * height + y) * width + x]`.
 * Pixels are one unit apart in all computations.
 */
export interface Image<V extends Pixels = Pixels> extends GridSize {
  readonly data: V;
  /** Components of a pixel (colours, matrix entries), stored one plane after the other. Default 1. */
  readonly channels?: number;
}

/** An {@link Image} whose fields are checked and filled in. */
export interface CheckedImage<V extends Pixels = Pixels> {
  readonly data: V;
  readonly type: 'float32' | 'float64';
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  readonly channels: number;
  /** Pixels of one component. */
  readonly points: number;
}

const mostExtent = 2 ** 30;

/** Element type of pixels; refuses other arrays. */
export function pixelType(data: unknown, name: string): 'float32' | 'float64' {
  const type = data instanceof DeviceArray ? data.type : elementTypeOf(data);
  if (type === 'float32' || type === 'float64') return type;
  const received = data instanceof DeviceArray ? `a DeviceArray of ${data.type}` : describeValue(data);
  throw refusal(name, 'a Float32Array, a Float64Array or a DeviceArray of such', received);
}

/** Checks an image and fills in its defaults. `name` is the argument's, for messages. */
export function checkImage<V extends Pixels>(image: Image<V>, name: string): CheckedImage<V> {
  requireFields(image, ['data', 'width', 'height', 'depth', 'channels'], name, 'an image');
  const { data, width, height, depth = 1, channels = 1 } = image;
  for (const [key, value] of Object.entries({ width, height, depth, channels })) {
    if (value === undefined) throw refusal(`${name}.${key}`, 'a whole number', 'undefined');
    requireWhole(value, `${name}.${key}`, 1, mostExtent);
  }
  const type = pixelType(data, `${name}.data`);
  const points = width * height * depth;
  if (data.length !== points * channels) {
    throw refusal(`${name}.data`, `width * height * depth * channels = ${points * channels} elements`, `${data.length}`);
  }
  return { data, type, width, height, depth, channels, points };
}

/** Refuses `other` unless it has the type, grid and (unless `channels` is false) the components of `image`. */
export function requireAlike(other: CheckedImage, image: CheckedImage, name: string, channels = true): void {
  if (other.type !== image.type) throw refusal(`${name}.data`, `${image.type} elements`, other.type);
  for (const key of ['width', 'height', 'depth', ...(channels ? ['channels' as const] : [])] as const) {
    if (other[key] !== image[key]) throw refusal(`${name}.${key}`, `${image[key]}`, `${other[key]}`);
  }
}

/** The device of a call: that of the option, else of the device arrays among `arrays`; refuses arrays of two devices. */
export function deviceOfCall(option: Device | undefined, arrays: readonly unknown[]): Device | undefined {
  let device = option;
  for (const array of arrays) {
    if (!(array instanceof DeviceArray)) continue;
    device ??= array.device;
    if (array.device !== device) throw new ArgumentError('device', 'expected every device array on the device of the call');
  }
  return device;
}

/** A buffer as an operation takes it. */
export function viewOf(data: Pixels) {
  return { data, offset: 0, systemStride: 0, rowStride: 1, rhsStride: 0 };
}
