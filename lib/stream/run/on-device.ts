// `stream.run` on devices: chooses the device, compiles a program once for each device, and says why a run cannot use one.
import { defaultDevice, Device, openDevice } from '../../core/device.ts';
import { lenderOf } from '../../core/lent.ts';
import { devices } from '../../core/devices.ts';
import { UnavailableError, WarploomError } from '../../core/errors.ts';
import { leading } from '../../core/known.ts';
import type { StreamGraph } from '../graph.ts';
import { StreamRunError } from '../interpret/error.ts';
import { countRun } from '../plan/counts.ts';
import { scalarCount } from '../interpret/values.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { ScheduleError } from '../schedule/error.ts';
import { startMattersOnDevice } from '../state/index.ts';
import { lenders } from '../options.ts';
import { JointWork, within } from '../stop.ts';
import { isHybridMode, type DeviceBackend, type DeviceMode } from './backends.ts';
import { atOnce, type Begun, type DeviceRequest, type DeviceRun } from './at-once.ts';
import { Borrowed } from './borrowed.ts';
import type { CompiledGpu } from './gpu.ts';
import { isLost, noteLost } from './lost.ts';
import { compileMode } from './modes.ts';
import { estimatedMilliseconds } from './threads.ts';
import { compiledWasm } from './wasm.ts';

/**
 * `auto` chooses a GPU for runs that are estimated to take at least this many milliseconds on one core, so that opening the device and
 * compiling the program take little time compared with the run. The second limit applies if the program is compiled already.
 */
export const worthDevice = 5000;
export const worthLaunch = 50;

/** Devices that were opened for runs without the option `device`. */
const opened = new Map<DeviceBackend, Promise<Device>>();

/** Compiled programs, by mode and by whether they are `fast`. */
const compiled = new WeakMap<StreamGraph, WeakMap<Device, Map<string, CompiledGpu>>>();
/** Compilations under way, by program: runs that begin meanwhile wait for them. */
const compiling = new WeakMap<Map<string, CompiledGpu>, Map<string, JointWork<CompiledGpu>>>();
/** The GPU for runs without the option `device`, once it has been opened. */
let gpu: Device | undefined;

/** Why no device of the backend can be used; undefined if one can. */
function missing(backend: DeviceBackend): string | undefined {
  const own = devices().filter((device) => device.backend === backend);
  if (own.some(({ available }) => available)) return undefined;
  return `${backend} is not available: ${own[0]?.reason ?? 'no such backend in this build'}`;
}

atOnce.begin = beginOnDevice;
lenders.for = (device, backend) => {
  const own = device ?? (backend === 'auto' || backend === 'cuda' ? gpu : undefined);
  return own === undefined ? undefined : lenderOf(own);
};

/** The device of a backend for calls that name none. */
export async function openedFor(backend: DeviceBackend): Promise<Device> {
  const reason = missing(backend);
  if (reason !== undefined) throw new UnavailableError(reason);
  if (backend === 'cuda') return gpu = await defaultDevice();
  for (;;) {
    let opening = opened.get(backend);
    if (opening === undefined) {
      opening = openDevice({ backend });
      opened.set(backend, opening);
    }
    const device = await opening.catch((error: unknown) => {
      if (opened.get(backend) === opening) opened.delete(backend);
      throw error;
    });
    if (!device.closed) return device;
    if (opened.get(backend) === opening) opened.delete(backend);
  }
}

/** What a program is compiled for; `costs` and `threads` are for the modes of chapter 4, which plan for them. */
interface CompileRequest {
  readonly mode: DeviceMode;
  readonly fast: boolean;
  readonly costs?: readonly number[] | undefined;
  readonly threads?: number | undefined;
}

/** Most compilations of a program for a device that are kept. */
const mostKept = 12;

const nameOf = ({ mode, fast, costs, threads }: CompileRequest): string =>
  `${mode}${fast ? ' fast' : ''}${isHybridMode(mode) ? ` ${threads ?? ''} ${costs?.join() ?? ''}` : ''}`;

async function compiledFor(graph: StreamGraph, device: Device, request: CompileRequest, signal: AbortSignal): Promise<CompiledGpu> {
  const own = compiled.get(graph) ?? new WeakMap<Device, Map<string, CompiledGpu>>();
  compiled.set(graph, own);
  const programs = own.get(device) ?? new Map<string, CompiledGpu>();
  own.set(device, programs);
  const name = nameOf(request);
  const known = programs.get(name);
  if (known !== undefined) return known;
  const underWay = compiling.get(programs) ?? new Map<string, JointWork<CompiledGpu>>();
  compiling.set(programs, underWay);
  let work = underWay.get(name);
  if (work === undefined || work.isStopped) {
    const begun = work = new JointWork(async (stop) => {
      const { mode, fast, costs, threads } = request;
      const planned = isHybridMode(mode) ? { costs, cores: threads } : {};
      try {
        let made: CompiledGpu | undefined;
        const better = (faster: CompiledGpu): void => {
          // Runs may still use what was there before.
          if (programs.get(name) === made) programs.set(name, made = faster);
        };
        made = await compileMode(graph, device, { mode, fast, ...planned, better, signal: stop });
        // Runs may still use what is forgotten here: the collector frees it.
        if (programs.size >= mostKept) programs.delete(leading([...programs.keys()], 1)[0]);
        programs.set(name, made);
        return made;
      } finally {
        if (underWay.get(name) === begun) underWay.delete(name);
      }
    });
    underWay.set(name, work);
  }
  return work.wait(signal);
}

/** The reason why a device cannot run a program; undefined for errors of the caller or of the program itself. */
export function reasonOf(error: unknown): string | undefined {
  if (error instanceof UnsupportedProgram) return error.reason;
  if (error instanceof ScheduleError) return error.message;
  if (!(error instanceof WarploomError) || error instanceof StreamRunError) return undefined;
  switch (error.code) {
    case 'ERR_WARPLOOM_UNAVAILABLE': case 'ERR_WARPLOOM_NOT_COMPILED': case 'ERR_WARPLOOM_INVALID_PROGRAM':
    case 'ERR_WARPLOOM_SYSTEM_FAILED': case 'ERR_WARPLOOM_OUT_OF_MEMORY':
      return error.message.split(/\n|\. (?=[A-Z])/)[0];
    default: return undefined;
  }
}

/**
 * A program compiled for a run or session that names no mode: as one kernel, else, where firings must follow each other, as
 * {@link chooseInOrder} finds.
 */
async function chosenFor(
  graph: StreamGraph, device: Device, { fast, signal, ...rest }: {
    readonly fast: boolean; readonly threads?: number | undefined; readonly input?: ArrayLike<number> | undefined;
    readonly signal: AbortSignal;
  },
): Promise<CompiledGpu> {
  try {
    return await compiledFor(graph, device, { mode: 'fused', fast }, signal);
  } catch (error) {
    if (!(error instanceof UnsupportedProgram) || !await isInOrder(graph)) throw error;
    const { chooseInOrder } = await import('./in-order.ts');
    const compile = (): Promise<CompiledGpu> => compiledFor(graph, device, { mode: 'swp', fast }, signal);
    return chooseInOrder(graph, device, error, { fast, signal, ...rest, compile });
  }
}

/** By mode `fused` as the caller asked: programs whose firings must follow each other by mode `swp`, as `compileForDevice` makes them. */
async function fusedFor(graph: StreamGraph, device: Device, fast: boolean, signal: AbortSignal): Promise<CompiledGpu> {
  try {
    return await compiledFor(graph, device, { mode: 'fused', fast }, signal);
  } catch (error) {
    if (!(error instanceof UnsupportedProgram) || !await isInOrder(graph)) throw error;
    return compiledFor(graph, device, { mode: 'swp', fast }, signal);
  }
}

/** Whether a program's firings must follow each other. */
export async function isInOrder(graph: StreamGraph): Promise<boolean> {
  return (await import('./gpu-pipelined.ts')).isInOrder(graph);
}

/**
 * A program compiled for a device: the given one, or the one of runs without the option `device`. Throws what {@link reasonOf} explains,
 * and more.
 */
export async function compiledOn(
  graph: StreamGraph, backend: DeviceBackend, { device: asked, fast, signal, inOrder }: {
    readonly device?: Device | undefined; readonly fast: boolean; readonly signal: AbortSignal;
    /** Takes programs whose firings must follow each other, where that is faster than so many threads. */
    readonly inOrder?: { readonly threads: number };
  },
): Promise<CompiledGpu> {
  const device = asked ?? await openedFor(backend);
  if (isLost(device)) throw new UnavailableError('the device was lost');
  try {
    return await (inOrder === undefined ? compiledFor(graph, device, { mode: 'fused', fast }, signal)
      : chosenFor(graph, device, { fast, signal, ...inOrder }));
  } catch (error) {
    noteLost(device, error);
    throw error;
  }
}

/**
 * Runs a program on a device. Throws if the program or the call is wrong, or if the device is lost during this run.
 * @param ready the program, compiled for the given device: then the run begins at once
 */
export async function runOnDevice(
  graph: StreamGraph, backend: DeviceBackend, request: DeviceRequest, ready?: CompiledGpu,
): Promise<DeviceRun> {
  const { input, device: asked, fast = false, mode, ...options } = request;
  return within(options, async (signal): Promise<DeviceRun> => {
    let device = asked;
    try {
      if (device === undefined) device = await openedFor(backend);
      if (isLost(device)) return { reason: 'the device was lost' };
      const { costs, threads } = options;
      const program = ready ?? await (mode === undefined ? chosenFor(graph, device, { fast, threads, input, signal })
        : mode === 'fused' ? fusedFor(graph, device, fast, signal)
          : compiledFor(graph, device, { mode, fast, costs, threads }, signal));
      return { made: await program.run(input, { ...options, signal }), backend };
    } catch (error) {
      if (signal.aborted) throw error;
      if (device !== undefined) noteLost(device, error);
      const reason = reasonOf(error);
      if (reason === undefined) throw error;
      return { reason };
    }
  });
}

/**
 * Begins a run while the input is the caller's, where a device is open, has the program and lends memory: the input is on its way when this
 * returns, and copied. Undefined: the input has to be copied first.
 */
function beginOnDevice(
  graph: StreamGraph, backend: string, input: unknown, { device: asked, fast = false, mode = 'fused', ...options }: DeviceRequest,
): Begun | undefined {
  const device = asked ?? (backend === 'cuda' ? gpu : undefined);
  if (!(device instanceof Device) || !Device.usable(device) || isLost(device)) return undefined;
  const own = device.backend;
  if (own === 'cpu' || (backend !== 'auto' && backend !== own)) return undefined;
  const { costs, threads } = options;
  const ready = compiled.get(graph)?.get(device)?.get(nameOf({ mode, fast, costs, threads }));
  const borrowed = ready?.takesBorrowed === true ? Borrowed.of(input, ready.program.input.external.type, lenderOf(device)) : undefined;
  if (borrowed === undefined) return undefined;
  const done = runOnDevice(graph, own, { ...options, device, fast, mode, input: borrowed.input, borrowed }, ready);
  borrowed.returns();
  return { backend: own, done, input: borrowed.input, drop: () => { borrowed.drop(); } };
}

/** Whether a run is long enough for a GPU and a GPU is available. */
export async function isForGpu(graph: StreamGraph, request: DeviceRequest): Promise<boolean> {
  try {
    const milliseconds = estimateOf(graph, request);
    if (milliseconds < worthLaunch || missing('cuda') !== undefined) return false;
    const isInAnyOrder = startMattersOnDevice(compiledWasm(graph).plan) !== undefined;
    if (!isInAnyOrder && !await isInOrder(graph)) return false;
    const name = nameOf({ mode: isInAnyOrder ? 'fused' : 'swp', fast: request.fast === true });
    const isCompiled = gpu !== undefined && compiled.get(graph)?.get(gpu)?.has(name) === true;
    return milliseconds >= worthDevice || isCompiled;
  } catch (error) {
    if (error instanceof UnsupportedProgram || error instanceof ScheduleError) return false;
    throw error;
  }
}

/** Estimated milliseconds of a run on one core; 0 for programs that cannot run on a device. */
function estimateOf(graph: StreamGraph, { input, items, iterations }: DeviceRequest): number {
  const { plan } = compiledWasm(graph);
  if (graph.input === undefined) return 0;
  const given = Math.floor((input?.length ?? 0) / scalarCount(graph.input.type));
  const amount = { input: given, ...(items === undefined ? {} : { items }), ...(iterations === undefined ? {} : { iterations }) };
  return estimatedMilliseconds(plan, { amount, counts: countRun(plan, amount), lines: Infinity }, 'wasm');
}
