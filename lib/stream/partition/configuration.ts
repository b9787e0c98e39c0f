// Chooses numbers of threads and registers for a program: Algorithm 2 on a table of measured times.
import { requireCount, truth } from '../../core/checks.ts';
import { describeValue } from '../../core/arrays.ts';
import { briefly } from '../../core/display.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { ScheduleError } from '../schedule/error.ts';
import { steadyState, type SteadyState } from '../schedule/index.ts';
import type { SdfGraph } from '../sdf.ts';
import { requireCounts, requireFields, requireList, requireRateGraph } from '../require.ts';
import { threaded, threadedChecks, type Threaded, type ThreadedOptions } from './threaded.ts';

/**
 * Times of filters that ran alone on all multiprocessors of a GPU (Algorithm 1). Each run did the same number of firings on each
 * multiprocessor, in one block that repeats an instance.
 */
export interface RuntimeTable {
  /** Limits on the registers per thread, ascending. */
  readonly registers: readonly number[];
  /** Numbers of threads per instance, ascending. */
  readonly threads: readonly number[];
  /** numfirings: the number of firings of a run on one multiprocessor, a multiple of all numbers of threads. */
  readonly firings: number;
  /** Microseconds of a run by limit, threads and actor; Infinity if the filter cannot run in this configuration. */
  readonly microseconds: readonly (readonly (readonly number[])[])[];
}

function checkAscending(name: string, values: readonly number[]): void {
  requireList(name, values, 'ascending integers');
  requireCounts(name, values, values.length, 1);
  const at = values.findIndex((value, place) => place > 0 && value <= elementAt(values, place - 1));
  if (at >= 0 || values.length === 0) throw refusal(name, 'ascending integers', describeValue(values[at]));
}

/** Throws {@link ArgumentError} unless a table has a time, or Infinity, for every limit, number of threads and actor. */
export function checkRuntimes(table: RuntimeTable, actors: number): void {
  requireCount(actors, 'actors', 0);
  requireFields('table', table, 'a table of times', ['microseconds']);
  const { registers, threads, firings, microseconds } = table;
  checkAscending('table.registers', registers);
  checkAscending('table.threads', threads);
  const isWhole = Number.isSafeInteger(firings) && firings > 0 && threads.every((count) => firings % count === 0);
  if (!isWhole) throw refusal('table.firings', 'a multiple of all numbers of threads', describeValue(firings));
  const check = (name: string, list: unknown, count: number): void => {
    requireList(name, list, `${count} entries`);
    if ((list as unknown[]).length !== count) throw refusal(name, `${count} entries`, String((list as unknown[]).length));
  };
  check('table.microseconds', microseconds, registers.length);
  microseconds.forEach((byThreads, limit) => {
    check(`table.microseconds[${limit}]`, byThreads, threads.length);
    byThreads.forEach((times, at) => {
      const name = `table.microseconds[${limit}][${at}]`;
      check(name, times, actors);
      times.forEach((time: unknown, actor) => {
        if (!(typeof time === 'number' && time >= 0)) throw refusal(`${name}[${actor}]`, 'a time ≥ 0', describeValue(time));
      });
    });
  });
}

/** A pair that Algorithm 2 considers, and its result. */
export interface Candidate {
  readonly registers: number;
  /** The maximum number of threads per instance, which is that of a block. */
  readonly threads: number;
  /** Microseconds of all instances of an iteration, divided by its steady states. */
  readonly perSteadyState: number;
}

/** The configuration in which a program's filters run on a GPU. */
export interface Configuration {
  /** Threads per instance, by actor. Actors that cannot run on the GPU get the smallest number, so that they fit the others' iterations. */
  readonly threads: readonly number[];
  /** The limit on registers, by actor: the same for all, unless `perFilter` is set. */
  readonly registers: readonly number[];
  /** D(v): microseconds of an instance; Infinity if the filter cannot run on the GPU. */
  readonly delays: readonly number[];
  /** The graph of instances, with K_v. */
  readonly threaded: Threaded;
  /** Microseconds of all instances that run on the GPU, divided by steady states. This is the figure that was minimised. */
  readonly perSteadyState: number;
  /** All pairs in which all filters can run; with `perFilter`, one for each number of threads. */
  readonly candidates: readonly Candidate[];
}

/** Options of {@link selectConfiguration}. */
export interface ConfigurationOptions extends ThreadedOptions {
  /** Chooses a limit on registers for each filter instead of one for all; filters compiled together must share one. Default false. */
  readonly perFilter?: boolean;
}

const configurationOptions = optionsOf('stream.selectConfiguration', {
  ...threadedChecks, perFilter: normally(truth, false),
} satisfies ChecksOf<ConfigurationOptions>);

/** The configuration of one filter. */
interface Choice {
  readonly registers: number;
  readonly threads: number;
  /** Microseconds of the measured run. */
  readonly time: number;
}

/** The fastest configuration of a filter with one of these limits and at most `most` threads. */
function quickest(table: RuntimeTable, actor: number, limits: readonly number[], most: number): Choice | undefined {
  let best: Choice | undefined;
  for (const limit of limits) {
    table.threads.forEach((threads, at) => {
      const time = elementAt(elementAt(elementAt(table.microseconds, limit), at), actor);
      if (threads > most || time === Infinity || (best && time >= best.time)) return;
      best = { registers: elementAt(table.registers, limit), threads, time };
    });
  }
  return best;
}

type Found = Omit<Configuration, 'candidates'>;

/** Lines 7 to 18: the interval that results from the chosen threads of all filters. */
function configure(given: SdfGraph, table: RuntimeTable, chosen: readonly (Choice | undefined)[], least: number,
  options: ThreadedOptions, steady: SteadyState): Found {
  const threads = chosen.map((choice) => choice?.threads ?? least);
  const made = threaded(given, threads, options, steady);
  const delays = chosen.map((choice) => choice ? choice.time * choice.threads / table.firings : Infinity);
  const interval = delays.reduce((sum, delay, actor) => sum + (delay < Infinity ? delay * elementAt(made.repetitions, actor) : 0), 0);
  const registers = chosen.map((choice) => choice?.registers ?? 0);
  return { threads, registers, delays, threaded: made, perSteadyState: interval / made.steadyStates };
}

/**
 * Algorithm 2: the execution configuration with the smallest interval per unit of work. For each limit on registers and number of threads
 * with which all filters can run, each filter gets the number of threads, up to that one, with which its measured run is fastest. The
 * steady state of these instances is computed, and the time of all of them is divided by the number of steady states of the given graph.
 * Filters that cannot run in any configuration stay on the CPU and do not count.
 *
 * @throws ScheduleError (`graph`) if no pair lets all other filters run, `limit` if the graph of its threads is too large
 */
export function selectConfiguration(given: SdfGraph, table: RuntimeTable, wanted: ConfigurationOptions = {}): Configuration {
  requireRateGraph(given);
  checkRuntimes(table, given.actors.length);
  const { perFilter, ...options } = configurationOptions.read(wanted, 'options');
  const steady = steadyState(given);
  const all = table.registers.map((_, at) => at);
  const most = Math.max(...table.threads), least = Math.min(...table.threads);
  const runnable = given.actors.map(({ id }) => id).filter((id) => quickest(table, id, all, most) !== undefined);
  const candidates: Candidate[] = [];
  let best: Found | undefined;
  for (const limits of perFilter ? [all] : all.map((limit) => [limit])) {
    for (const [at, threads] of table.threads.entries()) {
      // With one limit for all, each filter must be able to run with this very pair (feasiblePairs), even if it then gets fewer threads.
      const isFeasible = (actor: number): boolean => perFilter ? quickest(table, actor, limits, threads) !== undefined
        : elementAt(elementAt(elementAt(table.microseconds, elementAt(limits, 0)), at), actor) < Infinity;
      if (!runnable.every(isFeasible)) continue;
      const chosen = given.actors.map(({ id }) => runnable.includes(id) ? quickest(table, id, limits, threads) : undefined);
      const found = configure(given, table, chosen, least, options, steady);
      const registers = Math.max(...limits.map((limit) => elementAt(table.registers, limit)));
      candidates.push({ registers, threads, perSteadyState: found.perSteadyState });
      if (!best || found.perSteadyState < best.perSteadyState) best = found;
    }
  }
  if (!best) throw new ScheduleError('graph', 'no limit on registers and number of threads lets all filters run: give each its own limit');
  return briefly('Configuration', { ...best, candidates });
}
