// Packs jobs of known size onto identical processors: longest first, then repeatedly redistributes the jobs of pairs. Gives a lower bound.
import { describeValue } from '../../core/arrays.ts';
import { requireCount } from '../../core/checks.ts';
import { refusal } from '../../core/errors.ts';
import { addAt, elementAt } from '../../core/known.ts';
import { requireSizes } from '../require.ts';

/** Which processor each job goes to. */
export interface Packing {
  readonly processor: number[];
  readonly load: number[];
}

const mostProcessors = 2 ** 20;

function checkJobs(sizes: readonly number[], processors: number): void {
  requireSizes('sizes', sizes);
  requireCount(processors, 'processors', 1, mostProcessors);
}

/**
 * Lower bound on the largest load: the mean; the longest job; and for each h the h + 1 smallest of the h·P + 1 longest jobs, because some
 * processor gets at least h + 1 of these jobs.
 */
export function packingBound(sizes: readonly number[], processors: number): number {
  checkJobs(sizes, processors);
  const sorted = [...sizes].sort((a, b) => b - a);
  // Differences of sums up to an index tell which h can matter; only these are added up, so that the bound has no error of cancellation.
  const upTo = new Float64Array(sorted.length + 1);
  sorted.forEach((size, at) => { upTo[at + 1] = elementAt(upTo, at) + size; });
  const roughly = (h: number): number => elementAt(upTo, h * processors + 1) - elementAt(upTo, h * (processors - 1));
  const most = Math.floor((sorted.length - 1) / processors);
  let rough = Math.max(sorted[0] ?? 0, elementAt(upTo, sorted.length) / processors);
  for (let h = 1; h <= most; ++h) rough = Math.max(rough, roughly(h));
  let bound = Math.max(sorted[0] ?? 0, elementAt(upTo, sorted.length) / processors);
  for (let h = 1; h <= most; ++h) {
    if (roughly(h) < rough * (1 - 1e-6)) continue;
    let sum = 0;
    for (let back = 0; back <= h; ++back) sum += elementAt(sorted, h * processors - back);
    bound = Math.max(bound, sum);
  }
  return bound;
}

/** A heap of processors by load. */
class LeastLoaded {
  private readonly heap: number[];
  private readonly load: number[];

  constructor(load: number[]) {
    this.load = load;
    this.heap = load.map((_, at) => at);
  }

  private isLess(a: number, b: number): boolean {
    const [x, y] = [elementAt(this.heap, a), elementAt(this.heap, b)];
    return elementAt(this.load, x) < elementAt(this.load, y) || (this.load[x] === this.load[y] && x < y);
  }

  /** Adds to the least loaded processor and returns its number. */
  add(size: number): number {
    const top = elementAt(this.heap, 0);
    addAt(this.load, top, size);
    for (let at = 0; ;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) if (child < this.heap.length && this.isLess(child, least)) least = child;
      if (least === at) return top;
      [this.heap[at], this.heap[least]] = [elementAt(this.heap, least), elementAt(this.heap, at)];
      at = least;
    }
  }
}

function longestFirst(sizes: readonly number[], processors: number): Packing {
  const load = Array.from({ length: processors }, () => 0);
  const heap = new LeastLoaded(load);
  const processor = sizes.map(() => 0);
  const order = sizes.map((_, at) => at).sort((a, b) => elementAt(sizes, b) - elementAt(sizes, a) || a - b);
  for (const job of order) processor[job] = heap.add(elementAt(sizes, job));
  return { processor, load };
}

/** The maximum number of nodes visited when the jobs of two processors are redistributed. */
const kSplitNodes = 3000;

/** A subset of `sizes` (descending) whose sum is as close to half as a bounded search finds. */
function nearestHalf(sizes: readonly number[]): boolean[] {
  const rest = [...sizes, 0];
  for (let at = sizes.length - 1; at >= 0; --at) rest[at] = elementAt(sizes, at) + elementAt(rest, at + 1);
  const half = elementAt(rest, 0) / 2;
  let best = Infinity, nodes = 0;
  let chosen: boolean[] = [];
  const current: boolean[] = [];
  const visit = (at: number, sum: number): void => {
    if (++nodes > kSplitNodes || best <= 1e-12 * half || sum - half >= best || half - sum - elementAt(rest, at) >= best) return;
    if (at === sizes.length) {
      best = Math.abs(sum - half);
      chosen = [...current];
      return;
    }
    const takes = sum + elementAt(sizes, at) <= half;
    for (const take of [takes, !takes]) {
      current[at] = take;
      visit(at + 1, sum + (take ? elementAt(sizes, at) : 0));
    }
  };
  visit(0, 0);
  return chosen;
}

/** Redistributes the jobs of two processors if that lowers the larger load; returns true if it did. */
function resplit(sizes: readonly number[], jobs: number[][], load: number[], a: number, b: number): boolean {
  const both = [...elementAt(jobs, a), ...elementAt(jobs, b)].sort((x, y) => elementAt(sizes, y) - elementAt(sizes, x) || x - y);
  const chosen = nearestHalf(both.map((job) => elementAt(sizes, job)));
  if (chosen.length === 0) return false;
  const parts = [both.filter((_, at) => chosen[at]), both.filter((_, at) => !chosen[at])];
  const sums = parts.map((part) => part.reduce((sum, job) => sum + elementAt(sizes, job), 0));
  if (Math.max(...sums) >= Math.max(elementAt(load, a), elementAt(load, b)) * (1 - 1e-12)) return false;
  [jobs[a], jobs[b]] = [elementAt(parts, 0), elementAt(parts, 1)];
  [load[a], load[b]] = [elementAt(sums, 0), elementAt(sums, 1)];
  return true;
}

/**
 * Packs jobs onto equal processors so that the largest load is small: longest first, then the most loaded processor redistributes its jobs
 * with each of the others until nothing improves, or the load is within `tolerance` (default 1e-4) of the bound.
 */
export function packJobs(sizes: readonly number[], processors: number, tolerance = 1e-4): Packing {
  checkJobs(sizes, processors);
  if (!(tolerance >= 0 && tolerance < Infinity)) throw refusal('tolerance', 'a number of at least 0', describeValue(tolerance));
  const { processor, load } = longestFirst(sizes, processors);
  const goal = packingBound(sizes, processors) * (1 + tolerance);
  const jobs: number[][] = load.map(() => []);
  processor.forEach((at, job) => elementAt(jobs, at).push(job));
  for (let splits = 0; splits < 40 * processors + 400;) {
    const most = load.indexOf(Math.max(...load));
    if (elementAt(load, most) <= goal) break;
    const others = load.map((_, at) => at).filter((at) => at !== most).sort((a, b) => elementAt(load, a) - elementAt(load, b) || a - b);
    const partner = others.find((other) =>
      elementAt(load, other) < elementAt(load, most) && ++splits && resplit(sizes, jobs, load, most, other));
    if (partner === undefined) break;
  }
  jobs.forEach((list, at) => { for (const job of list) processor[job] = at; });
  return { processor, load };
}
