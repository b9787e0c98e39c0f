// The interpreter as callers see it; its implementation is loaded by the first call.
import { snapshot } from '../../core/snapshot.ts';
import type { StreamGraph } from '../graph.ts';
import { withGraph } from '../require.ts';
import { readOptions, type Interpretation, type InterpretOptions } from './options.ts';

/**
 * Runs a program step by step, as the reference that every other way to run one agrees with. What takes longer than a tenth of a second,
 * or a fiftieth in one firing, runs on a worker thread, where there is one. What is given is copied at the call.
 *
 * @throws ArgumentError for missing input and wrong limits, StreamRunError where the program goes wrong, `signal.reason` where it is
 * aborted, WarploomError (ERR_WARPLOOM_SYSTEM_FAILED) where the time is over
 */
export async function interpret(graph: StreamGraph, options: InterpretOptions = {}): Promise<Interpretation> {
  const own = snapshot(readOptions(options));
  return withGraph(graph, async () => (await import('./index.ts')).interpretAside(graph, own), own.signal);
}
