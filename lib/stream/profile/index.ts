// What a firing of each node takes on this machine.
import { snapshot } from '../../core/snapshot.ts';
import type { StreamGraph } from '../graph.ts';
import type { RecordOptions } from './parts.ts';
import { requireFields, withGraph } from '../require.ts';

/** Options of {@link profile}. */
export interface ProfileOptions extends RecordOptions {
  /** What is measured: code in JavaScript or C++, on one thread. Default `js`. */
  readonly backend?: 'js' | 'cpp';
  /** Seconds that each measurement takes at least. Default 0.005. */
  readonly seconds?: number;
  /** Folder for profiles; default as for compiled programs: `warploom/stream` in the user's cache folder. */
  readonly cacheFolder?: string;
  /** Measures anew even where a profile is kept. */
  readonly force?: boolean;
  /** Called with nodes measured and nodes in all. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** Costs of a program on this machine. */
export interface Profile {
  /** Microseconds of one firing, by node. */
  readonly microseconds: readonly number[];
  /** By node: whether the time is measured; counted operations stand in for nodes that fail when they run alone. */
  readonly measured: readonly boolean[];
  readonly backend: 'js' | 'cpp';
  /** Whether the profile was kept from before. */
  readonly cached: boolean;
  /** Hash of the program's code and tables, the input, the back end, its compiler and the processor. */
  readonly key: string;
}

/**
 * Measures what one firing of each node takes on this machine. The program is interpreted for a while on `input` (made up where none is
 * given), then each node runs alone on the items that came by; splitters and joiners are priced by the items they move. Profiles are kept
 * by content: the same program on the same machine is not measured twice. A table of times can be given to the schedulers instead.
 *
 * @throws ArgumentError for wrong options, StreamRunError where the program goes wrong on the input, UnsupportedProgram for programs with
 * dynamic rates or messages, WarploomError (ERR_WARPLOOM_UNAVAILABLE) where `cpp` is asked for and there is no compiler
 */
export async function profile(graph: StreamGraph, given: ProfileOptions = {}): Promise<Profile> {
  requireFields('options', given, 'options');
  const options = snapshot(given);
  return withGraph(graph, async () => {
    const { measure } = await import('./measure.ts');
    return measure(graph, options);
  }, options.signal);
}
