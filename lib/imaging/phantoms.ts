// Generated images with known contents: what the quality of the operations is measured on.
import { makeFloat64, makeTypedArray } from '../core/arrays.ts';
import { choice, number, requireCount } from '../core/checks.ts';
import { briefly } from '../core/display.ts';
import { addAt, elementAt, required } from '../core/known.ts';
import { normally, optionsOf, type ChecksOf } from '../core/options.ts';
import { shownImage, type Image } from '../files/image.ts';

type Element = 'float32' | 'float64';
type ArrayOf<T extends Element> = T extends 'float64' ? Float64Array : Float32Array;

/** Options of a phantom. */
export interface PhantomOptions<T extends Element = Element> {
  /** Type of the pixels. Default float32. */
  readonly type?: T;
  /** 2 (default) or 3. */
  readonly dimensions?: 2 | 3;
}

function allocate<T extends Element>(type: T | undefined, length: number): ArrayOf<T> {
  return makeTypedArray(type ?? 'float32', length) as ArrayOf<T>;
}

const phantomChecks = {
  type: choice(['float32', 'float64'] as const), dimensions: normally(choice([2, 3] as const), 2),
} satisfies ChecksOf<PhantomOptions>;
const headOptions = optionsOf('sheppLogan', phantomChecks);
const discOptions = optionsOf('discs', phantomChecks);

function requireSize(size: unknown, dimensions: 2 | 3): void {
  requireCount(size, 'size', 1, dimensions === 3 ? 2048 : 2 ** 16);
}

/** An ellipsoid: contrast, half axes, centre, turn about z in degrees. */
type Ellipsoid = readonly [contrast: number, a: number, b: number, c: number, x: number, y: number, z: number, degrees: number];

/** The modified contrasts after Toft, in space; all turns about z. */
const inSpace: readonly Ellipsoid[] = [
  [1, 0.69, 0.92, 0.81, 0, 0, 0, 0],
  [-0.8, 0.6624, 0.874, 0.78, 0, -0.0184, 0, 0],
  [-0.2, 0.11, 0.31, 0.22, 0.22, 0, 0, -18],
  [-0.2, 0.16, 0.41, 0.28, -0.22, 0, 0, 18],
  [0.1, 0.21, 0.25, 0.41, 0, 0.35, -0.15, 0],
  [0.1, 0.046, 0.046, 0.05, 0, 0.1, 0.25, 0],
  [0.1, 0.046, 0.046, 0.05, 0, -0.1, 0.25, 0],
  [0.1, 0.046, 0.023, 0.05, -0.08, -0.605, 0, 0],
  [0.1, 0.023, 0.023, 0.02, 0, -0.606, 0, 0],
  [0.1, 0.023, 0.046, 0.02, 0.06, -0.605, 0, 0],
];
/** The classical ellipses in the plane, with the same contrasts. */
const inPlane: readonly Ellipsoid[] = inSpace.map(([contrast, a, b, c, x, y, , degrees]) => [contrast, a, b, c, x, y, 0, degrees]);

/**
 * The head phantom of Shepp and Logan (1974) with the modified contrasts of Toft (1996), values 0 to 1 on the cube [-1, 1]ⁿ,
 * pixel centres at (2i+1)/size - 1, y upwards with its index.
 *
 * @param size pixels of each side
 * @returns an image of size × size, or a volume of size × size × size with `dimensions: 3`
 * @throws ArgumentError naming the argument
 */
export function sheppLogan<T extends Element = 'float32'>(size: number, given: PhantomOptions<T> = {}): Image<ArrayOf<T>> {
  const options = headOptions.read(given);
  requireSize(size, options.dimensions);
  const depth = options.dimensions === 3 ? size : 1;
  const sum = makeFloat64(size * size * depth);
  const at = (i: number) => (2 * i + 1) / size - 1;
  for (const [contrast, a, b, c, x0, y0, z0, degrees] of depth > 1 || options.dimensions === 3 ? inSpace : inPlane) {
    const [cos, sin] = [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];
    for (let k = 0; k < depth; k += 1) {
      const z = options.dimensions === 3 ? (at(k) - z0) / c : 0;
      for (let j = 0; j < size; j += 1) {
        const y = at(j) - y0;
        for (let i = 0; i < size; i += 1) {
          const x = at(i) - x0;
          const [p, q] = [(cos * x + sin * y) / a, (cos * y - sin * x) / b];
          if (p * p + q * q + z * z <= 1) addAt(sum, (k * size + j) * size + i, contrast);
        }
      }
    }
  }
  const data = allocate(options.type, sum.length);
  // Contrasts such as -0.8 + 1 leave the last digit of a float64: to twelve digits the values are those meant.
  for (let i = 0; i < sum.length; i += 1) data[i] = Math.round(required(sum[i]) * 1e12) / 1e12 + 0;
  return shownImage({ data, width: size, height: size, ...(options.dimensions === 3 ? { depth } : {}) });
}

/** Discs (balls) on the unit square (cube): centre, radius, radius of the hole. */
const discList: readonly (readonly [x: number, y: number, z: number, radius: number, hole: number])[] = [
  [0.35, 0.36, 0.45, 0.25, 0.1], [0.72, 0.7, 0.5, 0.186, 0], [0.75, 0.24, 0.5, 0.06, 0],
];

/** Result of {@link discs}. */
export interface DiscPhantom<V extends Float32Array | Float64Array = Float32Array> {
  readonly image: Image<V>;
  /** 1 inside a disc, 0 elsewhere. */
  readonly mask: Uint8Array;
}

/**
 * Discs of brightness 0.8 on a background of 0.2: a large one with a hole, a medium one, and a small one. A pixel is inside if its
 * centre is.
 *
 * @param size pixels of each side; `dimensions: 3` gives balls
 * @throws ArgumentError naming the argument
 */
export function discs<T extends Element = 'float32'>(size: number, given: PhantomOptions<T> = {}): DiscPhantom<ArrayOf<T>> {
  const options = discOptions.read(given);
  requireSize(size, options.dimensions);
  const volume = options.dimensions === 3;
  const depth = volume ? size : 1;
  const mask = makeTypedArray('uint8', size * size * depth) as Uint8Array;
  for (let k = 0, index = 0; k < depth; k += 1) {
    for (let j = 0; j < size; j += 1) {
      for (let i = 0; i < size; i += 1, index += 1) {
        for (const [x, y, z, radius, hole] of discList) {
          const distance = Math.hypot((i + 0.5) / size - x, (j + 0.5) / size - y, volume ? (k + 0.5) / size - z : 0);
          if (distance < radius && distance >= hole) mask[index] = 1;
        }
      }
    }
  }
  const data = allocate(options.type, mask.length);
  for (let i = 0; i < mask.length; i += 1) data[i] = mask[i] === 1 ? 0.8 : 0.2;
  return briefly('DiscPhantom', { image: shownImage({ data, width: size, height: size, ...(volume ? { depth } : {}) }), mask });
}

/** Result of {@link registrationPair}. */
export interface RegistrationPair<V extends Float32Array | Float64Array = Float32Array> {
  readonly reference: Image<V>;
  /** Sampled at x + displacement(x), it is the reference. */
  readonly template: Image<V>;
  /** The exact displacement in pixels: components x, y (and z), one after the other. */
  readonly displacement: Image<V>;
  /** 1 where the object is, 0 in the empty border: where errors are counted. */
  readonly mask: Uint8Array;
}

/** Options of {@link registrationPair}. */
export interface RegistrationPairOptions<T extends Element = Element> extends PhantomOptions<T> {
  /** Largest displacement of a component, in pixels. Default size / 32. */
  readonly amplitude?: number;
}

/** A soft ellipse with two cosine textures on [-1, 1]ⁿ. */
function object(x: number, y: number, z: number): number {
  const radius = Math.sqrt((x / 0.72) ** 2 + (y / 0.6) ** 2 + (z / 0.66) ** 2);
  const body = 1 / (1 + Math.exp((radius - 1) / 0.035));
  const coarse = Math.cos(3.1 * Math.PI * x + 0.7) * Math.cos(2.6 * Math.PI * y - 0.4) * Math.cos(1.9 * Math.PI * z);
  const fine = Math.cos(7.1 * Math.PI * x - 1.1) * Math.cos(6.2 * Math.PI * y + 0.3) * Math.cos(3.7 * Math.PI * z + 0.2);
  return body * (0.52 + 0.26 * coarse + 0.2 * fine);
}

/** Component `axis` of the warp at a point of [-1, 1]ⁿ, at most 1 in size; smooth, and flat at the border of the domain. */
function warpOf(axis: number, p: readonly [number, number, number]): number {
  const wave = (t: number, waves: number) => Math.cos((Math.PI / 2) * waves * (t + 1));
  const [a, b, c] = [elementAt(p, axis), elementAt(p, (axis + 1) % 3), elementAt(p, (axis + 2) % 3)];
  if (axis === 0) return 0.55 * wave(b, 2) - 0.35 * wave(a, 1) * wave(b, 1);
  return axis === 1 ? 0.55 * wave(c, 2) + 0.3 * wave(a, 2) * wave(c, 1) : 0.5 * wave(b, 1) * wave(c, 1) - 0.5 * wave(a, 2);
}

const pairOptions = optionsOf('registrationPair', {
  ...phantomChecks, amplitude: number({ above: 0, most: 2 ** 16 }),
} satisfies ChecksOf<RegistrationPairOptions>);

/**
 * A pair for registration whose displacement is known exactly: the template is a formula, and the reference is that formula
 * evaluated at the displaced points (no interpolation is involved).
 *
 * @param size pixels of each side
 * @throws ArgumentError naming the argument
 */
export function registrationPair<T extends Element = 'float32'>(
  size: number, options: RegistrationPairOptions<T> = {},
): RegistrationPair<ArrayOf<T>> {
  const { amplitude = size / 32, type, dimensions } = pairOptions.read(options);
  requireSize(size, dimensions);
  const volume = dimensions === 3;
  const depth = volume ? size : 1;
  const axes = volume ? 3 : 2;
  const points = size * size * depth;
  const [fixed, moving, shift] = [allocate(type, points), allocate(type, points), allocate(type, axes * points)];
  const mask = makeTypedArray('uint8', points) as Uint8Array;
  const at = (i: number) => (2 * i + 1) / size - 1;
  for (let k = 0, index = 0; k < depth; k += 1) {
    for (let j = 0; j < size; j += 1) {
      for (let i = 0; i < size; i += 1, index += 1) {
        const p: [number, number, number] = [at(i), at(j), volume ? at(k) : 0];
        const there: [number, number, number] = [...p];
        for (let axis = 0; axis < axes; axis += 1) {
          shift[axis * points + index] = amplitude * warpOf(axis, p);
          addAt(there, axis, (2 / size) * required(shift[axis * points + index]));
        }
        moving[index] = object(...p);
        fixed[index] = object(...there);
        mask[index] = required(fixed[index]) > 0.1 ? 1 : 0;
      }
    }
  }
  const shape = { width: size, height: size, ...(volume ? { depth } : {}) };
  return briefly('RegistrationPair', {
    reference: shownImage({ data: fixed, ...shape }), template: shownImage({ data: moving, ...shape }),
    displacement: shownImage({ data: shift, ...shape, channels: axes }), mask,
  });
}
