// A run of a program compiled to JavaScript: its streams, what machines are told, what they answer.
import { availableParallelism } from 'node:os';
import { describeValue, holds } from '../../core/arrays.ts';
import { refusal, WarploomError } from '../../core/errors.ts';
import { countRun, type RunAmount, type RunCounts } from '../plan/counts.ts';
import type { LoweredProgram } from '../lower/program.ts';
import { kinds, makeArray } from '../plan/layout.ts';
import { streamArrays, type PlanOptions, type ProgramPlan } from '../plan/plan.ts';
import { firstLines, mostPrinted } from '../interpret/engine.ts';
import { requireItems } from '../interpret/index.ts';
import { scalarCount } from '../interpret/values.ts';
import { faultError } from './fault.ts';
import { checkThreads, nodeTimes, pieceCuts, type CompiledBackend, type Launches, type ThreadChoice } from './launch.ts';
import { stopsByLines, textOf } from './marks.ts';
import { shared, type Done, type Faulty, type Part, type Printed, type SharedInts } from './machine.ts';
import { cutRun, type Piece } from './split.ts';
import { checkSizes, fileOf, inputArrays, joinItems, roomFor, type Scalars, type StreamArrays } from './streams.ts';

export const defaultJsPlan: PlanOptions = { groupSize: 16_000, filterSize: 6000, blockBytes: 65_536 };

/** Turns that loops without known end may make. */
export const mostTurns = 1e9;

/** What a run of a compiled program is given: as for the interpreter. */
export interface RunOptions {
  /** Stop after so many items have come out. */
  readonly items?: number;
  /** Stop after so many steady states. */
  readonly iterations?: number;
  /** Contents of files that are read, by path. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  /** For `random`; default 1. */
  readonly seed?: number;
  /** Turns that loops without known end may make in all, on several threads in each piece or on each of them; default 10^9. */
  readonly maxTurns?: number;
}

export interface RunResult {
  /** Scalars of the items on the open output, in memory order; empty if there is none. */
  readonly output: Scalars;
  readonly printed: string;
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** Firings of each node. */
  readonly firings: readonly number[];
  /** Whether the input was used up before `items` or `iterations` were reached. */
  readonly exhausted: boolean;
  /** Milliseconds spent in the program itself. */
  readonly milliseconds: number;
}

export interface ThreadOptions extends RunOptions, Partial<ThreadChoice> {
  /** Worker threads; default: the cores of the machine. */
  readonly threads?: number;
  readonly signal?: AbortSignal;
  /** Milliseconds that the run may take, from `began` (`performance.now()`) on where that is given; default 600 000. */
  readonly timeout?: number;
  readonly began?: number;
  /** Whether the input of a program without state may be cut into pieces that do not depend on each other; default true. */
  readonly pieces?: boolean;
  /** Time of `performance.now()` when a run in the calling thread is given up. */
  readonly until?: number;
}

/** What bounds a run; throws where nothing does. */
export function amountOf(plan: ProgramPlan, input: ArrayLike<number> | undefined, items: number, options: RunOptions): RunAmount {
  for (const name of ['items', 'iterations'] as const) {
    const x = options[name];
    if (x === undefined || (Number.isSafeInteger(x) && x >= 0)) continue;
    throw refusal(`options.${name}`, 'an integer of 0 or more', describeValue(x));
  }
  if (options.items !== undefined && options.iterations !== undefined) throw refusal('options', '`items` or `iterations`', 'both');
  const isOpen = plan.externals.some(({ kind }) => kind === 'input');
  if (!isOpen && options.items === undefined && options.iterations === undefined) {
    throw refusal('options.items', '`items` or `iterations`, which say when to stop: the program has no input that ends', 'neither');
  }
  if (isOpen && input === undefined) throw refusal('input', 'the items of the open input of the program', 'undefined');
  if (options.items !== undefined) requireItems(plan.graph);
  return {
    input: isOpen ? items : Infinity, ...(options.items === undefined ? {} : { items: options.items }),
    ...(options.iterations === undefined ? {} : { iterations: options.iterations }),
  };
}

/** Whether printed lines are all that comes out. */
export function isPrintingOnly({ externals }: ProgramPlan): boolean {
  return !externals.some(({ kind }) => kind === 'output' || kind === 'writer');
}

/** How long a run may take, from counted operations: right to a small factor; Infinity where it ends when enough lines are printed. */
export function estimatedMilliseconds(
  plan: ProgramPlan, input: ArrayLike<number> | undefined, options: RunOptions, backend: CompiledBackend,
): number {
  if (options.items !== undefined && isPrintingOnly(plan)) return Infinity;
  const given = plan.externals.find(({ kind }) => kind === 'input');
  const items = given === undefined ? Infinity : Math.floor((input?.length ?? 0) / scalarCount(given.type));
  const { firings } = countRun(plan, amountOf(plan, input, items, options));
  return nodeTimes(plan, undefined, backend).reduce((sum, time, node) => sum + time * firings[node]!, 0) / 1000;
}

type Streams = Map<number, { arrays: StreamArrays; items: number }>;

function share(array: Scalars): Scalars {
  if (array.buffer instanceof SharedArrayBuffer) return array;
  const copy = shared(holds(array, 'int32') ? 'i' : holds(array, 'float32') ? 'f' : 'd', array.length);
  copy.set(array);
  return copy;
}

/** Tasks as words that all workers see; nobody has taken any of them yet. */
function sharedTasks(tasks: Launches['tasks']) {
  const words = (list: readonly number[]): SharedInts => {
    const array = shared('i', list.length) as SharedInts;
    array.set(list);
    return array;
  };
  const starts = [0];
  for (const { slices } of tasks) starts.push(starts.at(-1)! + 3 * slices.length);
  const slices = tasks.flatMap((task) => task.slices.flatMap(({ actor, from, count }) => [actor, from, count]));
  return { slices: words(slices), starts: words(starts), claims: words(tasks.map(() => 0)) };
}

/** What was printed before launches, in them by one core after the other, and after them. */
function inOrder(answers: readonly Done[]): Printed[] {
  const parts = answers.map(({ printed }) => {
    const marks = printed.flatMap((each, at) => (each === undefined ? [at] : []));
    const [begin = 0, end = printed.length] = marks;
    return [printed.slice(0, begin), printed.slice(begin, end), printed.slice(end)];
  });
  return [...parts[0]![0]!, ...parts.flatMap((part) => part[1]!), ...parts[0]![2]!].filter((each) => each !== undefined);
}

/** What stands in a program before it comes first. */
function byOrder({ order: a = [] }: Faulty, { order: b = [] }: Faulty): number {
  const at = a.findIndex((part, i) => part !== b[i]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}

/** One run, by machines in this thread or in workers. */
export class Run {
  readonly #options: ThreadOptions;
  readonly #streams: Streams;
  readonly threads: number;
  /** The whole run. */
  readonly counts: RunCounts;
  readonly pieces: readonly Piece[];
  /** The run ends when so many are printed. */
  readonly #lines: number;
  readonly #isShared: boolean;
  #plan: ProgramPlan;

  /** @param isShared machines are in workers */
  constructor(plan: ProgramPlan, input: ArrayLike<number> | undefined, options: ThreadOptions, isShared: boolean) {
    this.#isShared = isShared;
    this.threads = checkThreads(options.threads ?? availableParallelism());
    this.#plan = plan;
    this.#options = options;
    this.#streams = inputArrays(plan, { input, files: options.files ?? {} });
    const given = plan.externals.find(({ kind }) => kind === 'input');
    const amount = amountOf(plan, input, given === undefined ? Infinity : this.#streams.get(given.id)!.items, options);
    const isPrinting = amount.items !== undefined && isPrintingOnly(plan);
    this.#lines = isPrinting ? amount.items : Infinity;
    if (isPrinting) this.threads = 1;
    const bounded = isPrinting ? { input: amount.input, iterations: 2 ** 40 } : amount;
    this.counts = countRun(plan, bounded);
    const choice = { ...options, threads: options.pieces === false ? 1 : this.threads };
    this.pieces = cutRun(plan, bounded, this.counts, pieceCuts(plan, choice, 'wasm'));
    checkSizes(plan, this.#streams, this.counts.passed);
  }

  peaks(): number[] {
    return this.#plan.graph.channels.map(({ id }) => Math.max(...this.pieces.map(({ counts }) => counts.peaks[id]!)));
  }

  /** Nodes that fire alone, before and behind steady states: where any does behind them, all, for others will in the next run. */
  alone(): Iterable<number> {
    const hasTail = this.pieces.some(({ counts }) => counts.tail.length > 0);
    if (hasTail) return this.#plan.graph.nodes.map(({ id }) => id);
    return this.pieces.flatMap(({ counts }) => counts.init.map(({ actor }) => actor));
  }

  #makeStreams(): void {
    this.#plan.externals.forEach(({ id, type }, i) => {
      const found = this.#streams.get(id);
      const items = found?.items ?? this.counts.passed[i]!;
      const arrays = found === undefined ? roomFor(items, type, this.#isShared ? shared : makeArray) : { ...found.arrays };
      for (const scalar of this.#isShared ? kinds : []) if (arrays[scalar] !== undefined) arrays[scalar] = share(arrays[scalar]);
      this.#streams.set(id, { arrays, items });
    });
  }

  /** What each machine is told: the pieces of the run, each of which one takes, or its own part of launches. */
  parts(program: LoweredProgram, launches?: Launches): Part[][] {
    this.#plan = program.plan;
    this.#makeStreams();
    if (launches === undefined) {
      const ofRun = this.#ofRun(program);
      const pieces = this.pieces.map((piece, number) => ({ ...ofRun, ...this.#ofPiece(piece), number }));
      return Array.from({ length: Math.min(this.threads, pieces.length) }, () => pieces);
    }
    const { orders, iterations, multiplier, lastStage, chunk, stages, tasks, ends, rings } = launches;
    const common = { ...this.#ofRun(program), ...this.#ofPiece(this.pieces[0]!), iterations };
    const launch = { multiplier, lastStage, chunk, stages, ends, rings, ...sharedTasks(tasks) };
    return orders.map((order, number) => [{ ...common, number, launch: { ...launch, order } }]);
  }

  /** What came out; throws the first fault. `elapsed`: milliseconds, where several threads took part. */
  result(program: LoweredProgram, answers: readonly (Done | Faulty)[], elapsed = Infinity): RunResult {
    const first = answers.flatMap((each) => (each.kind === 'fault' ? [each] : [])).sort(byOrder)[0];
    if (first !== undefined) throw this.faultOf(program, first);
    return this.#made(program, answers.filter((each) => each.kind === 'done'), elapsed);
  }

  faultOf({ sites }: LoweredProgram, { site, value }: Faulty): Error {
    if (site >= 0) return faultError(this.#plan.graph, sites[site]!, value);
    return new WarploomError('ERR_WARPLOOM_INTERNAL', `channel ${value} holds more items than planned`);
  }

  /** What all parts are told: one object of each kind, so that a message to a worker has it once. */
  #ofRun({ sites }: LoweredProgram) {
    const { graph, externals } = this.#plan;
    const ix = new Int32Array(2 * (graph.channels.length + externals.length));
    graph.channels.forEach(({ id, initial }) => { ix[2 * id + 1] = initial.length; });
    for (const { id, kind } of externals) if (kind === 'reader') ix[2 * id + 1] = this.#streams.get(id)!.items;
    return {
      lines: stopsByLines(this.#plan.graph) ? this.#lines : Infinity,
      linesOf: sites.map(({ print }) => print?.lines ?? 0), mostPrinted, ix, iterations: 0,
      seed: this.#options.seed ?? 1, turns: this.#options.maxTurns ?? mostTurns,
      until: this.#options.until ?? Infinity,
    };
  }

  #ofPiece(piece: Piece) {
    const plan = this.#plan;
    const { init, steadyStates, tail } = piece.counts;
    const external = streamArrays(plan).map(({ id, kind, stride, role }) => {
      const array = this.#streams.get(id)!.arrays[kind]!;
      const from = role === 'input' ? piece.inputFrom : role === 'output' ? piece.outputFrom : 0;
      return from === 0 ? array : array.subarray(from * stride);
    });
    const dropped = plan.externals.map(({ kind }) => (kind === 'output' ? piece.dropped : 0));
    return { external, dropped, init, steadyStates, tail };
  }

  #made({ sites }: LoweredProgram, answers: readonly Done[], elapsed: number): RunResult {
    const plan = this.#plan;
    const output = plan.externals.find(({ kind }) => kind === 'output');
    const found = output === undefined ? undefined : this.#streams.get(output.id)!;
    const files = plan.externals.filter(({ kind }) => kind === 'writer').map((external) => {
      const { arrays, items } = this.#streams.get(external.id)!;
      return [external.path, fileOf(external, arrays, items)] as const;
    });
    const printed = textOf(sites, inOrder(answers), plan.steady);
    return {
      output: found === undefined ? new Float32Array(0) : joinItems(found.arrays, output!.type, found.items),
      printed: this.#lines === Infinity ? printed : firstLines(printed, this.#lines),
      files: Object.fromEntries(files), exhausted: this.counts.exhausted,
      firings: this.counts.firings,
      milliseconds: Math.min(elapsed, Math.max(...answers.map(({ milliseconds }) => milliseconds))),
    };
  }
}
