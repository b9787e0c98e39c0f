// Noise for tests and examples: a pure function of seed and pixel, the same in every run and for every size.
import { isReal, makeFloat64 } from '../core/arrays.ts';
import { choice, number, requireCount, whole } from '../core/checks.ts';
import { refusal } from '../core/errors.ts';
import { required } from '../core/known.ts';
import { normally, optionsOf, type ChecksOf } from '../core/options.ts';
import { checkImage, shownImage, type Image } from '../files/image.ts';

/** Options of {@link addNoise}. */
export interface NoiseOptions {
  /**
   * `gaussian` (default): adds normal numbers; `impulsive`: sets a fraction of the pixels to 0 or 1, like dead and hot pixels of a
   * camera ("salt and pepper").
   */
  readonly kind?: 'gaussian' | 'impulsive';
  /** Standard deviation of Gaussian noise, in the unit of the pixels. Default 0.1. */
  readonly sigma?: number;
  /** Fraction of the pixels that impulse noise replaces, 0 to 1. Default 0.1. */
  readonly amount?: number;
  /** Whole number, at least 0; different seeds give different noise. Default 0. */
  readonly seed?: number;
}

/** A finalizer of 32 bits: every bit of the input changes every bit of the output with probability close to one half. */
function mix(word: number): number {
  let h = word | 0;
  h = Math.imul(h ^ (h >>> 16), 0x21f0aaad);
  h = Math.imul(h ^ (h >>> 15), 0x735a2d97);
  return (h ^ (h >>> 15)) >>> 0;
}

/** The word `lane` of pixel `index`: 32 bits that look random. */
function wordOf(index: number, lane: number, key: number): number {
  const low = mix((index >>> 0) ^ key);
  const high = Math.floor(index / 2 ** 32);
  return mix(low + Math.imul(high, 0x9e3779b9) + Math.imul(lane + 1, 0x85ebca6b));
}

/** Uniform in (0, 1): never an end. */
const uniform = (index: number, lane: number, key: number): number => (wordOf(index, lane, key) + 0.5) / 2 ** 32;

const seeds = whole(0, 2 ** 32 - 1);
const keyOf = (seed: number): number => mix(seed + 0x51ed270b);

const noiseOptions = optionsOf('addNoise', {
  kind: normally(choice(['gaussian', 'impulsive'] as const), 'gaussian'), sigma: normally(number({ least: 0 }), 0.1),
  amount: normally(number({ least: 0, most: 1 }), 0.1), seed: normally(seeds, 0),
} satisfies ChecksOf<NoiseOptions>);

/**
 * `count` standard normal numbers, number i a function of `seed` and i alone (Box and Muller 1958 on hashed counters).
 *
 * @throws ArgumentError naming `count` or `seed`; OutOfMemoryError if JavaScript cannot make such an array
 */
export function normalNumbers(count: number, seed = 0): Float64Array {
  requireCount(count, 'count', 0, 2 ** 40);
  seeds(seed, 'seed');
  const key = keyOf(seed);
  const numbers = makeFloat64(count);
  for (let i = 0; i < count; i += 1) {
    numbers[i] = Math.sqrt(-2 * Math.log(uniform(i, 0, key))) * Math.cos(2 * Math.PI * uniform(i, 1, key));
  }
  return numbers;
}

/**
 * A copy of an image with noise. The pixel at index i of `data` gets the same noise in every run.
 *
 * @throws ArgumentError naming the option
 */
export function addNoise<V extends Float32Array | Float64Array>(image: Image<V>, options: NoiseOptions = {}): Image<V> {
  const { kind, sigma, amount, seed } = noiseOptions.read(options);
  const { data } = checkImage(image, 'image');
  const key = keyOf(seed);
  if (!isReal(data)) throw refusal('image.data', 'a typed array', 'a DeviceArray');
  const noisy = data.slice() as V;
  if (kind === 'gaussian') {
    const normal = normalNumbers(data.length, seed);
    for (let i = 0; i < noisy.length; i += 1) noisy[i] = required(noisy[i]) + sigma * required(normal[i]);
  } else {
    for (let i = 0; i < noisy.length; i += 1) if (uniform(i, 2, key) < amount) noisy[i] = wordOf(i, 3, key) >>> 31;
  }
  return shownImage({ ...image, data: noisy });
}
