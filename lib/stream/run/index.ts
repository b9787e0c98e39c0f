// Runs a graph in the quickest way that takes it.
import { refusal } from '../../core/errors.ts';
import { describeValue } from '../../core/arrays.ts';
import type { StreamGraph } from '../graph.ts';
import { UnsupportedProgram } from '../emit/unsupported.ts';
import { interpret } from '../interpret/index.ts';
import { ScheduleError } from '../schedule/error.ts';

/** `js`: compiled to JavaScript; `interpret`: step by step, takes every program; `auto`: js, and interpret what js does not take. */
export const streamBackends = ['auto', 'js', 'interpret'] as const;
export type StreamBackend = (typeof streamBackends)[number];

/** Options of {@link run}. */
export interface StreamRunOptions {
  /** Default `auto`. */
  readonly backend?: StreamBackend;
  /** Scalars of the items on an open input, in memory order. */
  readonly input?: ArrayLike<number>;
  /** End after so many items have come out. Default: when the input ends. */
  readonly items?: number;
  /** End after so many steady states. */
  readonly iterations?: number;
  /** Contents of the files that the program reads, by the path that it gives. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  /** Ends the interpreter's work; compiled programs look at it only before they begin. */
  readonly signal?: AbortSignal;
  /** For `random`. Default 1. */
  readonly seed?: number;
}

/** What a run gave. */
export interface StreamRun {
  /** Scalars of the items on the open output, in memory order. */
  readonly output: ArrayLike<number>;
  readonly printed: string;
  /** Files that were written. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly backend: Exclude<StreamBackend, 'auto'>;
}

/**
 * Runs an elaborated program. Every backend gives the same output to the bit.
 *
 * @throws ArgumentError for missing input and wrong limits, StreamRunError where the program goes wrong
 */
export async function run(graph: StreamGraph, options: StreamRunOptions = {}): Promise<StreamRun> {
  const { backend = 'auto', input, signal, ...rest } = options;
  if (!streamBackends.includes(backend)) throw refusal('backend', streamBackends.join(', '), describeValue(backend));
  signal?.throwIfAborted();
  if (backend !== 'interpret') {
    const { compileJs } = await import('./js.ts');
    try {
      return { ...compileJs(graph).run(input, rest), backend: 'js' };
    } catch (error) {
      const isForInterpreter = error instanceof UnsupportedProgram || error instanceof ScheduleError;
      if (backend === 'js' || !isForInterpreter) throw error;
    }
  }
  const made = await interpret(graph, {
    ...rest, ...(input === undefined ? {} : { input }), ...(signal === undefined ? {} : { signal }),
  });
  return { ...made, backend: 'interpret' };
}
