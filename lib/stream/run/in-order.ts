// Programs whose firings must follow each other, in runs and sessions that name no mode: by mode `swp`, where the device proves faster than
// the cores. One thread of a device takes many times as long as a core for firings in order, so it depends on what else there is to do.
import { availableParallelism } from 'node:os';
import type { Device } from '../../core/device.ts';
import { elementAt } from '../../core/known.ts';
import type { StreamGraph } from '../graph.ts';
import { StreamRunError } from '../interpret/error.ts';
import { scalarCount } from '../interpret/values.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { sampleInput } from '../profile/parts.ts';
import { textFor } from './gpu-pipelined.ts';
import { leastMicroseconds } from './gpu-schedule.ts';
import type { CompiledGpu } from './gpu.ts';
import { timeOnCores } from './cores-time.ts';
import { compiledWasm } from './wasm.ts';

/** Microseconds of a steady state on both sides. */
interface BothSides {
  readonly device: number;
  readonly cores: number;
}

/** What a program is chosen for. */
interface InOrderRequest {
  readonly fast: boolean;
  /** Threads that cores would use. Default: one per core. */
  readonly threads?: number | undefined;
  /** What both sides are timed with where it is long enough; else random items. */
  readonly input?: ArrayLike<number> | undefined;
  readonly signal: AbortSignal;
  /** Compiles the program for the device, by mode `swp`. */
  readonly compile: () => Promise<CompiledGpu>;
}

/** A program is compiled and timed if by estimate a device takes at most so many times as long as the cores. */
const worthTiming = 3;
/** How many times faster than WebAssembly on threads a device has to be, as measured: C++ is faster than that by about as much. */
const leastGain = 1.5;
/** Iterations of the schedule that are timed, beside those that fill it; so often, of which the fastest counts. */
const timedIterations = 16, repeats = 2;
/** Runs of cores: at first they start threads, and the engine compiles hot code once more. They end when none was faster for so many. */
const mostRuns = 20, slowerRuns = 3, faster = 0.95;
/** Milliseconds on cores that are long enough to be timed, and scalars of input up to which runs get longer for that. */
const longEnough = 20, mostScalars = 2 ** 24;

/** Nodes whose firings must follow each other, in parts that no two threads can make at once. */
function inOrderParts({ actors, open }: ReturnType<typeof textFor>['text']): Map<number, number> {
  const parts = new Map<number, number>();
  actors.groups.forEach(({ steps }, part) => {
    for (const { actor } of steps) if (elementAt(actors.isOrdered, part)) parts.set(actor, part);
  });
  for (const node of open.keys()) parts.set(node, actors.groups.length);
  return parts;
}

/** Estimates a steady state on both sides, from counted operations: right to a factor of a few. Throws as {@link textFor} does. */
export function estimateSides(graph: StreamGraph, multiprocessors: number, threads: number): BothSides {
  const { text, choice } = textFor(graph, { mode: 'swp' });
  const { plan } = compiledWasm(graph), partOf = inOrderParts(text);
  return {
    device: leastMicroseconds(text, choice, multiprocessors),
    cores: timeOnCores(plan, plan.steady.repetitions, (node) => partOf.get(plan.origins[node] ?? -1), threads),
  };
}

/** Items of input for so many steady states, from the start of a run: the caller's, or random ones. */
function itemsFor({ program: { input } }: CompiledGpu, given: ArrayLike<number> | undefined, states: number): ArrayLike<number> {
  const { type, later, first } = input.external;
  const scalars = (input.before + states * input.items + first.beyond + later.beyond) * scalarCount(type);
  if (given === undefined || given.length < scalars) return sampleInput(type, scalars, 1);
  if (ArrayBuffer.isView(given)) return (given as Float32Array).subarray(0, scalars);
  return Array.from({ length: scalars }, (_, i) => given[i] ?? 0);
}

/** Times both sides; undefined where the program faults on the input, or the device makes none of it. */
async function timeSides(
  graph: StreamGraph, compiled: CompiledGpu, states: number, estimated: BothSides, { input, threads, signal }: InOrderRequest,
): Promise<BothSides | undefined> {
  try {
    let device = Infinity, cores = Infinity;
    const some = itemsFor(compiled, input, states);
    for (let repeat = 0; repeat < repeats; ++repeat) {
      const { milliseconds, deviceSeconds } = await compiled.run(some, { signal });
      if (deviceSeconds === undefined) return undefined;
      device = Math.min(device, 1e3 * milliseconds / states);
    }
    const wasm = compiledWasm(graph), { input: end } = compiled.program;
    const most = Math.max(states, Math.floor(mostScalars / Math.max(1, end.items * scalarCount(end.external.type))));
    let made = Math.min(most, Math.max(1, Math.ceil(1e3 * longEnough / Math.max(estimated.cores, 1e-6))));
    for (let runs = 0, slower = 0; runs < mostRuns && slower < slowerRuns; ++runs) {
      const own = { signal, ...(threads === undefined ? {} : { threads }) };
      const { milliseconds } = await wasm.runAside(itemsFor(compiled, input, made), own);
      const found = 1e3 * milliseconds / made;
      slower = found < faster * cores ? 0 : slower + 1;
      cores = Math.min(cores, found);
      if (milliseconds >= longEnough || made >= most) continue;
      made = Math.min(most, made * Math.ceil(2 * longEnough / Math.max(milliseconds, 1)));
      slower = 0;
    }
    return { device, cores };
  } catch (error) {
    if (error instanceof StreamRunError) return undefined;
    throw error;
  }
}

/** Why cores run a program; undefined where a device does. */
function verdict({ device, cores }: BothSides, gain: number, how: string): string | undefined {
  if (device * gain <= cores) return undefined;
  const ratio = device / cores;
  const found = `a device takes ${ratio < 10 ? ratio.toFixed(2) : ratio.toFixed(0)} times as long as cores, as ${how}`;
  return ratio < 1 ? `${found} for WebAssembly; C++ is faster by about as much` : found;
}

/** By program and device: the compiled program, or why it stays on the CPU. */
const chosen = new WeakMap<StreamGraph, WeakMap<Device, Map<string, CompiledGpu | string>>>();

/**
 * A program that cannot be one kernel, compiled for a device by mode `swp` if that pays: by estimate, and on GPUs as measured on the first
 * items of the input. Throws UnsupportedProgram where it does not.
 * @param refused why it cannot be one kernel
 */
export async function chooseInOrder(
  graph: StreamGraph, device: Device, refused: UnsupportedProgram, request: InOrderRequest,
): Promise<CompiledGpu> {
  const { fast, threads = availableParallelism() } = request;
  const byDevice = chosen.get(graph) ?? new WeakMap<Device, Map<string, CompiledGpu | string>>();
  chosen.set(graph, byDevice);
  const known = byDevice.get(device) ?? new Map<string, CompiledGpu | string>();
  byDevice.set(device, known);
  const key = `${threads}${fast ? ' fast' : ''}`;
  let found = known.get(key);
  if (found === undefined) known.set(key, found = await choose(graph, device, threads, request));
  if (typeof found !== 'string') return found;
  throw new UnsupportedProgram(`${refused.reason}; in order, ${found}`, refused.span);
}

async function choose(graph: StreamGraph, device: Device, threads: number, request: InOrderRequest): Promise<CompiledGpu | string> {
  const estimated = estimateSides(graph, device.description.multiprocessors, threads);
  // The simulated device is as slow as it is: what is asked is what a GPU would do.
  const isMeasured = device.backend === 'cuda';
  const hopeless = verdict(estimated, isMeasured ? 1 / worthTiming : 1, 'estimated');
  if (hopeless !== undefined) return hopeless;
  const compiled = await request.compile();
  const { states, stages } = compiled.figures ?? { states: 1, stages: 1 };
  const measured = isMeasured ? await timeSides(graph, compiled, (stages + timedIterations) * states, estimated, request) : undefined;
  return (measured === undefined ? verdict(estimated, 1, 'estimated') : verdict(measured, leastGain, 'measured')) ?? compiled;
}
