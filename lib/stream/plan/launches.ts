// Plans a run on several cores: which iterations of which groups a core runs in each launch, and where items are stored in between. The
// assignment comes from partition/cores.ts, with groups as actors, for more cores than there are. What it assigns to each of those is a
// task. The tasks of a launch are independent of each other, so a core that is done early takes tasks from slower cores.
import { addAt, elementAt, required } from '../../core/known.ts';
import { assignToCores, mostCores, type CorePlan, type CoreSlice } from '../partition/cores.ts';
import { cpuCosts } from '../partition/costs.ts';
import type { SteadyState } from '../schedule/index.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { isOrdered, type Group, type ProgramPlan } from './plan.ts';

/** The groups as the actors of an SDF graph. */
export interface GroupGraph {
  readonly sdf: SdfGraph;
  readonly steady: SteadyState;
  /** For each channel of `sdf`, the channel of the program. */
  readonly channels: readonly number[];
}

/** A channel's storage: `slots` slots of one iteration each, used in turn, then the residual items, which are also stored at the front. */
export interface Ring {
  /** Items per iteration. Without slots: how many items each core has room for, which it produces and consumes part by part. */
  readonly items: number;
  readonly slots: number;
  /** Items that remain on the channel between iterations. */
  readonly residual: number;
}

/** An end whose index a group's function finds in `wl_ix`. */
export interface GroupEnd {
  /**
   * The kind of end: of a ring, of a stream with sequential items, of a file that is read again from its start, or of a core's own items.
   */
  readonly kind: 'read' | 'write' | 'stream' | 'file' | 'own';
  /** Index in `wl_ix`. */
  readonly slot: number;
  /** Items per iteration of the group. */
  readonly each: number;
  /** Number of the channel or stream. */
  readonly id: number;
}

/** A part of launch l: slices that one core runs in order, each for iteration l − stage of the run, if there is such an iteration. */
export interface LaunchTask {
  /** The core that owns it. */
  readonly core: number;
  /** No other core may take it: it prints, counts firings, or has state, which should stay in the core's cache. */
  readonly isFixed: boolean;
  /** The actors are groups. */
  readonly slices: readonly CoreSlice[];
}

/** In launch l, each core goes through the tasks in its own order and takes those not yet taken; then all cores meet at a barrier. */
export interface LaunchPlan {
  /** Steady states per iteration. */
  readonly multiplier: number;
  readonly lastStage: number;
  /** The maximum number of steady states that a core runs in one go. */
  readonly chunk: number;
  /** By group. */
  readonly stages: readonly number[];
  readonly tasks: readonly LaunchTask[];
  /** By core: the numbers of its own tasks, then those of other cores, last first. */
  readonly orders: readonly (readonly number[])[];
  /** By group. */
  readonly ends: readonly (readonly GroupEnd[])[];
  /** By channel; undefined if items stay within one iteration of a group. */
  readonly rings: readonly (Ring | undefined)[];
  /** By channel: how many items its arrays hold. */
  readonly capacities: readonly number[];
}

export interface LaunchOptions {
  readonly cores: number;
  /** Mean microseconds per firing, by node. */
  readonly costs: readonly number[];
  /** Whole steady states of the run. */
  readonly states: number;
  /** The minimum duration of a launch in microseconds, which makes the cost of barriers negligible. */
  readonly launchMicroseconds: number;
  /** Limits on the size of launches and their parts, by back end. Default {@link nearness}.cpp. */
  readonly near?: Nearness;
}

/** Sizes of what should stay in a cache, and of what is worth a call. */
export interface Nearness {
  /** Bytes per core on all channels. Beyond that, launches are not made longer just to amortise barriers. */
  readonly bytes: number;
  /** Blocks of one thread per part of a slice; Infinity: slices are not cut. */
  readonly partBlocks: number;
  /** The minimum mean duration of a slice in microseconds, which makes the cost of finding its place negligible. */
  readonly sliceMicroseconds: number;
}

/**
 * For C++, launches stay within a core's L2 cache, and parts of slices within L1. WebAssembly is slower, so caches matter less, and each
 * part costs a call, which takes as long as some hundred operations.
 */
export const nearness = {
  cpp: { bytes: 2 ** 19, partBlocks: 3, sliceMicroseconds: 2 }, wasm: { bytes: 2 ** 21, partBlocks: Infinity, sliceMicroseconds: 15 },
} as const;

const mostParts = 256;
/** The maximum number of tasks per core in a launch. */
const mostTasks = 8;

/** The groups of a plan as a graph of their own, in its state after the initialisation. */
export function groupGraph(plan: ProgramPlan): GroupGraph {
  const { groups, groupOf, sdf, steady, storage, rates } = plan;
  const between = sdf.channels.filter(({ id, from, to }) => storage[id] === 'block' && groupOf[from] !== groupOf[to]);
  const channels = between.map(({ id, from, to, peek, pop, bytesPerItem }, at) => {
    const [source, sink] = [elementAt(groupOf, from), elementAt(groupOf, to)];
    const taken = elementAt(rates, id) / sink.iterations;
    return {
      id: at, from: source.id, to: sink.id, push: elementAt(rates, id) / source.iterations, pop: taken, peek: taken + peek - pop,
      tokens: elementAt(steady.residual, id), bytesPerItem,
    };
  });
  const actors = groups.map(({ id, isLoop, steps }) => ({
    id, name: `group ${id}`, stateful: isLoop || steps.some(({ actor }) => isOrdered(plan, actor)), moves: false,
  }));
  return {
    sdf: { actors, channels }, channels: between.map(({ id }) => id),
    steady: {
      repetitions: groups.map(({ iterations }) => iterations), initFirings: groups.map(() => 0), init: [],
      residual: channels.map(({ tokens }) => tokens), order: groups.map(({ id }) => id),
    },
  };
}

/**
 * Cuts the slices of a task into parts and runs the first parts of all slices, then the second parts, and so on: the items of a part are
 * still in L1 when the next group reads them. No part reads items that do not exist yet.
 */
export function interleave(
  slices: readonly CoreSlice[], { sdf, steady }: GroupGraph, stages: readonly number[], parts: number,
): CoreSlice[] {
  const own = new Map<number, { from: number; count: number; done: number }>();
  for (const { actor, from, count } of slices) {
    const found = own.get(actor);
    if (found === undefined) own.set(actor, { from, count, done: 0 });
    else found.count += count;
  }
  const inputs = new Map([...own.keys()].map((actor) => [actor, sdf.channels.filter(({ from, to }) =>
    to === actor && stages[from] === stages[to] && own.has(from))]));
  const made: CoreSlice[] = [];
  for (let part = 1; part <= parts; ++part) {
    for (const [actor, slice] of own) {
      const each = elementAt(steady.repetitions, actor);
      let upTo = part === parts ? slice.count : Math.min(slice.count, part * Math.ceil(slice.count / each / parts) * each);
      for (const { id, from, push, pop, peek } of part === parts ? [] : required(inputs.get(actor))) {
        const source = required(own.get(from));
        const there = elementAt(steady.residual, id) + (source.from + source.done) * push;
        if (pop > 0) upTo = Math.min(upTo, Math.floor((there - peek) / pop) + 1 - slice.from);
        else if (there < peek) upTo = 0;
      }
      const count = upTo - slice.done;
      if (count <= 0) continue;
      made.push({ actor, from: slice.from + slice.done, count });
      slice.done = upTo;
    }
  }
  return made;
}

/**
 * Assigns tasks to cores: fixed tasks go to the core with the least work, the others are dealt out in order until each core has its share.
 */
function shareTasks(
  programs: readonly (readonly CoreSlice[])[], load: readonly number[], isFixed: (group: number) => boolean, cores: number,
): LaunchTask[] {
  const all = programs.flatMap((slices, id) => (slices.length === 0 ? [] :
    [{ slices, load: elementAt(load, id), isFixed: slices.some(({ actor }) => isFixed(actor)) }]));
  const work = Array.from({ length: cores }, () => 0);
  const give = ({ slices, load: time, isFixed: stays }: (typeof all)[number], core: number): LaunchTask => {
    addAt(work, core, time);
    return { core, isFixed: stays, slices };
  };
  const longestFirst = all.filter((task) => task.isFixed).sort((a, b) => b.load - a.load);
  const fixed = longestFirst.map((task) => give(task, work.indexOf(Math.min(...work))));
  const mean = all.reduce((sum, task) => sum + task.load, 0) / cores;
  let core = 0;
  const free = all.filter((task) => !task.isFixed).map((task) => {
    while (core < cores - 1 && elementAt(work, core) + task.load / 2 > mean) ++core;
    return give(task, core);
  });
  return [...fixed, ...free];
}

/** The order in which each core looks for tasks. Cores without tasks of their own are dropped. */
function ordersOf(tasks: readonly LaunchTask[]): { tasks: LaunchTask[]; orders: number[][] } {
  const used = [...new Set(tasks.map(({ core }) => core))].sort((a, b) => a - b);
  const numbered = tasks.map((task) => ({ ...task, core: used.indexOf(task.core) }));
  const own: number[][] = used.map(() => []);
  numbered.forEach(({ core }, id) => elementAt(own, core).push(id));
  const forOthers = own.map((ids) => ids.filter((id) => !elementAt(numbered, id).isFixed).reverse());
  const orders = used.map((_, core) => [...elementAt(own, core), ...forOthers.slice(core + 1).flat(), ...forOthers.slice(0, core).flat()]);
  return { tasks: numbered, orders };
}

/**
 * The maximum number of items per part, if every core consumes exactly what it has just produced before it produces more; otherwise
 * undefined.
 */
function ownItems(
  { from, to, push, pop, tokens }: SdfChannel, stages: readonly number[], programs: readonly (readonly CoreSlice[])[],
): number | undefined {
  if (tokens > 0 || push === 0 || pop === 0 || stages[from] !== stages[to]) return undefined;
  let most = 0;
  for (const slices of programs) {
    let made: CoreSlice | undefined;
    for (const slice of slices) {
      if (slice.actor === from) {
        if (made !== undefined) return undefined;
        made = slice;
      } else if (slice.actor === to) {
        if (made === undefined || made.from * push !== slice.from * pop || made.count * push !== slice.count * pop) return undefined;
        most = Math.max(most, made.count * push);
        made = undefined;
      }
    }
    if (made !== undefined) return undefined;
  }
  return most;
}

/** The ends of a group's function, in any order. */
export function endsOf(plan: ProgramPlan, group: Group, rings: LaunchPlan['rings']): GroupEnd[] {
  const ends: GroupEnd[] = [];
  const members = new Set(group.steps.map(({ actor }) => actor));
  for (const { id, from, to } of plan.sdf.channels) {
    if (plan.storage[id] !== 'block') continue;
    const each = elementAt(plan.rates, id) / group.iterations;
    const own = required(rings[id]).slots === 0 ? 'own' as const : undefined;
    if (members.has(to)) ends.push({ kind: own ?? 'read', slot: 2 * id, each, id });
    if (members.has(from)) ends.push({ kind: own ?? 'write', slot: 2 * id + 1, each, id });
  }
  for (const external of plan.externals) {
    const { id, kind, node, slot, later } = external;
    if (!members.has(node)) continue;
    const each = later.items * elementAt(plan.steady.repetitions, node) / group.iterations;
    ends.push({ kind: kind === 'reader' ? 'file' : 'stream', slot, each, id });
  }
  return ends;
}

/** Plans a run on `cores` cores. The plan should have been made with `forCores`. */
export function planLaunches(
  plan: ProgramPlan, { cores, costs, states, launchMicroseconds, near = nearness.cpp }: LaunchOptions,
): LaunchPlan {
  const made = groupGraph(plan);
  const { sdf, steady } = made;
  const cpu = plan.groups.map(({ steps }) => steps.reduce((sum, { actor, count }) => sum + elementAt(costs, actor) * count, 0));
  const work = cpu.reduce((sum, cost, id) => sum + cost * elementAt(plan.groups, id).iterations, 0);
  const bytes = sdf.channels.reduce((sum, { push, from, bytesPerItem }) =>
    sum + push * elementAt(steady.repetitions, from) * bytesPerItem, 0);
  const most = Math.max(1, Math.min(2 ** 20, Math.floor(states / 8)));
  const wanted = Math.ceil(launchMicroseconds * cores / Math.max(work, 1e-3));
  const fitting = Math.max(Math.ceil(wanted / 4), Math.floor(near.bytes * cores / Math.max(bytes, 1)));
  const minMultiplier = Math.max(1, Math.min(most, wanted, fitting));
  const tasksByCore = Math.max(1, Math.min(mostTasks, Math.floor(
    minMultiplier * work / cores / (near.sliceMicroseconds * Math.max(1, plan.groups.length)))));
  const cut = assignToCores(sdf, steady, cpuCosts(sdf, cpu), {
    cores: Math.min(mostCores, cores * tasksByCore), minMultiplier,
    maxMultiplier: Math.min(most, Math.max(minMultiplier, 4 * minMultiplier)),
  });
  const { multiplier, stages } = cut;
  const wantedParts = Math.ceil(multiplier * bytes / cut.programs.length / (near.partBlocks * plan.options.blockBytes));
  const parts = Math.max(1, Math.min(mostParts, multiplier, wantedParts));
  const programs = cut.programs.map((slices) => interleave(slices, made, stages, parts));
  const { tasks, orders } = ordersOf(shareTasks(programs, cut.load, (group) => elementAt(sdf.actors, group).stateful, cores));
  const rings = ringsOf(plan, made, { multiplier, stages, programs });
  const capacities = rings.map((ring, id) => {
    if (ring === undefined) return 0;
    return ring.slots === 0 ? Math.max(cores * ring.items, elementAt(plan.rates, id)) : ring.slots * ring.items + ring.residual;
  });
  const chunks = rings.flatMap((ring, id) =>
    (ring?.slots === 0 ? [Math.floor(elementAt(capacities, id) / elementAt(plan.rates, id))] : []));
  return {
    multiplier, stages, rings, tasks, orders, capacities, lastStage: Math.max(0, ...stages), chunk: Math.min(multiplier, ...chunks),
    ends: plan.groups.map((group) => endsOf(plan, group, rings)),
  };
}

function ringsOf(
  plan: ProgramPlan, { sdf, channels }: GroupGraph,
  { multiplier, stages, programs }: Pick<CorePlan, 'multiplier' | 'stages' | 'programs'>,
): LaunchPlan['rings'] {
  const own = new Map(sdf.channels.map((channel) => [elementAt(channels, channel.id), ownItems(channel, stages, programs)]));
  return plan.sdf.channels.map(({ id, from, to }): Ring | undefined => {
    if (plan.storage[id] !== 'block') return undefined;
    const most = own.get(id);
    // Cores must not share cache lines.
    if (most !== undefined) return { items: 16 * Math.ceil(most / 16 + 1), slots: 0, residual: 0 };
    const [items, residual] = [elementAt(plan.rates, id) * multiplier, elementAt(plan.steady.residual, id)];
    // Residual items keep one more slot alive; their copies at the front must not overlap it.
    const extra = items === 0 ? 0 : Math.ceil(residual / items);
    const stageOf = (node: number): number => elementAt(stages, elementAt(plan.groupOf, node).id);
    return { items, residual, slots: stageOf(to) - stageOf(from) + 1 + extra };
  });
}
