// Images, as taken and returned by every function of the namespace.
import { types } from 'node:util';
import { describeValue } from '../core/arrays.ts';
import { requireReals, type Reals, type RealType } from '../core/call.ts';
import { anything, whole } from '../core/checks.ts';
import { DeviceArray } from '../core/device.ts';
import { displayed, type MimeBundle } from '../core/display.ts';
import { refusal } from '../core/errors.ts';
import { needed, normally, optionsOf, type ChecksOf } from '../core/options.ts';

/** Arrays that hold pixels. */
export type Pixels = Reals;

/** Extents of a grid of pixels or voxels. */
export interface GridSize {
  /** Pixels in x, which runs fastest. */
  readonly width: number;
  readonly height: number;
  /** Slices of a volume. Default 1: a two-dimensional image. */
  readonly depth?: number;
}

/** Distances between adjacent pixels in x, y and (for volumes) z, in millimetres or any other unit. */
export type Spacing = readonly [x: number, y: number, z?: number];

/** An image or a volume: component c of the pixel (x, y, z) is `data[((c * depth + z) * height + y) * width + x]`. */
export interface Image<V extends Pixels = Pixels> extends GridSize {
  readonly data: V;
  /** Components of a pixel (colours, matrix entries), stored one plane after the other. Default 1. */
  readonly channels?: number;
  /**
   * Distances between adjacent pixels in x, y and z, 1e-9 to 1e9; {@link readImage} fills them in from files that state them, and results
   * pass them on. Default 1 each. Operations count lengths in units of the smallest one, so that options mean the same in images of
   * square pixels, however large these are, and a scan of 1 × 1 × 3 mm is not taken for cubes.
   */
  readonly spacing?: Spacing;
}

/** An {@link Image} whose fields are checked and filled in. */
export interface CheckedImage<V extends Pixels = Pixels> {
  readonly data: V;
  readonly type: RealType;
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  readonly channels: number;
  /** Pixels of one component. */
  readonly points: number;
  /** Undefined where the image has none. */
  readonly spacing: readonly [number, number, number] | undefined;
}

/** What a notebook shows of an image: its picture, or its slices. `range`: black and white; default: the smallest and the largest. */
export async function imageBundle({ data, ...size }: Image, range?: readonly [number, number]): Promise<MimeBundle> {
  const { rasterBundle } = await import('../pictures/shown.ts');
  return rasterBundle({ ...size, data: data instanceof DeviceArray ? await data.read() as Reals & ArrayLike<number> : data }, range);
}

/** One line for consoles. */
export function imageText({ data, width, height, depth = 1, channels = 1 }: Image): string {
  const kind = data instanceof DeviceArray ? `DeviceArray of ${data.type}` : data.constructor.name;
  const size = `${width} × ${height}${depth > 1 ? ` × ${depth}` : ''}${channels > 1 ? `, ${channels} channels` : ''}`;
  return `Image { ${size}, ${kind} }`;
}

/** An image that shows itself in notebooks, and in one line in consoles. */
export function shownImage<V extends Pixels>(image: Image<V>): Image<V> {
  return displayed(image, { text: () => imageText(image), bundle: () => imageBundle(image) });
}

const extent = whole(1, 2 ** 30);
const imageFields = optionsOf('an image', {
  data: anything, width: needed(extent), height: needed(extent), depth: normally(extent, 1), channels: normally(extent, 1),
  spacing: anything,
} satisfies ChecksOf<Image>, (defaults) => ({ ...defaults }));

/** A checked spacing with all three distances; undefined for none. */
export function checkSpacing(spacing: unknown, depth: number, name: string): readonly [number, number, number] | undefined {
  if (spacing === undefined) return undefined;
  const sides = depth > 1 ? 3 : 2;
  const given = Array.isArray(spacing) || types.isTypedArray(spacing) ? Array.from(spacing as ArrayLike<unknown>) : [];
  const fits = (each: unknown): boolean => typeof each === 'number' && each >= 1e-9 && each <= 1e9;
  if (given.length < sides || given.length > 3 || !given.every(fits)) {
    throw refusal(name, `${sides} distances from 1e-9 to 1e9, x first`, describeValue(spacing));
  }
  const [x, y, z = 1] = given as number[];
  return [x as number, y as number, z];
}

/** The fields of a spacing that operations take. */
export function spacingFields({ spacing }: { readonly spacing?: readonly [number, number, number] | undefined }): Record<string, number> {
  return spacing === undefined ? {} : { spacingX: spacing[0], spacingY: spacing[1], spacingZ: spacing[2] };
}

/** The spacing of an image as the field of another one: none if it has none. */
export function spacingOf({ spacing }: { readonly spacing?: Spacing | undefined }): { readonly spacing?: Spacing } {
  return spacing === undefined ? {} : { spacing };
}

/** Distances along the axes in units of the smallest of those along axes with several pixels. */
export function relativeSpacing(
  { spacing = [1, 1, 1], width, height, depth }: Pick<CheckedImage, 'spacing' | 'width' | 'height' | 'depth'>,
): [number, number, number] {
  const extents = [width, height, depth];
  const unit = Math.min(...spacing.filter((_, axis) => (extents[axis] ?? 1) > 1));
  const [x = 1, y = 1, z = 1] = spacing.map((each, axis) => ((extents[axis] ?? 1) > 1 ? each / unit : 1));
  return [x, y, z];
}

/** Checks an image and fills in its defaults. `name` is the argument's, for messages. */
export function checkImage<V extends Pixels>(image: Image<V>, name: string): CheckedImage<V> {
  const { data, width, height, depth, channels, spacing } = imageFields.read(image, name);
  if (!(data instanceof DeviceArray || types.isTypedArray(data))) { // nor an imitation of one
    throw refusal(`${name}.data`, 'a Float32Array, a Float64Array or a DeviceArray of such', describeValue(data));
  }
  const type = requireReals(data, `${name}.data`);
  const points = width * height * depth;
  if (data.length !== points * channels) {
    throw refusal(`${name}.data`, `width * height * depth * channels = ${points * channels} elements`, `${data.length}`);
  }
  return { data, type, width, height, depth, channels, points, spacing: checkSpacing(spacing, depth, `${name}.spacing`) };
}

/** Rejects `other` unless it has the type, grid and (unless `channels` is false) the components of `image`. */
export function requireAlike(other: CheckedImage, image: CheckedImage, name: string, channels = true): void {
  if (other.type !== image.type) throw refusal(`${name}.data`, `${image.type} elements`, other.type);
  for (const key of ['width', 'height', 'depth', ...(channels ? ['channels' as const] : [])] as const) {
    if (other[key] !== image[key]) throw refusal(`${name}.${key}`, `${image[key]}`, `${other[key]}`);
  }
}
