// Sessions by WebAssembly, in the calling thread. Sessions of one program take turns in one instance of it: what a run keeps is copied out
// when another goes on, so that an idle session costs no more than its state.
import { elementAt, required } from '../../core/known.ts';
import { WarploomError } from '../../core/errors.ts';
import type { StreamGraph } from '../graph.ts';
import type { LoweredProgram } from '../lower/program.ts';
import { countRun, type RunCounts } from '../plan/counts.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import { Fault, type Printed } from '../run/answers.ts';
import { commonData, shared, type MachineRun, type SharedInts } from '../run/common.ts';
import { faultError } from '../run/fault.ts';
import { Instance, type KeptRun } from '../run/instance.ts';
import { textOf } from '../run/marks.ts';
import { inputArrays, joinItems, mostTurns, outOfMemory, roomFor, type PreparedRun, type StreamArrays } from '../run/prepare.ts';
import { compiledWasm, type Written } from '../run/wasm.ts';
import { wayNumbers } from '../run/words.ts';
import { InOrder, scalarsFrom, Turns, type Made, type Outlet, type SessionEngine } from './engine.ts';
import { ItemQueue } from './items.ts';
import { Progress } from './progress.ts';

/** Programs that have an instance. Each instance reserves gigabytes of address space, of which a process has only so much. */
const mostAwake = 8;
/** How long the instance of a program without sessions is kept. */
const idleMilliseconds = 5000;
const awake = new Set<Host>();

interface Loaded {
  readonly program: LoweredProgram;
  readonly instance: Instance;
}

/** One instance of a program, for all its sessions. */
class Host {
  readonly #written: Written;
  #made: Loaded | undefined;
  #owner: WasmEngine | undefined;
  /** Open sessions, and what ends the instance when there were none for a while. */
  #sessions = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(written: Written) {
    this.#written = written;
  }

  /** A session begins. */
  join(): void {
    this.#sessions += 1;
    clearTimeout(this.#idle);
  }

  /** An instance with the code for a part of a run. */
  load(counts: Pick<RunCounts, 'init' | 'tail' | 'peaks'>): Loaded {
    awake.delete(this);
    awake.add(this);
    for (const other of awake) {
      if (awake.size <= mostAwake) break;
      other.sleep();
    }
    const program = this.#written.for({ parts: [counts], capacities: counts.peaks });
    if (this.#made?.program === program) return this.#made;
    this.#release();
    return this.#made = { program, instance: instanceOf(program) };
  }

  /** The same, in the state of this session. */
  enter(engine: WasmEngine, run: MachineRun, counts: Pick<RunCounts, 'init' | 'tail' | 'peaks'>): Loaded {
    const loaded = this.load(counts);
    const { instance } = loaded;
    if (this.#owner === engine) instance.resume(run);
    else {
      this.#release();
      if (engine.kept === undefined) instance.begin(run);
      else instance.resume(run, engine.kept);
    }
    this.#owner = engine;
    return loaded;
  }

  /** Hands the state of the session that was last to it. */
  #release(): void {
    if (this.#owner !== undefined && this.#made !== undefined) this.#owner.kept = this.#made.instance.keep();
    this.#owner = undefined;
  }

  sleep(): void {
    this.#release();
    this.#made = undefined;
    awake.delete(this);
  }

  /** A session is over. */
  leave(engine: WasmEngine): void {
    if (this.#owner === engine) this.#owner = undefined;
    this.#made?.instance.end();
    this.#sessions -= 1;
    if (this.#sessions > 0) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => { this.sleep(); }, idleMilliseconds).unref();
  }
}

function instanceOf(program: LoweredProgram): Instance {
  const common = commonData(program, 1, false);
  try {
    return new Instance(common);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw outOfMemory("there is no memory for the program's channels and state", common.pages * 65536, error);
  }
}

const hosts = new WeakMap<StreamGraph, Host>();

function hostOf(graph: StreamGraph): Host {
  let host = hosts.get(graph);
  if (host === undefined) hosts.set(graph, host = new Host(compiledWasm(graph).written));
  return host;
}

/** Options of a session of a compiled program. */
export interface CompiledOptions {
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly seed: number;
}

/** A run that takes turns with others. */
export class WasmEngine implements SessionEngine {
  readonly backend = 'wasm';
  readonly depth = 1;
  /** What it keeps while another session has the instance; undefined before its start. */
  kept: KeptRun | undefined;
  readonly progress: Progress;
  readonly #host: Host;
  readonly #outlet: Outlet;
  readonly #files: PreparedRun['streams'];
  readonly #seed: number;
  readonly #stop: AbortSignal;
  readonly #order: InOrder;
  readonly #queue: ItemQueue | undefined;
  /** Steady states made so far; -1: not even what precedes them. */
  #states = -1;
  #isOver = false;
  /** Steady states that are made between two looks at the clock. */
  #slice = 1;

  /** Throws UnsupportedProgram, ScheduleError: see {@link compiledWasm}. */
  constructor(graph: StreamGraph, outlet: Outlet, options: CompiledOptions, stop: AbortSignal) {
    const { plan } = compiledWasm(graph);
    this.#host = hostOf(graph);
    // What cannot be compiled shows here, and calls need not wait for the compiler.
    this.#host.load({ init: plan.steady.init, tail: [], peaks: plan.schedule.buffers });
    this.#host.join();
    this.#outlet = outlet;
    this.progress = new Progress(plan, outlet);
    this.#files = inputArrays({ externals: plan.externals.filter(({ kind }) => kind === 'reader') }, undefined, options.files);
    this.#seed = options.seed;
    this.#stop = stop;
    this.#order = new InOrder(stop);
    this.#queue = graph.input === undefined ? undefined : new ItemQueue(graph.input.type);
  }

  push(numbers: ArrayLike<number>): Promise<Made> {
    const queue = required(this.#queue);
    queue.append(numbers);
    const { total } = queue;
    return this.#order.do(() => this.#make(this.progress.states(total)));
  }

  pull(items: number): Promise<Made> {
    const { given, plan } = this.progress;
    const states = given === 0 ? Math.min(items, plan.multiplicity) : Math.max(1, Math.floor(items / given));
    return this.#order.do(() => this.#make(Math.max(0, this.#states) + states));
  }

  end(): Promise<Made> {
    const queue = this.#queue;
    if (queue === undefined) return Promise.resolve({ output: scalarsFrom([], this.#outlet.type), text: '' });
    const { total } = queue;
    return this.#order.do(() => {
      const counts = countRun(this.progress.plan, { input: total });
      return this.#make(counts.init.length === 0 && counts.steadyStates === 0 ? -1 : counts.steadyStates, counts);
    });
  }

  /** Makes steady states up to a number of them and, with the counts of the whole run, what comes after them. */
  async #make(states: number, counts?: RunCounts): Promise<Made> {
    const stretch = new Stretch(this.progress, this.#outlet, { states: this.#states, to: states, counts });
    let error: Error | undefined;
    try {
      const turns = new Turns(this.#stop);
      if (this.#states < 0 && states >= 0) {
        this.#enter(stretch, (instance) => { stretch.start(instance); });
        this.#states = 0;
      }
      while (this.#states < states) {
        const slice = Math.min(this.#slice, states - this.#states);
        const begin = performance.now();
        this.#enter(stretch, (instance) => { this.#states += stretch.advance(instance, slice); });
        const took = performance.now() - begin;
        if (slice === this.#slice) this.#slice = Math.max(1, Math.floor(slice * Math.min(8, 4 / Math.max(took, 1e-3))));
        if (this.#states < states && turns.isOver) await turns.next();
      }
      if (counts !== undefined) this.#enter(stretch, (instance) => { stretch.finish(instance, this.#states < 0, counts); });
    } catch (failure) {
      if (this.#stop.aborted) throw failure;
      error = failure instanceof Fault ? stretch.errorOf(failure) : failure as Error;
    }
    return stretch.made(error);
  }

  /** Has the instance do something in the state of this session. */
  #enter(stretch: Stretch, work: (instance: Instance) => void): void {
    const { input, plan: { steady, schedule } } = this.progress;
    const counts = stretch.counts ?? { init: steady.init, tail: [], peaks: schedule.buffers };
    const run = this.#run(stretch);
    const { program, instance } = this.#host.enter(this, run, counts);
    stretch.program = program;
    const begin = this.#queue?.begin ?? 0;
    if (input !== undefined) instance.position[input.id] = begin;
    stretch.place(instance);
    try {
      work(instance);
    } catch (error) {
      if (error instanceof Fault || error instanceof WarploomError) throw error;
      if (error instanceof RangeError) throw outOfMemory('there is no memory for this chunk: give fewer items at a time', 0, error);
      throw new WarploomError('ERR_WARPLOOM_INTERNAL', `generated code failed: ${String(error)}`, { cause: error });
    } finally {
      stretch.took(instance);
    }
    if (input !== undefined) this.#queue?.drop(elementAt(instance.position, input.id) - begin);
  }

  #run(stretch: Stretch): MachineRun {
    const { plan } = this.progress;
    const ix = new Int32Array(2 * (plan.graph.channels.length + plan.externals.length));
    plan.graph.channels.forEach(({ id, initial }) => { ix[2 * id + 1] = initial.length; });
    for (const [id, { items }] of this.#files) ix[2 * id + 1] = items;
    return {
      way: wayNumbers.alone, words: new Int32Array(), claims: noClaims, lines: Infinity, mostPrinted: Infinity, ix, seed: this.#seed,
      turns: mostTurns, until: Infinity, init: plan.steady.init, steadyStates: 0, tail: [],
      streams: plan.streamArrays.map(({ id, kind, role }) => required(
        (role === 'input' ? this.#queue?.arrays : role === 'reader' ? this.#files.get(id)?.arrays : stretch.arrays)?.[kind])),
    };
  }

  dispose(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#host.leave(this);
    this.kept = undefined;
  }
}

const noClaims = shared('i', 0) as SharedInts;

/** Sites that can fail: others only print. */
const canFail = new WeakMap<LoweredProgram, boolean>();

function mayFail(program: LoweredProgram): boolean {
  let known = canFail.get(program);
  if (known === undefined) canFail.set(program, known = program.sites.some(({ kind }) => kind !== 'print'));
  return known;
}

/** What one call makes. */
class Stretch {
  readonly counts: RunCounts | undefined;
  readonly arrays: StreamArrays;
  /** The code that ran last. */
  program: LoweredProgram | undefined;
  readonly #progress: Progress;
  readonly #outlet: Outlet;
  readonly #texts: string[] = [];
  /** Items in the arrays. */
  #items = 0;

  constructor(progress: Progress, outlet: Outlet, { states, to, counts }: {
    readonly states: number; readonly to: number; readonly counts: RunCounts | undefined;
  }) {
    this.#progress = progress;
    this.#outlet = outlet;
    this.counts = counts;
    const { output, plan } = progress;
    const before = states < 0 ? 0 : progress.passed('output', states);
    const after = counts === undefined ? (to < 0 ? 0 : progress.passed('output', to))
      : output === undefined ? 0 : elementAt(counts.passed, plan.externals.indexOf(output));
    this.arrays = output === undefined ? {} : roomFor(after - before, output.type);
  }

  /** Has the output go on where it is. */
  place(instance: Instance): void {
    const { output } = this.#progress;
    if (output !== undefined) instance.position[output.id] = this.#items;
  }

  /** Takes what came out. */
  took(instance: Instance): void {
    const { output, plan } = this.#progress;
    if (output !== undefined) this.#items = elementAt(instance.position, output.id);
    this.#text(instance.takePrinted(), plan);
  }

  #text(printed: readonly Printed[], { steady }: ProgramPlan): void {
    if (printed.length > 0) this.#texts.push(textOf(required(this.program).sites, printed, steady));
  }

  /** Makes what precedes the first steady state. */
  start(instance: Instance): void {
    instance.initialise();
  }

  /** Makes steady states; where one fails, those before it. Returns how many. */
  advance(instance: Instance, states: number): number {
    const { multiplicity } = this.#progress.plan;
    const begin = [...instance.position];
    const kept = states > 1 && mayFail(required(this.program)) ? instance.keep() : undefined;
    try {
      for (let left = states; left > 0; left -= multiplicity) instance.runStates(Math.min(left, multiplicity));
    } catch (error) {
      if (!(error instanceof Fault) || kept === undefined) throw error;
      instance.takePrinted();
      instance.restore(kept);
      begin.forEach((position, id) => { instance.position[id] = position; });
      for (let i = 0; i < states; ++i) instance.runStates(1);
    }
    return states;
  }

  /** Makes what comes after the last whole steady state. */
  finish(instance: Instance, isStart: boolean, { tail }: RunCounts): void {
    if (isStart) instance.reset();
    for (const step of tail) instance.fire(step);
  }

  errorOf({ site, value }: Fault): Error {
    return faultError(this.#progress.plan.graph, required(this.program).sites[site], value);
  }

  made(error: Error | undefined): Made {
    const { output } = this.#progress;
    return {
      output: output === undefined ? scalarsFrom([], this.#outlet.type) : joinItems(this.arrays, output.type, this.#items),
      text: this.#texts.join(''), ...(error === undefined ? {} : { error }),
    };
  }
}
