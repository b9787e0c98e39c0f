// Programs as JavaScript, run in this thread.
import { compileFunction } from 'node:vm';
import { ArgumentError, WarploomError } from '../../core/errors.ts';
import { keptAs } from '../emit/dialect-js.ts';
import { emitJs, externalArrayNames, type JsProgram } from '../emit/emit-js.ts';
import { countRun, type RunAmount, type RunCounts } from '../emit/counts.ts';
import { makeArray, placesOf } from '../emit/layout.ts';
import { planProgram, type PlanOptions, type ProgramPlan } from '../emit/plan.ts';
import type { ArrayDeclaration } from '../emit/program.ts';
import type { StreamGraph } from '../graph.ts';
import type { IrType } from '../ir.ts';
import { firstLines, mostPrinted } from '../interpret/engine.ts';
import { requireItems } from '../interpret/index.ts';
import { scalarCount } from '../interpret/values.ts';
import { estimateCosts } from '../profile/estimate.ts';
import { faultError } from './fault.ts';
import { checkSizes, fileOf, inputArrays, joinItems, printedText, roomFor, type Scalars, type StreamArrays } from './streams.ts';
import { StreamRunError } from '../interpret/error.ts';

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
  /** Turns that loops without known end may make in all; default 10^9. */
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

type Fire = (n: number, ...external: Scalars[]) => void;
interface Functions {
  readonly fire: readonly Fire[];
  readonly first: readonly (Fire | undefined)[];
  readonly groups: readonly Fire[];
  readonly settle: (n: number) => void;
}

/** A program compiled to JavaScript. Runs follow each other: one object runs one at a time. */
export interface CompiledJs {
  readonly plan: ProgramPlan;
  /** The generated code. */
  readonly source: string;
  /** Runs the program from its start. `input`: scalars of the items on the open input. */
  run(input?: ArrayLike<number>, options?: RunOptions): RunResult;
}

export const defaultJsPlan: PlanOptions = { groupSize: 8000, filterSize: 3000, blockBytes: 32768 };

/**
 * Compiles a graph. Throws UnsupportedProgram for programs that only the interpreter runs, ScheduleError where there is no schedule. A
 * run throws
 * StreamRunError where the program goes wrong, ArgumentError for missing input or limits.
 */
export function compileJs(graph: StreamGraph, options: PlanOptions = {}): CompiledJs {
  const plan = planProgram(graph, { ...defaultJsPlan, ...options });
  const machine = new JsMachine(plan);
  return {
    plan,
    get source() { return machine.program.source; },
    run: (input, runOptions = {}) => machine.run(input, runOptions),
  };
}

/** What bounds a run; throws where nothing does. */
export function amountOf(plan: ProgramPlan, input: ArrayLike<number> | undefined, items: number, options: RunOptions): RunAmount {
  for (const name of ['items', 'iterations'] as const) {
    const x = options[name];
    if (x !== undefined && (!Number.isSafeInteger(x) || x < 0)) throw new ArgumentError(`options.${name}`,
      `expected an integer of 0 or more, received ${x}`);
  }
  if (options.items !== undefined && options.iterations !== undefined) throw new ArgumentError('options',
    'expected `items` or `iterations`, received both');
  const isOpen = plan.externals.some(({ kind }) => kind === 'input');
  if (!isOpen && options.items === undefined && options.iterations === undefined) {
    throw new ArgumentError('options.items', 'the program has no input that ends: say when to stop by `items` or `iterations`');
  }
  if (isOpen && input === undefined) throw new ArgumentError('input', 'the program has an open input: give its items');
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
export function estimatedMilliseconds(plan: ProgramPlan, input: ArrayLike<number> | undefined, options: RunOptions): number {
  if (options.items !== undefined && isPrintingOnly(plan)) return Infinity;
  const given = plan.externals.find(({ kind }) => kind === 'input');
  const items = given === undefined ? Infinity : Math.floor((input?.length ?? 0) / scalarCount(given.type));
  const { firings } = countRun(plan, amountOf(plan, input, items, options));
  return estimateCosts(plan.graph).reduce((sum, cost, node) => sum + cost * firings[node]!, 0) / 1000;
}

/** The generated functions and the arrays they work on. */
class JsMachine {
  readonly #plan: ProgramPlan;
  program: JsProgram;
  #functions: Functions;
  #arrays: Record<string, Scalars> = {};
  readonly #ix: Int32Array;
  readonly #it: Int32Array;
  readonly #rs: Int32Array;
  readonly #steps = new Float64Array(1);
  #printed: string[] = [];
  #lines = 0;

  constructor(plan: ProgramPlan) {
    this.#plan = plan;
    const streams = plan.graph.channels.length + plan.externals.length;
    this.#ix = new Int32Array(2 * streams);
    this.#it = new Int32Array(plan.graph.nodes.length);
    this.#rs = new Int32Array(plan.graph.nodes.length);
    this.program = emitJs(plan);
    this.#functions = this.#instantiate();
  }

  #instantiate(): Functions {
    const { text, source } = this.program;
    this.#arrays = Object.fromEntries(text.arrays.map(({ name, kind, length }) =>
      [name, makeArray(keptAs[kind], length)]));
    const make = compileFunction(source, ['wl_arrays', 'wl_ix', 'wl_it', 'wl_rs', 'wl_steps', 'wl_fail', 'wl_print'],
      { filename: 'warploom-stream.js' });
    return make(this.#arrays, this.#ix, this.#it, this.#rs, this.#steps, (site: number, value: number) => this.#fail(site, value),
      (site: number, values: number[]) => this.#print(site, values)) as Functions;
  }

  #fail(site: number, value: number): never {
    const { sites } = this.program.text;
    if (site < 0) throw new WarploomError('ERR_WARPLOOM_INTERNAL', `channel ${value} holds more items than planned`);
    throw faultError(this.#plan.graph, sites[site]!, value);
  }

  #print(number: number, values: number[]): void {
    const site = this.program.text.sites[number]!;
    if (this.#printed.length >= mostPrinted) this.#fail(number, 0);
    this.#printed.push(printedText(site, values));
    this.#lines += site.print!.lines;
  }

  #reset(options: RunOptions): void {
    const { graph } = this.#plan;
    for (const declaration of this.program.text.arrays) this.#resetArray(declaration);
    this.#ix.fill(0);
    graph.channels.forEach(({ id, initial }) => { this.#ix[2 * id + 1] = initial.length; });
    this.#it.fill(0);
    this.#rs.forEach((_, id) => { this.#rs[id] = ((options.seed ?? 1) + id) | 0; });
    this.#steps[0] = options.maxTurns ?? 1e9;
    this.#printed = [];
    this.#lines = 0;
  }

  #resetArray({ name, role, initial, channel, kind, stride }: ArrayDeclaration): void {
    const array = this.#arrays[name]!;
    if (initial !== undefined) array.set(initial);
    if (role !== 'channel') return;
    this.#plan.graph.channels[channel!]!.initial.forEach((item, i) => {
      array.set(initialScalars(item, kind), i * stride!);
    });
  }

  run(input: ArrayLike<number> | undefined, options: RunOptions): RunResult {
    const plan = this.#plan;
    const streams = inputArrays(plan, { input, files: options.files ?? {} });
    const given = plan.externals.find(({ kind }) => kind === 'input');
    const amount = amountOf(plan, input, given === undefined ? Infinity : streams.get(given.id)!.items, options);
    const isPrinting = amount.items !== undefined && isPrintingOnly(plan);
    const counts = isPrinting ? countRun(plan, { input: amount.input, iterations: 2 ** 40 }) : countRun(plan, amount);
    checkSizes(plan, streams, counts.passed);
    this.#ensureRoom(counts);
    this.#reset(options);
    for (const { id, type, kind } of plan.externals) {
      const index = plan.externals.findIndex((each) =>
        each.id === id);
      if (kind === 'output' || kind === 'writer') streams.set(id,
        { arrays: roomFor(counts.passed[index]!, type), items: counts.passed[index]! });
      else if (kind === 'reader') this.#ix[2 * id + 1] = streams.get(id)!.items;
    }
    const arrays = externalArrayNames(plan).map((name) => streams.get(Number(name.slice(1, -1)))!.arrays[name.at(-1) as 'i']!);
    const start = performance.now();
    this.#execute(counts, arrays, isPrinting ? amount.items! : Infinity);
    return this.#result(counts, streams, performance.now() - start, isPrinting ? amount.items! : Infinity);
  }

  #ensureRoom(counts: RunCounts): void {
    const { capacities } = this.program.text;
    if (counts.peaks.every((peak, channel) => peak <= capacities[channel]!)) return;
    this.program = emitJs(this.#plan, { capacities: counts.peaks });
    this.#functions = this.#instantiate();
  }

  #execute(counts: RunCounts, arrays: Scalars[], lines: number): void {
    const { fire, first } = this.#functions;
    const fired = new Set<number>();
    const step = ({ actor, count }: { actor: number; count: number }): void => {
      let left = count;
      const prework = fired.has(actor) ? undefined : first[actor];
      fired.add(actor);
      try {
        if (prework !== undefined) {
          prework(1, ...arrays);
          --left;
        }
        if (left > 0) fire[actor]!(left, ...arrays);
      } catch (error) {
        throw wrapped(error);
      }
    };
    for (const each of counts.init) step(each);
    this.#toFronts();
    this.#steady(counts.steadyStates, arrays, lines);
    for (const each of counts.tail) if (this.#lines < lines) step(each);
  }

  /** After the initialisation: what stands on channels moves to their fronts. */
  #toFronts(): void {
    for (const { name, role, channel, stride } of this.program.text.arrays) {
      if (role !== 'channel') continue;
      const [r, w] = [this.#ix[2 * channel!]!, this.#ix[2 * channel! + 1]!];
      if (r > 0) this.#arrays[name]!.copyWithin(0, r * stride!, w * stride!);
    }
    for (const { id } of this.#plan.graph.channels) {
      this.#ix[2 * id + 1]! -= this.#ix[2 * id]!;
      this.#ix[2 * id] = 0;
    }
  }

  #steady(states: number, arrays: Scalars[], lines: number): void {
    const { groups, settle } = this.#functions;
    const { multiplicity, groups: planned } = this.#plan;
    const most = lines === Infinity ? multiplicity : 1;
    try {
      for (let left = states; left > 0 && this.#lines < lines;) {
        const now = Math.min(left, most);
        for (let g = 0; g < groups.length; ++g) groups[g]!(now * planned[g]!.iterations, ...arrays);
        settle(now);
        left -= now;
      }
    } catch (error) {
      throw wrapped(error);
    }
  }

  #result(counts: RunCounts, streams: Map<number, { arrays: StreamArrays; items: number }>, milliseconds: number,
    lines: number): RunResult {
    const plan = this.#plan;
    const output = plan.externals.find(({ kind }) => kind === 'output');
    const files = plan.externals.filter(({ kind }) => kind === 'writer').map((external) => {
      const { arrays, items } = streams.get(external.id)!;
      return [external.path, fileOf(external, arrays,
        items)] as const;
    });
    const joined = output === undefined ? new Float32Array(0)
      : joinItems(streams.get(output.id)!.arrays, output.type, streams.get(output.id)!.items);
    const printed = this.#printed.join('');
    return {
      output: joined, printed: lines === Infinity ? printed : firstLines(printed, lines),
      files: Object.fromEntries(files), firings: counts.firings, exhausted: counts.exhausted, milliseconds,
    };
  }
}

function initialScalars(item: { type: IrType; numbers: ArrayLike<number> }, kind: 'i' | 'f' | 'd'): number[] {
  return scalarsOfKind(item.type, kind).map((place) => item.numbers[place] ?? 0);
}

function wrapped(error: unknown): unknown {
  if (error instanceof StreamRunError || error instanceof WarploomError) return error;
  return new WarploomError('ERR_WARPLOOM_INTERNAL',
    `generated code failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
}

/** Places in memory order of the scalars of a kind. */
function scalarsOfKind(type: IrType, kind: 'i' | 'f' | 'd'): number[] {
  return placesOf(type).flatMap((place, i) => (place.kind === kind ? [i] : []));
}
