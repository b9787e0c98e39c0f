// Compiling a program for one device. The modules that do it are loaded at the first call.
import { hasFields, number, rule, truth, type Check } from '../../core/checks.ts';
import type { Device } from '../../core/device.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { snapshot } from '../../core/snapshot.ts';
import type { StreamGraph } from '../graph.ts';
import { countsProgress, deviceCheck, inputChecks, requireDevice, stopChecks } from '../options.ts';
import { withGraph } from '../require.ts';
import { within } from '../stop.ts';
import type { DeviceProgram } from './device-program.ts';

/** Options of {@link compileForDevice}. */
export interface DeviceCompileOptions {
  /** Of backend cuda (or simt). Default: the thread's default device. */
  readonly device?: Device;
  /** Allows floating-point operations to be contracted, so that outputs differ in rounding. */
  readonly fast?: boolean;
  readonly signal?: AbortSignal;
  /** Time limit in milliseconds; default 600 000. */
  readonly timeout?: number;
  /**
   * Times other layouts of the kernel on the device and keeps the fastest, also for later compilations and runs of the program on such a
   * device. Default false: the layout that is kept, or else the default one.
   */
  readonly tune?: boolean | TuneOptions;
}

/** How {@link compileForDevice} searches for the fastest layout. */
export interface TuneOptions {
  /** Scalars of items on the open input, which the timed launches repeat. Default: random numbers in [−1, 1), or 0 to 255 for ints. */
  readonly input?: ArrayLike<number>;
  /** Seconds after which no further layout is timed; default 60. All of them take 10 to 60 seconds on a machine with many cores. */
  readonly seconds?: number;
  /** Called after each layout: how many are done, and how many there are at most. */
  readonly onProgress?: (done: number, total: number) => void;
}

const tuneOptions = optionsOf('stream.compileForDevice', {
  input: inputChecks.input, seconds: normally(number({ above: 0, most: 1e6 }), 60), onProgress: countsProgress,
} satisfies ChecksOf<TuneOptions>);
const tuneCheck: Check<boolean | TuneOptions> = rule<boolean | TuneOptions>('true, false or options of the search',
  (value) => typeof value === 'boolean' || hasFields(value));

const compileOptions = optionsOf('stream.compileForDevice', {
  ...stopChecks, timeout: normally(stopChecks.timeout, 600_000), fast: normally(truth, false), device: deviceCheck, tune: tuneCheck,
} satisfies ChecksOf<DeviceCompileOptions>);

/**
 * Compiles a program for a device, for runs on data in its memory or to compile before the first run (`run` with backend `cuda` compiles
 * by itself). Compiled kernels are kept between processes, and so is the layout that a search has found (`tune`).
 *
 * @throws WarploomError with code ERR_WARPLOOM_UNSUPPORTED for programs that only the CPU can run: those with state, messages, dynamic
 * rates, feedback loops, files or prints, and those whose channels do not fit; UnavailableError if nothing here compiles device code
 */
export async function compileForDevice(graph: StreamGraph, given: DeviceCompileOptions = {}): Promise<DeviceProgram> {
  const { device: asked, tune = false, ...options } = compileOptions.read(given);
  const search = tune === false ? undefined : snapshot(tuneOptions.read(tune === true ? {} : tune, 'tune'));
  if (asked !== undefined) await requireDevice(asked);
  return withGraph(graph, async () => within(options, async (signal) => {
    const [{ defaultDevice }, { CompiledGpu }, { DeviceProgram: Program }] = await Promise.all(
      [import('../../core/device.ts'), import('./gpu.ts'), import('./device-program.ts')]);
    const device = asked ?? await defaultDevice();
    const { fast } = options;
    if (search === undefined) return new Program(graph, await CompiledGpu.compile(graph, device, { fast, signal }));
    const { tuneLayout } = await import('./tune.ts');
    const { compiled, ...found } = await tuneLayout(graph, device, { ...search, fast, signal });
    return new Program(graph, compiled, found);
  }), options.signal);
}
