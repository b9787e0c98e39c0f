// The vocabulary of the tridiagonal domain: arrays, layouts and the options its operations share.
import type { Device } from '../core/device.ts';
import type { DeviceArray } from '../core/device-array.ts';
import { choices } from '../core/operations.gen.ts';

/** A plain typed array of the two precisions; with `complex: true` it holds (real, imaginary) pairs. */
export type RealArray = Float32Array | Float64Array;

/** Complex numbers as two arrays (or device arrays) of equal type and length. */
export interface SplitComplex<A extends RealArray | DeviceArray = RealArray | DeviceArray> {
  readonly re: A;
  readonly im: A;
}

/** A complex constant. */
export interface ComplexNumber {
  readonly re: number;
  readonly im: number;
}

/** Right-hand sides, solutions and products: host or device memory, real, interleaved or split complex. */
export type Vector = RealArray | DeviceArray | SplitComplex;

/**
 * One band of the matrices, one entry per row: `batch` bands of `n` entries, one band of `n` entries
 * shared by the whole batch, or a number for a constant (Toeplitz) band.
 */
export type Band = Vector | number | ComplexNumber;

/**
 * Where element (system s, row i, right-hand side r) of an array lies:
 * `offset + s*systemStride + i*rowStride + r*rhsStride`, in elements (a complex element is one element).
 * Zero strides repeat an entry: `systemStride: 0` is a matrix shared by the batch.
 */
export interface Strides {
  /** First element. Default 0. */
  readonly offset?: number;
  /** Elements between equal rows of neighbouring systems. */
  readonly systemStride: number;
  /** Elements between neighbouring rows. */
  readonly rowStride: number;
  /** Elements between right-hand sides of one system. Default 0; needed when `rhsCount` > 1. */
  readonly rhsStride?: number;
}

/**
 * - `contiguous`: one system after the other. Bands `[batch][n]`, vectors `[batch][rhsCount][n]`
 *   (ragged: `[rows]` and `[rhsCount][rows]`, rows = `offsets[batch]`).
 * - `interleaved`: equal rows of all systems together. Bands `[n][batch]`, vectors `[n][rhsCount][batch]`.
 * - {@link Strides}: anything else; `n` and `batch` must then be given.
 */
export type Layout = 'contiguous' | 'interleaved' | Strides;

/** op(A) of a call. `conjugate` is the conjugate transpose; it differs from `transpose` for complex types only. */
export type Transpose = (typeof transposes)[number];

/** Every value of {@link Transpose}. */
export const transposes = choices['tridiagonal.solve'].transpose;

/** `positive-definite`: Hermitian positive definite; `upper` is not given, upper[i] = conj(lower[i+1]). */
export type Structure = (typeof structures)[number];

/** Every value of {@link Structure}. */
export const structures = choices['tridiagonal.solve'].structure;

/**
 * - `auto`: the fastest correct one, by policy
 * - `cr`, `pcr`, `cr-pcr`: Zhang, Cohen, Owens, PPoPP 2010; `pcr-thomas`: Davidson, Zhang, Owens, IPDPS 2011
 * - `thomas`: one thread per system
 * - `cr-regpack`: cyclic reduction with rows packed into registers (Davidson, Owens, 2011)
 * - `pivoting`: partial pivoting, of LAPACK class
 * - `partition`: one or few large systems
 */
export type Algorithm = (typeof algorithms)[number];

/** Every value of {@link Algorithm}. */
export const algorithms = choices['tridiagonal.solve'].algorithm;

/**
 * Rows per thread that `cr-regpack` is built for; 0 leaves the choice to the policy. The depths 9, 13 and 17 take real
 * numbers: they fit systems a little longer than a power of two, and such as start at any element. The others take every
 * type; beyond 128 bytes of a band (32 rows of float64 and complex64, 16 of complex128) a thread's registers are full and
 * it is slower.
 * The policy takes neither 2 nor 32: on `cuda` the addon that `npm ci` makes in a clone refuses them with
 * `ERR_WARPLOOM_NOT_COMPILED` (`npm run build:native` adds them; released packages have them).
 */
export type Depth = (typeof depths)[number];

/** Every value of {@link Depth}. */
export const depths = [0, 2, 4, 8, 9, 13, 16, 17, 32] as const;

/** Element type of a call. */
export type ElementType = (typeof elementTypes)[number];

/** Every value of {@link ElementType}. */
export const elementTypes = choices['tridiagonal.solve'].type;

/** Shape of a batch; see `docs/accuracy.md` for the row convention. */
export interface ShapeOptions {
  /**
   * Unknowns per system (the largest when ragged). Default: what the lengths leave; with neither `n`
   * nor `batch` the arrays are one system.
   */
  readonly n?: number;
  /** Systems. Default: what the lengths and `n` leave. May be 0. */
  readonly batch?: number;
  /** Right-hand sides per system. Default 1. */
  readonly rhsCount?: number;
  /** Ragged batch: `batch + 1` ascending row offsets; system s has rows offsets[s] … offsets[s+1]-1. */
  readonly offsets?: readonly number[] | Int32Array | BigInt64Array;
  /** Layout of every array of the call. Default `contiguous`. */
  readonly layout?: Layout;
  /** Layouts of single arrays, over `layout`. */
  readonly layouts?: Readonly<Partial<Record<ArrayName, Layout>>>;
}

/** Arrays that `layouts` can name. */
export type ArrayName = 'lower' | 'diagonal' | 'upper' | 'rhs' | 'solution' | 'x' | 'y';

/** The matrices of a call: lower[i]*x[i-1] + diagonal[i]*x[i] + upper[i]*x[i+1]. */
export interface MatrixOptions {
  /** Sub-diagonal, one entry per row; entry 0 is read only when `periodic` (LAPACK's `dl`, shifted by one). */
  readonly lower: Band;
  /** Diagonal. */
  readonly diagonal: Band;
  /** Super-diagonal, one entry per row; entry n-1 is read only when `periodic`. Not given when positive definite. */
  readonly upper?: Band;
  /** Typed arrays hold interleaved complex pairs. Default false; implied by split or complex device arrays. */
  readonly complex?: boolean;
  /** lower[0] couples row 0 to x[n-1], upper[n-1] couples row n-1 to x[0]. Default false. */
  readonly periodic?: boolean;
  /** Default `none`. */
  readonly transpose?: Transpose;
  /** Default `general`. */
  readonly structure?: Structure;
}

/** Where and under whose control a call runs. */
export interface CallOptions {
  /** Default: the device of the device arrays given, else the thread's default device. */
  readonly device?: Device;
  /** Cancels the call, which then rejects with `signal.reason`. */
  readonly signal?: AbortSignal;
  /** Called on the event loop with work done and work total, in the operation's own unit. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** What every result says about the run. */
export interface RunInfo {
  readonly backend: 'cpu' | 'cuda' | 'simt';
  /** Time of the operation on the device, without transfers. */
  readonly deviceSeconds: number;
  readonly type: ElementType;
  readonly n: number;
  readonly batch: number;
}

/** Coefficients of the model for one element type on one architecture. */
export interface ModelCoefficients {
  /** Registers per thread that do not depend on the depth. */
  readonly alpha: number;
  /** Registers per packed row. */
  readonly beta: number;
  /** Bytes of shared memory per thread. */
  readonly gamma: number;
  /** Bytes of shared memory per packed row, where rows pass through it on their way to registers. Default 0, the paper's. */
  readonly gammaPerRow?: number;
  /** Bytes handed from thread to thread per thread and stage: through shared memory in the paper, by shuffles here. */
  readonly lambda: number;
  /** Where the numbers come from. */
  readonly source: string;
}
