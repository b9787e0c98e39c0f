// Instance partitioning (section 4.5.2.2): distributes the firings of the filters of one kind of processor over its processors, by (4.13)
// and (4.14).
import { describeValue } from '../../core/arrays.ts';
import { requireCount } from '../../core/checks.ts';
import { addAt, elementAt } from '../../core/known.ts';
import { requireFields, requireList, requireSizes } from '../require.ts';
import { refusal } from '../../core/errors.ts';
import { snapshot } from '../../core/snapshot.ts';
import { LinearModel, type Term } from '../schedule/lp.ts';
import { Solver, type SolveOptions } from '../schedule/solver.ts';
import { packingBound, packJobs } from './packing.ts';

/** Identical instances of one filter, or of one shuffle or deshuffle. */
export interface InstanceClass {
  /** The number of instances: KCPU(v) or KGPU(v). */
  readonly count: number;
  /** Microseconds per instance: D(v). */
  readonly time: number;
}

/** How many instances of each class each processor takes. */
export interface InstancePartition {
  /** By class, then processor. */
  readonly counts: readonly (readonly number[])[];
  /** Microseconds, by processor. */
  readonly load: readonly number[];
  /** The largest load. */
  readonly interval: number;
  /** Lower bound on the interval of any partition. */
  readonly bound: number;
}

function check(classes: readonly InstanceClass[], processors: number): void {
  if (!Number.isInteger(processors) || processors < 1 || processors > 4096) {
    throw refusal('processors', 'an integer from 1 to 4096', describeValue(processors));
  }
  requireList('classes', classes, 'classes of instances');
  for (const [at, each] of classes.entries()) {
    requireFields(`classes[${at}]`, each, 'a class with count and time');
    requireCount(each.count, `classes[${at}].count`, 0);
    if (!(typeof each.time === 'number' && each.time >= 0 && each.time < Infinity)) {
      throw refusal(`classes[${at}].time`, 'microseconds ≥ 0', describeValue(each.time));
    }
  }
  const jobs = classes.reduce((sum, { count }) => sum + count, 0);
  if (jobs > 1e6) throw refusal('classes', 'at most 1000000 instances in all', String(jobs));
}

function sizesOf(classes: readonly InstanceClass[]): { sizes: number[]; owner: number[] } {
  const owner = classes.flatMap(({ count }, at) => Array.from({ length: count }, () => at));
  return { sizes: owner.map((at) => elementAt(classes, at).time), owner };
}

function partitionOf(classes: readonly InstanceClass[], counts: readonly (readonly number[])[], processors: number, bound: number) {
  const load = Array.from({ length: processors }, (_, p) =>
    classes.reduce((sum, { time }, at) => sum + time * elementAt(elementAt(counts, at), p), 0));
  const interval = Math.max(0, ...load);
  return { counts, load, interval, bound: Math.min(bound, interval) };
}

/** Distributes instances by packing: takes milliseconds for thousands of them, and gives a lower bound. */
export function partitionInstances(classes: readonly InstanceClass[], processors: number): InstancePartition {
  check(classes, processors);
  const { sizes, owner } = sizesOf(classes);
  const counts = classes.map(() => Array.from({ length: processors }, () => 0));
  packJobs(sizes, processors).processor.forEach((p, job) => addAt(elementAt(counts, elementAt(owner, job)), p, 1));
  return partitionOf(classes, counts, processors, packingBound(sizes, processors));
}

/**
 * The model with one integer for each class and processor: (4.13) and (4.14) with the binaries of identical instances added up. Times are
 * divided by `scale`; the interval may not exceed `most`. Processors are identical, so their loads may be assumed to descend.
 */
export function instanceModel(classes: readonly InstanceClass[], processors: number, scale: number, most: number) {
  const model = new LinearModel();
  const interval = model.variable('continuous', most / scale);
  const counts = classes.map(({ count }) => Array.from({ length: processors }, () => model.variable('integer', count)));
  classes.forEach(({ count }, at) => { model.constrain(elementAt(counts, at).map((n): Term => [1, n]), '=', count); }); // (4.13)
  const load = (p: number, sign: number): Term[] =>
    classes.map(({ time }, at): Term => [sign * time / scale, elementAt(elementAt(counts, at), p)]);
  model.constrain([[1, interval], ...load(0, -1)], '>=', 0); // (4.14), of the most loaded processor
  for (let p = 1; p < processors; ++p) model.constrain([...load(p - 1, 1), ...load(p, -1)], '>=', 0);
  model.minimise([[1, interval]]);
  return { model, counts };
}

/**
 * Distributes instances by the ILP; the result is never worse than {@link partitionInstances}. For few processors: at 132, branch-and-bound
 * gains nothing. Options: limits of the solve (default gap 1e-4), and a solver to reuse. Throws ArgumentError for invalid problems,
 * UnavailableError without HiGHS.
 */
export async function partitionInstancesByIlp(
  given: readonly InstanceClass[], processors: number, options: SolveOptions & { solver?: Solver } = {},
): Promise<InstancePartition & { readonly isProven: boolean; readonly seconds: number }> {
  const classes = snapshot(given);
  const start = partitionInstances(classes, processors);
  const gap = options.gap ?? 1e-4;
  if (start.interval <= start.bound * (1 + gap)) return { ...start, isProven: true, seconds: 0 };
  const { model, counts } = instanceModel(classes, processors, start.interval, start.interval * (1 + 1e-6));
  const solver = options.solver ?? new Solver();
  try {
    const { status, values, seconds } = await solver.solve(model, { ...options, gap });
    const isProven = status === 'optimal';
    const placed = values.length === 0 ? undefined : counts.map((list) => list.map((n) => Math.round(elementAt(values, n))));
    const found = placed === undefined ? start : partitionOf(classes, placed, processors, start.bound);
    const best = found.interval <= start.interval ? found : start;
    return { ...best, bound: isProven ? Math.max(best.bound, best.interval * (1 - gap - 1e-6)) : best.bound, isProven, seconds };
  } finally {
    if (options.solver === undefined) await solver[Symbol.asyncDispose]();
  }
}

/** The errors in a partition: counts that do not add up, or an incorrect load or interval. */
export function validateInstances(
  classes: readonly InstanceClass[], processors: number, partition: InstancePartition,
): string[] {
  check(classes, processors);
  requireFields('partition', partition, 'a partition with counts, load and interval', ['counts', 'load']);
  const { counts, load, interval } = partition;
  counts.forEach((row, i) => requireSizes(`partition.counts[${i}]`, row));
  requireSizes('partition', [...load, interval]);
  const faults: string[] = [];
  classes.forEach(({ count }, at) => {
    const row = counts[at] ?? [];
    const sum = row.reduce((total, n) => total + n, 0);
    const isWhole = row.length === processors && row.every((n) => Number.isInteger(n) && n >= 0);
    if (!isWhole) faults.push(`class ${at}: counts are not whole numbers`);
    if (sum !== count) faults.push(`class ${at}: ${sum} of ${count} instances placed`);
  });
  for (let p = 0; p < processors; ++p) {
    const sum = classes.reduce((total, { time }, at) => total + time * (counts[at]?.[p] ?? 0), 0);
    if (!(Math.abs(sum - (load[p] ?? NaN)) <= 1e-9 * Math.max(1, sum))) faults.push(`processor ${p}: load ${load[p]}, counted ${sum}`);
    if (sum > interval * (1 + 1e-9)) faults.push(`processor ${p}: load ${sum} exceeds the interval ${interval}`);
  }
  return faults;
}
