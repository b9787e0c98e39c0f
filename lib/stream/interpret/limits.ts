// Limits of an interpreted run, and the hint for what to do if a limit is too low.
import { limitsOf } from '../options.ts';

/** Limits of a run in the interpreter. */
export interface RunLimits {
  /** Firings of all nodes together. Default 1 billion. */
  readonly firings: number;
  /** Evaluated expressions and statements. Default 10^10. */
  readonly steps: number;
  /** Bytes of items on channels, and of variables: a separate limit for each. Default 1 GiB. */
  readonly bytes: number;
  /** Depth of nested calls. Default 1000. */
  readonly nesting: number;
}

export const defaultRunLimits: RunLimits = { firings: 1e9, steps: 1e10, bytes: 2 ** 30, nesting: 1000 };
export const runLimits = limitsOf('limits', defaultRunLimits);

/** What to do if a limit is too low. Limits of syntax, elaboration and runs are all set in the same way. */
export function limitHint(name: string): string {
  return `raise the limit: the option limits: { ${name}: … }, or --limit ${name}=… on the command line`;
}
