// Reorders independent units of a kernel, so that fewer arrays are needed at a time. No instruction changes, so results are the same bit
// for bit. What exchanged data across a barrier still has one in between.
import { elementAt } from '../../core/known.ts';
import { schedule, type Stages } from '../../kernel/memory/schedule.ts';
import type { Analysis } from './analysis.ts';
import type { Edit } from './emit.ts';
import type { PtxModule } from '../../kernel/ptx/module.ts';
import { arrayBit, meet, unitsOf, type Unit } from './units.ts';

/** A kernel in another order. */
export interface Reordered {
  readonly edit: Edit;
  /** Units that left their place: their first instruction and that of the unit that they now precede. */
  readonly moved: readonly { readonly at: number; readonly before: number }[];
  /** New barriers, counted in the instructions of the new text. */
  readonly added: readonly number[];
  /** Barriers that are no longer there. */
  readonly removed: readonly number[];
}

/** With more units that touch memory than this, a kernel keeps its order. */
const mostHeavy = 600;

/** Units of one segment that touch the same memory, and go together. */
interface Cluster {
  readonly units: number[];
  readonly segment: number;
  /** Clusters that must come before it, directly. */
  readonly before: Set<number>;
}

/** Gathers the units that touch memory into few clusters. */
class Clusters {
  readonly list: Cluster[] = [];
  readonly of = new Map<number, number>();
  readonly #last = new Map<string, number>();
  /** Per unit, clusters that it depends on, through any number of units that touch no memory. */
  readonly #ancestors: Set<number>[] = [];

  constructor(units: readonly Unit[], heavy: ReadonlySet<number>) {
    units.forEach((unit, at) => {
      const before = new Set<number>();
      for (const each of unit.needs) {
        const own = this.of.get(each);
        for (const one of own === undefined ? elementAt(this.#ancestors, each) : [own]) before.add(one);
      }
      this.#ancestors.push(before);
      if (heavy.has(at)) this.#take(units, at, before);
    });
  }

  #take(units: readonly Unit[], at: number, before: Set<number>): void {
    const unit = elementAt(units, at);
    for (const [each, cluster] of this.of) if (meet(elementAt(units, each), unit)) before.add(cluster);
    const key = `${unit.segment} ${unit.reads} ${unit.writes}`;
    const last = this.#last.get(key);
    if (last !== undefined && !unit.isFence && !this.#leads(last, before)) {
      const cluster = elementAt(this.list, last);
      cluster.units.push(at);
      for (const each of before) if (each !== last) cluster.before.add(each);
      this.of.set(at, last);
      return;
    }
    this.of.set(at, this.list.length);
    if (!unit.isFence) this.#last.set(key, this.list.length);
    this.list.push({ units: [at], segment: unit.segment, before: new Set(before) });
  }

  /** Whether a cluster comes before one of some others. */
  #leads(first: number, others: ReadonlySet<number>): boolean {
    const seen = new Set([...others].filter((each) => each !== first));
    for (const each of seen) {
      for (const one of elementAt(this.list, each).before) {
        if (one === first) return true;
        seen.add(one);
      }
    }
    return false;
  }

  /** The clusters before each one, however far. */
  closure(): Set<number>[] {
    return this.list.map(({ before }) => {
      const all = new Set(before);
      for (const each of all) for (const one of elementAt(this.list, each).before) all.add(one);
      return all;
    });
  }
}

/** The order of clusters: stages with a barrier between each and the next. */
function stagesOf(units: readonly Unit[], clusters: Clusters, bytes: readonly number[]): Stages {
  const { list } = clusters;
  const separated = new Set<number>();
  list.forEach((a, i) => {
    list.forEach((b, j) => {
      if (i >= j || a.segment === b.segment) return;
      const needsBarrier = a.units.some((one) => b.units.some((two) => meet(elementAt(units, one), elementAt(units, two))));
      if (needsBarrier) separated.add(i * list.length + j);
    });
  });
  const arraysOf = ({ units: own }: Cluster): Set<number> => new Set(bytes.flatMap((_, array) =>
    own.some((each) => ((elementAt(units, each).reads | elementAt(units, each).writes) & arrayBit(array)) !== 0n) ? [array] : []));
  return schedule({
    units: list.map((cluster) => ({ isBarrier: false, isLight: false, arrays: arraysOf(cluster) })), before: clusters.closure(), separated,
  }, bytes);
}

/** Units in their new order, -1 for a barrier. What touches no memory stays where it was, relative to the others, if it can. */
function newOrder(units: readonly Unit[], clusters: Clusters, stages: Stages): number[] {
  const order: number[] = [];
  const done = new Set<number>();
  const isLight = (at: number): boolean => !clusters.of.has(at) && !elementAt(units, at).isBarrier;
  const emit = (unit: number): void => {
    const wanted = new Set([unit]);
    for (const each of wanted) for (const need of elementAt(units, each).needs) if (!done.has(need)) wanted.add(need);
    for (const each of [...wanted].sort((a, b) => a - b)) {
      done.add(each);
      order.push(each);
    }
  };
  const light = units.flatMap((_, at) => isLight(at) ? [at] : []).slice(0, -1);
  const heavy = [...clusters.of.keys()].filter((each) => each !== units.length - 1);
  let waiting = 0;
  let next = 0;
  const catchUp = (until: number): void => {
    for (; next < light.length && elementAt(light, next) < until; ++next) {
      const each = elementAt(light, next);
      if (!done.has(each) && elementAt(units, each).needs.every((need) => done.has(need))) emit(each);
      else if (!done.has(each)) break;
    }
  };
  stages.forEach((stage, at) => {
    if (at > 0) order.push(-1);
    for (const unit of stage.flatMap((cluster) => elementAt(clusters.list, cluster).units)) {
      while (waiting < heavy.length && done.has(elementAt(heavy, waiting))) ++waiting;
      catchUp(heavy[waiting] ?? units.length);
      if (!done.has(unit)) emit(unit);
    }
  });
  for (const each of light) if (!done.has(each)) emit(each);
  order.push(units.length - 1);
  return order;
}

/** Units that keep their relative order: a longest increasing subsequence. */
function keptUnits(order: readonly number[]): Set<number> {
  const units = order.filter((unit) => unit >= 0);
  const tails: number[] = [];
  const link = units.map(() => -1);
  units.forEach((unit, at) => {
    let low = 0;
    for (let high = tails.length; low < high;) {
      const middle = (low + high) >> 1;
      if (elementAt(units, elementAt(tails, middle)) < unit) low = middle + 1;
      else high = middle;
    }
    link[at] = tails[low - 1] ?? -1;
    tails[low] = at;
  });
  const kept = new Set<number>();
  for (let at = tails.at(-1) ?? -1; at >= 0; at = elementAt(link, at)) kept.add(elementAt(units, at));
  return kept;
}

/** The text of a kernel in a new order. */
function assemble(module: PtxModule, { fn }: Analysis, units: readonly Unit[], order: readonly number[]): Reordered {
  const kept = keptUnits(order);
  const barriers = units.filter((unit) => unit.isBarrier);
  const location = (at: number): string => {
    const all = [...module.text.slice(fn.bodyStart, at).matchAll(/^[ \t]*\.loc\b[^\n]*\n/gm)];
    return all.at(-1)?.[0] ?? '';
  };
  const hasLines = fn.instructions.some((each) => each.line > 0);
  let used = 0;
  const added: number[] = [];
  const moved: { at: number; before: number }[] = [];
  let count = 0;
  const text = order.map((unit, at) => {
    if (unit < 0) {
      const barrier = barriers[used++];
      if (barrier === undefined) added.push(count);
      ++count;
      return barrier === undefined ? '\n\tbar.sync \t0;' : module.text.slice(barrier.start, barrier.stop);
    }
    const { begin, end, start, stop } = elementAt(units, unit);
    count += end - begin;
    const own = module.text.slice(start, stop);
    const follows = order[at - 1] === unit - 1;
    if (!kept.has(unit)) {
      const next = order.slice(at + 1).find((each) => kept.has(each));
      if (next !== undefined) moved.push({ at: begin, before: elementAt(units, next).begin });
    }
    return follows || !hasLines || /^\s*(?:[\w$]+\s*:\s*)*\.loc/.test(own) ? own : `\n${location(start)}${own.replace(/^\n/, '')}`;
  });
  const [first, last] = [elementAt(units, 0), elementAt(units, units.length - 1)];
  return {
    edit: { start: first.start, end: last.stop, text: text.map((each) => (/^\s/.test(each) ? each : `\n\t${each}`)).join('') },
    moved, added, removed: barriers.slice(used).map((unit) => unit.begin),
  };
}

/** Finds an order of a kernel in which fewer bytes are needed at a time; undefined if there is no other order. */
export function reorder(module: PtxModule, analysis: Analysis): Reordered | undefined {
  if (analysis.arrays.length < 2) return undefined;
  const units = unitsOf(analysis, module.masked);
  if (units === undefined) return undefined;
  const written = units.reduce((sum, unit) => sum | unit.writes, 0n);
  const isHeavy = (unit: Unit): boolean => !unit.isBarrier
    && (unit.isFence || unit.writes !== 0n || unit.reads >= arrayBit(0) || (unit.reads & written) !== 0n);
  const heavy = new Set(units.flatMap((unit, at) => isHeavy(unit) && at < units.length - 1 ? [at] : []));
  if (heavy.size < 2 || heavy.size > mostHeavy) return undefined;
  const clusters = new Clusters(units, heavy);
  const stages = stagesOf(units, clusters, analysis.arrays.map((array) => array.bytes));
  const order = newOrder(units, clusters, stages);
  const places = order.filter((unit) => unit >= 0);
  if (places.every((unit, at) => at === 0 || elementAt(places, at - 1) < unit)) return undefined;
  return assemble(module, analysis, units, order);
}
