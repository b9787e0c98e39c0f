// Runs a graph with the fastest back end that supports it.
import { describeValue } from '../../core/arrays.ts';
import { choice, rule, text, truth, whole, type Check } from '../../core/checks.ts';
import type { Device } from '../../core/device.ts';
import { briefly } from '../../core/display.ts';
import { DeviceLostError, refusal } from '../../core/errors.ts';
import { nested, normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { snapshot } from '../../core/snapshot.ts';
import { algebraicGraph, type LinearFilter, type LinearProgram } from '../algebra/index.ts';
import type { StreamGraph } from '../graph.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { runLimits, type RunLimits } from '../interpret/limits.ts';
import { amountChecks } from '../interpret/options.ts';
import {
  deviceCheck, devicesCheck, dropInput, inputChecks, lenders, requireDevice, requireDevices, requireTaker, returnInput, stopChecks,
  takenInput,
} from '../options.ts';
import { ScheduleError } from '../schedule/error.ts';
import {
  backendNamed, backendRule, cpuNote, deviceModes, isDeviceBackend, isHybridMode, shareChoice, streamBackends, type DeviceBackend,
  type DeviceMode, type FormerBackend, type ShareChoice, type StreamBackend,
} from './backends.ts';
import { withGraph } from '../require.ts';
import { atOnce, type Begun, type DeviceRequest, type DeviceRun } from './at-once.ts';
import { within } from '../stop.ts';
import type { GpuRunOptions } from './gpu-types.ts';

/** Options of {@link run}. */
export interface StreamRunOptions {
  /**
   * Default `auto`: what should be fastest of a GPU, WebAssembly, and C++ where there is a compiler and a long run has firings that must
   * follow each other. `js` is the former name of `wasm`: it adds a note to the result, and the next version will not accept it.
   */
  readonly backend?: StreamBackend | FormerBackend;
  /** An open device of backend cuda (or simt) on which to run. Default: one that is opened when a run needs it, and kept. */
  readonly device?: Device;
  /**
   * Several open devices of one backend, cuda or simt, instead of `device`: each makes a part of the output, and the result is the same to
   * the bit. Programs with state that the device keeps run on the first, with a `note`. What a lost device leaves, others or the CPU make.
   */
  readonly devices?: readonly Device[];
  /**
   * Scalars of the items on an open input, in memory order. They are copied at the call, except those in pinned memory or on a
   * SharedArrayBuffer, which must not change before the call settles.
   */
  readonly input?: ArrayLike<number>;
  /** End after this many output items. Default: when the input ends. */
  readonly items?: number;
  /** End after this many steady states. */
  readonly iterations?: number;
  /** Contents of the files that the program reads, by the path it uses. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  /** Stops the run within a tenth of a second. */
  readonly signal?: AbortSignal;
  /** For `random`. Default 1. */
  readonly seed?: number;
  /** Limits of the interpreter, in place of its defaults. */
  readonly limits?: Partial<RunLimits>;
  /**
   * The maximum number of threads for compiled programs, 1 to 1024; with the modes of chapter 4, cores that run filters. Default: one per
   * core for longer runs, otherwise 1.
   */
  readonly threads?: number;
  /**
   * Microseconds per firing on a core by node, used to balance the work of threads and, with the modes of chapter 4, to place filters;
   * `measured`: measured with `profile`, which caches its measurements, on the first items of `input` (counted where that faults there).
   * Default: counted operations.
   */
  readonly costs?: readonly number[] | 'measured';
  /** Time limit in milliseconds, compilation by `cpp` included; default 600 000. */
  readonly timeout?: number;
  /**
   * With `cpp`, `cuda` and `simt`: allows floating-point operations to be contracted (by `cpp` reordered too), so that outputs differ in
   * rounding.
   */
  readonly fast?: boolean;
  /**
   * Multiplies linear filters together where that takes fewer operations ({@link collapseLinear}), and makes recurrences of floats as scans
   * on devices. Both change outputs within rounding; without such scans all back ends still give the same bits. Default false.
   */
  readonly algebraic?: boolean;
  /**
   * With `cuda` and `simt`: how the device runs the program; see {@link compileForDevice}, which has more options. Default: `fused`;
   * programs with feedback loops, or state that only firings in order can find, by `swp` where that proves faster than the CPU.
   */
  readonly mode?: DeviceMode;
  /**
   * With a device: whether worker threads make some of the steady states, from the end of the input backwards, while the device works from
   * its start. Default `auto`: if the device alone would take another 150 ms, and as long as both prove faster than the device alone. The
   * output is the same.
   */
  readonly share?: ShareChoice;
  /** With `cpp`: path or name of the compiler. Default: the first of g++, clang++ and c++ on PATH. */
  readonly compiler?: string;
}

/** The result of a run. */
export interface StreamRun {
  /** Scalars of the items on the open output, in memory order. */
  readonly output: ArrayLike<number>;
  readonly printed: string;
  /** Files that were written. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** Milliseconds spent in the program itself, without translation and compilation; with transfers to and from a device. */
  readonly milliseconds: number;
  /** Seconds on the device, without transfers; only where there was one. */
  readonly deviceSeconds?: number;
  /** The share of the steady states that the device made, from 0 to 1; only where there was one. */
  readonly deviceShare?: number;
  /** With `devices`: the share of the steady states that each made. `deviceSeconds` is then that of the one that worked longest. */
  readonly deviceShares?: readonly number[];
  /** With `algebraic`: the linear filters that replaced others; empty if none was worth it. */
  readonly algebraic?: readonly LinearFilter[];
  /**
   * With `algebraic` on a device: filters whose recurrences of floats (x ← A x + b) it made as scans. Only such runs give other bits on a
   * device than on the CPU.
   */
  readonly recurrences?: readonly string[];
  /**
   * The back end that ran it. For `cpp`, this is `wasm` if a C++ compiler would take minutes; for `cuda`, what runs the program without a
   * GPU if there is none, or none that can run it.
   */
  readonly backend: Exclude<StreamBackend, 'auto'>;
  /** A note for the caller: why a different back end than requested ran it, or that its name is a former one. */
  readonly note?: string;
}

/** Options after their checks. */
type GivenOptions = StreamRunOptions & { readonly timeout: number } & Pick<GpuRunOptions, 'release'>;

const times: Check<readonly number[] | 'measured'> = rule("microseconds for each node, or 'measured'", (value) => value === 'measured'
  || (Array.isArray(value) && value.every((cost) => typeof cost === 'number' && cost >= 0 && cost < Infinity)));

const runOptions = optionsOf('stream.run', {
  backend: normally(backendRule(streamBackends), 'auto'), ...inputChecks, ...amountChecks, ...stopChecks,
  timeout: normally(stopChecks.timeout, 600_000), limits: nested(runLimits), threads: whole(1, 1024), costs: times, fast: truth,
  algebraic: normally(truth, false), share: shareChoice, compiler: text(), device: deviceCheck, devices: devicesCheck,
  mode: choice(deviceModes),
} satisfies ChecksOf<StreamRunOptions>);

/** Checked options of a run; times are given or counted. */
interface RunRequest extends Omit<StreamRunOptions, 'backend' | 'costs' | 'device'> {
  readonly timeout: number;
  readonly costs?: readonly number[];
}

async function runWasm(graph: StreamGraph, { input, ...options }: RunRequest): Promise<StreamRun> {
  const { compiledWasm } = await import('./wasm.ts');
  return { ...await compiledWasm(graph).runHereOrAside(input, options), backend: 'wasm' };
}

async function runCpp(graph: StreamGraph, { input, fast, compiler, ...options }: RunRequest): Promise<StreamRun> {
  const cpp = await import('./cpp.ts');
  const made = await within(options, (signal) => cpp.runCpp(graph, input, { signal, fast, compiler }, { ...options, signal }));
  return { ...made, backend: 'cpp' };
}

async function runCppOrWasm(graph: StreamGraph, options: RunRequest): Promise<StreamRun> {
  const { LargeProgram } = await import('../targets/cpp.ts');
  try {
    return await runCpp(graph, options);
  } catch (error) {
    if (!(error instanceof LargeProgram)) throw error;
    return { ...await runWasm(graph, options), note: error.note };
  }
}

async function runInterpreted(
  graph: StreamGraph, { input, items, iterations, files, seed, limits, signal, timeout }: RunRequest,
): Promise<StreamRun> {
  const { interpretAside } = await import('../interpret/index.ts');
  const begin = performance.now();
  const made = await interpretAside(graph, { input, items, iterations, files, seed, limits, signal, timeout });
  return { ...made, milliseconds: performance.now() - begin, backend: 'interpret' };
}

/**
 * Times of firings, measured on the first items of the input if requested. Undefined, for counted ones, if nothing can be measured: what
 * is wrong with the program or its input is for the run to say, which may not get that far.
 */
async function timesFor(
  graph: StreamGraph, backend: 'wasm' | 'cpp', { costs, input, files, signal }: StreamRunOptions,
): Promise<readonly number[] | undefined> {
  if (costs !== 'measured') return costs;
  if (graph.input !== undefined && input === undefined) return undefined;
  const [{ measure }, { StreamRunError }] = await Promise.all([import('../profile/measure.ts'), import('../interpret/error.ts')]);
  try {
    return (await measure(graph, { backend, input, files, signal })).microseconds;
  } catch (error) {
    if (error instanceof StreamRunError || error instanceof UnsupportedProgram || error instanceof ScheduleError) return undefined;
    throw error;
  }
}

/** What the loss of a device means to a run: who did not ask for a GPU need not know that it failed. */
function forAuto(name: StreamBackend | FormerBackend): (error: unknown) => string {
  return (error) => {
    if (name === 'auto' && error instanceof DeviceLostError) return error.message;
    throw error;
  };
}

/** Runs a program on a device; why not, where that does not go. */
async function runDevice(
  graph: StreamGraph, backend: DeviceBackend, given: GivenOptions, costs?: readonly number[],
): Promise<StreamRun | string> {
  const { runOnDevice } = await import('./on-device.ts');
  return toldBy(await runOnDevice(graph, backend, requestOf(given, costs)), backend);
}

/** What a run on a device is given. */
function requestOf(
  { input, threads, seed, items, iterations, signal, timeout, device, fast, mode, release, share = 'auto' }: GivenOptions,
  costs?: readonly number[],
): DeviceRequest {
  return {
    input, device, fast, mode, share, timeout, release,
    ...(signal === undefined ? {} : { signal }), ...(costs === undefined ? {} : { costs }),
    ...(threads === undefined ? {} : { threads }), ...(seed === undefined ? {} : { seed }), ...(items === undefined ? {} : { items }),
    ...(iterations === undefined ? {} : { iterations }),
  };
}

/** The result of a run on a device, or why there is none. */
function toldBy(done: DeviceRun, backend: DeviceBackend): StreamRun | string {
  if ('reason' in done) return done.reason;
  const { note, ...made } = done.made;
  return note === undefined ? { ...made, backend } : { ...made, backend: 'wasm', note: cpuNote(note) };
}

/** Runs a program on several devices; why not, where that does not go. */
async function runSeveral(
  graph: StreamGraph, backend: DeviceBackend, { devices, input, threads, seed, items, iterations, ...rest }: SeveralOptions,
): Promise<StreamRun | string> {
  const { runOnDevices } = await import('./several.ts');
  const { signal, timeout, fast, release } = rest;
  return runOnDevices(graph, backend, {
    input, devices, fast, timeout, release, ...(signal === undefined ? {} : { signal }), ...(threads === undefined ? {} : { threads }),
    ...(seed === undefined ? {} : { seed }), ...(items === undefined ? {} : { items }), ...(iterations === undefined ? {} : { iterations }),
  });
}

type SeveralOptions = GivenOptions & { readonly devices: readonly Device[] };

/**
 * Runs an elaborated program. All back ends give the same output bits, unless `fast` allows otherwise.
 *
 * @throws ArgumentError for missing input and invalid limits, StreamRunError if the program faults, NoCompilerError
 * (ERR_WARPLOOM_UNAVAILABLE) for `cpp` without a compiler, DeviceLostError if the GPU is lost in a run with `cuda` (later runs go to the
 * CPU), WarploomError (ERR_WARPLOOM_SYSTEM_FAILED) if the time is over
 */
export async function run(graph: StreamGraph, given: StreamRunOptions = {}): Promise<StreamRun> {
  const { backend: name, input, ...read } = runOptions.read(given);
  const isPlain = read.costs === undefined && read.compiler === undefined && read.devices === undefined && !read.algebraic;
  const begin = isPlain ? atOnce.begin : undefined;
  if (begin !== undefined) {
    const begun = withGraph(graph, () => begin(graph, name, input, requestOf(read)));
    if (begun !== undefined) return briefly('StreamRun', await runBegun(graph, name, begun, read));
  }
  const taken = takenInput(input, lenders.for?.(read.device, name));
  try {
    return briefly('StreamRun', await runTaken(graph, name, taken, input, read));
  } finally {
    dropInput(taken);
  }
}

/** The rest of a run that has begun on a device. */
async function runBegun(
  graph: StreamGraph, name: StreamBackend | FormerBackend, begun: Begun, read: GivenOptions,
): Promise<StreamRun> {
  const { backend, input } = begun;
  const started = performance.now();
  try {
    const made = await withGraph(graph, () => begun.done, read.signal).then((done) => toldBy(done, backend),
      forAuto(read.device === undefined ? name : backend));
    if (typeof made !== 'string') return made;
    const timeout = Math.max(1, read.timeout - (performance.now() - started));
    return { ...await runOnCpu(backend, graph, { ...read, input, timeout }), note: cpuNote(made) };
  } finally {
    begun.drop();
  }
}

/** A run on an input that the caller does not change. */
async function runTaken(
  graph: StreamGraph, name: StreamBackend | FormerBackend, taken: ArrayLike<number> | undefined, input: ArrayLike<number> | undefined,
  read: Omit<GivenOptions, 'backend' | 'input'>,
): Promise<StreamRun> {
  const options = { ...snapshot(read), ...(taken === undefined ? {} : { input: taken }), release: () => { returnInput(taken, input); } };
  const { backend, note } = backendNamed(name);
  const named = await givenDevice(backend, options);
  const deviceBackend = isDeviceBackend(backend) ? backend : named?.backend as DeviceBackend | undefined;
  requireTaker(options, deviceBackend ?? backend, {
    fast: ['cpp', 'cuda', 'simt'], share: ['auto', 'cuda', 'simt'], compiler: ['cpp'], mode: ['cuda', 'simt'],
  }, backend);
  const { algebraic, ...rest } = options;
  const changed = algebraic ? await algebraicProgram(graph, options) : undefined;
  const used = changed?.graph ?? graph;
  const made = await withGraph(used, () => runBy(deviceBackend ?? backend, used, rest), options.signal);
  return { ...made, ...(changed === undefined ? {} : { algebraic: changed.filters }), ...(note === undefined ? {} : { note }) };
}

/** The device that a call names, or the first of several, after checks of what cannot be together with it. */
async function givenDevice(backend: StreamBackend, { device, devices, mode, share }: StreamRunOptions): Promise<Device | undefined> {
  const argument = devices === undefined ? 'device' : 'devices';
  const found = devices?.[0] ?? device;
  if (found === undefined) return undefined;
  if (backend !== 'auto' && !isDeviceBackend(backend)) {
    throw refusal(argument, `none with backend '${backend}'`, describeValue(devices ?? device));
  }
  const wanted = backend === 'auto' ? undefined : backend;
  if (devices === undefined) await requireDevice(found, wanted);
  else {
    await requireDevices(devices, wanted);
    if (device !== undefined) throw refusal('device', 'none together with devices', describeValue(device));
    if (mode !== undefined && mode !== 'fused') throw refusal('mode', "'fused' or nothing with devices", describeValue(mode));
    if (share === true) throw refusal('share', "false or 'auto' with devices, which make all of it", 'true');
  }
  return found;
}

/** The program with linear filters collapsed. Times by node would be those of other nodes. */
async function algebraicProgram(graph: StreamGraph, { costs, signal }: StreamRunOptions): Promise<LinearProgram> {
  if (Array.isArray(costs)) throw refusal('costs', "'measured' or nothing with algebraic, which changes the nodes", describeValue(costs));
  signal?.throwIfAborted();
  return algebraicGraph(graph);
}

async function runBy(backend: StreamBackend, graph: StreamGraph, given: GivenOptions): Promise<StreamRun> {
  const { costs, limits = {}, device: _, devices, mode: _mode, release: _release, ...options } = given;
  if (Array.isArray(costs) && costs.length !== graph.nodes.length) {
    throw refusal('costs', `microseconds for each of ${graph.nodes.length} nodes`, `${costs.length} of them`);
  }
  options.signal?.throwIfAborted();
  if (backend === 'cpp') return runCppOrWasm(graph, { ...options, costs: await timesFor(graph, 'cpp', given) });
  if (backend === 'interpret') return runInterpreted(graph, { ...options, limits: runLimits.read(limits) });
  const began = performance.now();
  let note: string | undefined;
  if (isDeviceBackend(backend) || (backend === 'auto' && await isForGpu(graph, given))) {
    const isPlanned = given.mode !== undefined && isHybridMode(given.mode);
    const times = isPlanned ? await timesFor(graph, 'wasm', given) : Array.isArray(costs) ? costs as readonly number[] : undefined;
    const on = isDeviceBackend(backend) ? backend : 'cuda';
    const made = await (devices === undefined ? runDevice(graph, on, given, times) : runSeveral(graph, on, { ...given, devices }))
      .catch(forAuto(backend));
    if (typeof made !== 'string') return made;
    note = cpuNote(made);
  }
  const left = note === undefined ? options.timeout : Math.max(1, options.timeout - (performance.now() - began));
  const made = await runOnCpu(backend, graph, { ...given, timeout: left });
  return note === undefined ? made : { ...made, note };
}

/** Whether `auto` takes a GPU. */
async function isForGpu(graph: StreamGraph, given: GivenOptions): Promise<boolean> {
  // Only an open input can be long.
  if (graph.input === undefined || graph.output === undefined) return false;
  const { backendOfEnvironment } = await import('../../core/devices.ts');
  const preferred = backendOfEnvironment();
  if (preferred !== undefined && preferred !== 'cuda') return false;
  const { isForGpu: isWorth } = await import('./on-device.ts');
  const { input, items, iterations, fast } = given;
  return isWorth(graph, {
    input, fast, ...(items === undefined ? {} : { items }), ...(iterations === undefined ? {} : { iterations }),
  });
}

/** By WebAssembly, with `auto` perhaps by C++, or where that cannot be by the interpreter. */
async function runOnCpu(backend: StreamBackend, graph: StreamGraph, given: GivenOptions): Promise<StreamRun> {
  const { limits = {}, costs: _, device: _device, devices: _devices, fast: _fast, mode: _mode, release: _release, ...options } = given;
  if (backend === 'auto' && graph.input !== undefined) {
    const began = performance.now(), { byCppIfWorth } = await import('./cpp-choice.ts');
    const made = await byCppIfWorth(graph, options, async () =>
      runCpp(graph, { ...options, costs: await timesFor(graph, 'cpp', given) }));
    if (made === undefined) options.timeout = Math.max(1, options.timeout - (performance.now() - began));
    else if (made !== 'no') return made;
  }
  try {
    return await runWasm(graph, { ...options, costs: await timesFor(graph, 'wasm', given) });
  } catch (error) {
    const isForInterpreter = error instanceof UnsupportedProgram || error instanceof ScheduleError;
    if (backend === 'wasm' || !isForInterpreter) throw error;
  }
  return runInterpreted(graph, { ...options, limits: runLimits.read(limits) });
}
