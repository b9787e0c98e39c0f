// Runs programs in WebAssembly: short spans in the calling thread, long ones in worker threads.
import { availableParallelism } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { OutOfMemoryError, WarploomError } from '../../core/errors.ts';
import { required } from '../../core/known.ts';
import { hasThreads, startThread } from '../../core/thread.ts';
import { engine } from '../../core/wasm-engine.ts';
import type { Buffer, Program } from '../../kernel/ir.ts';
import { optimise } from '../../kernel/passes/index.ts';
import { layoutWasm, pageBytes } from '../../kernel/print/wasm-layout.ts';
import { printWasm } from '../../kernel/print/wasm.ts';
import { verify } from '../../kernel/verify.ts';
import { remembered } from '../compile/memo.ts';
import { isLarge, type StencilProgram } from '../compile/stages.ts';
import type { Equation, RealArray } from '../types.ts';
import { clockAt } from './adaptive.ts';
import { levelsOf, levelsUsed, rowsOf, type Content, type Engine, type Level, type Outcome, type Span,
  type StageLevels } from './span.ts';
import { clockNumbers, takeBadStep, WasmMachine, type Pointer, type WasmPlan } from './wasm-machine.ts';
import type { WorkerTask } from './worker.ts';

const line = 64;
const aligned = (bytes: number): number => line * Math.ceil(bytes / line);
/** Milliseconds up to which a span runs in the calling thread. */
const shortest = 4;
/** Cell updates per millisecond before any have been measured, and cells per thread that are worth one. */
const guess = 2e4, worthThread = 2 ** 13;

/** Functions that machines call. */
const rootsOf = (stages: number, isAdaptive: boolean): readonly string[] =>
  [...Array.from({ length: stages }, (_, s) => `rows_${s}`), ...(isAdaptive ? ['limit_rows'] : [])];

/** Optimised for WebAssembly: everything is inlined except what reads beyond boundaries, and large functions of cells. */
export function wasmProgram({ program, stages, limit }: StencilProgram): Program {
  const roots = new Set(rootsOf(stages.length, limit !== undefined));
  const large = new Set(stages.filter(isLarge).map(({ point }) => point.f.name));
  return verify(optimise(program, { roots, inline: ({ name }) => !name.startsWith('read_') && !large.has(name),
    vectors: large.size === 0, unroll: 0 }));
}

/** What is the same for all runs of a program. */
interface Compiled {
  readonly program: Program;
  readonly layout: ReturnType<typeof layoutWasm>;
  readonly module: WasmPlan['module'];
}

const moduleOf = (made: StencilProgram): Compiled => remembered(made, ['wasm'], () => {
  const program = wasmProgram(made);
  const layout = layoutWasm(program);
  const exports = new Set(rootsOf(made.stages.length, made.limit !== undefined));
  return { program, layout, module: new engine.Module(printWasm(program, { layout, isShared: true, exports })) };
});

/** Bytes of a core's own cache, and of its share of the common one, that planes of a pass may take; steps of one. */
const cacheBytes = 3 * 2 ** 18, sharedBytes = 6 * 2 ** 20, mostSteps = 16;

/** How a run is asked to go. */
export interface WasmOptions {
  readonly threads?: number | undefined;
  /** Steps per pass; default: as many as fit in the cache. */
  readonly depth?: number | undefined;
  /** Whether to take stages one by one. */
  readonly isClassic?: boolean;
}

/** Steps per pass: one where steps vary. 0: no passes, along one axis, where there are too few planes, or where they would be no faster. */
function depthOf(
  { stages, limit }: StencilProgram, { grid, initial }: Content, margin: number, threads: number, { depth, isClassic }: WasmOptions,
): number {
  const { shape, members } = grid;
  const planes = required(shape[0]);
  if (isClassic === true || shape.length === 1) return 0;
  const bytes = (levelsUsed(stages).length * initial.byteLength) / members / planes;
  const fitting = (cache: number): number => Math.floor(cache / (Math.max(1, margin) * bytes)) - 2;
  const own = fitting(cacheBytes);
  const levels = initial.byteLength <= cacheBytes ? 1 : own > 1 ? own : Math.min(4, fitting(sharedBytes));
  // Blocks of planes have to be wider than the gaps between them.
  const possible = margin === 0 ? mostSteps * stages.length : Math.floor(planes / threads / (2 * margin)) - 1;
  const steps = Math.min(limit === undefined ? depth ?? Math.min(mostSteps, Math.floor(levels / stages.length)) : 1,
    Math.floor((depth === undefined ? Math.min(levels, possible) : possible) / stages.length));
  return steps * stages.length > 1 ? steps : 0;
}

class Memory {
  bytes = 0;

  take(bytes: number): number {
    const at = this.bytes;
    this.bytes = aligned(at + bytes);
    return at;
  }
}

export class WasmEngine implements Engine {
  readonly backend = 'wasm';
  readonly variant: 'classic' | 'streaming';
  readonly depth: number;
  readonly shapes = [];
  readonly threads: number;
  readonly reason: string;
  readonly #plan: WasmPlan;
  readonly #here: WasmMachine;
  readonly #own: readonly number[];
  readonly #state: RealArray;
  readonly #other: RealArray;
  readonly #backup: RealArray;
  #isSwapped = false;
  #rate = guess;
  #workers: readonly Worker[] | undefined;

  constructor(equation: Equation, made: StencilProgram, content: Content, options: WasmOptions = {}) {
    const { grid, initial, precision, coefficients } = content;
    const { cells, members, fields } = grid;
    const { rows, columns } = rowsOf(grid);
    const most = Math.max(1, members > 1 ? members : rows > 1 ? rows : columns);
    const useful = Math.max(1, Math.min(availableParallelism(), Math.floor((cells * members) / worthThread)));
    this.threads = Math.min(options.threads ?? useful, most);
    const margin = Math.max(required(made.reach[0]), required(made.leastCells[0]) - 1);
    const depth = depthOf(made, content, margin, this.threads, options);
    this.depth = Math.max(1, depth);
    this.variant = depth === 0 ? 'classic' : 'streaming';
    const passes = depth === 0 ? '' : depth === 1 ? 'all stages of a step per pass, ' : `${depth} steps per pass, `;
    this.reason = `${passes}${this.threads} thread${this.threads === 1 ? '' : 's'}`;
    const { program, layout, module } = moduleOf(made);
    const size = precision === 'f32' ? 4 : 8;
    const memory = new Memory();
    memory.take(layout.pages * pageBytes);
    this.#own = Array.from({ length: this.threads + 1 }, () => memory.take(layout.ownBytes));
    const places = new Map<Level | 'backup' | 'coefficients', number>();
    for (const level of [...levelsUsed(made.stages), 'backup'] as const) places.set(level, memory.take(initial.length * size));
    places.set('coefficients', memory.take(Math.max(1, coefficients.length) * size));
    const pages = Math.ceil(memory.bytes / pageBytes);
    const shared = this.#memory(pages);
    const pointers = pointersOf(made, program, (buffer) => required(layout.places.get(buffer)).at, places, { size, cells, fields });
    const view = (level: Level | 'backup' | 'coefficients', length: number): RealArray => {
      const at = required(places.get(level));
      return precision === 'f32' ? new Float32Array(shared.buffer, at, length) : new Float64Array(shared.buffer, at, length);
    };
    this.#state = view('state', initial.length);
    this.#other = view(places.has('first') ? 'first' : 'state', initial.length);
    this.#backup = view('backup', initial.length);
    this.#state.set(initial);
    view('coefficients', coefficients.length).set(coefficients);
    const count = made.names.parameters.length;
    const isAdaptive = made.limit !== undefined;
    this.#plan = {
      module, memory: shared, pages, pointers, method: equation.method, shape: grid.shape, rows, columns, members, precision,
      parameters: Array.from({ length: members }, (_, m) => Array.from(content.parameters.subarray(m * count, (m + 1) * count))),
      isSingle: made.stages.length === 1, state: required(places.get('state')), other: places.get('first') ?? 0,
      share: members >= this.threads && members > 1 ? 'members' : 'rows', threads: this.threads,
      control: new Int32Array(new SharedArrayBuffer(16)), isAdaptive, depth, margin,
      clock: new Float64Array(new SharedArrayBuffer(8 * (clockNumbers + 2 * this.threads))),
    };
    this.#here = new WasmMachine({ ...this.#plan, threads: 1 }, 0, required(this.#own.at(-1)));
  }

  #memory(pages: number): WasmPlan['memory'] {
    try {
      return new engine.Memory({ initial: pages, maximum: pages, shared: true });
    } catch (cause) {
      throw new OutOfMemoryError(`a run in WebAssembly takes ${pages * pageBytes} bytes here: take a smaller grid, float32, or a device`,
        { requestedBytes: pages * pageBytes, inUseBytes: 0, limitBytes: 65536 * pageBytes }, { cause });
    }
  }

  async advance(span: Span): Promise<Outcome> {
    const begin = performance.now();
    this.#backup.set(this.#now);
    const bad = await this.#run(span);
    if (bad !== undefined) {
      this.#now.set(this.#backup);
      await this.#run({ ...span, steps: bad });
    }
    const seconds = (performance.now() - begin) / 1000;
    const [time = NaN, dt = NaN, rate = NaN, stuck = 0, taken = 0] = this.#plan.clock;
    const completed = span.limits === undefined || bad === 0 ? bad ?? span.steps : taken;
    const clock = span.limits === undefined ? undefined : bad === 0 ? clockAt(span.limits) : { time, dt, rate, isStuck: stuck !== 0 };
    const updates = completed * this.#plan.members * this.#plan.rows * this.#plan.columns;
    if (bad === undefined && seconds > 1e-4) this.#rate = updates / (1000 * seconds);
    return { completed, seconds, ...(clock && { clock }) };
  }

  async probe(span: Span): Promise<RealArray> {
    this.#backup.set(this.#now);
    const before = this.#isSwapped;
    const { isSingle } = this.#plan;
    await this.#run({ ...span, steps: 1 });
    this.#isSwapped = isSingle ? !before : before;
    const made = this.#now.slice();
    this.#isSwapped = before;
    this.#now.set(this.#backup);
    return made;
  }

  read(): Promise<RealArray> {
    return Promise.resolve(this.#now.slice());
  }

  dispose(): void {
    for (const worker of this.#workers ?? []) void worker.terminate();
    this.#workers = undefined;
  }

  get #now(): RealArray {
    return this.#isSwapped ? this.#other : this.#state;
  }

  /** Takes the steps; the first bad one, if there is one: the state is undefined then. */
  async #run(span: Span): Promise<number | undefined> {
    if (span.steps === 0) return undefined;
    const { members, rows, columns, isSingle } = this.#plan;
    const isShort = (span.steps * members * rows * columns) / this.#rate <= shortest;
    if (isShort || !hasThreads) this.#here.run(span, this.#isSwapped);
    else await this.#inWorkers(span);
    const found = takeBadStep(this.#plan);
    const taken = span.limits === undefined ? span.steps : required(this.#plan.clock[clockNumbers - 1]);
    if (found === undefined && isSingle && taken % 2 === 1) this.#isSwapped = !this.#isSwapped;
    return found;
  }

  async #inWorkers(span: Span): Promise<void> {
    this.#workers ??= this.#start();
    const workers = this.#workers;
    const task: WorkerTask = { span, isSwapped: this.#isSwapped };
    await Promise.all(workers.map((worker) => {
      worker.ref();
      return new Promise<void>((resolve, reject) => {
        const fail = (cause: unknown): void => reject(new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', 'a thread of a stencil run ended',
          { cause }));
        const end = (): void => {
          worker.off('message', done);
          worker.off('error', fail);
          worker.off('exit', fail);
          worker.unref();
        };
        const done = (): void => {
          end();
          resolve();
        };
        worker.once('message', done);
        worker.once('error', fail);
        worker.once('exit', fail);
        worker.postMessage(task);
      });
    }));
  }

  #start(): readonly Worker[] {
    return Array.from({ length: this.threads }, (_, number) => {
      const worker = startThread(new URL('./worker.js', import.meta.url));
      worker.setMaxListeners(0);
      worker.unref();
      worker.postMessage({ plan: this.#plan, number, own: required(this.#own[number]) } satisfies WorkerTask);
      return worker;
    });
  }
}

/** Where the pointers of each stage's buffers are, and to which arrays they point. */
function pointersOf(
  { stages, buffers, limit }: StencilProgram, program: Program, slotOf: (buffer: Buffer) => number,
  places: ReadonlyMap<Level | 'backup' | 'coefficients', number>,
  { size, cells, fields }: { readonly size: number; readonly cells: number; readonly fields: number },
): readonly (readonly Pointer[])[] {
  const known = new Set(program.buffers);
  const stride = fields * cells * size;
  const present = (buffer: Buffer): boolean => known.has(buffer);
  const levels: StageLevels[] = [...levelsOf(stages), ...(limit === undefined ? [] : [{ y: 'state' as const, out: 'state' as const }])];
  return levels.map(({ y, out }) => {
    const group = (list: readonly Buffer[], level: Level | 'coefficients', step: number): Pointer[] =>
      list.filter(present).map((buffer) => ({
      slot: slotOf(buffer), at: required(places.get(level) ?? places.get('state')) + list.indexOf(buffer) * cells * size, stride: step,
    }));
    return [
      ...group(buffers.y, y, stride), ...group(buffers.u, 'state', stride), ...group(buffers.o, out, stride),
      ...group(buffers.a, 'sum', stride), ...group(buffers.c, 'coefficients', 0),
    ];
  });
}
