// The partitioner used by default: the paper's clusters and minimum cuts as starting points, then a tabu search over single moves.
import { elementAt } from '../../core/known.ts';
import { clusterPartition } from './clusters.ts';
import { relax } from './min-cut.ts';
import { leastInterval, TaskState, taskTables, unrollTask, type TaskPartition, type TaskProblem, type TaskTables } from './task.ts';
import { number, truth } from '../../core/checks.ts';
import { briefly } from '../../core/display.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { requireFields } from '../require.ts';

/** Options of {@link partitionTasks}. */
export interface HeuristicOptions {
  /** Algorithms 3 and 4 as in the paper, without the additional search; for comparison. Default false. */
  readonly onlyClusters?: boolean;
  /** How much of the graph the clusters of Algorithm 3 cover, in actors per actor of the graph; default 2.5, 5 in the thesis's trials. */
  readonly coverage?: number;
  /** Search moves per actor of the graph; default 6. */
  readonly movesPerActor?: number;
}

const heuristicOptions = optionsOf('stream.partitionTasks', {
  onlyClusters: normally(truth, false), coverage: normally(number({ least: 0 }), 2.5), movesPerActor: normally(number({ least: 0 }), 6),
} satisfies ChecksOf<HeuristicOptions>);

/** The search stops starting over once the gap to the bound is this small. */
const kGoodEnough = 5e-4;

/** The quality of a state: the interval, plus a small part of the other loads, which gives moves on a plateau a direction. */
function merit(state: TaskState): number {
  return state.interval + 1e-3 * (state.dma + state.gpu + state.cpu);
}

/**
 * Tabu search: each step makes the best move of one actor (or of an actor with one neighbour) that was not made recently, even if it makes
 * things worse. Returns the best partition encountered.
 */
function search(tables: TaskTables, start: readonly boolean[], movesPerActor: number): { onGpu: boolean[]; interval: number } {
  const state = new TaskState(tables, start);
  const free = tables.fixed.flatMap((fixed, actor) => fixed ? [] : [actor]);
  const barred = start.map(() => 0);
  let best = merit(state), onGpu = [...state.onGpu], interval = state.interval, idle = 0;
  const most = movesPerActor * free.length;
  for (let move = 1; move <= most && idle < Math.max(30, 2 * free.length); ++move) {
    const chosen = bestMove(tables, state, free, barred, move, best);
    if (chosen.length === 0) break;
    for (const actor of chosen) {
      state.flip(actor);
      barred[actor] = move + 4 + (actor * 7 + move) % 7;
    }
    ++idle;
    if (merit(state) >= best * (1 - 1e-12)) continue;
    state.reset([...state.onGpu]);
    [best, onGpu, interval, idle] = [merit(state), [...state.onGpu], state.interval, 0];
  }
  return { onGpu, interval };
}

function bestMove(tables: TaskTables, state: TaskState, free: readonly number[], barred: readonly number[], move: number,
  goal: number): number[] {
  let chosen: number[] = [], least = Infinity;
  const consider = (actors: number[]): void => {
    const value = merit(state);
    if (value < least && (value < goal || actors.every((actor) => elementAt(barred, actor) < move))) [chosen, least] = [actors, value];
  };
  const now = merit(state);
  for (const actor of free) {
    state.flip(actor);
    consider([actor]);
    state.flip(actor);
  }
  if (least < now * (1 - 1e-9)) return chosen;
  for (const actor of free) {
    if (elementAt(barred, actor) >= move) continue;
    state.flip(actor);
    for (const { from, to } of elementAt(tables.edgesOf, actor)) {
      const other = from === actor ? to : from;
      // Each pair once; both move to the same side only, because opposite moves are seldom better than a single one.
      if (other < actor || tables.fixed[other] || elementAt(barred, other) >= move || state.onGpu[other] === state.onGpu[actor]) continue;
      state.flip(other);
      consider([actor, other]);
      state.flip(other);
    }
    state.flip(actor);
  }
  return chosen;
}

/**
 * Partitions actors between CPU and GPU in milliseconds, with a lower bound on what any partition can reach. Throws ArgumentError
 * for impossible costs or counts.
 */
export function partitionTasks(problem: TaskProblem, options: HeuristicOptions = {}): TaskPartition {
  requireFields('problem', problem, 'a problem with graph and costs');
  const { onlyClusters, coverage, movesPerActor } = heuristicOptions.read(options);
  const tables = taskTables(problem);
  const state = new TaskState(tables, tables.fixed.map((fixed) => !fixed));
  const intervalOf = (onGpu: readonly boolean[]): number => {
    state.reset(onGpu);
    return state.interval;
  };
  const clusters = clusterPartition(problem.graph, tables, coverage);
  const reference = intervalOf(clusters);
  const { partitions, bound: relaxed } = relax(tables, (onGpu) => {
    state.reset(onGpu);
    return state;
  }, reference);
  const bound = Math.max(relaxed, leastInterval(tables));
  let best = clusters;
  if (!onlyClusters) {
    const starts = [clusters, ...partitions.sort((a, b) => intervalOf(a) - intervalOf(b)).slice(0, 3)];
    for (const start of starts) {
      if (intervalOf(best) <= bound * (1 + kGoodEnough)) break;
      const found = search(tables, start, movesPerActor);
      if (found.interval < intervalOf(best)) best = found.onGpu;
    }
  }
  state.reset(best);
  return briefly('TaskPartition', { onGpu: [...best], ...state.loads(), bound: Math.min(bound, state.interval) });
}

/** Most that {@link taskUnrollFactor} multiplies by. */
const kMostUnrolling = 2 ** 20;

/**
 * An unrolling after which no single instance is longer than the loads of any partition (end of section 4.5.1: multiplicities are raised
 * before partitioning, so conservatively, until no instance dominates on either side). The least such one, unless unrolling changes which
 * actors work in stream order: items that are left over after one iteration may be none after several, and the reverse. At most 2^20.
 */
export function taskUnrollFactor(problem: TaskProblem): number {
  requireFields('problem', problem, 'a problem with graph and costs');
  let times = 1;
  for (;;) {
    // Bounds of unrolled problems differ a little from multiples of the first, since they are searched for.
    const tolerance = times === 1 ? 1e-9 : 1e-6;
    const factor = Math.ceil(dominance(times === 1 ? problem : unrollTask(problem, times)) * (1 - tolerance));
    if (factor <= 1) return times;
    times = Math.min(kMostUnrolling, times * factor);
    if (times === kMostUnrolling) return times;
  }
}

/** The longest instance on either side, divided by a lower bound on the loads of all partitions; 0 if nothing is known of these. */
function dominance(problem: TaskProblem): number {
  const tables = taskTables(problem);
  const state = new TaskState(tables, tables.fixed.map((fixed) => !fixed));
  const { bound } = relax(tables, (onGpu) => {
    state.reset(onGpu);
    return state;
  }, state.interval);
  const { instanceCpu, instanceGpu, whole, recurrence } = tables;
  const longest = [instanceCpu, instanceGpu].reduce((most, times) =>
    Math.max(most, ...times.map((time, id) => (whole[id] ? 0 : time))), 0);
  const inOrder = whole.map((isWhole, id) => (isWhole ? Math.min(elementAt(instanceCpu, id), elementAt(instanceGpu, id)) : 0));
  const least = Math.max(bound, recurrence, ...inOrder);
  return least > 0 ? longest / least : 0;
}
