// The twelve benchmark programs: their files, shapes and random input, for tests and measurements.

/** One of the twelve. Counts are those of the graph as written, before any transformation. */
export interface BenchmarkProgram {
  /** File name without `.str`, and the row id of measurements. */
  readonly name: string;
  /** Name in the thesis of Udupa (2009). */
  readonly title: string;
  /** Filters of all kinds, those that would read the input and write the output among them. */
  readonly filters: number;
  readonly splittersAndJoiners: number;
  /** Filters that peek beyond what they pop. */
  readonly peeking: number;
  readonly stateful: number;
  /** Items per steady state. */
  readonly inputItems: number;
  readonly outputItems: number;
  /** Kind of the numbers that come in. */
  readonly input: 'int' | 'float' | 'bits' | 'coefficients' | 'macroblocks';
  readonly output: 'int' | 'float';
}

type Row = readonly [
  name: string, title: string, counts: readonly [number, number, number, number], items: readonly [number, number],
  input: BenchmarkProgram['input'], output: BenchmarkProgram['output'],
];

const rows: readonly Row[] = [
  ['bitonic', 'Bitonic', [26, 22, 0, 0], [8, 8], 'int', 'int'],
  ['bitonic-rec', 'BitonicRec', [34, 58, 0, 0], [8, 8], 'int', 'int'],
  ['channel-vocoder', 'ChannelVocoder', [53, 4, 34, 0], [50, 17], 'float', 'float'],
  ['dct', 'DCT', [36, 4, 0, 0], [256, 256], 'coefficients', 'int'],
  ['des', 'DES', [37, 16, 0, 0], [64, 64], 'bits', 'int'],
  ['fft-coarse', 'FFT-C', [24, 2, 0, 0], [256, 256], 'float', 'float'],
  ['fft-fine', 'FFT-F', [83, 38, 0, 0], [64, 64], 'float', 'float'],
  ['filterbank', 'Filterbank', [51, 2, 16, 0], [8, 8], 'float', 'float'],
  ['fm-radio', 'FMRadio', [45, 22, 22, 0], [5, 1], 'float', 'float'],
  ['matrix-mult', 'MatrixMult', [27, 14, 0, 0], [252, 108], 'float', 'float'],
  ['mpeg2-subset', 'MPEG2Subset', [29, 10, 0, 1], [403, 450], 'macroblocks', 'int'],
  ['tde', 'TDE', [29, 0, 0, 0], [1080, 1080], 'float', 'float'],
];

export const benchmarkPrograms: readonly BenchmarkProgram[] = rows.map(
  ([name, title, [filters, splittersAndJoiners, peeking, stateful], [inputItems, outputItems], input, output]) => (
    { name, title, filters, splittersAndJoiners, peeking, stateful, inputItems, outputItems, input, output }));

/** Integers of 0 to 32767: bits 16 to 30 of a linear congruential generator modulo 2^31 from a seed. */
export function randomIntegers(count: number, seed = 1): Int32Array {
  let state = seed;
  return Int32Array.from({ length: count }, () => {
    state = (Math.imul(1103515245, state) + 12345) & 0x7fffffff;
    return state >>> 16;
  });
}

/** Floats of -1 to 1, exact in single precision. */
export const randomFloats = (count: number, seed = 1): Float32Array => Float32Array.from(randomIntegers(count, seed), (x) => x / 16384 - 1);

/** Random input of so many items for a program: such as it would see, where not any number will do. */
export function randomInput(program: BenchmarkProgram, items: number, seed = 1): Int32Array | Float32Array {
  switch (program.input) {
    case 'float': return randomFloats(items, seed);
    case 'int': return randomIntegers(items, seed);
    case 'bits': return randomIntegers(items, seed).map((x) => (x >> 7) & 1);
    case 'coefficients': return randomIntegers(items, seed).map((x, i) => (i % 256 === 0 ? x % 4096 : (x % 601) - 300));
    case 'macroblocks': return macroblocks(items, seed);
  }
}

/** Coefficients as in pictures: large at low frequencies, mostly 0 at high ones, now and then one out of range; then vectors and flags. */
function macroblocks(items: number, seed: number): Int32Array {
  const draw = randomIntegers(items * 2, seed);
  return Int32Array.from({ length: items }, (_, i) => {
    const at = i % 403;
    const [a, b] = [draw[2 * i]!, draw[2 * i + 1]!];
    if (at < 384) {
      const k = at % 64;
      if (k === 0) return a % 256;
      const size = k === 5 ? 1200 : Math.floor(60 / (k + 1));
      return b % (k === 5 ? 7 : 3) === 0 || k < 5 ? (a % (2 * size + 1)) - size : 0;
    }
    if (at < 392) return (a % 33) - 16;
    if (at < 400) return a % 2;
    return at === 400 ? Number(a % 7 === 0) : a & 1;
  });
}
