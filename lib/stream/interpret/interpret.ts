// The public interface of the interpreter; the first call loads the implementation.
import { snapshot } from '../../core/snapshot.ts';
import type { StreamGraph } from '../graph.ts';
import { withGraph } from '../require.ts';
import { readOptions, type Interpretation, type InterpretOptions } from './options.ts';

/**
 * Runs a program step by step: the reference with which every other way of running it agrees. Runs that take longer than a tenth of a
 * second, or a fiftieth in one firing, continue on a worker thread if there is one. The arguments are copied at the call.
 *
 * @throws ArgumentError for missing input and invalid limits, StreamRunError if the program goes wrong, `signal.reason` if it is aborted,
 * WarploomError (ERR_WARPLOOM_SYSTEM_FAILED) if the time is over
 */
export async function interpret(graph: StreamGraph, options: InterpretOptions = {}): Promise<Interpretation> {
  const own = snapshot(readOptions(options));
  return withGraph(graph, async () => (await import('./index.ts')).interpretAside(graph, own), own.signal);
}
