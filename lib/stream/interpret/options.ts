// Options and results of the interpreter, and the options of runs that all back ends share.
import { oneOf, whole } from '../../core/checks.ts';
import { refusal } from '../../core/errors.ts';
import { nested, optionsOf, type ChecksOf } from '../../core/options.ts';
import type { StreamGraph } from '../graph.ts';
import type { FilterCode } from '../ir.ts';
import { inputChecks, stopChecks } from '../options.ts';
import { runLimits, type RunLimits } from './limits.ts';
import { bodiesOf, someStatement } from './walk.ts';

/** Options of `interpret`. */
export interface InterpretOptions {
  /** Items of the open input: their scalars in memory order. */
  readonly input?: ArrayLike<number>;
  /**
   * Stop after this many items have been output: on the open output; in a program without one, items written to files; without
   * either, printed lines. Output and lines are truncated to exactly that number.
   */
  readonly items?: number;
  /**
   * Stop after this many steady states: when each sink, and each node of a loop that leads to no sink, has fired its repetitions that often
   * (a first firing that runs the prework counts as one). With dynamic rates there are no steady states: stop when each sink has fired that
   * often.
   */
  readonly iterations?: number;
  /** Contents of the files that the program reads, by the path it uses. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  readonly limits?: Partial<RunLimits>;
  /** Cancels `interpret`, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Time limit of `interpret` in milliseconds. Default: no limit other than `limits`. */
  readonly timeout?: number;
  /** Seed of `random`. Default 1. Each filter has its own sequence, so the order of firings does not matter. */
  readonly seed?: number;
}

/** Result of a run in the interpreter. */
export interface Interpretation {
  /** Scalars of the items on the open output, in memory order. */
  readonly output: readonly number[];
  /**
   * What was printed: by steady state, within each by filter in stream order, and for each filter by firing. Without steady states (dynamic
   * rates, unbalanced rates), in the demand-driven order of firing.
   */
  readonly printed: string;
  /** Firings of each node. */
  readonly firings: readonly number[];
  /** Files that were written. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** Whether the run stopped because no node could fire any longer, before `items` or `iterations` were reached. */
  readonly exhausted: boolean;
}

/** Checks of the amount that a run is to do, for every back end. */
export const amountChecks = { items: whole(0), iterations: whole(0) };

const options = optionsOf('stream.interpret', {
  ...inputChecks, ...stopChecks, ...amountChecks, limits: nested(runLimits),
} satisfies ChecksOf<InterpretOptions>);

/** The options of a call, checked. */
export function readOptions(given: InterpretOptions): InterpretOptions {
  const read = options.read(given);
  return { ...read, limits: runLimits.read(read.limits ?? {}) };
}

/** Rejects a run that would never end, or that has no output for measuring progress. */
export function requireAmount(graph: StreamGraph, given: Pick<InterpretOptions, 'input' | 'items' | 'iterations'>): void {
  const asked = oneOf(given, ['items', 'iterations']);
  if (graph.input !== undefined && given.input === undefined) {
    throw refusal('input', 'the items of the open input of the program', 'undefined');
  }
  if (graph.input === undefined && asked === undefined) {
    throw refusal('items', '`items` or `iterations`, which say when to stop: the program has no input that ends', 'neither');
  }
  if (asked === 'items' && !hasItems(graph)) {
    throw refusal('items', '`iterations`, as the program has no output, writes no file and prints no lines', '`items`');
  }
}

/** Whether there is countable output: items on the output or in files, or lines. */
function hasItems(graph: StreamGraph): boolean {
  return graph.output !== undefined || graph.nodes.some(
    (node) => node.kind === 'writer' || (node.kind === 'filter' && prints(node.code)));
}

function prints(code: FilterCode): boolean {
  return bodiesOf(code).some((body) =>
    someStatement(body, (s) => s.kind === 'print' && (s.newline || ('text' in s.value && s.value.text.includes('\n')))));
}
