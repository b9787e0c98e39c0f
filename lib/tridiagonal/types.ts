// Types of the tridiagonal domain in addition to those of all solvers: algorithms, and the options its operations share.
import { choices } from '../core/operations.gen.ts';
import type { Band, BatchOptions, Structure, Transpose } from '../linear/types.ts';

export { elementTypes, structures, transposes } from '../linear/types.ts';
export type {
  Band, CallOptions, ComplexNumber, ElementType, Layout, RealArray, RunInfo, SplitComplex, Strides, Structure, Transpose, Vector,
} from '../linear/types.ts';

/**
 * - `auto`: the fastest correct one, chosen by the policy
 * - `cr`, `pcr`, `cr-pcr`: Zhang, Cohen, Owens, PPoPP 2010; `pcr-thomas`: Davidson, Zhang, Owens, IPDPS 2011
 * - `thomas`: one thread per system
 * - `cr-regpack`: cyclic reduction with rows packed into registers (Davidson, Owens, 2011)
 * - `pivoting`: partial pivoting, as in LAPACK
 * - `partition`: one or a few large systems
 */
export type Algorithm = (typeof algorithms)[number];

/** Every value of {@link Algorithm}. */
export const algorithms = choices['tridiagonal.solve'].algorithm;

/**
 * The numbers of rows per thread for which `cr-regpack` is built; 0 lets the policy choose. The depths 9, 13 and 17 are for real numbers:
 * they suit systems slightly longer than a power of two, and systems that start at any element. The others support every type; beyond 128
 * bytes of a band (32 rows of float64 and complex64, 16 of complex128) a thread runs out of registers and is slower. The policy chooses
 * neither 2 nor 32: on `cuda`, the addon that `npm ci` builds in a clone rejects them with `ERR_WARPLOOM_NOT_COMPILED` (`npm run
 * build:native` adds them; released packages include them).
 */
export type Depth = (typeof depths)[number];

/** Every value of {@link Depth}. */
export const depths = [0, 2, 4, 8, 9, 13, 16, 17, 32] as const;

/** Shape of a batch; see `docs/accuracy.md` for the row convention. */
export type ShapeOptions = BatchOptions<ArrayName>;

/** Arrays that `layouts` can name. */
export type ArrayName = (typeof arrayNames)[number];

/** Every value of {@link ArrayName}. */
export const arrayNames = ['lower', 'diagonal', 'upper', 'rhs', 'solution', 'x', 'y'] as const;

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

/** Coefficients of the model for one element type on one architecture. */
export interface ModelCoefficients {
  /** Registers per thread that do not depend on the depth. */
  readonly alpha: number;
  /** Registers per packed row. */
  readonly beta: number;
  /** Bytes of shared memory per thread. */
  readonly gamma: number;
  /** Bytes of shared memory per packed row, if rows pass through it on their way to registers. Default 0, as in the paper. */
  readonly gammaPerRow?: number;
  /** Bytes exchanged between threads, per thread and stage: through shared memory in the paper, by shuffles here. */
  readonly lambda: number;
  /** Where the numbers come from. */
  readonly source: string;
}
