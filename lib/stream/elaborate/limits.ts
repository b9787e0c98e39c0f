// What an elaboration may take, so that no program makes the compiler hang or run out of memory.
import { limitsOf } from '../options.ts';

/** Limits of an elaboration. */
export interface ElaborationLimits {
  /** Streams inside streams, and calls of functions inside calls. Default 1000. */
  readonly nesting: number;
  /** Filters, splitters and joiners. Default 65536. */
  readonly nodes: number;
  /** Evaluated expressions and statements of bodies, `init` and `static` sections. Default 400 million, about three seconds. */
  readonly steps: number;
  /** Bytes of arrays alive at once during evaluation, and of the constants of the whole graph. Default 256 MiB. */
  readonly bytes: number;
  /** Scalars of one array. Default 2^26. */
  readonly arrayElements: number;
  /** Items that one firing may push, pop or peek. Default 2^26. */
  readonly rate: number;
  /** Errors after which the rest is left unchecked. Default 20. */
  readonly errors: number;
}

/** What `elaborate` allows where nothing else is said. */
export const defaultLimits: ElaborationLimits = {
  nesting: 1000, nodes: 65536, steps: 400_000_000, bytes: 2 ** 28, arrayElements: 2 ** 26, rate: 2 ** 26, errors: 20,
};
export const elaborationLimits = limitsOf('limits', defaultLimits);
