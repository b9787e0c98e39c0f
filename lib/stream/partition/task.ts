// The task-partitioning problem (section 4.5.1): which actors run on the GPU, with transfers, shuffles and deshuffles.
import { requireCount } from '../../core/checks.ts';
import { elementAt } from '../../core/known.ts';
import { isLoop, stronglyConnected } from '../schedule/index.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { checkCosts, peekingActors, type CostTable } from './costs.ts';
import { requireCounts, requireFields, requireList } from '../require.ts';

/** A partitioning problem. */
export interface TaskProblem {
  readonly graph: SdfGraph;
  /** Firings of each actor in one iteration: KCPU and KGPU. */
  readonly repetitions: readonly number[];
  readonly costs: CostTable;
  /** CPU cores, N_cpus. */
  readonly cores: number;
  /** Multiprocessors, N_gpus. */
  readonly multiprocessors: number;
  /**
   * Actors that must stay on the CPU, by id, besides those with state, in feedback loops, or with infinite GPU time (C_fixed: peeking
   * actors whose window does not fit into shared memory, readers, writers).
   */
  readonly fixed?: readonly boolean[];
}

/** Loads of a partition in microseconds per iteration, each divided by the number of processors that share it. */
export interface TaskLoads {
  /** Right side of (4.10). */
  readonly dma: number;
  /** Right side of (4.11). */
  readonly gpu: number;
  /** Right side of (4.12). */
  readonly cpu: number;
  /** The largest of the three: the minimum initiation interval, ResMII. */
  readonly interval: number;
}

/** A partition and its costs. */
export interface TaskPartition extends TaskLoads {
  /** By actor id. */
  readonly onGpu: readonly boolean[];
  /** Lower bound on the interval of any partition. */
  readonly bound: number;
}

/** Costs of an edge by the placement of its ends: index 2·(producer on GPU) + (consumer on GPU). */
export interface EdgeCosts {
  readonly from: number;
  readonly to: number;
  readonly dma: readonly [number, number, number, number];
  /** Shuffles and deshuffles, divided by the multiprocessors. */
  readonly gpu: readonly [number, number, number, number];
}

/** The problem in a form suited to searching. */
export interface TaskTables {
  readonly fixed: readonly boolean[];
  /** Load of each actor, spread over all cores and over all multiprocessors. */
  readonly cpu: readonly number[];
  readonly gpu: readonly number[];
  readonly edges: readonly EdgeCosts[];
  /** Edges of each actor. */
  readonly edgesOf: readonly (readonly EdgeCosts[])[];
}

/** Throws {@link ArgumentError} unless the problem is complete and fits its graph. */
export function checkTask(problem: TaskProblem): void {
  requireFields('problem', problem, 'a problem with graph and costs');
  const { graph, repetitions, costs, cores, multiprocessors, fixed } = problem;
  checkCosts(graph, costs);
  requireCounts('repetitions', repetitions, graph.actors.length);
  requireCount(cores, 'cores', 1);
  requireCount(multiprocessors, 'multiprocessors', 1);
  if (fixed !== undefined) requireList('fixed', fixed, 'a boolean for each actor');
}

/**
 * Actors fixed to the CPU: with state, in feedback loops (the paper fuses these into one stateful filter), with infinite GPU time, or fixed
 * by the caller.
 */
export function fixedActors(problem: TaskProblem): boolean[] {
  checkTask(problem);
  const { graph, costs, fixed } = problem;
  const { component, components } = stronglyConnected(graph);
  const loops = components.map((members) => isLoop(graph, members));
  return graph.actors.map(({ id, stateful }) =>
    stateful || elementAt(loops, elementAt(component, id)) || costs.gpu[id] === Infinity || fixed?.[id] === true);
}

/** Costs of one channel under the four placements: (4.2), (4.3) and the four conditions on which (4.5) to (4.8) are based. */
function edgeCosts({ id, from, to }: SdfChannel, costs: CostTable, peeks: readonly boolean[], multiprocessors: number): EdgeCosts {
  const [deshuffle, shuffle] = [elementAt(costs.deshuffle, id) / multiprocessors, elementAt(costs.shuffle, id) / multiprocessors];
  const [u, v] = [elementAt(peeks, from), elementAt(peeks, to)];
  return {
    from, to,
    dma: [0, elementAt(costs.toGpu, id), elementAt(costs.toCpu, id), 0],
    gpu: [0, v ? 0 : shuffle, u ? 0 : deshuffle, (v && !u ? deshuffle : 0) + (u && !v ? shuffle : 0)],
  };
}

/** Checks a problem and builds its tables. Throws {@link ArgumentError}. */
export function taskTables(problem: TaskProblem): TaskTables {
  checkTask(problem);
  const { graph, repetitions, costs, cores, multiprocessors } = problem;
  const fixed = fixedActors(problem);
  const peeks = peekingActors(graph);
  const edges = graph.channels.filter(({ from, to }) => from !== to).map((channel) => edgeCosts(channel, costs, peeks, multiprocessors));
  const edgesOf: EdgeCosts[][] = graph.actors.map(() => []);
  for (const edge of edges) {
    elementAt(edgesOf, edge.from).push(edge);
    elementAt(edgesOf, edge.to).push(edge);
  }
  return {
    fixed, edges, edgesOf,
    cpu: repetitions.map((count, id) => count * elementAt(costs.cpu, id) / cores),
    gpu: repetitions.map((count, id) => fixed[id] ? 0 : count * elementAt(costs.gpu, id) / multiprocessors),
  };
}

/** A partition that can be modified, with its loads. */
export class TaskState {
  readonly onGpu: boolean[];
  dma = 0;
  gpu = 0;
  cpu = 0;
  private readonly tables: TaskTables;

  constructor(tables: TaskTables, onGpu: readonly boolean[]) {
    this.tables = tables;
    this.onGpu = onGpu.map((on, actor) => on && !tables.fixed[actor]);
    this.reset(this.onGpu);
  }

  /** Switches to another partition; recomputes the sums, so that rounding errors never accumulate. */
  reset(onGpu: readonly boolean[]): void {
    this.dma = this.gpu = this.cpu = 0;
    onGpu.forEach((on, actor) => {
      this.onGpu[actor] = on;
      if (on) this.gpu += elementAt(this.tables.gpu, actor);
      else this.cpu += elementAt(this.tables.cpu, actor);
    });
    for (const edge of this.tables.edges) this.count(edge, 1);
  }

  private count({ from, to, dma, gpu }: EdgeCosts, sign: number): void {
    const place = (this.onGpu[from] ? 2 : 0) + (this.onGpu[to] ? 1 : 0);
    this.dma += sign * elementAt(dma, place);
    this.gpu += sign * elementAt(gpu, place);
  }

  /** Moves an actor to the other side. */
  flip(actor: number): void {
    for (const edge of elementAt(this.tables.edgesOf, actor)) this.count(edge, -1);
    const toGpu = !this.onGpu[actor];
    this.onGpu[actor] = toGpu;
    this.gpu += toGpu ? elementAt(this.tables.gpu, actor) : -elementAt(this.tables.gpu, actor);
    this.cpu += toGpu ? -elementAt(this.tables.cpu, actor) : elementAt(this.tables.cpu, actor);
    for (const edge of elementAt(this.tables.edgesOf, actor)) this.count(edge, 1);
  }

  get interval(): number {
    return Math.max(this.dma, this.gpu, this.cpu);
  }

  loads(): TaskLoads {
    return { dma: this.dma, gpu: this.gpu, cpu: this.cpu, interval: this.interval };
  }
}

/** Loads of a given partition. Actors fixed to the CPU are counted there, whatever `onGpu` says. */
export function partitionLoads(problem: TaskProblem, onGpu: readonly boolean[]): TaskLoads {
  const tables = taskTables(problem);
  requireList('onGpu', onGpu, 'a boolean for each actor');
  return new TaskState(tables, onGpu).loads();
}
