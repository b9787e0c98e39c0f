// An independent check of hybrid plans. It recomputes all figures from the given graph and moves the items of several iterations through
// the plan's buffers, launch by launch. It shares no code with the planner.
import { elementAt, required } from '../../../core/known.ts';
import { whole } from '../../../core/checks.ts';
import { optionsOf, type ChecksOf } from '../../../core/options.ts';
import { steadyState } from '../../schedule/index.ts';
import type { SdfGraph } from '../../sdf.ts';
import { requirePlan } from './require.ts';
import { simulate } from './simulate.ts';
import { checkHybrid, type HybridPlan, type HybridProblem, type HybridSlice } from './types.ts';

/** Collects the first twenty defects. */
export class Faults {
  readonly list: string[] = [];

  add(message: string): void {
    if (this.list.length < 20) this.list.push(message);
  }

  /** Compares two figures that should agree. */
  same(what: string, claimed: number, found: number): void {
    if (!(Math.abs(claimed - found) <= 1e-9 * (1 + Math.abs(found)))) this.add(`${what}: claimed ${claimed}, found ${found}`);
  }
}

/** The firings of connected actors have the number of steady states as their greatest common divisor. */
function checkWork({ channels }: SdfGraph, firings: readonly number[], steadyStates: number, faults: Faults): void {
  const common = firings.map((count) => count);
  const divisor = (a: number, b: number): number => b === 0 ? a : divisor(b, a % b);
  // Propagates the divisor of each pair of connected actors until nothing changes.
  for (let changed = true; changed;) {
    changed = false;
    for (const { from, to } of channels) {
      const both = divisor(elementAt(common, from), elementAt(common, to));
      if (common[from] === both && common[to] === both) continue;
      [common[from], common[to], changed] = [both, both, true];
    }
  }
  const wrong = common.find((count) => count !== steadyStates);
  if (wrong !== undefined) faults.add(`${steadyStates} steady states are claimed, actors do ${wrong}`);
}

/** Compares the contracted graph with the given one: each firing occurs once; each channel is kept or lies inside an actor with state. */
function checkGraph({ graph: given }: HybridProblem, plan: HybridPlan, faults: Faults): void {
  const { contracted: { graph, members, channels }, repetitions } = plan;
  const per = new Map<number, { group: number; firings: number }>();
  members.forEach((list, group) => list.forEach(({ actor, firings }) => {
    if (per.has(actor)) faults.add(`actor ${actor} is in two groups`);
    per.set(actor, { group, firings });
    if (list.length > 1 && !graph.actors[group]?.stateful) faults.add(`group ${group} is a loop without state`);
    const { name, stateful } = elementAt(given.actors, actor);
    if (stateful && !graph.actors[group]?.stateful) faults.add(`${name} has state, its group has none`);
  }));
  if (per.size !== given.actors.length) return faults.add(`${per.size} of ${given.actors.length} actors are in groups`);
  const firingsOf = (actor: number): number => {
    const { group, firings } = required(per.get(actor));
    return firings * elementAt(repetitions, group);
  };
  const { residual } = steadyState(given);
  checkWork(given, given.actors.map(({ id }) => firingsOf(id)), plan.steadyStates, faults);
  for (const { id, from, to, push, pop, peek, bytesPerItem } of given.channels) {
    if (firingsOf(from) * push !== firingsOf(to) * pop) faults.add(`channel ${id} does not balance`);
    const [u, v] = [required(per.get(from)), required(per.get(to))];
    const made = graph.channels[channels.indexOf(id)];
    if (!made) {
      if (u.group !== v.group || !graph.actors[u.group]?.stateful) faults.add(`channel ${id} is missing`);
      continue;
    }
    const isRight = made.from === u.group && made.to === v.group && made.push === push * u.firings && made.pop === pop * v.firings
      && made.peek - made.pop === peek - pop && made.tokens === residual[id] && made.bytesPerItem === bytesPerItem;
    if (!isRight) faults.add(`channel ${id} has other ends, rates or items in the plan`);
  }
}

/** Checks on which side actors are, and the sizes of their instances. */
function checkPlaces(problem: HybridProblem, plan: HybridPlan, faults: Faults): void {
  const { contracted: { graph, members }, onGpu, firings, repetitions } = plan;
  graph.actors.forEach(({ id, name, stateful }) => {
    if (elementAt(repetitions, id) % elementAt(firings, id) !== 0) faults.add(`${name}: instances are not whole`);
    if (stateful && firings[id] !== repetitions[id]) faults.add(`${name} has state, but several instances`);
    if (!onGpu[id]) return;
    const { actor } = elementAt(elementAt(members, id), 0);
    const isFixed = stateful && problem.placesState !== true;
    if (isFixed || problem.gpu[actor] === Infinity || problem.fixed?.[actor]) faults.add(`${name} is fixed to the CPU`);
    const threads = problem.threads[actor];
    if (!stateful && firings[id] !== threads) faults.add(`${name}: an instance has ${firings[id]} threads, not ${threads}`);
  });
}

/** Checks the programs of one kind of processor: each instance occurs once, on the right side. Returns the loads. */
function checkPrograms(programs: readonly (readonly HybridSlice[])[], isGpu: boolean, plan: HybridPlan,
  timeOf: (slice: HybridSlice) => number, faults: Faults): number[] {
  const { contracted: { graph }, onGpu, repetitions, firings, operations } = plan;
  const done = new Map<string, number[]>();
  const expect = (kind: HybridSlice['kind'], id: number, count: number): void => {
    done.set(`${kind} ${id}`, Array.from({ length: count }, () => 0));
  };
  graph.actors.forEach(({ id }) => {
    if ((onGpu[id] === true) === isGpu) expect('actor', id, Math.floor(elementAt(repetitions, id) / elementAt(firings, id)));
  });
  operations.forEach(({ kind, instances }, id) => {
    if (isGpu && kind !== 'toCpu' && kind !== 'toGpu') expect('operation', id, instances);
  });
  const loads = programs.map((slices) => slices.reduce((load, slice) => {
    const times = done.get(`${slice.kind} ${slice.id}`);
    if (!times || slice.from + slice.count > times.length) {
      faults.add(`${slice.kind} ${slice.id}: instances ${slice.from} to ${slice.from + slice.count - 1} have no place here`);
      return load;
    }
    for (let at = slice.from; at < slice.from + slice.count; ++at) times[at] = elementAt(times, at) + 1;
    return load + slice.count * timeOf(slice);
  }, 0));
  for (const [name, times] of done) {
    const at = times.findIndex((count) => count !== 1);
    if (at >= 0) faults.add(`${name}: instance ${at} runs ${times[at]} times in an iteration`);
  }
  return loads;
}

/** Recomputes the loads of processors and links, the interval, and the bytes of buffers from the problem's figures. */
function checkLoads(problem: HybridProblem, plan: HybridPlan, faults: Faults): void {
  const { contracted: { graph, members }, operations, repetitions, shuffleItems, load } = plan;
  const { moving: { latency = 0, ...rates } } = problem;
  const core = ({ id }: HybridSlice): number => elementAt(members, id).reduce((sum, { actor, firings }) =>
    sum + firings * elementAt(problem.cpu, actor), 0) * elementAt(plan.firings, id);
  const multiprocessor = ({ kind, id }: HybridSlice): number => {
    if (kind === 'actor') {
      const time = elementAt(problem.gpu, elementAt(elementAt(members, id), 0).actor);
      return elementAt(graph.actors, id).stateful ? time * elementAt(plan.firings, id) : time;
    }
    const operation = elementAt(operations, id);
    return shuffleItems * elementAt(graph.channels, operation.channel).bytesPerItem / rates[operation.kind];
  };
  const cores = checkPrograms(plan.cores, false, plan, core, faults);
  const multiprocessors = checkPrograms(plan.multiprocessors, true, plan, multiprocessor, faults);
  for (const [name, found, claimed, count] of [['core', cores, load.cores, problem.cores],
    ['multiprocessor', multiprocessors, load.multiprocessors, problem.multiprocessors]] as const) {
    if (found.length !== count || claimed.length !== count) faults.add(`${found.length} ${name}s of ${count}`);
    else found.forEach((time, at) => { faults.same(`load of ${name} ${at}`, elementAt(claimed, at), time); });
  }
  const links = { toCpu: 0, toGpu: 0 };
  for (const { kind, channel } of operations) {
    if (kind !== 'toCpu' && kind !== 'toGpu') continue;
    const { from, push, bytesPerItem } = elementAt(graph.channels, channel);
    links[kind] += push === 0 ? 0 : latency + push * elementAt(repetitions, from) * bytesPerItem / rates[kind];
  }
  for (const kind of ['toCpu', 'toGpu'] as const) faults.same(`load ${kind}`, load[kind], links[kind]);
  const dma = problem.link === 'duplex' ? Math.max(links.toCpu, links.toGpu) : links.toCpu + links.toGpu;
  faults.same('interval', plan.interval, Math.max(dma, ...cores, ...multiprocessors));
  for (const name of ['bound', 'partitionInterval'] as const) {
    if (plan[name] > plan.interval * (1 + 1e-6)) faults.add(`${name} ${plan[name]} is above the interval ${plan.interval}`);
  }
  for (const [name, side] of [['hostBytes', false], ['deviceBytes', true]] as const) {
    const bytes = plan.buffers.filter(({ onGpu }) => onGpu === side).map(({ channel, slots }) => {
      const { from, push, bytesPerItem } = elementAt(graph.channels, channel);
      return slots * push * elementAt(repetitions, from) * bytesPerItem;
    });
    faults.same(name, plan[name], bytes.reduce((sum, each) => sum + each, 0));
  }
  faults.same('depth', plan.depth, 1 + Math.max(0, ...plan.stages));
}

/** Options of {@link validateHybrid}. */
export interface HybridCheck {
  /** The number of launches in which items are followed; default: until each ring has been reused twice. */
  readonly launches?: number;
}

const checkOptions = optionsOf('stream.validateHybrid', { launches: whole(1, 2 ** 20) } satisfies ChecksOf<HybridCheck>);

/**
 * Returns the defects of a plan, or an empty list. Recomputes rates, places, instances, loads and bytes from the problem, and follows the
 * items of several iterations through all buffers, in time and memory proportional to their number.
 */
export function validateHybrid(problem: HybridProblem, plan: HybridPlan, options: HybridCheck = {}): string[] {
  const { launches } = checkOptions.read(options, 'options');
  checkHybrid(problem);
  requirePlan(plan, problem);
  const faults = new Faults();
  checkGraph(problem, plan, faults);
  checkPlaces(problem, plan, faults);
  if (faults.list.length === 0) checkLoads(problem, plan, faults);
  if (faults.list.length === 0) simulate(plan, faults, launches);
  return faults.list;
}
