// A run of a program compiled to WebAssembly: its streams, what machines are told, what they answer.
import { availableParallelism } from 'node:os';
import { holds } from '../../core/arrays.ts';
import { WarploomError } from '../../core/errors.ts';
import { mostPrinted } from '../interpret/engine.ts';
import type { LoweredProgram } from '../lower/program.ts';
import { kinds, makeArray } from '../plan/layout.ts';
import type { LaunchPlan } from '../plan/launches.ts';
import { streamArrays, type ProgramPlan } from '../plan/plan.ts';
import type { Done, Faulty, Printed } from './answers.ts';
import { shared, type MachineRun, type SharedInts } from './common.ts';
import { faultError } from './fault.ts';
import { pieceCuts } from './launch.ts';
import { stopsByLines, textOf } from './marks.ts';
import { mostTurns, prepareRun, resultOf, type PreparedRun, type RunResult, type ThreadOptions } from './prepare.ts';
import { cutRun, type Piece } from './split.ts';
import { roomFor, type Scalars, type StreamArrays } from './streams.ts';
import { launchWords, pieceWords, wayNumbers } from './words.ts';

export interface WasmRunOptions extends ThreadOptions {
  /** Time of `performance.now()` from which `timeout` counts; when a run in the calling thread is given up. */
  readonly began?: number;
  readonly until?: number;
}

function share(array: Scalars): Scalars {
  if (array.buffer instanceof SharedArrayBuffer) return array;
  const copy = shared(holds(array, 'int32') ? 'i' : holds(array, 'float32') ? 'f' : 'd', array.length);
  copy.set(array);
  return copy;
}

/** What was printed before launches, in them by one machine after the other, and after them. */
function inOrder(answers: readonly Done[]): Printed[] {
  return [...answers[0]!.before, ...answers.flatMap(({ printed }) => printed), ...answers[0]!.behind];
}

/** What stands in a program before it comes first. */
function byOrder({ order: a = [] }: Faulty, { order: b = [] }: Faulty): number {
  const at = a.findIndex((part, i) => part !== b[i]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}

/** One run, by machines in this thread or in workers. */
export class Run {
  readonly #options: WasmRunOptions;
  readonly #prepared: PreparedRun;
  readonly threads: number;
  readonly pieces: readonly Piece[];
  readonly #isShared: boolean;
  /** By number of the stream. */
  readonly #arrays = new Map<number, StreamArrays>();
  #plan: ProgramPlan;

  /** @param isShared machines are in workers */
  constructor(plan: ProgramPlan, input: ArrayLike<number> | undefined, options: WasmRunOptions, isShared: boolean) {
    this.#isShared = isShared;
    this.#plan = plan;
    this.#options = options;
    this.#prepared = prepareRun(plan, input, options);
    const { lines, amount } = this.#prepared;
    this.threads = lines === Infinity ? options.threads ?? availableParallelism() : 1;
    const choice = { ...options, threads: options.pieces === false ? 1 : this.threads };
    this.pieces = cutRun(plan, amount, this.counts, pieceCuts(plan, choice, 'wasm'));
  }

  /** The whole run. */
  get counts() {
    return this.#prepared.counts;
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
    for (const [i, { id, type }] of this.#plan.externals.entries()) {
      const given = this.#prepared.streams.get(id)?.arrays;
      const arrays = { ...given ?? roomFor(this.counts.passed[i]!, type, this.#isShared ? shared : makeArray) };
      for (const scalar of this.#isShared ? kinds : []) if (arrays[scalar] !== undefined) arrays[scalar] = share(arrays[scalar]);
      this.#arrays.set(id, arrays);
    }
  }

  /** How many machines take part by themselves, in pieces of the run. */
  get machines(): number {
    return Math.min(this.threads, this.pieces.length);
  }

  /** What machines are told. `plan`: of launches, else the run is whole or in pieces. */
  forMachines(program: LoweredProgram, plan?: LaunchPlan): MachineRun {
    const { graph, externals, groups } = this.#plan = program.plan;
    this.#makeStreams();
    const { init, steadyStates, tail } = this.counts;
    const ix = new Int32Array(2 * (graph.channels.length + externals.length));
    graph.channels.forEach(({ id, initial }) => { ix[2 * id + 1] = initial.length; });
    for (const { id, kind } of externals) if (kind === 'reader') ix[2 * id + 1] = this.#prepared.streams.get(id)!.items;
    const { seed = 1, maxTurns = mostTurns, until = Infinity } = this.#options;
    return {
      way: plan !== undefined ? wayNumbers.launches : this.pieces.length > 1 ? wayNumbers.pieces : wayNumbers.alone,
      words: plan !== undefined ? launchWords(plan, groups.map(({ iterations }) => iterations)) : pieceWords(this.pieces, this.threads),
      claims: shared('i', plan?.tasks.length ?? 0) as SharedInts,
      lines: stopsByLines(graph) ? this.#prepared.lines : Infinity, mostPrinted, ix, seed, turns: maxTurns, until, init, steadyStates, tail,
      streams: streamArrays(this.#plan).map(({ id, kind }) => this.#arrays.get(id)![kind]!),
    };
  }

  /** The run's result, or its error. `elapsed`: milliseconds that it took, the start of machines included. */
  result(program: LoweredProgram, answers: readonly (Done | Faulty)[], elapsed = Infinity): RunResult {
    const [first] = answers.filter((each) => each.kind === 'fault').sort(byOrder);
    if (first !== undefined) throw this.faultOf(program, first);
    const done = answers.filter((each) => each.kind === 'done');
    const milliseconds = Math.min(elapsed, Math.max(...done.map((each) => each.milliseconds)));
    return resultOf(this.#plan, this.#prepared, this.#arrays, textOf(program.sites, inOrder(done), this.#plan.steady), milliseconds);
  }

  faultOf({ sites }: LoweredProgram, { site, value }: Faulty): Error {
    if (site >= 0) return faultError(this.#plan.graph, sites[site]!, value);
    return new WarploomError('ERR_WARPLOOM_INTERNAL', `channel ${value} holds more items than planned`);
  }
}
