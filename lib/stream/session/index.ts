// Sessions: programs that run as their input comes. The first one loads the modules that do it.
import { describeValue } from '../../core/arrays.ts';
import { callback, choice, text, truth, whole, type Check } from '../../core/checks.ts';
import type { Device } from '../../core/device.ts';
import { refusal } from '../../core/errors.ts';
import { nested, normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { reasonOf } from '../../core/progress.ts';
import { snapshot } from '../../core/snapshot.ts';
import { isDynamic } from '../elaborate/to-sdf.ts';
import { collapseLinear } from '../algebra/index.ts';
import type { StreamGraph } from '../graph.ts';
import { runLimits, type RunLimits } from '../interpret/limits.ts';
import { deviceCheck, inputChecks, requireDevice, requireTaker } from '../options.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { withGraph } from '../require.ts';
import { ScheduleError } from '../schedule/error.ts';
import { cpuNote, isDeviceBackend, type DeviceBackend } from '../run/backends.ts';
import type { Outlet, SessionEngine, StreamBlock } from './engine.ts';
import type { InterpretedOptions } from './interpret.ts';
import type { StreamSession } from './session.ts';

/** Back ends of sessions. */
export const sessionBackends = ['auto', 'cuda', 'wasm', 'cpp', 'interpret', 'simt'] as const;
/** A way to run a session. */
export type SessionBackend = (typeof sessionBackends)[number];

/** Options of {@link open}. */
export interface StreamSessionOptions {
  /**
   * Default `auto`: `wasm`, or `interpret` for programs that only the interpreter runs; with `device`, that device. Programs that a device
   * cannot run go to the CPU, with a `note`. `cpp` compiles the program with the system's C++ compiler and gives each session a child
   * process.
   */
  readonly backend?: SessionBackend;
  /** An open device of backend cuda (or simt) on which to run. */
  readonly device?: Device;
  /**
   * The most items of input that are processed at once, and how many single numbers are collected before they are. Of programs without an
   * open input: about how many items a block has. Default 65536, on devices 1048576.
   */
  readonly chunk?: number;
  /** Contents of the files that the program reads, by the path it uses. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  /** For `random`. Default 1. */
  readonly seed?: number;
  /** Limits of the interpreter; those of firings and steps count from call to call. */
  readonly limits?: Partial<RunLimits>;
  /**
   * Whether the session gets a worker thread of its own: the calling thread stays free, sessions run on several cores, and `signal` and
   * `close` end it in the middle of anything. Default false; programs with dynamic rates get one in any case.
   */
  readonly thread?: boolean;
  /**
   * With `cpp` or a device: allows floating-point operations to be contracted (by `cpp` reordered too), so that outputs differ in rounding.
   */
  readonly fast?: boolean;
  /** With `cpp`: path or name of the compiler. Default: the first of g++, clang++ and c++ on PATH. */
  readonly compiler?: string;
  /**
   * Multiplies linear filters together where that takes fewer operations ({@link collapseLinear}), which changes outputs within rounding.
   * Default false.
   */
  readonly algebraic?: boolean;
  /** Takes the text that a program prints besides its output, in order. Required for such programs. */
  readonly print?: (text: string) => void;
  /** Closes the session. */
  readonly signal?: AbortSignal;
}

const takesText: Check<(text: string) => void> = callback;

const sessionOptions = optionsOf('stream.open', {
  backend: normally(choice(sessionBackends), 'auto'), device: deviceCheck, chunk: whole(1, 2 ** 30),
  files: inputChecks.files, seed: normally(inputChecks.seed, 1), limits: nested(runLimits), thread: truth, fast: truth,
  compiler: text(),
  algebraic: normally(truth, false), print: takesText,
  signal: inputChecks.signal,
} satisfies ChecksOf<StreamSessionOptions>);

type Given = ReturnType<typeof sessionOptions.read<StreamSessionOptions>>;

/** Items that are processed at once by default. */
const hostChunk = 65_536, deviceChunk = 2 ** 20;

/**
 * Opens a session of a program: a run whose input comes chunk by chunk, and that gives its output as soon as whole steady states are made.
 * All output together equals that of {@link run} on all of the input, to the bit, whatever the chunks are. State, windows and items on
 * channels are kept from chunk to chunk; memory does not grow with the length of the stream.
 *
 * Blocks are typed arrays of the scalars of output items; of programs that only print, text of whole lines.
 *
 * @throws ArgumentError for wrong options and for programs with several outputs, WarploomError with code ERR_WARPLOOM_UNSUPPORTED if the
 * back end that was asked for cannot run the program, NoCompilerError for `cpp` without a compiler, DeviceLostError, `signal.reason`
 */
export async function open<Block extends StreamBlock = StreamBlock>(
  written: StreamGraph, given: StreamSessionOptions = {},
): Promise<StreamSession<Block>> {
  const options = snapshot(sessionOptions.read(given));
  const { signal, algebraic } = options;
  signal?.throwIfAborted();
  const changed = algebraic ? await collapseLinear(written) : undefined;
  const { graph } = changed ?? { graph: written };
  return withGraph(graph, async () => {
    const [{ outletOf }, { StreamSession: Session }] = await Promise.all([import('./engine.ts'), import('./session.ts')]);
    const outlet = outletOf(graph, options.print !== undefined);
    const backend = await backendOf(options);
    const isElsewhere = isDeviceBackend(backend) || backend === 'cpp';
    if (options.thread === true && isElsewhere) throw refusal('thread', `none with backend '${backend}'`, 'true');
    requireTaker(options, backend, { fast: ['cpp', 'cuda', 'simt'], compiler: ['cpp'] });
    const stop = new AbortController();
    const abort = (): void => { stop.abort(reasonOf(signal as AbortSignal)); };
    signal?.addEventListener('abort', abort, { once: true });
    const off = (): void => { signal?.removeEventListener('abort', abort); };
    try {
      const engine = await engineFor(graph, backend, outlet, options, stop.signal);
      stop.signal.throwIfAborted();
      const byRates = await latencyFor(graph, outlet), latency = byRates === undefined ? undefined : byRates + (engine.heldBack ?? 0);
      return new Session<Block>({
        graph, engine, outlet, latency, chunk: options.chunk ?? (isDeviceBackend(engine.backend) ? deviceChunk : hostChunk),
        print: options.print, stop, close: off, algebraic: changed?.filters,
      });
    } catch (error) {
      off();
      throw error;
    }
  }, signal);
}

async function backendOf({ backend, device }: Given): Promise<SessionBackend> {
  if (device === undefined) return backend;
  if (backend !== 'auto' && !isDeviceBackend(backend)) throw refusal('device', `none with backend '${backend}'`, describeValue(device));
  await requireDevice(device, backend === 'auto' ? undefined : backend);
  return device.backend as DeviceBackend;
}

async function engineFor(
  graph: StreamGraph, backend: SessionBackend, outlet: Outlet, options: Given, stop: AbortSignal,
): Promise<SessionEngine> {
  const { files = {}, seed } = options;
  const own = { files, seed, limits: runLimits.read(options.limits ?? {}) };
  const isApart = options.thread === true;
  if (backend === 'interpret') return interpreted(graph, outlet, own, isApart, stop);
  if (isDeviceBackend(backend)) {
    const made = await onDevice(graph, backend, outlet, options, stop);
    if (typeof made !== 'string') return made;
    const instead = await engineFor(graph, 'auto', outlet, options, stop);
    return Object.assign(instead, { note: cpuNote(made) });
  }
  if (backend === 'cpp') return byCpp(graph, outlet, options, stop);
  try {
    const { planProgress, requireEnd } = await import('./progress.ts');
    requireEnd(planProgress(graph, outlet));
    if (isApart) return await (await import('./aside.ts')).AsideEngine.start('wasm', graph, outlet, own, stop);
    return new (await import('./wasm.ts')).WasmEngine(graph, outlet, own, stop);
  } catch (error) {
    if (backend === 'wasm' || !(error instanceof UnsupportedProgram || error instanceof ScheduleError)) throw error;
    return interpreted(graph, outlet, own, isApart, stop);
  }
}

/** A session in a process of its own; of a program that would take a compiler minutes, one by WebAssembly. */
async function byCpp(graph: StreamGraph, outlet: Outlet, options: Given, stop: AbortSignal): Promise<SessionEngine> {
  const [{ CppEngine }, { LargeProgram }] = await Promise.all([import('./cpp.ts'), import('../targets/cpp.ts')]);
  const { files = {}, seed, fast = false, compiler } = options;
  try {
    return await CppEngine.start(graph, outlet, { files, seed, fast, compiler }, stop);
  } catch (error) {
    if (!(error instanceof LargeProgram)) throw error;
    return Object.assign(await engineFor(graph, 'wasm', outlet, options, stop), { note: error.note });
  }
}

/** A session on a device; why not, where that does not go. */
async function onDevice(
  graph: StreamGraph, backend: DeviceBackend, outlet: Outlet, { device, fast = false, files = {}, seed, chunk = deviceChunk }: Given,
  stop: AbortSignal,
): Promise<SessionEngine | string> {
  const [{ compiledOn, reasonOf: reasonFor }, { DeviceEngine }, { requirePieces }] = await Promise.all(
    [import('../run/on-device.ts'), import('./device.ts'), import('./pieces.ts')]);
  try {
    if (graph.input === undefined || outlet.path !== undefined) {
      throw new UnsupportedProgram('the program has not one open input and one open output');
    }
    const compiled = await compiledOn(graph, backend, { device, fast, signal: stop, inOrder: { threads: 1 } });
    requirePieces(graph, compiled, chunk);
    return new DeviceEngine(graph, compiled, outlet, { files, seed, chunk }, stop);
  } catch (error) {
    const reason = stop.aborted ? undefined : reasonFor(error);
    if (reason === undefined) throw error;
    return reason;
  }
}

async function interpreted(
  graph: StreamGraph, outlet: Outlet, options: InterpretedOptions, isApart: boolean, stop: AbortSignal,
): Promise<SessionEngine> {
  if (isApart || graph.nodes.some(isDynamic)) {
    const { AsideEngine } = await import('./aside.ts');
    return AsideEngine.start('interpret', graph, outlet, options, stop);
  }
  const { InterpretEngine } = await import('./interpret.ts');
  return new InterpretEngine(graph, outlet, options, stop);
}

/** Items held back, as far as rates say. */
async function latencyFor(graph: StreamGraph, outlet: Outlet): Promise<number | undefined> {
  if (graph.input === undefined) return 0;
  const [{ planProgress }, { latencyOf }] = await Promise.all([import('./progress.ts'), import('./latency.ts')]);
  try {
    return latencyOf(planProgress(graph, outlet));
  } catch (error) {
    if (error instanceof UnsupportedProgram || error instanceof ScheduleError) return undefined;
    throw error;
  }
}
