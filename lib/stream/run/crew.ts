// Worker threads that run one generated program, kept for a while after a run: their code is warm then.
import { Worker } from 'node:worker_threads';
import { UnavailableError, WarploomError } from '../../core/errors.ts';
import type { LoweredProgram } from '../lower/program.ts';
import { reasonOf } from '../stop.ts';
import { commonData, type Answer, type CommonData, type Done, type Faulty, type Part, type SharedInts } from './machine.ts';
import { workerText } from './worker-text.ts';

/** Milliseconds after which idle workers end. */
const idleTime = 5000;

function startWorker(workerData: CommonData): Worker {
  try {
    return new Worker(workerText, { eval: true, workerData, execArgv: [], stderr: false });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_ACCESS_DENIED') throw cause;
    throw new UnavailableError('long runs need worker threads, which this process may not start: give Node --allow-worker', { cause });
  }
}

/** Workers that know a program. */
class Crew {
  readonly program: LoweredProgram;
  readonly size: number;
  readonly #workers: readonly Worker[];
  readonly #gate: SharedInts;
  isAlive = true;
  timer: NodeJS.Timeout | undefined;

  constructor(program: LoweredProgram, size: number, isSharing: boolean) {
    this.program = program;
    this.size = size;
    const workerData = commonData(program, size, isSharing);
    this.#gate = workerData.gate;
    this.#workers = Array.from({ length: size }, () => startWorker(workerData));
    for (const worker of this.#workers) {
      for (const what of ['error', 'exit']) worker.on(what, () => { this.isAlive = false; });
    }
  }

  /** All answers; rejects as soon as a worker cannot give one, or with the signal's reason. `parts`: of each worker. */
  async run(parts: readonly (readonly Part[])[], signal: AbortSignal): Promise<(Done | Faulty)[]> {
    signal.throwIfAborted();
    const ends: (() => void)[] = [];
    this.#gate.fill(0);
    const stopped = new Promise<never>((_resolve, reject) => {
      const stop = (): void => { reject(reasonOf(signal)); };
      signal.addEventListener('abort', stop, { once: true });
      ends.push(() => { signal.removeEventListener('abort', stop); });
    });
    try {
      const answers = Promise.all(this.#workers.map((worker, i) => this.#ask(worker, parts[i]!, ends)));
      return (await Promise.race([answers, stopped])).flat();
    } finally {
      for (const end of ends) end();
    }
  }

  /** `ends`: gets what takes the listeners away. */
  #ask(worker: Worker, parts: readonly Part[], ends: (() => void)[]): Promise<(Done | Faulty)[]> {
    return new Promise((resolve, reject) => {
      const listeners = {
        message: (answers: Answer[]): void => {
          for (const answer of answers) {
            if (answer.kind === 'failed') fail(`a worker failed: ${answer.message}`);
            // The others may wait for this one.
            else if (answer.kind === 'fault' && answer.order === undefined) reject(new FirstFault(answer));
          }
          resolve(answers as (Done | Faulty)[]);
        },
        error: (error: Error): void => { fail(`a worker died: ${error.message}`); },
        exit: (code: number): void => { fail(`a worker ended with ${code} before its work was done`); },
      };
      const fail = (message: string): void => { reject(new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', message)); };
      for (const [name, listener] of Object.entries(listeners)) worker.on(name, listener);
      ends.push(() => { for (const [name, listener] of Object.entries(listeners)) worker.off(name, listener); });
      worker.ref();
      worker.postMessage(parts);
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
  async run(program: LoweredProgram, parts: readonly (readonly Part[])[], signal: AbortSignal): Promise<(Done | Faulty)[]> {
    const crew = this.#take(program, parts.length) ?? new Crew(program, parts.length, parts[0]![0]!.launch !== undefined);
    try {
      const answers = await crew.run(parts, signal);
      this.#keep(crew);
      return answers;
    } catch (error) {
      await crew.end();
      throw error;
    }
  }

  #take(program: LoweredProgram, size: number): Crew | undefined {
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
