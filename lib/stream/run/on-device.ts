// Runs on devices for `stream.run`: which device, programs compiled once for each, and why a run does not go to one.
import { defaultDevice, openDevice, type Device } from '../../core/device.ts';
import { devices } from '../../core/devices.ts';
import { UnavailableError, WarploomError } from '../../core/errors.ts';
import type { StreamGraph } from '../graph.ts';
import { StreamRunError } from '../interpret/error.ts';
import { countRun } from '../plan/counts.ts';
import { scalarCount } from '../interpret/values.ts';
import { startMatters } from '../plan/start.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { ScheduleError } from '../schedule/error.ts';
import { within } from '../stop.ts';
import type { DeviceBackend, DeviceMode } from './backends.ts';
import type { CompiledGpu, GpuWork } from './gpu.ts';
import { compileMode } from './modes.ts';
import type { RunResult, ThreadOptions } from './prepare.ts';
import { estimatedMilliseconds } from './threads.ts';
import { compiledWasm } from './wasm.ts';

/** What a run asks of a device. */
export interface DeviceRequest extends ThreadOptions {
  readonly input?: ArrayLike<number> | undefined;
  readonly device?: Device | undefined;
  readonly fast?: boolean | undefined;
  readonly mode?: DeviceMode | undefined;
}

/** A run on a device, or why there was none. */
export type DeviceRun =
  | { readonly made: RunResult & GpuWork; readonly backend: DeviceBackend }
  | { readonly reason: string };

/**
 * Milliseconds by estimate on one core from which on `auto` takes a GPU: what opening it and compiling the program cost is then small
 * beside the run. And from which on where that is done.
 */
export const worthDevice = 5000;
export const worthLaunch = 50;

/** Devices that were opened for runs that name none. */
const opened = new Map<DeviceBackend, Promise<Device>>();
/** Devices that were lost: further programs run on the CPU. */
const lost = new WeakSet<Device>();
/** Programs by mode, exact ones and fast ones. */
const compiled = new WeakMap<StreamGraph, WeakMap<Device, Map<string, CompiledGpu>>>();
/** The GPU of runs that name none, once there was such a run. */
let gpu: Device | undefined;

/** Why a device of the backend cannot be used; undefined if one can. */
function missing(backend: DeviceBackend): string | undefined {
  const own = devices().filter((device) => device.backend === backend);
  if (own.some(({ available }) => available)) return undefined;
  return `${backend} is not available: ${own[0]?.reason ?? 'no such backend in this build'}`;
}

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

const nameOf = (mode: DeviceMode, fast: boolean): string => `${mode}${fast ? ' fast' : ''}`;

async function compiledFor(graph: StreamGraph, device: Device, mode: DeviceMode, fast: boolean, signal: AbortSignal): Promise<CompiledGpu> {
  const own = compiled.get(graph) ?? new WeakMap<Device, Map<string, CompiledGpu>>();
  compiled.set(graph, own);
  const programs = own.get(device) ?? new Map<string, CompiledGpu>();
  own.set(device, programs);
  const name = nameOf(mode, fast);
  const known = programs.get(name);
  if (known !== undefined) return known;
  const made = await compileMode(graph, device, { mode, fast, signal });
  programs.set(name, made);
  return made;
}

/** What a device says where it cannot run a program; undefined for errors that are the caller's or the program's. */
function reasonOf(error: unknown): string | undefined {
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

/** Runs a program on a device. Throws what is wrong with the program or the call, and where the device is lost in this run. */
export async function runOnDevice(graph: StreamGraph, backend: DeviceBackend, request: DeviceRequest): Promise<DeviceRun> {
  const { input, device: asked, fast = false, mode = 'fused', ...options } = request;
  return within(options, async (signal): Promise<DeviceRun> => {
    let device = asked;
    try {
      device ??= await openedFor(backend);
      if (lost.has(device)) return { reason: 'the device was lost' };
      const program = await compiledFor(graph, device, mode, fast, signal);
      return { made: await program.run(input, { ...options, signal }), backend };
    } catch (error) {
      if (signal.aborted) throw error;
      if (device !== undefined && (error as { code?: unknown }).code === 'ERR_WARPLOOM_DEVICE_LOST') lost.add(device);
      const reason = reasonOf(error);
      if (reason === undefined) throw error;
      return { reason };
    }
  });
}

/** Whether a run is long enough for a GPU, and there is one that may take it. */
export function isForGpu(graph: StreamGraph, request: DeviceRequest): boolean {
  try {
    const milliseconds = estimateOf(graph, request);
    if (milliseconds < worthLaunch || missing('cuda') !== undefined) return false;
    const name = nameOf('fused', request.fast === true);
    return milliseconds >= worthDevice || (gpu !== undefined && compiled.get(graph)?.get(gpu)?.has(name) === true);
  } catch (error) {
    if (error instanceof UnsupportedProgram || error instanceof ScheduleError) return false;
    throw error;
  }
}

/** Milliseconds that a run takes on one core, by estimate; 0 for programs that no device takes. */
function estimateOf(graph: StreamGraph, { input, items, iterations }: DeviceRequest): number {
  const { plan } = compiledWasm(graph);
  if (startMatters(plan) === undefined || graph.input === undefined) return 0;
  const given = Math.floor((input?.length ?? 0) / scalarCount(graph.input.type));
  const amount = { input: given, ...(items === undefined ? {} : { items }), ...(iterations === undefined ? {} : { iterations }) };
  return estimatedMilliseconds(plan, { amount, counts: countRun(plan, amount), lines: Infinity }, 'wasm');
}
