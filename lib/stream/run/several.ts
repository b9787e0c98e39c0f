// Runs on several devices: each makes a part of the steady states, from a part of the input that reaches a little into the parts of its
// neighbours. Only programs whose output does not depend on how a run began can be cut so.
import { setMaxListeners } from 'node:events';
import { availableParallelism } from 'node:os';
import { copyElements } from '../../core/arrays.ts';
import type { Device } from '../../core/device.ts';
import { elementAt, required } from '../../core/known.ts';
import type { StreamGraph } from '../graph.ts';
import { StreamRunError } from '../interpret/error.ts';
import { scalarCount } from '../interpret/values.ts';
import { writtenFirings } from '../plan/counts.ts';
import { makeArray } from '../plan/layout.ts';
import { startMatters } from '../plan/start.ts';
import { within } from '../stop.ts';
import { cpuNote, type DeviceBackend } from './backends.ts';
import { itemsOut, partOf } from './gpu-ends.ts';
import type { CompiledGpu } from './gpu.ts';
import type { GpuRunOptions, GpuWork } from './gpu-types.ts';
import { isLost, noteLost } from './lost.ts';
import { compiledOn, isInOrder, reasonOf } from './on-device.ts';
import type { FusedProgram } from '../targets/cuda.ts';
import { joinItems, prepareRun, roomFor, type PreparedRun, type RunResult, type Scalars } from './prepare.ts';
import { compiledWasm } from './wasm.ts';

/** The options of a run on several devices. */
export interface SeveralRequest extends GpuRunOptions {
  readonly input: ArrayLike<number> | undefined;
  readonly devices: readonly Device[];
  readonly fast?: boolean | undefined;
}

/** The result of such a run. */
export interface SeveralRun extends RunResult {
  /** `wasm` if the CPU made everything. */
  readonly backend: DeviceBackend | 'wasm';
  /** Seconds of the device that worked longest. */
  readonly deviceSeconds?: number;
  readonly deviceShare?: number;
  /** By device: the share of the steady states that it made. */
  readonly deviceShares: readonly number[];
  readonly note?: string;
}

/** Steady states that one device makes. */
interface Part {
  readonly from: number;
  readonly states: number;
  readonly isLast: boolean;
  /** Whether a device has left it: some of its transfers into the output may still be under way. */
  readonly isLeft?: boolean;
}

/** A device with the program compiled for it; undefined once it has failed. */
interface Worker {
  readonly number: number;
  compiled: CompiledGpu | undefined;
  states: number;
  seconds: number;
}

/** Another part than the first went wrong: what the run as a whole gives is to be found out. */
class FaultyPart extends Error {}

const nameOf = (device: Device, number: number): string => `device ${number} (${device.name})`;

/** One run. */
class SeveralWork {
  readonly notes: string[] = [];
  readonly #request: SeveralRequest;
  readonly #graph: StreamGraph;
  readonly #workers: readonly Worker[];
  /** The program, whose rates are the same on all devices. */
  readonly #program: FusedProgram;
  readonly #outer: AbortSignal;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  #byCpu = 0;
  /** Whether the run ends with its input. */
  #isExhausted = false;

  constructor(graph: StreamGraph, request: SeveralRequest, workers: readonly Worker[], program: FusedProgram, signal: AbortSignal) {
    this.#graph = graph;
    this.#request = request;
    this.#workers = workers;
    this.#program = program;
    this.#outer = signal;
    this.#signal = AbortSignal.any([signal, this.#stop.signal]);
    setMaxListeners(0, this.#signal);
  }

  /** The devices that still work. */
  get #able(): (Worker & { readonly compiled: CompiledGpu })[] {
    return this.#workers.filter((worker): worker is Worker & { readonly compiled: CompiledGpu } => worker.compiled !== undefined);
  }

  /** Why the program cannot be cut. */
  get #whole(): string | undefined {
    const { plan, state } = this.#program;
    if (this.#able.some(({ compiled: { figures } }) => figures !== undefined)) return 'its firings must follow each other';
    if (state !== undefined) return 'the program has state';
    return startMatters(plan) === undefined ? 'how a run begins matters to all of its output' : undefined;
  }

  async run(): Promise<SeveralRun> {
    const { plan, output: { external } } = this.#program;
    const run = prepareRun(plan, this.#request.input, this.#request);
    const parts = this.#parts(run);
    this.#isExhausted = run.counts.exhausted;
    const whole = this.#whole ?? (parts.length < 2 && this.#able.length > 1 ? 'the run is too short for several' : undefined);
    if (whole !== undefined || parts.length < 2) return this.#onOne(whole);
    const items = itemsOut(this.#program, run.counts, run.amount.items);
    const output = joinItems(roomFor(items, external.type, makeArray, false), external.type, items);
    const began = performance.now();
    try {
      await this.#all(parts, items, output);
    } catch (error) {
      if (!(error instanceof FaultyPart)) throw error;
      return await this.#onOne(undefined);
    }
    this.#request.release?.();
    return {
      output, printed: '', files: {}, firings: writtenFirings(plan, run.amount, run.counts),
      exhausted: run.counts.exhausted, milliseconds: performance.now() - began, ...this.#figures(),
    };
  }

  #figures(): Pick<SeveralRun, 'backend' | 'deviceSeconds' | 'deviceShare' | 'deviceShares'> & { readonly note?: string } {
    const made = this.#workers.map(({ states }) => states);
    const all = Math.max(1, made.reduce((sum, states) => sum + states, this.#byCpu));
    const note = this.notes.length === 0 ? {} : { note: this.notes.join('; ') };
    const shares = made.map((states) => states / all);
    if (made.every((states) => states === 0)) return { backend: 'wasm', deviceShares: shares, ...note };
    return {
      backend: elementAt(this.#request.devices, 0).backend as DeviceBackend, deviceShares: shares,
      deviceSeconds: Math.max(...this.#workers.map(({ seconds }) => seconds)),
      deviceShare: shares.reduce((sum, share) => sum + share, 0), ...note,
    };
  }

  /** Cuts a run by the multiprocessors of the devices; fewer parts, if they would be too short for a device. */
  #parts({ counts: { steadyStates } }: PreparedRun): Part[] {
    let workers = this.#able;
    const least = Math.max(...workers.map(({ compiled: { program, warmStates } }) =>
      2 * (program.startStates + warmStates) + program.states));
    workers = workers.slice(0, Math.max(1, Math.floor(steadyStates / Math.max(1, least))));
    const sizes = workers.map(({ compiled }) => compiled.device.description.multiprocessors);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    let from = 0, sum = 0;
    return workers.map((_, i) => {
      sum += elementAt(sizes, i);
      const end = i === workers.length - 1 ? steadyStates : Math.round((steadyStates * sum) / total);
      const part = { from, states: end - from, isLast: i === workers.length - 1 };
      from = end;
      return part;
    });
  }

  /** All parts: one by each device at first, and what is left of devices that fail by those that are done. */
  async #all(parts: readonly Part[], items: number, output: Scalars): Promise<void> {
    const waiting = [...parts];
    const failures: { readonly part: Part; readonly error: unknown }[] = [];
    const work = async (worker: Worker): Promise<void> => {
      for (let part = waiting.shift(); part !== undefined; part = worker.compiled === undefined ? undefined : waiting.shift()) {
        if (this.#signal.aborted) return;
        try {
          await this.#make(part, worker, items, output);
        } catch (error) {
          const left = worker.compiled?.device.trim().catch(() => undefined); // behind its transfers
          if (this.#leaves(worker, error)) {
            waiting.push({ ...part, isLeft: true });
            await left;
            continue;
          }
          failures.push({ part, error });
          this.#stop.abort(error);
        }
      }
    };
    // Those that are done wait for what others may leave.
    while (waiting.length > 0 && this.#able.length > 0 && failures.length === 0 && !this.#signal.aborted) {
      await Promise.all(this.#able.slice(0, waiting.length).map(work));
    }
    const [failure] = failures;
    if (failure !== undefined) {
      throw failure.part.from > 0 && failure.error instanceof StreamRunError ? new FaultyPart() : failure.error;
    }
    this.#signal.throwIfAborted();
    for (const part of waiting) await this.#make(part, undefined, items, output);
  }

  /** Whether a device leaves its part to others because of an error. */
  #leaves(worker: Worker, error: unknown): boolean {
    const { compiled, number } = worker;
    if (compiled === undefined || this.#signal.aborted) return false;
    noteLost(compiled.device, error);
    const reason = (error as { code?: unknown }).code === 'ERR_WARPLOOM_DEVICE_LOST' ? (error as Error).message : reasonOf(error);
    if (reason === undefined) return false;
    this.notes.push(`others made the part of ${nameOf(compiled.device, number)}: ${reason}`);
    worker.compiled = undefined;
    return true;
  }

  /** One part, by a device or by the CPU. */
  async #make({ from, states, isLast, isLeft = false }: Part, worker: Worker | undefined, items: number, output: Scalars): Promise<void> {
    const { input: given, iterations, items: _items, release: _release, share: _share, ...options } = this.#request;
    const wasm = compiledWasm(this.#graph);
    const { input: source, output: sink, plan } = this.#program;
    const matters = startMatters(plan) ?? 0;
    // A run that begins so much earlier gives the same from here on.
    const back = Math.min(from, matters < 0 ? 0 : matters + Math.ceil(sink.before / sink.items));
    const begin = (from - back) * source.items;
    const { first, later } = source.external;
    const end = isLast ? Infinity : source.before + (from + states) * source.items + first.items + first.beyond + later.beyond;
    const scalars = scalarCount(source.external.type), width = scalarCount(sink.external.type);
    const part = partOf(required(given), begin * scalars, Math.min(end * scalars, required(given).length));
    const dropped = from === 0 ? 0 : back * sink.items + sink.before;
    const firstItem = from === 0 ? 0 : sink.before + from * sink.items;
    const lastItem = isLast ? items : Math.min(items, sink.before + (from + states) * sink.items);
    // Where the input ends, filters fire as far as it goes, even if nothing comes out.
    const amount = !isLast || !this.#isExhausted ? { items: dropped + lastItem - firstItem }
      : iterations === undefined ? {} : { iterations: iterations - from + back };
    const how = { ...options, ...amount, signal: this.#signal };
    const array = output.subarray(firstItem * width, lastItem * width);
    // Devices write to their parts of the output themselves: nobody sees it before all of it is there.
    const made: RunResult & Partial<GpuWork> = worker?.compiled === undefined ? await wasm.runHereOrAside(part, how)
      : await worker.compiled.run(part, how, isLeft ? undefined : { array, dropped, isUnseen: true });
    if (isLeft || worker?.compiled === undefined) copyElements(array, made.output.subarray(dropped * width));
    if (worker === undefined || made.deviceSeconds === undefined) this.#byCpu += states;
    else {
      worker.states += states;
      worker.seconds += made.deviceSeconds;
    }
  }

  /** The whole run on the first device that works, or on the CPU. */
  async #onOne(why: string | undefined): Promise<SeveralRun> {
    for (const worker of this.#able) {
      if (why !== undefined) this.notes.push(`only ${nameOf(worker.compiled.device, worker.number)} was used: ${why}`);
      try {
        const { note, ...made } = await worker.compiled.run(this.#request.input, { ...this.#request, signal: this.#outer });
        if (note !== undefined) this.notes.push(cpuNote(note));
        else worker.states = 1;
        worker.seconds = made.deviceSeconds ?? 0;
        return { ...made, ...this.#figures(), ...(made.deviceShare === undefined ? {} : { deviceShare: made.deviceShare }) };
      } catch (error) {
        if (!this.#leaves(worker, error)) throw error;
      }
    }
    return this.#onCpu(this.notes.join('; '));
  }

  async #onCpu(reason: string): Promise<SeveralRun> {
    const made = await compiledWasm(this.#graph).runHereOrAside(this.#request.input, { ...this.#request, signal: this.#outer });
    return { ...made, backend: 'wasm', deviceShares: this.#workers.map(() => 0), note: cpuNote(reason) };
  }
}

/** Compiles a program whose firings must follow each other for one of the devices, where that is faster than the CPU; says why not. */
async function compileInOrder(
  graph: StreamGraph, backend: DeviceBackend, { devices, fast = false, threads = availableParallelism() }: SeveralRequest,
  workers: readonly Worker[], reasons: string[], signal: AbortSignal,
): Promise<void> {
  if (!await isInOrder(graph)) return;
  for (const [number, device] of devices.entries()) {
    try {
      if (isLost(device)) continue;
      elementAt(workers, number).compiled = await compiledOn(graph, backend, { device, fast, signal, inOrder: { threads } });
      return;
    } catch (error) {
      if (signal.aborted) throw error;
      const reason = reasonOf(error);
      if (reason === undefined && !isLost(device)) throw error;
      reasons[number] = reason ?? 'the device was lost';
    }
  }
}

/**
 * Runs a program on several devices of one backend; why not, where none of them can run it. Throws if the program or the call is wrong.
 * Parts of devices that are lost or have no memory are made by the others, or by the CPU.
 */
export async function runOnDevices(graph: StreamGraph, backend: DeviceBackend, request: SeveralRequest): Promise<SeveralRun | string> {
  return within(request, async (signal) => {
    const reasons: string[] = [];
    const { devices, fast = false } = request;
    const workers = await Promise.all(devices.map(async (device, number): Promise<Worker> => {
      try {
        return { number, compiled: await compiledOn(graph, backend, { device, fast, signal }), states: 0, seconds: 0 };
      } catch (error) {
        if (signal.aborted) throw error;
        noteLost(device, error);
        const reason = isLost(device) ? 'the device was lost' : reasonOf(error);
        if (reason === undefined) throw error;
        reasons[number] = reason;
        return { number, compiled: undefined, states: 0, seconds: 0 };
      }
    }));
    if (workers.every(({ compiled }) => compiled === undefined)) await compileInOrder(graph, backend, request, workers, reasons, signal);
    const first = workers.find(({ compiled }) => compiled !== undefined);
    if (first?.compiled === undefined) return elementAt(reasons, 0);
    const work = new SeveralWork(graph, { ...request, share: false }, workers, first.compiled.program, signal);
    if (first.compiled.figures === undefined) {
      reasons.forEach((reason, number) => { work.notes.push(`${nameOf(elementAt(devices, number), number)} took no part: ${reason}`); });
    }
    return work.run();
  });
}
