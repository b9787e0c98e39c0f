// Measures how long a firing of each node takes on this machine.
import { snapshot } from '../../core/snapshot.ts';
import type { StreamGraph } from '../graph.ts';
import { number, text, truth } from '../../core/checks.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { countsProgress, inputChecks } from '../options.ts';
import { withGraph } from '../require.ts';
import { backendRule } from '../run/backends.ts';
import type { Profile, ProfiledBackend, ProfileOptions } from './types.ts';

const profileOptions = optionsOf('stream.profile', {
  ...inputChecks, backend: normally(backendRule<ProfiledBackend>(['wasm', 'cpp']), 'wasm'),
  seconds: normally(number({ above: 0, most: 60 }), 5e-3), cacheFolder: text(), force: normally(truth, false), onProgress: countsProgress,
} satisfies ChecksOf<ProfileOptions>);

/**
 * Measures what one firing of each node takes on this machine. The program is interpreted for a while on `input` (made up where none is
 * given), then each node runs alone on the items that came by; splitters and joiners are priced by the items they move. Profiles are kept
 * by content: the same program on the same machine is not measured twice. A table of times can be given to the schedulers instead.
 *
 * @throws ArgumentError for wrong options, StreamRunError where the program goes wrong on the input, UnsupportedProgram for programs with
 * dynamic rates or messages, WarploomError (ERR_WARPLOOM_UNAVAILABLE) where `cpp` is asked for and there is no compiler
 */
export async function profile(graph: StreamGraph, given: ProfileOptions = {}): Promise<Profile> {
  const options = snapshot(profileOptions.read(given));
  return withGraph(graph, async () => {
    const { measure } = await import('./measure.ts');
    return measure(graph, options);
  }, options.signal);
}
