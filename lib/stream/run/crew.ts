// Worker threads that run compiled programs. Starting a thread takes longer than most runs, so threads are kept for a while after a run:
// with their program, whose code is already optimised, or for other programs.
import type { Worker } from 'node:worker_threads';
import { UnavailableError, WarploomError } from '../../core/errors.ts';
import { startThread } from '../../core/thread.ts';
import type { LoweredProgram } from '../lower/program.ts';
import { reasonOf } from '../../core/progress.ts';
import type { Answer, Done, Faulty } from './answers.ts';
import { commonData, type CommonData, type MachineRun } from './common.ts';
import type { WorkerTask } from './worker.ts';
import { wayNumbers } from './words.ts';

/** Milliseconds after which idle workers end. */
const idleTime = 5000;
/** How many programs idle workers keep, and how many workers without a program are kept. */
const mostPrograms = 2;
const mostFree = 8;

const noModule = 'long runs need worker threads, whose module is not where it was in the package: leave the package out of bundles';

/** A fault before or after the launches: no other can precede it. */
export class FirstFault extends Error {
  readonly fault: Faulty;

  constructor(fault: Faulty) {
    super('fault');
    this.fault = fault;
  }
}

/** One worker. */
class Thread {
  readonly #worker: Worker;
  isAlive = true;

  constructor() {
    try {
      this.#worker = startThread(new URL('./worker.js', import.meta.url));
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ERR_ACCESS_DENIED') throw cause;
      throw new UnavailableError('long runs need worker threads, which this process may not start: give Node --allow-worker', { cause });
    }
    for (const what of ['error', 'exit']) this.#worker.on(what, () => { this.isAlive = false; });
  }

  /** The worker's answer. `ends` receives the function that removes the listeners. */
  ask(task: WorkerTask, ends: (() => void)[]): Promise<Done | Faulty> {
    return new Promise((resolve, reject) => {
      const listeners = {
        message: (answer: Answer): void => {
          if (answer.kind === 'failed') fail(`a worker failed: ${answer.message}`);
          // Do not wait for the others: they may be waiting for this one.
          else if (answer.kind === 'fault' && answer.order === undefined) reject(new FirstFault(answer));
          else resolve(answer as Done | Faulty);
        },
        error: (cause: NodeJS.ErrnoException): void => {
          if (cause.code === 'ERR_MODULE_NOT_FOUND') reject(new UnavailableError(noModule, { cause }));
          else fail(`a worker died: ${cause.message}`);
        },
        exit: (code: number): void => { fail(`a worker ended with ${code} before its work was done`); },
      };
      const fail = (message: string): void => { reject(new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', message)); };
      for (const [name, listener] of Object.entries(listeners)) this.#worker.on(name, listener);
      ends.push(() => { for (const [name, listener] of Object.entries(listeners)) this.#worker.off(name, listener); });
      this.#worker.ref();
      this.#worker.postMessage(task);
    });
  }

  /** Lets the process exit while the worker is idle. */
  rest(): void {
    this.#worker.unref();
  }

  /** Makes it release its program. */
  forget(): void {
    this.#worker.postMessage({} satisfies WorkerTask);
  }

  async end(): Promise<void> {
    this.isAlive = false;
    await this.#worker.terminate();
  }
}

/** Threads without a program. */
const free: Thread[] = [];

function takeThread(): Thread {
  for (let thread; (thread = free.pop()) !== undefined;) if (thread.isAlive) return thread;
  return new Thread();
}

/** Threads that have loaded a program. */
class Crew {
  readonly program: LoweredProgram;
  readonly threads: readonly Thread[];
  readonly #common: CommonData;
  #isTold = false;

  constructor(program: LoweredProgram, size: number, isSharing: boolean) {
    this.program = program;
    this.#common = commonData(program, size, isSharing);
    this.threads = Array.from({ length: size }, takeThread);
  }

  get isAlive(): boolean {
    return this.threads.every((thread) => thread.isAlive);
  }

  /** All answers. Rejects as soon as a worker cannot give one, or with the signal's reason. */
  async run(run: MachineRun, signal: AbortSignal, conduct?: Conduct): Promise<(Done | Faulty)[]> {
    signal.throwIfAborted();
    const ends: (() => void)[] = [];
    this.#common.gate.fill(0);
    const stopped = new Promise<never>((_resolve, reject) => {
      const stop = (): void => { reject(reasonOf(signal)); };
      signal.addEventListener('abort', stop, { once: true });
      ends.push(() => { signal.removeEventListener('abort', stop); });
    });
    const common = this.#isTold ? undefined : this.#common;
    this.#isTold = true;
    try {
      const answers = this.threads.map((thread, number) => thread.ask({ program: common && { common, number }, run }, ends));
      const conducted = conduct?.(this.#common);
      return await Promise.race([Promise.all([Promise.all(answers), conducted]).then(([all]) => all), stopped]);
    } finally {
      for (const end of ends) end();
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.end()));
  }
}

/** Idle crews, the longest idle first. */
const idle = new Set<Crew>();
let timer: NodeJS.Timeout | undefined;

/** An idle crew of this size that has loaded the program. */
function takeCrew(program: LoweredProgram, size: number): Crew | undefined {
  for (const crew of idle) {
    if (crew.program !== program || crew.threads.length !== size) continue;
    idle.delete(crew);
    if (crew.isAlive) return crew;
  }
  return undefined;
}

function keepCrew(crew: Crew): void {
  for (const thread of crew.threads) thread.rest();
  idle.add(crew);
  for (const other of idle) {
    if (idle.size <= mostPrograms) break;
    disband(other);
  }
  clearTimeout(timer);
  timer = setTimeout(endIdle, idleTime).unref();
}

/** Releases its threads for other programs. */
function disband(crew: Crew): void {
  idle.delete(crew);
  for (const thread of crew.threads) {
    if (free.length >= mostFree) void thread.end();
    else if (thread.isAlive) {
      thread.forget();
      free.push(thread);
    }
  }
}

function endIdle(): void {
  for (const each of [...idle, ...free.splice(0)]) void each.end();
  idle.clear();
}

/** What the calling thread does while workers run: it meets them at their barriers, and has their memory. */
export type Conduct = (common: CommonData) => Promise<void>;

/** Runs a program on `size` workers. */
export async function runByCrew(
  program: LoweredProgram, size: number, run: MachineRun, signal: AbortSignal, conduct?: Conduct,
): Promise<(Done | Faulty)[]> {
  const crew = takeCrew(program, size) ?? new Crew(program, size, run.way === wayNumbers.launches);
  try {
    const answers = await crew.run(run, signal, conduct);
    keepCrew(crew);
    return answers;
  } catch (error) {
    const ending = crew.end();
    // Who stops a run does not wait until the system has ended the threads: they share nothing with later runs.
    if (signal.aborted) ending.catch(() => undefined);
    else await ending;
    throw error;
  }
}
