// Worker threads that run one generated program, kept for a while after a run: their code is warm then.
import { keptAs } from '../emit/dialect-js.ts';
import { Worker } from 'node:worker_threads';
import { WarploomError } from '../../core/errors.ts';
import type { JsProgram } from '../emit/emit-js.ts';
import { placesOf, type Kind } from '../emit/layout.ts';
import type { LaunchPlan } from '../emit/launches.ts';
import type { CoreSlice } from '../partition/cores.ts';
import type { Step } from '../schedule/index.ts';
import type { ArrayDeclaration } from '../emit/program.ts';
import type { ProgramPlan } from '../emit/plan.ts';
import type { Scalars } from './streams.ts';
import { workerText } from './worker-text.ts';

/** Milliseconds after which idle workers end. */
const idleTime = 5000;

export type Printed = readonly [site: number, values: readonly number[]];
/** What a worker answers. Printed values before, in and after launches stand between marks. */
export interface Done { readonly kind: 'done'; readonly printed: readonly (Printed | undefined)[]; readonly milliseconds: number }
/** `order`: where others may yet meet an earlier fault: number of the piece, or iteration, group and first of its iterations. */
export interface Faulty { readonly kind: 'fault'; readonly site: number; readonly value: number; readonly order?: readonly number[] }
export type Answer = Done | Faulty | { readonly kind: 'failed'; readonly message: string };

/** What one worker is told to do in a run. */
export interface Part {
  /** Of the piece or core. */
  readonly number: number;
  /** The run ends when so many are printed; by site: how many one print ends; printed values that are too many. */
  readonly lines: number;
  readonly linesOf: readonly number[];
  readonly mostPrinted: number;
  readonly external: readonly Scalars[];
  readonly ix: Int32Array;
  readonly seed: number;
  readonly turns: number;
  readonly init: readonly Step[];
  readonly steadyStates: number;
  readonly tail: readonly Step[];
  /** Of launches. */
  readonly iterations: number;
  readonly launch?: Omit<LaunchPlan, 'programs' | 'capacities'> & { readonly slices: readonly CoreSlice[] };
}

export function shared(kind: Kind, length: number): Scalars {
  const buffer = new SharedArrayBuffer(length * (kind === 'd' ? 8 : 4));
  return kind === 'i' ? new Int32Array(buffer) : kind === 'f' ? new Float32Array(buffer) : new Float64Array(buffer);
}

/** What an array holds at the start of a run. */
function startOf(plan: ProgramPlan, { role, channel, initial, kind }: ArrayDeclaration): readonly number[] {
  if (role !== 'channel') return initial ?? [];
  return plan.graph.channels[channel!]!.initial.flatMap(({ type, numbers }) =>
    placesOf(type).flatMap((place, i) => (place.kind === kind ? [numbers[i] ?? 0] : [])));
}

/** What all workers of a crew have from their start. In launches they share channels and state. */
function commonData({ text, source }: JsProgram, threads: number, isSharing: boolean) {
  const { plan } = text;
  const nodes = plan.graph.nodes.length, ends = 2 * (plan.graph.channels.length + plan.externals.length);
  const numbers = (length: number) => (isSharing ? shared('i', length) : new Int32Array(length));
  return {
    source, threads, ends, channels: plan.graph.channels.length, multiplicity: plan.multiplicity,
    iterations: plan.groups.map(({ iterations }) => iterations), it: numbers(nodes), rs: numbers(nodes),
    gate: shared('i', 2), stops: shared('d', threads), end: shared('d', 1), base: shared('i', ends),
    arrays: text.arrays.map((each) => ({
      name: each.name, kind: keptAs[each.kind], role: each.role, length: each.length, initial: startOf(plan, each),
      channel: each.channel ?? -1, stride: each.stride ?? 0,
      ...(isSharing && each.role !== 'table' ? { shared: shared(keptAs[each.kind], each.length) } : {}),
    })),
  };
}

/** Workers that know a program. */
class Crew {
  readonly program: JsProgram;
  readonly size: number;
  readonly #workers: readonly Worker[];
  isAlive = true;
  timer: NodeJS.Timeout | undefined;

  constructor(program: JsProgram, size: number, isSharing: boolean) {
    this.program = program;
    this.size = size;
    const workerData = commonData(program, size, isSharing);
    this.#workers = Array.from({ length: size }, () => new Worker(workerText, { eval: true, workerData, execArgv: [], stderr: false }));
    for (const worker of this.#workers) {
      for (const what of ['error', 'exit']) worker.on(what, () => { this.isAlive = false; });
    }
  }

  /** All answers; rejects as soon as a worker cannot give one, or with the signal's reason. */
  async run(parts: readonly Part[], signal: AbortSignal): Promise<(Done | Faulty)[]> {
    const ends = new AbortController();
    try {
      return await Promise.all(this.#workers.map((worker, i) => this.#ask(worker, parts[i]!, signal, ends.signal)));
    } finally {
      ends.abort();
    }
  }

  #ask(worker: Worker, part: Part, signal: AbortSignal, ends: AbortSignal): Promise<Done | Faulty> {
    return new Promise((resolve, reject) => {
      const listeners = {
        message: (answer: Answer): void => {
          if (answer.kind === 'failed') fail(`a worker failed: ${answer.message}`);
          // The others may wait for this one.
          else if (answer.kind === 'fault' && answer.order === undefined) reject(new FirstFault(answer));
          else resolve(answer);
        },
        error: (error: Error): void => { fail(`a worker died: ${error.message}`); },
        exit: (code: number): void => { fail(`a worker ended with ${code} before its work was done`); },
      };
      const fail = (message: string): void => { reject(new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', message)); };
      for (const [name, listener] of Object.entries(listeners)) worker.on(name, listener);
      ends.addEventListener('abort', () => {
        for (const [name, listener] of Object.entries(listeners)) worker.off(name, listener);
      }, { once: true });
      signal.addEventListener('abort', () => { reject(reasonOf(signal)); }, { once: true, signal: ends });
      worker.ref();
      worker.postMessage(part);
    });
  }

  /** Lets the process end although the workers wait. */
  rest(): void {
    for (const worker of this.#workers) worker.unref();
  }

  async end(): Promise<void> {
    this.isAlive = false;
    clearTimeout(this.timer);
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}

function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

/** A fault before or after launches: there is none before it. */
export class FirstFault extends Error {
  readonly fault: Faulty;

  constructor(fault: Faulty) {
    super('fault');
    this.fault = fault;
  }
}

/** The crews of a compiled program that have nothing to do. */
export class Crews {
  readonly #idle = new Set<Crew>();

  /** Runs the parts by a crew that knows the program, or a new one. */
  async run(program: JsProgram, parts: readonly Part[], signal: AbortSignal): Promise<(Done | Faulty)[]> {
    const crew = this.#take(program, parts.length) ?? new Crew(program, parts.length, parts[0]!.launch !== undefined);
    try {
      const answers = await crew.run(parts, signal);
      this.#keep(crew);
      return answers;
    } catch (error) {
      await crew.end();
      throw error;
    }
  }

  #take(program: JsProgram, size: number): Crew | undefined {
    for (const crew of this.#idle) {
      if (crew.isAlive && (crew.program !== program || crew.size !== size)) continue;
      this.#idle.delete(crew);
      clearTimeout(crew.timer);
      if (crew.isAlive) return crew;
    }
    return undefined;
  }

  #keep(crew: Crew): void {
    crew.rest();
    this.#idle.add(crew);
    crew.timer = setTimeout(() => {
      this.#idle.delete(crew);
      void crew.end();
    }, idleTime).unref();
  }
}
