// Options and results of the interpreter, and the kinds of options of runs, whatever the back end.
import { describeValue } from '../../core/arrays.ts';
import { requireCount } from '../../core/checks.ts';
import { refusal } from '../../core/errors.ts';
import { requireStop } from '../stop.ts';
import { requireFields, requireList } from '../require.ts';
import type { RunLimits } from './limits.ts';

/** Options of `interpret`. */
export interface InterpretOptions {
  /** Items of the open input: their scalars in memory order. */
  readonly input?: ArrayLike<number>;
  /**
   * Stop after so many items have come out: on the open output; in a program without one, written to files; without either, lines that were
   * printed. Output and lines are cut to exactly so many.
   */
  readonly items?: number;
  /**
   * Stop after so many steady states: each sink, and each node of a loop that leads nowhere, has fired its repetitions so often (a first
   * firing of prework counts as one firing). With dynamic rates, where there are none: each sink has fired so often.
   */
  readonly iterations?: number;
  /** Contents of the files that are read, by the path that the program gives. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  readonly limits?: Partial<RunLimits>;
  /** Stops `interpret`, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Milliseconds that `interpret` may take. Default: as long as it needs within `limits`. */
  readonly timeout?: number;
  /** For `random`. Default 1. Each filter has its own sequence, so that the order of firings does not matter. */
  readonly seed?: number;
}

/** What a run by the interpreter gave. */
export interface Interpretation {
  /** Scalars of the items on the open output, in memory order. */
  readonly output: readonly number[];
  /**
   * What was printed: by steady states, in each by filters from the source on, of each filter by firings. Without steady states (dynamic
   * rates, rates that do not balance) as the filters fire, which is by demand.
   */
  readonly printed: string;
  /** Firings of each node. */
  readonly firings: readonly number[];
  /** Files that were written. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** Whether the run stopped because nothing could fire any more, before `items` or `iterations` were reached. */
  readonly exhausted: boolean;
}

/** Refuses options of wrong kinds. */
export function checkRun(options: object): void {
  requireFields('options', options, 'options');
  const { input, files, limits, signal, seed } = options as Readonly<Record<string, unknown>>;
  if (input !== undefined) {
    requireList('options.input', input, 'numbers');
    if (ArrayBuffer.isView(input) && !('length' in input)) throw refusal('options.input', 'numbers', describeValue(input));
    const strange = Array.isArray(input) ? input.findIndex((x) => typeof x !== 'number')
      : typeof (input as unknown as unknown[])[0] === 'bigint' ? 0 : -1;
    if (strange >= 0) throw refusal(`options.input[${strange}]`, 'a number', describeValue((input as unknown[])[strange]));
  }
  if (files !== undefined) {
    requireFields('options.files', files, 'contents by path');
    for (const [path, bytes] of Object.entries(files as object)) {
      if (!(bytes instanceof Uint8Array)) throw refusal(`options.files['${path}']`, 'a Uint8Array', describeValue(bytes));
    }
  }
  if (limits !== undefined) {
    requireFields('options.limits', limits, 'limits by name');
    for (const [name, value] of Object.entries(limits as object)) if (value !== Infinity) requireCount(value, `options.limits.${name}`, 0);
  }
  if (seed !== undefined) requireCount(seed, 'options.seed', Number.MIN_SAFE_INTEGER);
  requireStop({ signal }, 'options.');
}
