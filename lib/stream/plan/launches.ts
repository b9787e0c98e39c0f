// A run on several cores: which iterations of which group a core does in a launch, and where items lie meanwhile. The plan itself is
// partition/cores.ts's, with groups as actors, for more cores than there are: what it gives each of them is a task, and no task of a launch
// waits for another, so that a core takes tasks of those that are late.
import { addAt, elementAt, required } from '../../core/known.ts';
import { assignToCores, mostCores, type CorePlan, type CoreSlice } from '../partition/cores.ts';
import { cpuCosts } from '../partition/costs.ts';
import type { SteadyState } from '../schedule/index.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { isOrdered, type Group, type ProgramPlan } from './plan.ts';

/** Groups as actors, for schedules. */
export interface GroupGraph {
  readonly sdf: SdfGraph;
  readonly steady: SteadyState;
  /** Channel of the program, by channel of `sdf`. */
  readonly channels: readonly number[];
}

/** Where the items of a channel lie: `slots` times those of one iteration in turns, then those left over, which stand at the front too. */
export interface Ring {
  /** Items of an iteration; where there are no slots, those that each core has room for: it makes and takes them part by part. */
  readonly items: number;
  readonly slots: number;
  /** Items that stand on the channel between iterations. */
  readonly residual: number;
}

/** An end that a group's function finds in `wl_ix`. */
export interface GroupEnd {
  /** What it is of: a ring, a stream whose items lie in order, a file read again from its begin, a core's own items. */
  readonly kind: 'read' | 'write' | 'stream' | 'file' | 'own';
  /** Place in `wl_ix`. */
  readonly slot: number;
  /** Items in an iteration of the group. */
  readonly each: number;
  /** Number of the channel or stream. */
  readonly id: number;
}

/** Part of launch l: slices that one core does in order, each for iteration l − stage of the run if there is such an iteration. */
export interface LaunchTask {
  /** Whose it is. */
  readonly core: number;
  /** Others never take it: it has state, which lies near, prints, or counts firings. */
  readonly isFixed: boolean;
  /** The actors are groups. */
  readonly slices: readonly CoreSlice[];
}

/** In launch l, each core takes tasks that no other has taken, in its order; then all wait for each other. */
export interface LaunchPlan {
  /** Steady states in an iteration. */
  readonly multiplier: number;
  readonly lastStage: number;
  /** Steady states that can be run in one go by one core. */
  readonly chunk: number;
  /** By group. */
  readonly stages: readonly number[];
  readonly tasks: readonly LaunchTask[];
  /** By core: numbers of tasks, its own first, then those of others from the last on. */
  readonly orders: readonly (readonly number[])[];
  /** By group. */
  readonly ends: readonly (readonly GroupEnd[])[];
  /** By channel; undefined where items stay within a group's iteration. */
  readonly rings: readonly (Ring | undefined)[];
  /** Items that the arrays of channels hold, by channel. */
  readonly capacities: readonly number[];
}

export interface LaunchOptions {
  readonly cores: number;
  /** Microseconds of a firing, by node. */
  readonly costs: readonly number[];
  /** Whole steady states of the run. */
  readonly states: number;
  /** Least microseconds of a launch, so that waiting for each other does not matter. */
  readonly launchMicroseconds: number;
  /** How far launches and their parts grow, by what runs them. Default {@link nearness}.cpp. */
  readonly near?: Nearness;
}

/** Sizes of what should stay in a cache, and of what is worth a call. */
export interface Nearness {
  /** Bytes on all channels, by core, beyond which launches are not made longer for their own sake. */
  readonly bytes: number;
  /** Blocks of one thread in a part of a task's slice; Infinity: slices are not cut. */
  readonly partBlocks: number;
  /** Least microseconds of a task's slice in the mean, for which finding its place takes no time to speak of. */
  readonly sliceMicroseconds: number;
}

/**
 * For C++, launches stay in a core's second cache, and parts of slices in the first. WebAssembly is slower, so that caches matter less, and
 * each part takes a call, as long as some hundred operations.
 */
export const nearness = {
  cpp: { bytes: 2 ** 19, partBlocks: 3, sliceMicroseconds: 2 }, wasm: { bytes: 2 ** 21, partBlocks: Infinity, sliceMicroseconds: 15 },
} as const;

const mostParts = 256;
/** Most tasks of a core in a launch. */
const mostTasks = 8;

/** The groups of a plan as a graph of their own, after the initialisation. */
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
 * Cuts a task's slices into parts and does the first parts of all, then the second: a part's items are still in the nearest cache when the
 * next group takes them. No part takes what is not made yet.
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
 * Gives tasks to cores: those that are fixed to the core with least to do, the others side by side, so that cores have as much to do. Cores
 * without tasks are left out.
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

/** The orders in which cores look for tasks; cores without any of their own are left out. */
function ordersOf(tasks: readonly LaunchTask[]): { tasks: LaunchTask[]; orders: number[][] } {
  const used = [...new Set(tasks.map(({ core }) => core))].sort((a, b) => a - b);
  const numbered = tasks.map((task) => ({ ...task, core: used.indexOf(task.core) }));
  const own: number[][] = used.map(() => []);
  numbered.forEach(({ core }, id) => elementAt(own, core).push(id));
  const forOthers = own.map((ids) => ids.filter((id) => !elementAt(numbered, id).isFixed).reverse());
  const orders = used.map((_, core) => [...elementAt(own, core), ...forOthers.slice(core + 1).flat(), ...forOthers.slice(0, core).flat()]);
  return { tasks: numbered, orders };
}

/** Most items of a part where every core takes just what it has made in the part before it makes more; undefined elsewhere. */
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

/** Ends of a group's function, in no order. */
function endsOf(plan: ProgramPlan, group: Group, rings: LaunchPlan['rings']): GroupEnd[] {
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

/** Plans a run on `cores` cores. The program's groups should be those of a plan with `forCores`. */
export function planLaunches(
  plan: ProgramPlan, { cores, costs, states, launchMicroseconds, near = nearness.cpp }: LaunchOptions,
): LaunchPlan {
  const made = groupGraph(plan);
  const { sdf, steady } = made;
  const cpu = plan.groups.map(({ steps, live }) =>
    steps.reduce((sum, { actor, count }) => sum + elementAt(costs, actor) * (live?.length ?? count), 0));
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
    // Cores do not share lines of the cache.
    if (most !== undefined) return { items: 16 * Math.ceil(most / 16 + 1), slots: 0, residual: 0 };
    const [items, residual] = [elementAt(plan.rates, id) * multiplier, elementAt(plan.steady.residual, id)];
    // With items left over one more turn is live at a time; their copies at the front must not meet them.
    const extra = items === 0 ? 0 : Math.ceil(residual / items);
    const stageOf = (node: number): number => elementAt(stages, elementAt(plan.groupOf, node).id);
    return { items, residual, slots: stageOf(to) - stageOf(from) + 1 + extra };
  });
}
