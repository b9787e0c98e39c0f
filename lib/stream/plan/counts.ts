// How often each node fires in a run: initialisation, whole steady states, and a remainder in the interpreter's demand-driven order.
import { elementAt, lastOf } from '../../core/known.ts';
import { countedNodes, sinksOf } from '../interpret/sinks.ts';
import { appendStep, firstRates, Marking, type Step } from '../schedule/steady.ts';
import { UnsupportedProgram } from './unsupported.ts';
import type { External, ProgramPlan, WholeProgram } from './plan.ts';

/** How much to run: see InterpretOptions. */
export interface RunAmount {
  /** Items on the open input; Infinity: as many as needed. */
  readonly input: number;
  readonly items?: number;
  readonly iterations?: number;
}

/** The counts of a run: the steps before and after the steady states, and the number of steady states. */
export interface RunCounts {
  readonly init: readonly Step[];
  readonly steadyStates: number;
  readonly tail: readonly Step[];
  /** By node. */
  readonly firings: readonly number[];
  /** By external stream: how many items pass. */
  readonly passed: readonly number[];
  /** By channel: the maximum number of items outside of steady states. */
  readonly peaks: readonly number[];
  /** Whether the input was used up. */
  readonly exhausted: boolean;
}

const mostTailFirings = 20_000_000;

/** How many items pass an external stream in `count` firings of its node. */
export function passedBy({ first, later }: External, count: number): number {
  return count === 0 ? 0 : first.items + (count - 1) * later.items;
}

/** How many items the input must have for `count` firings of its node. */
function inputNeeded(input: External, count: number): number {
  return count === 0 ? 0 : passedBy(input, count) + (count === 1 ? input.first : input.later).beyond;
}

/** Demand-driven firing, simulated on item counts only: the same order as in the interpreter's engine. */
class Demand extends Marking {
  readonly steps: Step[] = [];
  readonly #plan: WholeProgram;
  readonly #input: External | undefined;
  readonly #available: number;
  #left = mostTailFirings;

  constructor(plan: WholeProgram, start: ConstructorParameters<typeof Marking>[1], available: number) {
    super(plan.sdf, start);
    this.#plan = plan;
    this.#available = available;
    this.#input = plan.externals.find(({ kind }) => kind === 'input');
  }

  /** The channel that keeps a node from firing; -1: an external input; undefined: it can fire. */
  #blocking(id: number): number | undefined {
    const node = elementAt(this.#plan.graph.nodes, id);
    const first = this.fired[id] === 0;
    for (const channel of node.inputs) {
      if (channel === undefined) continue;
      const sdf = elementAt(this.#plan.sdf.channels, channel);
      if (elementAt(this.tokens, channel) < (first ? firstRates(sdf).peek : sdf.peek)) return channel;
    }
    if (this.#input?.node === id && inputNeeded(this.#input, elementAt(this.fired, id) + 1) > this.#available) return -1;
    return undefined;
  }

  #gives(channel: number): boolean {
    const sdf = elementAt(this.#plan.sdf.channels, channel);
    return sdf.push > 0 || (this.fired[sdf.from] === 0 && firstRates(sdf).push > 0);
  }

  /** Fires a node once, after everything it depends on. False if it can never fire. */
  fire(target: number): boolean {
    const stack = [target];
    const waiting = new Set(stack);
    while (stack.length > 0) {
      const id = lastOf(stack);
      const channel = this.#blocking(id);
      if (channel === undefined) {
        this.#fireOne(id);
        waiting.delete(id);
        stack.pop();
        continue;
      }
      if (channel < 0) return false;
      const { from } = elementAt(this.#plan.sdf.channels, channel);
      if (waiting.has(from) || !this.#gives(channel)) return false;
      stack.push(from);
      waiting.add(from);
    }
    return true;
  }

  #fireOne(id: number): void {
    if (--this.#left < 0) throw new RangeError('the rest of the run takes too many firings');
    this.apply(id, 1);
    appendStep(this.steps, id, 1);
  }
}

/** How many items count towards `items` after these firings. */
function itemsOut(plan: WholeProgram, firings: readonly number[]): number {
  const output = plan.externals.filter(({ kind }) => kind === 'output');
  const counted = output.length > 0 ? output : plan.externals.filter(({ kind }) => kind === 'writer');
  return counted.reduce((sum, external) => sum + passedBy(external, elementAt(firings, external.node)), 0);
}

/** How many steady states can run before the remainder; undefined if not even the initialisation can run, or if nothing limits the run. */
function wholeStates(plan: WholeProgram, amount: RunAmount, sinks: readonly number[]): number | undefined {
  const { repetitions, initFirings } = plan.steady;
  const input = plan.externals.find(({ kind }) => kind === 'input');
  const at = (states: number) => repetitions.map((count, node) => elementAt(initFirings, node) + states * count);
  const fits = (states: number): boolean => {
    const firings = at(states);
    if (input !== undefined && inputNeeded(input, elementAt(firings, input.node)) > amount.input) return false;
    if (amount.items !== undefined) return itemsOut(plan, firings) <= amount.items;
    const { iterations } = amount;
    if (iterations !== undefined) return sinks.every((sink) => elementAt(firings, sink) <= elementAt(repetitions, sink) * iterations);
    return true;
  };
  if (!fits(0)) return undefined;
  let [low, high] = [0, 1];
  while (fits(high)) {
    low = high;
    high *= 2;
    if (high > 2 ** 50) return undefined;
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Counts of a plan's latest runs: the next ones are mostly as long, and counting delays their beginning. */
const counted = new WeakMap<WholeProgram, { readonly amount: RunAmount; readonly counts: RunCounts }[]>();
/** Runs of a plan whose counts are kept: a whole one, and those of its start and its end. Steps behind the last whole steady state. */
const mostCounted = 4, longestTail = 4096;

/** Counts a run. Throws RangeError if nothing limits it. */
export function countRun(plan: WholeProgram, amount: RunAmount): RunCounts {
  const known = counted.get(plan) ?? [];
  const same = known.find(({ amount: { input, items, iterations } }) =>
    input === amount.input && items === amount.items && iterations === amount.iterations);
  if (same !== undefined) return same.counts;
  const counts = countAnew(plan, amount);
  if (counts.tail.length <= longestTail) counted.set(plan, [{ amount: { ...amount }, counts }, ...known].slice(0, mostCounted));
  return counts;
}

function countAnew(plan: WholeProgram, amount: RunAmount): RunCounts {
  const sinks = amount.iterations === undefined ? sinksOf(plan.graph) : countedNodes(plan.graph);
  const { repetitions, initFirings, residual, init } = plan.steady;
  const states = wholeStates(plan, amount, sinks);
  const start = states === undefined ? undefined
    : { tokens: residual, fired: repetitions.map((count, node) => elementAt(initFirings, node) + states * count) };
  const demand = new Demand(plan, start, amount.input);
  const exhausted = finish(plan, demand, amount, sinks);
  const peaks = demand.peak.map((peak, channel) => Math.max(peak, elementAt(plan.schedule.buffers, channel)));
  return {
    init: states === undefined ? [] : init, steadyStates: states ?? 0, tail: demand.steps, firings: demand.fired, peaks, exhausted,
    passed: plan.externals.map((external) => passedBy(external, elementAt(demand.fired, external.node))),
  };
}

/**
 * By channel: the most items in a run of any length that its input ends. Runs that end just before the start, the first steady state or the
 * second have the most: shorter remainders are beginnings of these. Throws UnsupportedProgram where they take too long to follow.
 */
export function mostOnChannels(plan: WholeProgram): readonly number[] {
  const { initFirings, repetitions } = plan.steady;
  const input = plan.externals.find(({ kind }) => kind === 'input');
  if (input === undefined) return plan.schedule.buffers;
  const ends = [0, 1, 2].map((states) =>
    inputNeeded(input, elementAt(initFirings, input.node) + states * elementAt(repetitions, input.node)) - 1);
  try {
    const peaks = ends.filter((items) => items >= 0).map((items) => countRun(plan, { input: items }).peaks);
    return plan.schedule.buffers.map((items, channel) => Math.max(items, ...peaks.map((each) => elementAt(each, channel))));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UnsupportedProgram(error.message);
  }
}

function finish(plan: WholeProgram, demand: Demand, amount: RunAmount, sinks: readonly number[]): boolean {
  if (amount.items !== undefined) {
    while (itemsOut(plan, demand.fired) < amount.items) {
      let isAlive = false;
      for (const sink of sinks) {
        if (itemsOut(plan, demand.fired) >= amount.items) break;
        if (demand.fire(sink)) isAlive = true;
      }
      if (!isAlive) return true;
    }
    return false;
  }
  const most = (sink: number): number =>
    (amount.iterations === undefined ? Infinity : elementAt(plan.steady.repetitions, sink) * amount.iterations);
  let isShort = false;
  for (const sink of sinks) {
    while (elementAt(demand.fired, sink) < most(sink)) {
      if (demand.fire(sink)) continue;
      isShort = true;
      break;
    }
  }
  return isShort;
}

/** Firings of each node of the program as written (before merging), in a run counted as `counts`. */
export function writtenFirings(plan: ProgramPlan, amount: RunAmount, counts: RunCounts): readonly number[] {
  const whole = plan.whole();
  return [...(whole === plan ? counts : countRun(whole, amount)).firings];
}
