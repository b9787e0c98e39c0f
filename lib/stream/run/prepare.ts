// What compiled programs have in common: what a run is asked for, worked out before it, and its result.
import { firstLines } from '../interpret/engine.ts';
import { requireAmount } from '../interpret/options.ts';
import { scalarCount } from '../interpret/values.ts';
import { countRun, type RunAmount, type RunCounts } from '../plan/counts.ts';
import type { PlanOptions, ProgramPlan } from '../plan/plan.ts';
import { nodeTimes, type CompiledBackend, type ThreadChoice } from './launch.ts';
import { checkSizes, fileOf, inputArrays, joinItems, type Scalars, type StreamArrays } from './streams.ts';

export const defaultWasmPlan: PlanOptions = { groupSize: 16_000, filterSize: 6000, blockBytes: 65_536 };

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
  /** Most threads. Default: as many as the machine has cores for WebAssembly, 1 for C++. */
  readonly threads?: number;
  readonly signal?: AbortSignal;
  /** Milliseconds that the run may take; default 600 000. */
  readonly timeout?: number;
  /** Whether the input of a program without state may be cut into pieces that do not depend on each other; default true. */
  readonly pieces?: boolean;
}

/** A run before it is made. */
export interface PreparedRun {
  readonly amount: RunAmount;
  readonly counts: RunCounts;
  /** By number of the stream: those that come in. */
  readonly streams: ReadonlyMap<number, { readonly arrays: StreamArrays; readonly items: number }>;
  /** The run ends when so many lines are printed. */
  readonly lines: number;
}

/** What bounds a run; throws where nothing does. */
function amountOf(plan: ProgramPlan, input: ArrayLike<number> | undefined, { items, iterations }: RunOptions): RunAmount {
  requireAmount(plan.graph, { input, items, iterations });
  const open = plan.graph.input;
  return { input: open === undefined ? Infinity : Math.floor((input?.length ?? 0) / scalarCount(open.type)), items, iterations };
}

/** Whether printed lines are all that comes out. */
function isPrintingOnly({ externals }: ProgramPlan): boolean {
  return !externals.some(({ kind }) => kind === 'output' || kind === 'writer');
}

/** How long a run may take, from counted operations: right to a small factor; Infinity where it ends when enough lines are printed. */
export function estimatedMilliseconds(
  plan: ProgramPlan, input: ArrayLike<number> | undefined, options: RunOptions, backend: CompiledBackend,
): number {
  if (options.items !== undefined && isPrintingOnly(plan)) return Infinity;
  const { firings } = countRun(plan, amountOf(plan, input, options));
  return nodeTimes(plan, undefined, backend).reduce((sum, time, node) => sum + time * firings[node]!, 0) / 1000;
}

/** Works out a run. Throws ArgumentError for what is missing or too much. */
export function prepareRun(plan: ProgramPlan, input: ArrayLike<number> | undefined, options: RunOptions): PreparedRun {
  const asked = amountOf(plan, input, options);
  const isPrinting = asked.items !== undefined && isPrintingOnly(plan);
  const amount = isPrinting ? { input: asked.input, iterations: 2 ** 40 } : asked;
  const streams = inputArrays(plan, { input, files: options.files ?? {} });
  const counts = countRun(plan, amount);
  checkSizes(plan, streams, counts.passed);
  return { amount, counts, streams, lines: isPrinting ? asked.items : Infinity };
}

/** The result of a run. `arrays`: by number of the stream, of those that go out. */
export function resultOf(
  plan: ProgramPlan, { counts, lines }: PreparedRun, arrays: ReadonlyMap<number, StreamArrays>, printed: string, milliseconds: number,
): RunResult {
  const items = (id: number): number => counts.passed[id - plan.graph.channels.length]!;
  const output = plan.externals.find(({ kind }) => kind === 'output');
  const files = plan.externals.filter(({ kind }) => kind === 'writer')
    .map((external) => [external.path, fileOf(external, arrays.get(external.id)!, items(external.id))] as const);
  return {
    output: output === undefined ? new Float32Array() : joinItems(arrays.get(output.id)!, output.type, items(output.id)),
    printed: lines === Infinity ? printed : firstLines(printed, lines),
    files: Object.fromEntries(files), firings: counts.firings, exhausted: counts.exhausted, milliseconds,
  };
}
