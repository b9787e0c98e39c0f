// Sessions by C++: a child process for each, which is asked for steady states as the input suffices for them and keeps what lies between.
import { elementAt, leading, required } from '../../core/known.ts';
import { reasonOf } from '../../core/progress.ts';
import { PipedChild } from '../../core/compile/piped.ts';
import type { StreamGraph } from '../graph.ts';
import { countRun } from '../plan/counts.ts';
import { countsOf, kindsIn } from '../plan/layout.ts';
import type { Step } from '../schedule/steady.ts';
import { compileSession, recordsOf, type SessionProgram } from '../run/cpp.ts';
import { faultError } from '../run/fault.ts';
import { textOf } from '../run/marks.ts';
import { joinItems, type Scalars, type StreamArrays } from '../run/prepare.ts';
import { InOrder, scalarsFrom, type Made, type Outlet, type SessionEngine } from './engine.ts';
import { ItemQueue } from './items.ts';
import { Progress, requireEnd } from './progress.ts';
import type { CompiledOptions } from './wasm.ts';

/** Options of the compilation. */
export interface CppSessionOptions extends CompiledOptions {
  readonly fast: boolean;
  readonly compiler: string | undefined;
}

/** What a request asks for. */
interface Request {
  readonly before: readonly Step[];
  readonly states: number;
  readonly after: readonly Step[];
  /** Items of input that it brings, and the most items of output. */
  readonly input: number;
  readonly output: number;
}

/** Most items that a request brings, and that it makes if its steady states have fewer. */
const mostItems = 65_536;
/** How long a request takes, about, in milliseconds. */
const requestMilliseconds = 20;
/** Bytes of the start of an answer. */
const headBytes = 48;
const arrayTypes = { i: Int32Array, f: Float32Array, d: Float64Array };

const programs = new WeakMap<StreamGraph, Map<string, SessionProgram>>();

/** The compiled program of a graph, which all its sessions use. */
async function programOf(graph: StreamGraph, { fast, compiler }: CppSessionOptions, signal: AbortSignal): Promise<SessionProgram> {
  let made = programs.get(graph);
  if (made === undefined) programs.set(graph, made = new Map<string, SessionProgram>());
  const key = `${fast} ${compiler}`;
  let program = made.get(key);
  if (program === undefined) {
    program = await compileSession(graph, { fast, signal, ...(compiler === undefined ? {} : { compiler }) });
    made.set(key, program);
  }
  return program;
}

/** A run in a process of its own. */
export class CppEngine implements SessionEngine {
  readonly backend = 'cpp';
  readonly depth = 1;
  readonly #program: SessionProgram;
  readonly #outlet: Outlet;
  readonly #progress: Progress;
  readonly #child: PipedChild;
  readonly #stop: AbortSignal;
  readonly #order: InOrder;
  readonly #queue: ItemQueue | undefined;
  /** Steady states of one call: single ones in programs that can fail, so that the output before a fault is known. */
  readonly #atOnce: number;
  /** Steady states made so far; -1: not even what precedes them. */
  #states = -1;
  /** Items of input that the process has. */
  #sent = 0;
  /** Steady states of a request. */
  #slice = 1;

  private constructor(program: SessionProgram, graph: StreamGraph, outlet: Outlet, child: PipedChild, stop: AbortSignal) {
    this.#program = program;
    this.#outlet = outlet;
    this.#progress = new Progress(program.plan, outlet);
    this.#child = child;
    this.#stop = stop;
    this.#order = new InOrder(stop);
    this.#queue = graph.input === undefined ? undefined : new ItemQueue(graph.input.type);
    this.#atOnce = program.sites.some(({ kind }) => kind !== 'print') ? 1 : program.plan.multiplicity;
  }

  /**
   * Compiles a program and starts it. Throws NoCompilerError, LargeProgram, UnsupportedProgram, ScheduleError, and WarploomError
   * (ERR_WARPLOOM_SYSTEM_FAILED) if the compiler fails.
   */
  static async start(graph: StreamGraph, outlet: Outlet, options: CppSessionOptions, stop: AbortSignal): Promise<CppEngine> {
    const program = await programOf(graph, options, stop);
    requireEnd(new Progress(program.plan, outlet));
    const description = program.description(options);
    const [path, args] = await program.locate();
    stop.throwIfAborted();
    const child = new PipedChild(path, args, 'the compiled program');
    child.write(description);
    return new CppEngine(program, graph, outlet, child, stop);
  }

  push(numbers: ArrayLike<number>): Promise<Made> {
    const queue = required(this.#queue);
    queue.append(numbers);
    const { total } = queue;
    return this.#order.do(() => this.#advance(this.#progress.states(total)));
  }

  pull(items: number): Promise<Made> {
    const { given, plan } = this.#progress;
    const states = given === 0 ? Math.min(items, plan.multiplicity) : Math.max(1, Math.floor(items / given));
    return this.#order.do(() => this.#advance(Math.max(0, this.#states) + states));
  }

  end(): Promise<Made> {
    const queue = this.#queue;
    if (queue === undefined) return Promise.resolve({ output: scalarsFrom([], this.#outlet.type), text: '' });
    const { total } = queue;
    return this.#order.do(async () => {
      const { plan, output } = this.#progress;
      const counts = countRun(plan, { input: total });
      const begun = await this.#advance(counts.init.length === 0 && counts.steadyStates === 0 ? -1 : counts.steadyStates);
      if (begun.error !== undefined) return begun;
      const all = output === undefined ? 0 : elementAt(counts.passed, plan.externals.indexOf(output));
      const rest = await this.#ask({
        before: [], states: 0, after: counts.tail, input: total - this.#sent, output: all - this.#passed(this.#states),
      });
      return joined([begun, rest], this.#outlet);
    });
  }

  dispose(): void {
    this.#child.dispose();
  }

  /** Items of output before so many steady states. */
  #passed(states: number): number {
    return states < 0 ? 0 : this.#progress.passed('output', states);
  }

  /** Makes steady states up to a number of them. */
  async #advance(to: number): Promise<Made> {
    const made: Made[] = [];
    const { given, plan: { steady } } = this.#progress;
    const most = Math.max(1, Math.floor(mostItems / Math.max(1, given)));
    while (this.#states < to) {
      const from = this.#states;
      const wanted = Math.min(to, Math.max(from, 0) + Math.min(most, this.#slice));
      const input = Math.min(this.#progress.needed(wanted) - this.#sent, mostItems);
      // As many steady states as the process then has the input for.
      const next = this.#queue === undefined ? wanted : Math.min(wanted, this.#progress.states(this.#sent + Math.max(0, input)));
      const begin = performance.now();
      made.push(await this.#ask({
        before: from < 0 && next >= 0 ? steady.init : [], states: Math.max(0, next) - Math.max(0, from), after: [],
        input: Math.max(0, input), output: this.#passed(next) - this.#passed(from),
      }));
      if (made.at(-1)?.error !== undefined) break;
      this.#states = next;
      if (next - from < this.#slice) continue;
      const faster = requestMilliseconds / Math.max(performance.now() - begin, 1e-3);
      this.#slice = Math.max(1, Math.floor(this.#slice * Math.min(8, faster)));
    }
    return joined(made, this.#outlet);
  }

  /** Makes a request, and waits for the answer. */
  async #ask({ before, states, after, input, output }: Request): Promise<Made> {
    const head = BigInt64Array.from([before.length, after.length, states, this.#atOnce, input, output], BigInt);
    const steps = [before, after].map((list) => Int32Array.from(list.flatMap(({ actor, count }) => [actor, count])));
    this.#child.write([head, ...steps, ...this.#items(input)].map(bytesOf));
    try {
      return await this.#answer();
    } catch (error) {
      throw this.#stop.aborted ? reasonOf(this.#stop) : error;
    }
  }

  /** Copies of the next items of the input, in the order of the program's arrays. */
  #items(count: number): Scalars[] {
    const queue = this.#queue;
    if (queue === undefined || count === 0) return [];
    const arrays = queue.view(this.#sent, this.#sent + count);
    const own = this.#program.plan.streamArrays.filter(({ role }) => role === 'input');
    const copies = own.map(({ kind }) => required(arrays[kind]).slice());
    this.#sent += count;
    queue.drop(count);
    return copies;
  }

  async #answer(): Promise<Made> {
    const { plan, sites } = this.#program;
    const [status, site, value, , printed, items] = leading(new Float64Array((await this.#child.read(headBytes)).buffer), 6);
    const records = printed === 0 ? [] : recordsOf(new Float64Array((await this.#child.read(8 * printed)).buffer));
    const text = textOf(sites, records, plan.steady);
    const { output } = this.#progress;
    const arrays: StreamArrays = {};
    if (output !== undefined) {
      const counts = countsOf(output.type);
      for (const kind of kindsIn(counts)) {
        const { buffer } = await this.#child.read(counts[kind] * items * (kind === 'd' ? 8 : 4));
        arrays[kind] = new arrayTypes[kind](buffer);
      }
    }
    const made = output === undefined ? scalarsFrom([], this.#outlet.type) : joinItems(arrays, output.type, items);
    return { output: made, text, ...(status === 0 ? {} : { error: faultError(plan.graph, sites[site], value) }) };
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: BigInt64Array | Scalars): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** What several requests made, in one piece. */
function joined(parts: readonly Made[], { type }: Outlet): Made {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  const error = parts.at(-1)?.error;
  const length = parts.reduce((sum, { output }) => sum + output.length, 0);
  const all = first === undefined ? scalarsFrom([], type)
    : first.output instanceof Int32Array ? new Int32Array(length)
      : first.output instanceof Float32Array ? new Float32Array(length) : new Float64Array(length);
  let at = 0;
  for (const { output } of parts) {
    all.set(output, at);
    at += output.length;
  }
  return { output: all, text: parts.map(({ text }) => text).join(''), ...(error === undefined ? {} : { error }) };
}
