// Schedules of chapter 3 as lists of what each block makes: the software pipeline (SWPn), and the serial schedule, one filter after the
// other over all blocks.
import { elementAt, required } from '../../core/known.ts';
import {
  coarsen, intervalBounds, pipelineByIlp, schedulePipeline, threaded, unroll, unrollFactor, type Pipeline, type PipelineProblem,
  type Threaded,
} from '../partition/index.ts';
import type { IrType } from '../ir.ts';
import { countsOf, kindsIn } from '../plan/layout.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { estimateCosts } from '../profile/estimate.ts';
import { steadyState } from '../schedule/index.ts';
import type { SdfGraph } from '../sdf.ts';
import { stagedBytes, type InstanceEnd } from '../targets/cuda-instances.ts';
import type { PipelineProgram } from '../targets/cuda-pipeline.ts';
import { trusted } from '../require.ts';

/** Items that an instance of a shuffle moves (section 4.7). */
export const shuffleItems = 1024;

/** How filters run: what Algorithm 2 chooses, or what stands in for it. */
export interface InstanceChoice {
  /** Threads of an instance, by actor of {@link PipelineProgram.graph}; of the open ends: items. */
  readonly threads: readonly number[];
  /** Time of an instance, in any unit, by actor. */
  readonly delays: readonly number[];
}

/** What a schedule is made for. */
export interface ScheduleRequest {
  readonly mode: 'swp' | 'swpnc' | 'serial';
  /** n of SWPn: the first whose buffers fit and that is balanced. For `serial`: of the schedule whose buffers it may not exceed. */
  readonly coarsening: readonly number[];
  /** Blocks: one for each multiprocessor. */
  readonly processors: number;
  /** Bytes of device memory that channels may take: B_max of (3.14). */
  readonly mostBytes: number;
  /** What assigns instances to multiprocessors: packing, or the ILP of section 3.5 where it is better. Default packing. */
  readonly scheduler?: 'packing' | 'ilp' | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A schedule, ready for the device. */
export interface DeviceSchedule {
  /** A list for each step and block, one after the other. */
  readonly lists: Int32Array;
  readonly listWords: number;
  readonly blocks: number;
  /** n of SWPn. */
  readonly coarsening: number;
  /** Threads of a block. */
  readonly threads: number;
  /** Shared memory: windows that are staged, then the lists. */
  readonly stagedBytes: number;
  readonly sharedBytes: number;
  /** Steady states of an iteration. */
  readonly states: number;
  /** Launches from the first to the last stage of an iteration. */
  readonly stages: number;
  /** Launches of a round: 1, or one for each filter. */
  readonly steps: number;
  /** Bytes of all channels. */
  readonly arenaBytes: number;
  /** Instances of an iteration, entries of all lists. */
  readonly instances: number;
  readonly entries: number;
  /** Interval per unit of work over its bound, minus 1; undefined for the serial schedule. */
  readonly gap?: number;
}

/** Operations that take as long as an item that is read or written. */
const operationsPerItem = 16;
const microsecondsPerOperation = 1e-3;

/** Bytes of shared memory of a filter's instance of so many threads, and where its ends lie there. */
export function stagedPlaces(ends: readonly InstanceEnd[], threads: number): { readonly at: readonly number[]; readonly bytes: number } {
  let bytes = 0;
  const at = ends.map((end) => {
    const begin = bytes;
    if (end.access === 'staged') bytes += stagedBytes(end, threads);
    return begin;
  });
  return { at, bytes };
}

/** By node: its ends, the number of its code, and its number among those with this code. */
export interface NodeCode {
  readonly code: number;
  readonly member: number;
  readonly ends: readonly InstanceEnd[];
}

export function codesByNode({ plan, instances }: Pick<PipelineProgram, 'plan' | 'instances'>): readonly NodeCode[] {
  const found: NodeCode[] = plan.graph.nodes.map(() => ({ code: 0, member: 0, ends: [] }));
  instances.codes.forEach(({ nodes, ends }, code) => {
    nodes.forEach((node, member) => { found[node] = { code, member, ends: elementAt(ends, member) }; });
  });
  return found;
}

/** Threads of each filter where nothing has been measured: as many as may be, fewer where its windows do not fit; counted operations. */
export function countedChoice(program: PipelineProgram, most: number, sharedBytes: number): InstanceChoice {
  const { plan, graph } = program;
  const costs = estimateCosts(plan.graph);
  const least = Math.min(most, program.width === 1 ? 32 : program.width);
  const threads = codesByNode(program).map(({ ends }) => {
    let count = most;
    while (count > least && count % 2 === 0 && count / 2 % least === 0 && stagedPlaces(ends, count).bytes > sharedBytes) count /= 2;
    return count;
  });
  threads.push(shuffleItems, shuffleItems);
  const moved = graph.actors.map(() => 0);
  for (const { from, to, push, pop, bytesPerItem } of graph.channels) {
    moved[from] = elementAt(moved, from) + push * bytesPerItem / 4;
    moved[to] = elementAt(moved, to) + pop * bytesPerItem / 4;
  }
  const delays = threads.map((count, actor) =>
    count * ((costs[actor] ?? 0) + elementAt(moved, actor) * operationsPerItem * microsecondsPerOperation));
  return { threads, delays };
}

/** Bytes of the rings. */
function ringBytes({ channels }: SdfGraph, repetitions: readonly number[], slots: readonly number[]): number {
  return channels.reduce((sum, { id, from, push, bytesPerItem }) =>
    sum + elementAt(slots, id) * push * elementAt(repetitions, from) * bytesPerItem, 0);
}

/** A pipeline within the memory. */
function pipelined(problem: PipelineProblem, n: number, mostBytes: number) {
  const eachSlot = ringBytes(problem.graph, problem.repetitions, problem.graph.channels.map(() => n));
  const instances = problem.repetitions.reduce((sum, count) => sum + count, 0);
  let most = Math.max(1, Math.min(64, Math.floor(mostBytes / (2 * eachSlot)), Math.floor(mostInstances / instances)));
  for (;;) {
    const scheduled = schedulePipeline(problem, { maxUnroll: most, maxInstances: mostInstances });
    const coarse = required(coarsen(scheduled.problem, scheduled.pipeline, n));
    const bytes = ringBytes(coarse.problem.graph, coarse.problem.repetitions, coarse.pipeline.slots);
    if (bytes <= mostBytes || most === 1) {
      if (bytes > mostBytes) throw new UnsupportedProgram(`the channels of a pipeline take ${bytes} bytes, ${mostBytes} may be used`);
      return { ...coarse, unroll: scheduled.unroll, gap: scheduled.gap, bytes };
    }
    most = Math.max(1, Math.min(most - 1, Math.floor(scheduled.unroll * mostBytes / bytes)));
  }
}

/** What {@link pipelined} gives, by the ILP, which begins with the packing of the same iteration. */
async function byIlp(
  problem: PipelineProblem, n: number, mostBytes: number, signal: AbortSignal | undefined,
): Promise<ReturnType<typeof pipelined>> {
  const times = unrollFactor(problem);
  const whole = unroll(problem, times);
  const variables = problem.processors * whole.repetitions.reduce((sum, count) => sum + count, 0);
  if (variables > mostVariables) {
    throw new UnsupportedProgram(`the ILP of the schedule has ${variables} binary variables, at most ${mostVariables} are tried`);
  }
  const { pipeline } = await pipelineByIlp(whole, { strategy: 'improve', ...(signal === undefined ? {} : { signal }) });
  const { resource, recurrence } = intervalBounds(problem);
  const found = required(pipeline);
  const coarse = required(coarsen(whole, found, n));
  const bytes = ringBytes(coarse.problem.graph, coarse.problem.repetitions, coarse.pipeline.slots);
  if (bytes > mostBytes) throw new UnsupportedProgram(`the channels of a pipeline take ${bytes} bytes, ${mostBytes} may be used`);
  return { ...coarse, unroll: times, gap: found.interval / times / Math.max(resource, recurrence) - 1, bytes };
}

/** Binary variables of an ILP that is worth a try. */
const mostVariables = 20_000;
/** Instances of an iteration up to which it is unrolled for a better balance. */
const mostInstances = 24_000;

/** One thing that a block makes: instances `first` and on of an actor, for the iteration of its stage. */
interface Item {
  readonly actor: number;
  readonly stage: number;
  readonly first: number;
  count: number;
}

/** Lists of blocks; neighbouring instances of an actor are one entry (section 4.9). */
type Lists = readonly (readonly Item[])[];

/**
 * The lists of a pipeline. Blocks take actors in the order of the stream: without loops, what an instance needs of its own launch and
 * block is then made before, whatever order the pipeline states, and neighbours stand together.
 */
function listsOf({ places }: Pipeline, order: readonly number[], n: number, blocks: number): Lists {
  const lists: Item[][] = Array.from({ length: blocks }, () => []);
  for (const actor of order) {
    elementAt(places, actor).forEach(({ processor, stage }, firing) => {
      const list = elementAt(lists, processor);
      const last = list.at(-1);
      if (last !== undefined && last.actor === actor && last.stage === stage && last.first + last.count === firing * n) last.count += n;
      else list.push({ actor, stage, first: firing * n, count: n });
    });
  }
  return lists;
}

/** The order of the stream, from the input to the output. */
function orderOf({ plan, graph: { actors: { length } } }: PipelineProgram): readonly number[] {
  return [length - 2, ...plan.steady.order, length - 1];
}

/** A step for each actor: its instances dealt out to all blocks. */
function serialLists(order: readonly number[], repetitions: readonly number[], blocks: number): Lists[] {
  return order.map((actor) => {
    const count = elementAt(repetitions, actor);
    const end = (block: number): number => Math.floor(block * count / blocks);
    return Array.from({ length: blocks }, (_, block) =>
      (end(block + 1) === end(block) ? [] : [{ actor, stage: 0, first: end(block), count: end(block + 1) - end(block) }]));
  });
}

/** Most firings whose windows are staged together. */
const mostStaged = 4096;

/** Instances of a filter whose windows are staged together, where that may be: so many as fit. */
export function groupOf(ends: readonly InstanceEnd[], threads: number, mode: ScheduleRequest['mode']): number {
  // The thesis stages the working set of one instance.
  if (mode === 'swpnc' || ends.every(({ access }) => access !== 'staged')) return 1;
  let group = 1;
  while (2 * group * threads <= mostStaged && stagedPlaces(ends, 2 * group * threads).bytes <= groupedBytes) group *= 2;
  return group;
}

/** Bytes of shared memory for several instances together. */
const groupedBytes = 49_152;

/** The words of lists (cuda/stream/pipelined.cuh). */
class Writer {
  readonly #program: PipelineProgram;
  readonly #choice: InstanceChoice;
  readonly #mode: ScheduleRequest['mode'];
  readonly #codes: readonly NodeCode[];
  /** By channel: iterations in its ring, items of an iteration, and by kind where the ring begins, in words of four bytes. */
  readonly #rings: readonly { readonly slots: number; readonly items: number; readonly at: Readonly<Record<string, number>> }[];
  readonly #firings: readonly number[];
  readonly words: number;
  stagedBytes = 0;

  constructor(program: PipelineProgram, choice: InstanceChoice, mode: ScheduleRequest['mode'], repetitions: readonly number[],
    slots: readonly number[]) {
    this.#program = program;
    this.#mode = mode;
    this.#choice = choice;
    this.#codes = codesByNode(program);
    this.#firings = repetitions.map((count, actor) => count * elementAt(choice.threads, actor));
    let words = 0;
    this.#rings = program.graph.channels.map(({ id, from, push }) => {
      const items = push * elementAt(this.#firings, from);
      const at: Record<string, number> = {};
      const counts = countsOf(typeOf(program.plan, id));
      for (const kind of kindsIn(counts)) {
        at[kind] = words;
        words += Math.ceil(elementAt(slots, id) * items * counts[kind] * (kind === 'd' ? 2 : 1) / ringUnit) * ringUnit;
      }
      return { slots: elementAt(slots, id), items, at };
    });
    this.words = words;
    if (words >= 2 ** 31 || this.#firings.some((count) => count >= 2 ** 31)) {
      throw new UnsupportedProgram(`the channels of an iteration take ${4 * words} bytes`);
    }
  }

  #end({ channel, kind, stride, isInput }: Pick<InstanceEnd, 'channel' | 'kind' | 'stride' | 'isInput'>, shared: number): number[] {
    const { slots, items, at } = elementAt(this.#rings, channel);
    const { tokens, from } = elementAt(this.#program.graph.channels, channel);
    // What stands on the input's channel came before what the start of the program brings.
    const isTaken = from === this.#program.plan.graph.nodes.length;
    return [required(at[kind]), items * stride, slots, isInput || isTaken ? tokens * stride : 0, shared];
  }

  #entry({ actor, stage, first, count }: Item): number[] {
    const { plan, width, instances, graph } = this.#program;
    const nodes = plan.graph.nodes.length;
    const threads = elementAt(this.#choice.threads, actor);
    let [code, member, group] = [instances.codes.length + actor - nodes, 0, 1];
    let ends: number[][];
    if (actor < nodes) {
      const own = elementAt(this.#codes, actor);
      ({ code, member } = own);
      group = groupOf(own.ends, threads, this.#mode);
      const { at, bytes } = stagedPlaces(own.ends, threads * group);
      this.stagedBytes = Math.max(this.stagedBytes, bytes);
      ends = own.ends.map((end, i) => this.#end(end, elementAt(at, i)));
    } else {
      const { id } = required(graph.channels.find(({ from, to }) => from === actor || to === actor));
      const counts = countsOf(typeOf(plan, id));
      ends = kindsIn(counts).map((kind) => this.#end({ channel: id, kind, stride: counts[kind], isInput: actor > nodes }, 0));
      if (width > 1) this.stagedBytes = Math.max(this.stagedBytes, shuffleBytes(width));
    }
    const words = [code, member, stage, first, count, threads, elementAt(this.#firings, actor), group, ...ends.flat()];
    return [words.length + 1, ...words];
  }

  /** The lists, and what a block must have of shared memory. */
  write(steps: readonly Lists[]): Pick<DeviceSchedule, 'lists' | 'listWords' | 'stagedBytes' | 'sharedBytes'> {
    return { ...packed(steps.flatMap((lists) => lists.map((list) => list.flatMap((item) => this.#entry(item))))),
      stagedBytes: this.stagedBytes, sharedBytes: this.stagedBytes + listBytes };
  }
}

/** Bytes of a block's shared memory to which its lists come. */
export const listBytes = 4096;

/** Lists of one length, a zero at the end of each. */
export function packed(lists: readonly (readonly number[])[]): Pick<DeviceSchedule, 'lists' | 'listWords'> {
  const listWords = Math.max(...lists.map(({ length }) => length)) + 1;
  const words = new Int32Array(listWords * lists.length);
  lists.forEach((list, at) => { words.set(list, at * listWords); });
  return { lists: words, listWords };
}

/** Rings begin at multiples of so many words. */
const ringUnit = 64;

/** Bytes of the tile of a shuffle, for the widest kind of numbers (cuda/stream/shuffle.cuh). */
export function shuffleBytes(width: number): number {
  const rows = shuffleItems / width;
  return 8 * rows * (width + Math.max(1, 32 / rows));
}

/** The type of a channel's items; the open ends' channels are numbered as their streams. */
export function typeOf({ graph, externals }: ProgramPlan, channel: number): IrType {
  return externals.find(({ id }) => id === channel)?.type ?? elementAt(graph.channels, channel).type;
}

/** Steady states that an instance of the chosen threads needs at least, and how many instances there are then. */
function threadedOf({ graph }: PipelineProgram, { threads }: InstanceChoice): Threaded {
  return threaded(trusted(graph), threads, {}, steadyState(graph));
}

/**
 * Makes a schedule. Throws UnsupportedProgram where its channels do not fit or the ILP gets too large, ScheduleError where there are too
 * many instances.
 */
export async function scheduleFor(program: PipelineProgram, choice: InstanceChoice, request: ScheduleRequest): Promise<DeviceSchedule> {
  const { coarsening, processors, mostBytes, mode, scheduler, signal } = request;
  const wide = threadedOf(program, choice);
  const problem: PipelineProblem = {
    graph: wide.graph, repetitions: wide.repetitions, tokens: wide.tokens, delays: choice.delays, processors,
  };
  const threads = Math.max(...choice.threads.slice(0, -2));
  const { n, made } = await bestOf(coarsening, async (each) =>
    (scheduler === 'ilp' ? byIlp(problem, each, mostBytes, signal) : pipelined(problem, each, mostBytes)));
  if (mode === 'serial') return serialFor(program, choice, wide, { processors, mostBytes: made.bytes, threads });
  const { pipeline, unroll } = made;
  const repetitions = made.problem.repetitions.map((count) => count * n);
  const writer = new Writer(program, choice, mode, repetitions, pipeline.slots);
  const lists = listsOf(pipeline, orderOf(program), n, processors);
  return {
    ...writer.write([lists]), blocks: processors, threads, coarsening: n, states: wide.steadyStates * unroll * n,
    stages: pipeline.stages, steps: 1, arenaBytes: 4 * writer.words, gap: made.gap,
    instances: repetitions.reduce((sum, count) => sum + count, 0), entries: lists.reduce((sum, list) => sum + list.length, 0),
  };
}

/** Gap to the bound that is worth a smaller n. */
const mostGap = 0.05;

/** The pipeline of the first n whose buffers fit and that is balanced, else the best balanced one; throws where the last n does not fit. */
async function bestOf(coarsening: readonly number[], make: (n: number) => Promise<ReturnType<typeof pipelined>>) {
  let best: { readonly n: number; readonly made: ReturnType<typeof pipelined> } | undefined;
  for (const n of coarsening) {
    try {
      const made = await make(n);
      if (best === undefined || made.gap < best.made.gap - mostGap) best = { n, made };
      if (made.gap <= mostGap) break;
    } catch (error) {
      if (!(error instanceof UnsupportedProgram) || (n === coarsening.at(-1) && best === undefined)) throw error;
    }
  }
  return required(best);
}

/** One filter after the other, in the order of the stream; as many steady states as the bytes hold. */
function serialFor(
  program: PipelineProgram, choice: InstanceChoice, { graph, repetitions, steadyStates }: Threaded,
  { processors, mostBytes, threads }: { readonly processors: number; readonly mostBytes: number; readonly threads: number },
): DeviceSchedule {
  const slotsOf = (times: number): number[] => graph.channels.map(({ from, push, tokens }) =>
    1 + Math.ceil(tokens / Math.max(1, times * push * elementAt(repetitions, from))));
  const fits = (times: number): boolean => ringBytes(graph, repetitions.map((count) => count * times), slotsOf(times)) <= mostBytes;
  let times = 1;
  while (fits(2 * times) && 2 * times * steadyStates < 2 ** 26) times *= 2;
  for (let step = times / 2; step >= 1; step /= 2) if (fits(times + step) && (times + step) * steadyStates < 2 ** 26) times += step;
  const order = orderOf(program);
  const all = repetitions.map((count) => count * times);
  const writer = new Writer(program, choice, 'serial', all, slotsOf(times));
  const steps = serialLists(order, all, processors);
  return {
    ...writer.write(steps), blocks: processors, threads, coarsening: 1, states: steadyStates * times, stages: 1,
    steps: order.length, arenaBytes: 4 * writer.words, instances: all.reduce((sum, count) => sum + count, 0),
    entries: steps.flat().reduce((sum, list) => sum + list.length, 0),
  };
}
