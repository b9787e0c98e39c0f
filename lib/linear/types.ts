// The vocabulary of solvers of batched linear systems: arrays, layouts and the options that their calls share.
import type { Device, DeviceArray } from '../core/device.ts';
import { common } from '../core/operations.gen.ts';

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
 * Position of element (system s, row i, right-hand side r) of an array:
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
export const transposes = common.transpose;

/** `positive-definite`: Hermitian positive definite; `upper` is not given, upper[i] = conj(lower[i+1]). */
export type Structure = (typeof structures)[number];

/** Every value of {@link Structure}. */
export const structures = common.structure;

/** Element type of a call. */
export type ElementType = (typeof elementTypes)[number];

/** Every value of {@link ElementType}. */
export const elementTypes = common.type;

/** Shape of a batch with named arrays; see `docs/accuracy.md` for the row convention. */
export interface BatchOptions<Name extends string> {
  /**
   * Unknowns per system (the largest when ragged). Default: derived from the lengths; with neither `n` nor `batch`, the arrays are
   * one system.
   */
  readonly n?: number;
  /** Number of systems. Default: derived from the lengths and `n`. May be 0. */
  readonly batch?: number;
  /** Right-hand sides per system. Default 1. */
  readonly rhsCount?: number;
  /** Ragged batch: `batch + 1` ascending row offsets; system s has rows offsets[s] … offsets[s+1]-1. */
  readonly offsets?: readonly number[] | Int32Array | BigInt64Array;
  /** Layout of every array of the call. Default `contiguous`. */
  readonly layout?: Layout;
  /** Layouts of individual arrays, which override `layout`. */
  readonly layouts?: Readonly<Partial<Record<Name, Layout>>>;
}

/** Where a call runs, and how it is controlled. */
export interface CallOptions {
  /** Default: the device of the given device arrays, or else the thread's default device. */
  readonly device?: Device;
  /** Cancels the call, which then rejects with `signal.reason`. */
  readonly signal?: AbortSignal;
  /** Called on the event loop with the work done and the total work, in the operation's own unit. */
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
