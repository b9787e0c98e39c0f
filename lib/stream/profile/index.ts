// Measures how long a firing of each node takes on this machine, or how filters run on a device.
import { snapshot } from '../../core/snapshot.ts';
import type { StreamGraph } from '../graph.ts';
import { choice, hasFields, number, rule, text, truth, whole } from '../../core/checks.ts';
import { briefly } from '../../core/display.ts';
import { needed, normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { countsProgress, deviceCheck, inputChecks, requireDevice, stopChecks } from '../options.ts';
import { withGraph } from '../require.ts';
import { backendRule, isDeviceBackend, type DeviceBackend } from '../run/backends.ts';
import type { DeviceProfile, DeviceProfileOptions, Profile, ProfiledBackend, ProfileOptions } from './types.ts';

const profileOptions = optionsOf('stream.profile', {
  ...inputChecks, backend: normally(backendRule<ProfiledBackend>(['wasm', 'cpp']), 'wasm'),
  seconds: normally(number({ above: 0, most: 60 }), 5e-3), cacheFolder: text(), force: normally(truth, false), onProgress: countsProgress,
} satisfies ChecksOf<ProfileOptions>);

/** Ascending whole numbers that are multiples of a unit. */
const ascending = (least: number, most: number, unit: number) => rule<readonly number[]>(
  `ascending ${unit === 1 ? 'whole numbers' : `multiples of ${unit}`} from ${least} to ${most}`,
  (value) => Array.isArray(value) && value.length > 0 && value.every((each, i) => Number.isInteger(each) && each >= least && each <= most
    && each % unit === 0 && (i === 0 || each > value[i - 1])));

const deviceOptions = optionsOf('stream.profile', {
  backend: needed(choice<DeviceBackend>(['cuda', 'simt'])), device: deviceCheck, mode: normally(choice(['swp', 'swpnc'] as const), 'swp'),
  layout: choice(['block', 'warp'] as const), threads: ascending(32, 1024, 32), registers: ascending(16, 255, 1),
  firings: whole(1, 2 ** 24),
  cacheFolder: text(), force: normally(truth, false), signal: stopChecks.signal, onProgress: countsProgress,
} satisfies ChecksOf<DeviceProfileOptions>);

/**
 * Measures what one firing of each node takes on this machine. The program is interpreted for a while on the first items of `input` (on
 * made-up ones where none is given: integers of 0 to 255, bits, floats of -1 to 1), then each node runs alone on the items that came by;
 * splitters and joiners are priced by the items they move. Profiles are kept by content: the same program on the same machine is not
 * measured twice. A table of times can be given to the schedulers instead.
 *
 * With backend `cuda` (or `simt`), Algorithm 1 of the thesis (section 3.4) instead: each filter alone on all multiprocessors, with every
 * number of threads and limit on registers. Its table is what `selectConfiguration` takes, and `compileForDevice` as `profile`.
 *
 * @throws ArgumentError for wrong options, and for `input` where none is given and the program goes wrong on made-up items (the cause says
 * how); StreamRunError where it goes wrong on the input, UnsupportedProgram for programs with dynamic rates or messages, and on a device
 * for those with state; WarploomError (ERR_WARPLOOM_UNAVAILABLE) where `cpp` is asked for and there is no compiler, or a device where there
 * is none
 */
export function profile(graph: StreamGraph, given: DeviceProfileOptions): Promise<DeviceProfile>;
export function profile(graph: StreamGraph, given?: ProfileOptions): Promise<Profile>;
export async function profile(graph: StreamGraph, given: ProfileOptions | DeviceProfileOptions = {}): Promise<Profile | DeviceProfile> {
  if (hasFields(given) && typeof given.backend === 'string' && isDeviceBackend(given.backend)) {
    return profileOnDevice(graph, given as unknown as DeviceProfileOptions);
  }
  const options = snapshot(profileOptions.read(given as ProfileOptions));
  return withGraph(graph, async () => {
    const { measure } = await import('./measure.ts');
    return briefly('Profile', await measure(graph, options));
  }, options.signal);
}

async function profileOnDevice(graph: StreamGraph, given: DeviceProfileOptions): Promise<DeviceProfile> {
  const options = snapshot(deviceOptions.read(given));
  if (options.device !== undefined) await requireDevice(options.device, options.backend);
  return withGraph(graph, async () => {
    const { measureOnDevice } = await import('./device.ts');
    return briefly('DeviceProfile', await measureOnDevice(graph, options));
  }, options.signal);
}
