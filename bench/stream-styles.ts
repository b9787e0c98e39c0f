// Programs in the style in which StreamIt is mostly written, beside the twelve of examples/stream, which are written with care: work
// functions that take whole arrays in and give whole arrays out, loops over peek(i), local arrays, nothing unrolled by hand. Rows:
//   stream/style/<program>/baseline, cpp1, wasm1   as those of the twelve
//   stream/style/<program>/cpp1-over-baseline, wasm1-over-baseline
//   stream/style/all/…                           geometric means
// Goals: wasm1 reaches 0.8 of the baseline, and DES in C++ 2 (bench/goals.json).
// The expected outputs are computed here by other means: sums of the definitions in doubles, and OpenSSL's DES.
import { createCipheriv } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomFloats, randomIntegers } from '../examples/stream/programs.ts';
import { packageRoot } from '../lib/core/binding.ts';

/** A program of bench/stream-styles. */
export interface StyleProgram {
  readonly name: string;
  /** Items per steady state. */
  readonly inputItems: number;
  readonly outputItems: number;
  /** Random input of so many items. */
  readonly input: (items: number) => Int32Array | Float32Array;
  /** What comes out, by other means. */
  readonly expected: (input: ArrayLike<number>) => number[];
  /** Largest difference from `expected`, relative to its largest number. */
  readonly tolerance: number;
}

type Complex = readonly [real: number, imaginary: number];
const times = ([a, b]: Complex, [c, d]: Complex): Complex => [a * c - b * d, a * d + b * c];
const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** By definition, in doubles. */
function transform(x: readonly Complex[]): Complex[] {
  const n = x.length;
  return range(n).map((k) => x.reduce<Complex>(([real, imaginary], each, i) => {
    const angle = -2 * Math.PI * ((i * k) % n) / n;
    const [a, b] = times(each, [Math.cos(angle), Math.sin(angle)]);
    return [real + a, imaginary + b];
  }, [0, 0]));
}

/** Blocks of so many numbers. */
function blocksOf(numbers: ArrayLike<number>, size: number): number[][] {
  const all = Array.from(numbers);
  return range(Math.floor(all.length / size)).map((i) => all.slice(size * i, size * i + size));
}

const pairs = (numbers: readonly number[]): Complex[] => range(numbers.length / 2).map((i) => [numbers[2 * i]!, numbers[2 * i + 1]!]);

/** The three taps of the equaliser, run over the samples of each channel. */
function equalised(block: readonly number[]): number[] {
  const [samples, channels] = [36, 15];
  const taps: readonly Complex[] = [[0.25, -0.0625], [0.75, 0.125], [-0.125, 0.5]];
  const x = pairs(block);
  return range(samples).flatMap((sample) => range(channels).flatMap((channel) => taps.reduce<Complex>(([real, imaginary], tap, i) => {
    if (sample < i) return [real, imaginary];
    const [a, b] = times(x[(sample - i) * channels + channel]!, tap);
    return [real + a, imaginary + b];
  }, [0, 0])));
}

function inverseCosines(block: readonly number[]): number[] {
  const c = (x: number, u: number): number => (u === 0 ? Math.SQRT1_2 : 1) / 2 * Math.cos(Math.PI * u * (2 * x + 1) / 16);
  return range(64).map((at) => range(64).reduce((sum, from) =>
    sum + block[from]! * c(at >> 3, from >> 3) * c(at & 7, from & 7), 0));
}

/** By OpenSSL: three times the same key is one DES. */
function enciphered(bits: ArrayLike<number>): number[] {
  const bytes = blocksOf(bits, 8).map((each) => each.reduce((byte, bit) => 2 * byte + bit, 0));
  const key = Buffer.from('133457799BBCDFF1', 'hex');
  const cipher = createCipheriv('des-ede3-ecb', Buffer.concat([key, key, key]), null).setAutoPadding(false);
  const made = Buffer.concat([cipher.update(Buffer.from(bytes)), cipher.final()]);
  return [...made].flatMap((byte) => range(8).map((i) => (byte >> (7 - i)) & 1));
}

export const stylePrograms: readonly StyleProgram[] = [
  { name: 'fft', inputItems: 128, outputItems: 128, input: randomFloats, tolerance: 1e-6,
    expected: (input) => blocksOf(input, 128).flatMap((block) => transform(pairs(block)).flat()) },
  { name: 'tde', inputItems: 1080, outputItems: 1080, input: randomFloats, tolerance: 1e-6,
    expected: (input) => blocksOf(input, 1080).flatMap(equalised) },
  { name: 'dct', inputItems: 64, outputItems: 64, input: randomFloats, tolerance: 1e-6,
    expected: (input) => blocksOf(input, 64).flatMap(inverseCosines) },
  { name: 'des', inputItems: 64, outputItems: 64, input: (items) => randomIntegers(items).map((x) => (x >> 7) & 1), tolerance: 0,
    expected: enciphered },
];

/** The text of a program of bench/stream-styles. */
export function styleText(name: string): Promise<string> {
  return readFile(join(packageRoot(), 'bench/stream-styles', `${name}.str`), 'utf8');
}
