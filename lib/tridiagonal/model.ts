// The paper's cost model of register packing: Davidson, Owens, "Register Packing for Cyclic Reduction"
// (2011), section 6.1, equations 1-3 and Table 1.
import { describeValue } from '../core/arrays.ts';
import { anything, choice, isArray, number, requireRange, whole } from '../core/checks.ts';
import { refusal } from '../core/errors.ts';
import { needed, nested, normally, optionsOf, type ChecksOf } from '../core/options.ts';
import { record } from '../core/shapes.ts';
import { modelTable } from './model-table.ts';
import type { ModelCoefficients } from './types.ts';

/** Options of {@link model}. */
export interface ModelOptions {
  /** Unknowns per system. */
  readonly size: number;
  /** Rows per thread. */
  readonly depth: number;
  /** Default `float32`, the paper's. */
  readonly type?: 'float32' | 'float64';
  /** `paper` (default), or an architecture of the table, as `sm_90`. */
  readonly architecture?: string;
  /** Used instead of the table. */
  readonly coefficients?: Omit<ModelCoefficients, 'source'>;
}

/** Prediction for one block, which solves one system. */
export interface ModelPrediction {
  /** ceil(size / depth). */
  readonly threads: number;
  /** Equation 1: alpha + beta * depth. */
  readonly registersPerThread: number;
  /** Equation 2: (gamma + gammaPerRow * depth) * threads. */
  readonly sharedBytesPerBlock: number;
  /** Equation 3: lambda * threads. */
  readonly sharedTrafficBytesPerStage: number;
  /** Stages inside registers, log2(depth); the rest, log2(threads), runs across threads. */
  readonly packedStages: number;
  readonly threadStages: number;
}

/**
 * The paper's coefficients: alpha and beta from section 6.2, gamma from Table 1 (2.5 KB for 128 threads),
 * lambda one set (a, b, c, d) of float32 handed to the neighbour per stage (section 6.1, Fig. 4).
 */
export const paperCoefficients: ModelCoefficients = {
  alpha: 15, beta: 4, gamma: 20, lambda: 16, source: 'Davidson and Owens 2011, GTX 460, CUDA 3.1',
};

const precision = choice(['float32', 'float64'] as const);
const real = number();
const coefficientFields = optionsOf('coefficients', {
  alpha: needed(real), beta: needed(real), gamma: needed(real), gammaPerRow: real, lambda: needed(real), source: anything,
} satisfies ChecksOf<ModelCoefficients>);
const modelOptions = optionsOf('model', {
  size: needed(whole(1)), depth: needed(whole(1)), type: normally(precision, 'float32'), architecture: normally(anything, 'paper' as never),
  coefficients: nested(coefficientFields),
} satisfies ChecksOf<ModelOptions>);
const sampleRecord = record({ depth: number({ above: 0 }), registersPerThread: number({ least: 0 }) });

/**
 * Coefficients of an architecture and type, as fitted by `npm run bench -- tridiagonal --table1 --write`.
 * @throws ArgumentError for an architecture or type without any
 */
export function modelCoefficients(architecture: string, type: 'float32' | 'float64'): ModelCoefficients {
  precision(type, 'type');
  if (architecture === 'paper') {
    if (type === 'float32') return paperCoefficients;
    throw refusal('type', '"float32" (the paper has no float64 figures)', describeValue(type));
  }
  const found = typeof architecture === 'string' && Object.hasOwn(modelTable, architecture) ? modelTable[architecture]?.[type] : undefined;
  if (found !== undefined) return found;
  const known = ['paper', ...Object.keys(modelTable)].join(', ');
  throw refusal('architecture', `one of ${known}`, describeValue(architecture));
}

/**
 * Predicts registers, shared memory and its traffic of a register-packed solve.
 *
 * @example
 * model({ size: 512, depth: 8 }); // 64 threads, 47 registers, 1280 bytes: a row of the paper's Table 1
 *
 * @throws ArgumentError for sizes or depths below 1 and for unknown architectures
 */
export function model(options: ModelOptions): ModelPrediction {
  const { size, depth, type, architecture, coefficients } = modelOptions.read(options);
  const { alpha, beta, gamma, gammaPerRow = 0, lambda } = coefficients ?? modelCoefficients(architecture, type);
  const threads = Math.ceil(size / depth);
  return {
    threads,
    registersPerThread: requireRange(alpha + beta * depth, 'coefficients'),
    sharedBytesPerBlock: requireRange((gamma + gammaPerRow * depth) * threads, 'coefficients'),
    sharedTrafficBytesPerStage: requireRange(lambda * threads, 'coefficients'),
    packedStages: Math.ceil(Math.log2(depth)),
    threadStages: Math.ceil(Math.log2(threads)),
  };
}

/** A measured kernel: what the compiler reported for one depth. */
export interface ModelSample {
  readonly depth: number;
  readonly registersPerThread: number;
}

/**
 * Least-squares alpha and beta of equation 1 for measured kernels.
 * @returns the coefficients and the largest absolute deviation in registers
 * @throws ArgumentError with fewer than two different depths, or for values that are not numbers
 */
export function fitModel(samples: readonly ModelSample[]): { alpha: number; beta: number; worst: number } {
  if (!isArray(samples)) throw refusal('samples', 'an array of depths and registers', describeValue(samples));
  samples.forEach((sample, i) => {
    sampleRecord(sample, `samples[${i}]`);
  });
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const x = mean(samples.map(({ depth }) => depth));
  const y = mean(samples.map(({ registersPerThread }) => registersPerThread));
  const spread = samples.reduce((sum, { depth }) => sum + (depth - x) ** 2, 0);
  if (!(spread > 0)) throw refusal('samples', 'at least two different depths', `${samples.length} of one depth`);
  const beta = samples.reduce((sum, sample) => sum + (sample.depth - x) * (sample.registersPerThread - y), 0) / spread;
  const alpha = y - beta * x;
  const worst = Math.max(...samples.map(({ depth, registersPerThread }) => Math.abs(alpha + beta * depth - registersPerThread)));
  for (const value of [alpha, beta, worst]) requireRange(value, 'samples');
  return { alpha, beta, worst };
}
