// The task-partitioning problem (section 4.5.1): which actors run on the GPU, with transfers, shuffles and deshuffles.
import { choice, requireCount, truth } from '../../core/checks.ts';
import { elementAt, required } from '../../core/known.ts';
import { isLoop, stronglyConnected } from '../schedule/index.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { checkCosts, orderedActors, type CostTable } from './costs.ts';
import { requireCounts, requireFields, requireList, requireSizes } from '../require.ts';

/** A partitioning problem. */
export interface TaskProblem {
  readonly graph: SdfGraph;
  /** Instances of each actor in one iteration: KGPU, and KCPU unless that is given. */
  readonly repetitions: readonly number[];
  /** KCPU, where an instance on a core is not as many firings as one on a multiprocessor. */
  readonly cpuRepetitions?: readonly number[];
  /**
   * Items on each channel between iterations; default: those of the graph, which are right where it comes from `threaded`. Readers of
   * a channel with items left over work in stream order, as peeking ones do.
   */
  readonly tokens?: readonly number[];
  readonly costs: CostTable;
  /** CPU cores, N_cpus. */
  readonly cores: number;
  /** Multiprocessors, N_gpus. */
  readonly multiprocessors: number;
  /** `shared`: one resource carries transfers of both directions, as in (4.10); `duplex`: each has its own. Default `shared`. */
  readonly link?: 'shared' | 'duplex';
  /**
   * Actors that must stay on the CPU, by id, besides those with state, in feedback loops, or with infinite GPU time (C_fixed: peeking
   * actors whose window does not fit into shared memory, readers, writers).
   */
  readonly fixed?: readonly boolean[];
  /** Feedback loops may be placed anywhere, because launches separate their actors; else they stay on the CPU. Default false. */
  readonly openLoops?: boolean;
  /** Actors with state may be placed anywhere, where `costs.gpu` is finite: each is a single instance then. Default false. */
  readonly placesState?: boolean;
}

/** Loads of a partition in microseconds per iteration, each divided by the number of processors that share it. */
export interface TaskLoads {
  /** Transfers by direction. */
  readonly toCpu: number;
  readonly toGpu: number;
  /** Right side of (4.10): both directions, or the larger of them. */
  readonly dma: number;
  /** Right side of (4.11). */
  readonly gpu: number;
  /** Right side of (4.12). */
  readonly cpu: number;
  /** RecMII: firings of an actor with state, or of a loop, follow each other. The same for all partitions. */
  readonly recurrence: number;
  /** The longest instance where it is placed: none wraps around. */
  readonly longest: number;
  /** The largest of `dma`, `gpu`, `cpu`, `recurrence` and `longest`: the minimum initiation interval. */
  readonly interval: number;
}

/** A partition and its costs. */
export interface TaskPartition extends TaskLoads {
  /** By actor id. */
  readonly onGpu: readonly boolean[];
  /** Lower bound on the interval of any partition. */
  readonly bound: number;
}

/** Costs of a channel by the placement of its ends. */
export interface EdgeCosts {
  readonly from: number;
  readonly to: number;
  /** Transfers, where it leaves the GPU and where it enters it. */
  readonly toCpu: number;
  readonly toGpu: number;
  /** Shuffles and deshuffles, divided by the multiprocessors: index 2·(producer on GPU) + (consumer on GPU). */
  readonly gpu: readonly [number, number, number, number];
}

/** The problem in a form suited to searching. */
export interface TaskTables {
  readonly fixed: readonly boolean[];
  /** State that may be placed: one instance, however long an iteration is. */
  readonly whole: readonly boolean[];
  /** Load of each actor, spread over all cores and over all multiprocessors. */
  readonly cpu: readonly number[];
  readonly gpu: readonly number[];
  /** Microseconds of one instance of each actor on either; on the GPU 0 for those that are fixed. */
  readonly instanceCpu: readonly number[];
  readonly instanceGpu: readonly number[];
  readonly isDuplex: boolean;
  readonly recurrence: number;
  readonly edges: readonly EdgeCosts[];
  /** Edges of each actor. */
  readonly edgesOf: readonly (readonly EdgeCosts[])[];
}

const links = choice(['shared', 'duplex']);

/** Throws {@link ArgumentError} unless the problem is complete and fits its graph. */
export function checkTask(problem: TaskProblem): void {
  requireFields('problem', problem, 'a problem with graph and costs');
  const { graph, repetitions, cpuRepetitions, tokens, costs, cores, multiprocessors, link, fixed, openLoops, placesState } = problem;
  checkCosts(graph, costs);
  requireCounts('repetitions', repetitions, graph.actors.length);
  if (cpuRepetitions !== undefined) requireCounts('cpuRepetitions', cpuRepetitions, graph.actors.length);
  if (tokens !== undefined) requireSizes('tokens', tokens, graph.channels.length);
  requireCount(cores, 'cores', 1);
  requireCount(multiprocessors, 'multiprocessors', 1);
  if (link !== undefined) links(link, 'link');
  if (fixed !== undefined) requireList('fixed', fixed, 'a boolean for each actor');
  if (openLoops !== undefined) truth(openLoops, 'openLoops');
  if (placesState !== undefined) truth(placesState, 'placesState');
}

/** Actors of loops, unless these are open. */
function loopsOf({ graph, openLoops = false }: TaskProblem): readonly (readonly number[])[] {
  return openLoops ? [] : stronglyConnected(graph).components.filter((members) => isLoop(graph, members));
}

/**
 * Actors fixed to the CPU: with state (unless `placesState`), in feedback loops (the paper fuses these into one stateful filter), with
 * infinite GPU time, or fixed by the caller.
 */
export function fixedActors(problem: TaskProblem): boolean[] {
  checkTask(problem);
  const { graph, costs, fixed, placesState = false } = problem;
  const inLoops = new Set(loopsOf(problem).flat());
  return graph.actors.map(({ id, stateful }) =>
    (stateful && !placesState) || inLoops.has(id) || costs.gpu[id] === Infinity || fixed?.[id] === true);
}

/** RecMII of what is fixed to the CPU: a loop counts as fused. State that may be placed is one instance, whose time counts anyway. */
function recurrenceOf(problem: TaskProblem): number {
  const { graph, costs, cpuRepetitions = problem.repetitions, placesState = false } = problem;
  const time = (actor: number): number => elementAt(cpuRepetitions, actor) * elementAt(costs.cpu, actor);
  const alone = graph.actors.map(({ id, stateful }) =>
    (stateful && (!placesState || costs.gpu[id] === Infinity) ? time(id) : 0));
  const loops = loopsOf(problem).map((members) => members.reduce((sum, actor) => sum + time(actor), 0));
  return Math.max(0, ...alone, ...loops);
}

/** Costs of one channel under the four placements: (4.2), (4.3) and the four conditions on which (4.5) to (4.8) are based. */
function edgeCosts({ id, from, to }: SdfChannel, costs: CostTable, ordered: readonly boolean[], multiprocessors: number): EdgeCosts {
  const [deshuffle, shuffle] = [elementAt(costs.deshuffle, id) / multiprocessors, elementAt(costs.shuffle, id) / multiprocessors];
  const [u, v] = [elementAt(ordered, from), elementAt(ordered, to)];
  return {
    from, to, toCpu: elementAt(costs.toCpu, id), toGpu: elementAt(costs.toGpu, id),
    gpu: [0, v ? 0 : shuffle, u ? 0 : deshuffle, (v && !u ? deshuffle : 0) + (u && !v ? shuffle : 0)],
  };
}

/** Checks a problem and builds its tables. Throws {@link ArgumentError}. */
export function taskTables(problem: TaskProblem): TaskTables {
  checkTask(problem);
  const { graph, repetitions, cpuRepetitions = repetitions, tokens, costs, cores, multiprocessors, link } = problem;
  const fixed = fixedActors(problem);
  const ordered = orderedActors(graph, tokens, repetitions);
  const edges = graph.channels.filter(({ from, to }) => from !== to)
    .map((channel) => edgeCosts(channel, costs, ordered, multiprocessors));
  const edgesOf: EdgeCosts[][] = graph.actors.map(() => []);
  for (const edge of edges) {
    elementAt(edgesOf, edge.from).push(edge);
    elementAt(edgesOf, edge.to).push(edge);
  }
  const instanceGpu = costs.gpu.map((time, id) => fixed[id] ? 0 : time);
  return {
    fixed, edges, edgesOf, instanceGpu, whole: graph.actors.map(({ id, stateful }) => stateful && !fixed[id]),
    isDuplex: link === 'duplex', recurrence: recurrenceOf(problem),
    instanceCpu: costs.cpu.map((time, id) => cpuRepetitions[id] === 0 ? 0 : time),
    cpu: cpuRepetitions.map((count, id) => count * elementAt(costs.cpu, id) / cores),
    gpu: repetitions.map((count, id) => count * elementAt(instanceGpu, id) / multiprocessors),
  };
}

/** No partition has a smaller interval: the recurrence, and each instance where it is shortest. */
export function leastInterval({ fixed, instanceCpu, instanceGpu, recurrence }: TaskTables): number {
  return instanceCpu.reduce((most, time, id) => Math.max(most, fixed[id] ? time : Math.min(time, elementAt(instanceGpu, id))), recurrence);
}

/** Actors, longest instance first, and the place of each in that order. */
interface LengthOrder {
  readonly actors: readonly number[];
  readonly places: readonly number[];
}

function byLength(times: readonly number[]): LengthOrder {
  const actors = times.map((_, id) => id).sort((a, b) => elementAt(times, b) - elementAt(times, a) || a - b);
  const places = times.map(() => 0);
  actors.forEach((actor, place) => { places[actor] = place; });
  return { actors, places };
}

const orders = new WeakMap<TaskTables, readonly [cpu: LengthOrder, gpu: LengthOrder]>();

function lengthOrders(tables: TaskTables): readonly [cpu: LengthOrder, gpu: LengthOrder] {
  const known = orders.get(tables);
  if (known !== undefined) return known;
  const made = [byLength(tables.instanceCpu), byLength(tables.instanceGpu)] as const;
  orders.set(tables, made);
  return made;
}

/** The longest instance among the actors of one side. */
class LongestOf {
  private readonly order: LengthOrder;
  private readonly times: readonly number[];
  private readonly has: (actor: number) => boolean;
  /** No actor before this place is on the side. */
  private place = 0;

  constructor(order: LengthOrder, times: readonly number[], has: (actor: number) => boolean) {
    this.order = order;
    this.times = times;
    this.has = has;
  }

  /** After `actor` came to the side; without one: after any change. */
  came(actor?: number): void {
    this.place = actor === undefined ? 0 : Math.min(this.place, elementAt(this.order.places, actor));
  }

  get time(): number {
    const { actors } = this.order;
    while (this.place < actors.length && !this.has(elementAt(actors, this.place))) ++this.place;
    return this.place < actors.length ? elementAt(this.times, elementAt(actors, this.place)) : 0;
  }
}

/** A partition that can be modified, with its loads. */
export class TaskState {
  readonly onGpu: boolean[];
  toCpu = 0;
  toGpu = 0;
  gpu = 0;
  cpu = 0;
  private readonly tables: TaskTables;
  private readonly longestOnCpu: LongestOf;
  private readonly longestOnGpu: LongestOf;

  constructor(tables: TaskTables, onGpu: readonly boolean[]) {
    this.tables = tables;
    const [cpu, gpu] = lengthOrders(tables);
    this.longestOnCpu = new LongestOf(cpu, tables.instanceCpu, (actor) => !this.onGpu[actor]);
    this.longestOnGpu = new LongestOf(gpu, tables.instanceGpu, (actor) => this.onGpu[actor] === true);
    this.onGpu = onGpu.map((on, actor) => on && !tables.fixed[actor]);
    this.reset(this.onGpu);
  }

  /** Switches to another partition; recomputes the sums, so that rounding errors never accumulate. */
  reset(onGpu: readonly boolean[]): void {
    this.toCpu = this.toGpu = this.gpu = this.cpu = 0;
    onGpu.forEach((on, actor) => {
      this.onGpu[actor] = on;
      if (on) this.gpu += elementAt(this.tables.gpu, actor);
      else this.cpu += elementAt(this.tables.cpu, actor);
    });
    this.longestOnCpu.came();
    this.longestOnGpu.came();
    for (const edge of this.tables.edges) this.count(edge, 1);
  }

  private count(edge: EdgeCosts, sign: number): void {
    const place = (this.onGpu[edge.from] ? 2 : 0) + (this.onGpu[edge.to] ? 1 : 0);
    if (place === 2) this.toCpu += sign * edge.toCpu;
    if (place === 1) this.toGpu += sign * edge.toGpu;
    this.gpu += sign * required(edge.gpu[place]);
  }

  /** Moves an actor to the other side. */
  flip(actor: number): void {
    const edges = elementAt(this.tables.edgesOf, actor);
    for (const edge of edges) this.count(edge, -1);
    const toGpu = !this.onGpu[actor];
    this.onGpu[actor] = toGpu;
    this.gpu += toGpu ? elementAt(this.tables.gpu, actor) : -elementAt(this.tables.gpu, actor);
    this.cpu += toGpu ? -elementAt(this.tables.cpu, actor) : elementAt(this.tables.cpu, actor);
    (toGpu ? this.longestOnGpu : this.longestOnCpu).came(actor);
    for (const edge of edges) this.count(edge, 1);
  }

  get dma(): number {
    return this.tables.isDuplex ? Math.max(this.toCpu, this.toGpu) : this.toCpu + this.toGpu;
  }

  /** The longest instance where it stands. */
  get longest(): number {
    return Math.max(this.longestOnCpu.time, this.longestOnGpu.time);
  }

  get interval(): number {
    return Math.max(this.dma, this.gpu, this.cpu, this.tables.recurrence, this.longest);
  }

  loads(): TaskLoads {
    const { toCpu, toGpu, dma, gpu, cpu, longest, interval } = this;
    return { toCpu, toGpu, dma, gpu, cpu, recurrence: this.tables.recurrence, longest, interval };
  }
}

/** Loads of a given partition. Actors fixed to the CPU are counted there, whatever `onGpu` says. */
export function partitionLoads(problem: TaskProblem, onGpu: readonly boolean[]): TaskLoads {
  const tables = taskTables(problem);
  requireList('onGpu', onGpu, 'a boolean for each actor');
  return new TaskState(tables, onGpu).loads();
}

/** The loop over the graph unrolled: instances and what channels carry in one iteration multiplied. */
export function unrollTask(problem: TaskProblem, times: number): TaskProblem {
  checkTask(problem);
  requireCount(times, 'times', 1, 2 ** 30);
  const scale = (values: readonly number[]): number[] => values.map((value) => value * times);
  const { costs, repetitions, cpuRepetitions } = problem;
  return {
    ...problem, repetitions: scale(repetitions), ...(cpuRepetitions === undefined ? {} : { cpuRepetitions: scale(cpuRepetitions) }),
    costs: {
      ...costs, toCpu: scale(costs.toCpu), toGpu: scale(costs.toGpu), shuffle: scale(costs.shuffle), deshuffle: scale(costs.deshuffle),
    },
  };
}
