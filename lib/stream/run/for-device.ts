// Compiles a program for one device. The first call loads the modules that this needs.
import { describeValue } from '../../core/arrays.ts';
import { choice, hasFields, number, rule, truth, whole, type Check } from '../../core/checks.ts';
import { refusal, WarploomError } from '../../core/errors.ts';
import type { Device } from '../../core/device.ts';
import { nested, normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { snapshot } from '../../core/snapshot.ts';
import { algebraicGraph, type LinearProgram } from '../algebra/index.ts';
import type { StreamGraph } from '../graph.ts';
import { countsProgress, deviceCheck, inputChecks, requireDevice, stopChecks } from '../options.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import type { DeviceProfile } from '../profile/types.ts';
import { withGraph } from '../require.ts';
import { within } from '../stop.ts';
import { deviceModes, isHybridMode, type DeviceMode } from './backends.ts';
import type { DeviceProgram } from './device-program.ts';

/** Options of {@link compileForDevice}. */
export interface DeviceCompileOptions {
  /** A device of backend cuda (or simt). Default: the thread's default device. */
  readonly device?: Device;
  /**
   * How the device runs the program. `fused` (the default): all filters in one kernel, its channels in registers and shared memory;
   * programs with feedback loops, or state that only firings in order can find, like `swp`. The others are those of the thesis's chapter 3.
   * `swp`: a software pipeline over the multiprocessors, channels in device memory laid out so that accesses coalesce; `swpnc`: the same in
   * the order of the stream; `serial`: one filter after the other on all multiprocessors. In these three, one thread makes the firings of a
   * filter with state, or of a feedback loop that holds few items, in order. The last three are those of chapter 4, for data in
   * JavaScript's memory: filters run on the device and on CPU cores (as WebAssembly) at once. `synergistic`: each filter and feedback loop
   * where a plan finds it best, or like one of the next two, or `fused`, where that is faster; `gpu`: on the device whatever can be there,
   * state and feedback loops on cores; `cpu`: all on cores, by WebAssembly on threads.
   */
  readonly mode?: DeviceMode;
  /**
   * n of SWPn: instances that repeat in a row, 1 to 64. Default: 1 to 16, so that an interval takes about 400 microseconds by estimate, or
   * less where there is no memory for that, or none for a balanced schedule. With `serial`, that of the pipeline whose buffers it may not
   * exceed, by default 8, or 4, 2 or 1.
   */
  readonly coarsening?: number;
  /**
   * With `swp`, `serial`, `synergistic` and `gpu`: threads whose items stand side by side, 128 (`block`, the default of `swp` and `serial`:
   * section 3.7) or 32 (`warp`, the default of the others: section 4.2).
   */
  readonly layout?: 'block' | 'warp';
  /**
   * Most threads of an instance, a multiple of the layout's (of 32 with `swpnc`), up to 1024; default 512. With `synergistic` and `gpu`,
   * all instances have so many; default 128. Not with a profile.
   */
  readonly threads?: number;
  /**
   * `plain`: a launch for each interval; `persistent`: one for many, with a barrier of all blocks in between; `auto` (the default): the
   * faster of both, by the first launches of runs. The bits are the same.
   */
  readonly launch?: 'plain' | 'persistent' | 'auto';
  /**
   * What assigns instances to multiprocessors: `packing` (the default: as `schedulePipeline`), or `ilp`, the ILP of section 3.5, for small
   * programs on few multiprocessors; it takes up to a minute.
   */
  readonly scheduler?: 'packing' | 'ilp';
  /**
   * Times that `profile` measured on such a device, with the same mode and layout (for `serial`, `synergistic` and `gpu`: those of `swp`):
   * Algorithm 2 chooses threads and registers. Default: counted operations.
   */
  readonly profile?: DeviceProfile;
  /** With `synergistic`, `gpu` and `cpu`: cores that run filters, 1 to 1024. Default: all. */
  readonly cores?: number;
  /** With these modes: microseconds of a firing on a core, by node. Default: counted operations. */
  readonly costs?: readonly number[];
  /** With `synergistic` and `gpu`: what moving items costs. Default: measured once for each device, by copies of two mebibytes. */
  readonly link?: LinkRates;
  /** Allows floating-point operations to be contracted, so that outputs differ in rounding. */
  readonly fast?: boolean;
  /**
   * Multiplies linear filters together where that takes fewer operations ({@link collapseLinear}), and makes recurrences of floats as
   * scans. Both change outputs within rounding. Default false.
   */
  readonly algebraic?: boolean;
  readonly signal?: AbortSignal;
  /** Time limit in milliseconds; default 600 000. */
  readonly timeout?: number;
  /**
   * Whether layouts of the kernel are timed on the device, with mode `fused`. The fastest is kept, also for later compilations and runs of
   * the program on such a device; all give the same bits. Default: where none is kept, the first compilation for a GPU times a short list
   * beside the compiler's work (docs/stream.md says for how long), on machines with at least four cores. `true` or options: up to 44
   * layouts, even where one is kept. `false`: none, so that compiling takes no longer than the compiler; the layout that is kept, or else
   * the default one.
   */
  readonly tune?: boolean | TuneOptions;
}

/** What moving items costs, in bytes per microsecond. */
export interface LinkRates {
  readonly toGpu?: number;
  readonly toCpu?: number;
  /** Microseconds of a transfer besides its bytes. */
  readonly latency?: number;
  /** On one multiprocessor, to the layout in which accesses coalesce, and back. Default: counted. */
  readonly shuffle?: number;
  readonly deshuffle?: number;
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

const rate = number({ above: 0, most: 1e12 });
const linkRates = optionsOf('stream.compileForDevice', {
  toGpu: rate, toCpu: rate, shuffle: rate, deshuffle: rate, latency: number({ least: 0, most: 1e9 }),
} satisfies ChecksOf<LinkRates>);

const compileOptions = optionsOf('stream.compileForDevice', {
  ...stopChecks, timeout: normally(stopChecks.timeout, 600_000), fast: normally(truth, false), algebraic: normally(truth, false),
  device: deviceCheck, tune: tuneCheck,
  mode: normally(choice(deviceModes), 'fused'), coarsening: whole(1, 64), layout: choice(['block', 'warp'] as const),
  threads: rule<number>('a multiple of 32 from 32 to 1024', (value) => Number.isInteger(value) && (value as number) % 32 === 0
    && (value as number) >= 32 && (value as number) <= 1024),
  launch: choice(['plain', 'persistent', 'auto'] as const), scheduler: choice(['packing', 'ilp'] as const),
  profile: rule<DeviceProfile>('a profile of a device', hasFields), cores: whole(1, 1024), link: nested(linkRates),
  costs: rule<readonly number[]>('microseconds for each node', (value) => Array.isArray(value)
    && value.every((cost) => typeof cost === 'number' && cost >= 0 && cost < Infinity)),
} satisfies ChecksOf<DeviceCompileOptions>);

/** Options that only some modes take. */
const takenBy = {
  coarsening: ['swp', 'swpnc', 'serial'], layout: ['swp', 'serial', 'synergistic', 'gpu'],
  threads: ['swp', 'swpnc', 'serial', 'synergistic', 'gpu'], launch: ['swp', 'swpnc', 'serial'], scheduler: ['swp', 'swpnc'],
  profile: ['swp', 'swpnc', 'serial', 'synergistic', 'gpu'], cores: ['synergistic', 'gpu', 'cpu'], costs: ['synergistic', 'gpu', 'cpu'],
  link: ['synergistic', 'gpu'],
} as const satisfies Readonly<Partial<Record<keyof DeviceCompileOptions, readonly DeviceMode[]>>>;

/** Refuses options that do not go together. */
function checkMode({ mode, ...options }: DeviceCompileOptions & { readonly mode: DeviceMode }): void {
  for (const [name, modes] of Object.entries(takenBy) as [keyof typeof takenBy, readonly DeviceMode[]][]) {
    if (options[name] !== undefined && !modes.includes(mode)) throw refusal(name, `none with mode '${mode}'`, describeValue(options[name]));
  }
  const { profile, threads } = options;
  const layout = options.layout ?? (isHybridMode(mode) ? 'warp' : 'block');
  const unit = mode === 'swpnc' || layout === 'warp' ? 32 : 128;
  if (threads !== undefined && threads % unit !== 0) throw refusal('threads', `a multiple of ${unit}`, String(threads));
  if (profile === undefined) return;
  if (threads !== undefined) throw refusal('threads', 'none with a profile, which tells them', String(threads));
  const measured = mode === 'swpnc' ? mode : 'swp';
  if (profile.mode !== measured) {
    throw refusal('profile', `one that was measured with mode '${measured}'`, describeValue(profile.mode));
  }
  if (mode !== 'swpnc' && profile.layout !== layout) {
    throw refusal('profile', `one that was measured with layout '${layout}'`, describeValue(profile.layout));
  }
}

/** The program with linear filters collapsed. Times by node would be those of other nodes. */
async function algebraicProgram(graph: StreamGraph, options: DeviceCompileOptions): Promise<LinearProgram> {
  for (const name of ['costs', 'profile'] as const) {
    if (options[name] !== undefined) throw refusal(name, 'none with algebraic, which changes the nodes', describeValue(options[name]));
  }
  options.signal?.throwIfAborted();
  return algebraicGraph(graph);
}

/**
 * Compiles a program for a device, so that it can run on data that is on the device, and so that the first run need not compile it.
 * (`run` with backend `cuda` compiles by itself.) Compiled programs are cached between processes, and so is the fastest layout of the
 * kernel, which the first compilation finds (`tune`).
 *
 * @throws WarploomError with code ERR_WARPLOOM_UNSUPPORTED for programs that only the CPU can run: those with messages, dynamic rates or
 * files; except with the modes of chapter 4, those with prints (several filters that print: with all modes); with `tune`, those that
 * are not one kernel; and those whose channels do not fit; ScheduleError for rates that do not balance; UnavailableError if nothing here
 * compiles device code
 */
export async function compileForDevice(written: StreamGraph, given: DeviceCompileOptions = {}): Promise<DeviceProgram> {
  const { device: asked, tune, mode, algebraic, ...options } = snapshot(compileOptions.read(given));
  checkMode({ ...options, mode });
  if (tune !== undefined && tune !== false && mode !== 'fused') throw refusal('tune', `false with mode '${mode}'`, describeValue(tune));
  const search = tune === undefined || tune === false ? undefined : tuneOptions.read(tune === true ? {} : tune, 'tune');
  const { costs } = options;
  if (asked !== undefined) await requireDevice(asked);
  const changed = algebraic ? await algebraicProgram(written, options) : undefined;
  const { graph, filters } = { graph: written, ...changed };
  return withGraph(graph, async () => within(options, async (signal) => {
    const [{ defaultDevice }, { compileMode }, { DeviceProgram: Program }] = await Promise.all(
      [import('../../core/device.ts'), import('./modes.ts'), import('./device-program.ts')]);
    if (costs !== undefined && costs.length !== graph.nodes.length) {
      throw refusal('costs', `microseconds for each of ${graph.nodes.length} nodes`, `${costs.length} of them`);
    }
    const device = asked ?? await defaultDevice();
    const unsupported = (error: unknown): never => {
      if (!(error instanceof UnsupportedProgram)) throw error;
      throw new WarploomError('ERR_WARPLOOM_UNSUPPORTED', `${error.reason}: run it on the CPU, with stream.run`, { cause: error });
    };
    if (search === undefined) {
      const short = tune === false ? { search: false } : {};
      const compiled = await compileMode(graph, device, { ...options, mode, signal, inOrder: true, ...short }).catch(unsupported);
      return new Program(graph, compiled, { algebraic: filters });
    }
    const { tuneLayout } = await import('./tune.ts');
    const { compiled, ...found } = await tuneLayout(graph, device, { ...search, fast: options.fast, signal }).catch(unsupported);
    return new Program(graph, compiled, { tuned: found, algebraic: filters });
  }), options.signal);
}
