// Work for N equal CPU cores: stateless actors are cut into slices of their firings, aligned along the stream so that a slice mostly reads
// what its own core wrote; stateful actors and feedback loops stay whole. The cores meet at a barrier once per launch.
import { requireCount, rule, whole } from '../../core/checks.ts';
import { briefly } from '../../core/display.ts';
import { addAt, elementAt, required } from '../../core/known.ts';
import { needed, normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { fireAll, isLoop, Marking, stronglyConnected, type SteadyState, type Step } from '../schedule/steady.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { checkCosts, type CostTable } from './costs.ts';
import type { FiringPlace } from './pipeline-check.ts';
import { requireCounts, requireFields, requireList, requireRateGraph, requireSteady } from '../require.ts';

/** Firings `from` to `from + count − 1` of an actor's firings in one iteration. */
export interface CoreSlice {
  readonly actor: number;
  readonly from: number;
  readonly count: number;
}

/**
 * A plan. In launch l, a core runs its slices in order, each for iteration l − stage(actor) unless that is negative or past
 * the end; all cores wait for each other between launches. An iteration is `multiplier` steady states; iteration 0 follows the
 * initialisation schedule.
 */
export interface CorePlan {
  readonly multiplier: number;
  /** What each core does in a launch, in order. */
  readonly programs: readonly (readonly CoreSlice[])[];
  /** By actor: in which launch its iteration 0 runs, counted from the first launch. */
  readonly stages: readonly number[];
  /** By channel: how many items its ring buffer holds. */
  readonly buffers: readonly number[];
  /** Microseconds of work of each core in a launch; the largest is the interval. */
  readonly load: readonly number[];
  readonly interval: number;
  /** A lower bound on the interval of any plan: the mean load, or the longest work that must stay whole. */
  readonly bound: number;
}

/** Maximum number of cores of a plan. */
export const mostCores = 4096;

/** Options of {@link assignToCores}. */
export interface CoreOptions {
  /** Number of equal cores, 1 to 4096. */
  readonly cores: number;
  /** Minimum number of steady states per iteration; default 1. Larger values make barriers cheaper. */
  readonly minMultiplier?: number;
  /** Maximum number of steady states per iteration; default 1024. */
  readonly maxMultiplier?: number;
  /** Acceptable imbalance, as a fraction of the bound; default 0.02. */
  readonly tolerance?: number;
  /** Maximum number of bytes of all buffers together; default 256 MiB. A single steady state per iteration is always allowed. */
  readonly maxBufferBytes?: number;
}

/** Infinity means no limit. */
const bound = rule<number>('a number of at least 0', (value) => typeof value === 'number' && value >= 0);

const coreOptions = optionsOf('stream.assignToCores', {
  cores: needed(whole(1, mostCores)), minMultiplier: normally(whole(1, 2 ** 20), 1), maxMultiplier: normally(whole(1, 2 ** 20), 1024),
  tolerance: normally(bound, 0.02), maxBufferBytes: normally(bound, 2 ** 28),
} satisfies ChecksOf<CoreOptions>);

/** Actors that are placed together. */
interface Unit {
  readonly actors: readonly number[];
  /** Must stay on one core, in order. */
  readonly isWhole: boolean;
  /** Microseconds per steady state. */
  readonly work: number;
  /** Firings per steady state, in order. */
  readonly steps: readonly Step[];
}

function unitsOf(graph: SdfGraph, steady: SteadyState, costs: CostTable): Unit[] {
  const { component, components } = stronglyConnected(graph);
  const marking = new Marking(graph);
  for (const { actor, count } of steady.init) marking.fireUpTo(actor, count);
  const seen = new Set<number>();
  const units: Unit[] = [];
  for (const actor of steady.order) {
    if (seen.has(elementAt(component, actor))) continue;
    seen.add(elementAt(component, actor));
    const actors = elementAt(components, elementAt(component, actor));
    units.push({
      actors, isWhole: isLoop(graph, actors) || elementAt(graph.actors, actor).stateful,
      work: actors.reduce((sum, id) => sum + elementAt(costs.cpu, id) * elementAt(steady.repetitions, id), 0),
      steps: fireAll(graph, marking, steady.order.filter((id) => component[id] === component[actor]), steady.repetitions),
    });
  }
  return units;
}

/** Assigns whole units, longest first, to the least loaded core. */
function placeWhole(units: readonly Unit[], cores: number): { core: Map<Unit, number>; load: number[] } {
  const load = Array.from({ length: cores }, () => 0);
  const core = new Map<Unit, number>();
  for (const unit of units.filter(({ isWhole }) => isWhole).sort((a, b) => b.work - a.work)) {
    const least = load.indexOf(Math.min(...load));
    core.set(unit, least);
    addAt(load, least, unit.work);
  }
  return { core, load };
}

/** Distributes the divisible work so that the cores are balanced: the end of each core's share, from 0 to 1. */
function levelShares(load: readonly number[], free: number): number[] {
  const sorted = [...load].sort((a, b) => a - b);
  let level = 0, below = 0;
  for (let count = 1; count <= sorted.length; ++count) {
    below += elementAt(sorted, count - 1);
    level = (below + free) / count;
    if (count === sorted.length || level <= elementAt(sorted, count)) break;
  }
  let sum = 0;
  const ends = load.map((value) => free > 0 ? Math.min(1, (sum += Math.max(0, level - value)) / free) : 1);
  ends[ends.length - 1] = 1;
  return ends;
}

/** Cuts each divisible unit at the ends of the shares, at whole firings, such that rounding errors do not accumulate on any core. */
class Cutter {
  private readonly done: number[];
  private spread = 0;
  private readonly ends: readonly number[];

  constructor(ends: readonly number[]) {
    this.ends = ends;
    this.done = ends.map(() => 0);
  }

  /** First firing of each core, and the total at the end. */
  cut(firings: number, cost: number): number[] {
    this.spread += firings * cost;
    const cuts = [0];
    this.ends.forEach((end, core) => {
      const low = Math.floor(end * firings + 1e-9);
      const wanted = end * this.spread - elementAt(this.done, core);
      const isHigher = low < firings && end * firings > low + 1e-9 && Math.abs((low + 1) * cost - wanted) < Math.abs(low * cost - wanted);
      const at = core === this.ends.length - 1 ? firings : Math.max(elementAt(cuts, core), low + (isHigher ? 1 : 0));
      addAt(this.done, core, at * cost);
      cuts.push(at);
    });
    return cuts;
  }
}

interface Cuts { readonly programs: CoreSlice[][]; readonly firstFirings: number[][]; readonly load: number[] }

function cutUnits(units: readonly Unit[], steady: SteadyState, costs: CostTable, cores: number, multiplier: number): Cuts {
  const { core, load } = placeWhole(units, cores);
  const free = units.reduce((sum, unit) => sum + (unit.isWhole ? 0 : unit.work), 0);
  const cutter = new Cutter(levelShares(load, free));
  const programs: CoreSlice[][] = load.map(() => []);
  const firstFirings: number[][] = [];
  const actual = load.map((value) => value * multiplier);
  for (const unit of units) {
    const home = core.get(unit);
    if (home !== undefined) {
      elementAt(programs, home).push(...repeatSteps(unit.steps, multiplier));
      for (const actor of unit.actors) {
        const firings = elementAt(steady.repetitions, actor) * multiplier;
        firstFirings[actor] = Array.from({ length: cores + 1 }, (_, at) => at <= home ? 0 : firings);
      }
      continue;
    }
    const actor = elementAt(unit.actors, 0);
    const cuts = cutter.cut(elementAt(steady.repetitions, actor) * multiplier, elementAt(costs.cpu, actor));
    firstFirings[actor] = cuts;
    for (let at = 0; at < cores; ++at) {
      const count = elementAt(cuts, at + 1) - elementAt(cuts, at);
      if (count > 0) elementAt(programs, at).push({ actor, from: elementAt(cuts, at), count });
      addAt(actual, at, count * elementAt(costs.cpu, actor));
    }
  }
  return { programs, firstFirings, load: actual };
}

function repeatSteps(steps: readonly Step[], multiplier: number): CoreSlice[] {
  if (steps.length === 1) return [{ actor: elementAt(steps, 0).actor, from: 0, count: elementAt(steps, 0).count * multiplier }];
  const next = new Map<number, number>();
  const slices: CoreSlice[] = [];
  for (let time = 0; time < multiplier; ++time) {
    for (const { actor, count } of steps) {
      const from = next.get(actor) ?? 0;
      slices.push({ actor, from, count });
      next.set(actor, from + count);
    }
  }
  return slices;
}

/** True if some core's slice of the consumer reads items that another core produces in the same iteration. */
function crosses({ push, pop, peek }: SdfChannel, tokens: number, made: readonly number[], taking: readonly number[]): boolean {
  if (push === 0) return false;
  for (let core = 0; core + 1 < taking.length; ++core) {
    if (taking[core] === taking[core + 1]) continue;
    const last = Math.floor(((elementAt(taking, core + 1) - 1) * pop + peek - 1 - tokens) / push);
    const first = Math.max(0, Math.floor((elementAt(taking, core) * pop - tokens) / push));
    if (first <= last && (first < elementAt(made, core) || last >= elementAt(made, core + 1))) return true;
  }
  return false;
}

function stagesOf(graph: SdfGraph, steady: SteadyState, units: readonly Unit[], cuts: Cuts): number[] {
  const stages = graph.actors.map(() => 0);
  const unitOf = new Map(units.flatMap((unit) => unit.actors.map((actor) => [actor, unit] as const)));
  for (const unit of units) {
    const inputs = graph.channels.filter(({ from, to }) => unitOf.get(to) === unit && unitOf.get(from) !== unit);
    const stage = Math.max(0, ...inputs.map((channel) => {
      const [made, taking] = [elementAt(cuts.firstFirings, channel.from), elementAt(cuts.firstFirings, channel.to)];
      return elementAt(stages, channel.from) + (crosses(channel, elementAt(steady.residual, channel.id), made, taking) ? 1 : 0);
    }));
    for (const actor of unit.actors) stages[actor] = stage;
  }
  return stages;
}

/**
 * Distributes the firings of `multiplier` steady states over equal cores by `costs.cpu`, so that no core has much more than the
 * mean. Takes the smallest allowed multiplier whose imbalance is within the tolerance, or else the one with the smallest imbalance.
 * Throws `ArgumentError` for impossible options or costs.
 */
export function assignToCores(graph: SdfGraph, steady: SteadyState, costs: CostTable, options: CoreOptions): CorePlan {
  requireRateGraph(graph);
  requireSteady(graph, steady);
  const { cores, minMultiplier, maxMultiplier, tolerance, maxBufferBytes } = coreOptions.read(options, 'options');
  checkCosts(graph, costs);
  const units = unitsOf(graph, steady, costs);
  const whole = Math.max(0, ...units.map(({ isWhole, work }) => isWhole ? work : 0));
  const bound = Math.max(units.reduce((sum, { work }) => sum + work, 0) / cores, whole);
  let best: CorePlan | undefined;
  for (let multiplier = minMultiplier; multiplier <= Math.max(minMultiplier, maxMultiplier); multiplier = Math.ceil(multiplier * 1.3)) {
    const cuts = cutUnits(units, steady, costs, cores, multiplier);
    const stages = stagesOf(graph, steady, units, cuts);
    const buffers = graph.channels.map(({ id, from, to, push }) => {
      const launches = elementAt(stages, to) - elementAt(stages, from) + 1;
      return elementAt(steady.residual, id) + push * elementAt(steady.repetitions, from) * multiplier * launches;
    });
    const bytes = graph.channels.reduce((sum, { id, bytesPerItem }) => sum + elementAt(buffers, id) * bytesPerItem, 0);
    if (best && bytes > maxBufferBytes) break;
    const interval = Math.max(...cuts.load);
    const plan = { multiplier, programs: cuts.programs, stages, buffers, load: cuts.load, interval, bound: bound * multiplier };
    if (!best || interval / multiplier < best.interval / best.multiplier) best = plan;
    if (interval <= plan.bound * (1 + tolerance)) break;
  }
  return briefly('CorePlan', required(best));
}

/** The plan, firing by firing, as input for {@link validatePipeline}. */
export function placesOf(graph: SdfGraph, plan: CorePlan): FiringPlace[][] {
  requireRateGraph(graph);
  requireFields('plan', plan, 'a plan, as stream.assignToCores gives it', ['programs', 'stages']);
  requireCounts('plan.stages', plan.stages, graph.actors.length);
  for (const [i, slices] of plan.programs.entries()) {
    requireList(`plan.programs[${i}]`, slices, 'slices of firings');
    for (const [at, slice] of slices.entries()) {
      requireFields(`plan.programs[${i}][${at}]`, slice, 'an actor with its firings');
      requireCount(slice.actor, `plan.programs[${i}][${at}].actor`, 0, graph.actors.length - 1);
      for (const name of ['from', 'count'] as const) requireCount(slice[name], `plan.programs[${i}][${at}].${name}`, 0, 1e8);
    }
  }
  const places: FiringPlace[][] = graph.actors.map(() => []);
  plan.programs.forEach((slices, processor) => {
    let order = 0;
    for (const { actor, from, count } of slices) {
      for (let firing = from; firing < from + count; ++firing) {
        elementAt(places, actor)[firing] = { stage: elementAt(plan.stages, actor), processor, order: order++ };
      }
    }
  });
  return places;
}
