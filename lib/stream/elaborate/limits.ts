// Limits of an elaboration, so that no program makes the compiler hang or run out of memory.
import { limitsOf } from '../options.ts';

/** Limits of an elaboration. */
export interface ElaborationLimits {
  /** Depth of nested streams, and of nested function calls. Default 1000. */
  readonly nesting: number;
  /** Filters, splitters and joiners. Default 65536. */
  readonly nodes: number;
  /** Evaluated expressions and statements of bodies, `init` and `static` sections. Default 400 million, about three seconds. */
  readonly steps: number;
  /** Bytes of arrays alive at once during evaluation, and of the constants of the whole graph. Default 256 MiB. */
  readonly bytes: number;
  /** Scalars per array. Default 2^26. */
  readonly arrayElements: number;
  /** Items that one firing may push, pop or peek. Default 2^26. */
  readonly rate: number;
  /** Number of errors after which the rest is not checked. Default 20. */
  readonly errors: number;
}

/** The defaults of `elaborate`. */
export const defaultLimits: ElaborationLimits = {
  nesting: 1000, nodes: 65536, steps: 400_000_000, bytes: 2 ** 28, arrayElements: 2 ** 26, rate: 2 ** 26, errors: 20,
};
export const elaborationLimits = limitsOf('limits', defaultLimits);
