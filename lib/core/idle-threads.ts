// Worker threads for work that would keep the calling thread too long or must be stopped in the middle of a loop: each does one task at a
// time, waits a while for the next, and is ended by an abort. The worker's module posts one message when it is ready.
import type { Worker } from 'node:worker_threads';
import { reasonOf } from './progress.ts';
import { startThread } from './thread.ts';

/** Milliseconds after which an idle worker ends. */
const idleTime = 5000;

/** There is no worker thread for this: it is not permitted, or the module is not where it was (bundled programs). */
export class NoWorker extends Error {}

export class IdleThreads<Task, Answer> {
  readonly #module: URL;
  /** The most that wait. */
  readonly #most: number;
  /** The error of a task whose thread ended. */
  readonly #died: (cause: Error) => Error;
  readonly #idle = new Map<Worker, NodeJS.Timeout>();

  constructor(module: URL, most: number, died: (cause: Error) => Error) {
    this.#module = module;
    this.#most = most;
    this.#died = died;
  }

  /** Does a task on a worker thread. Throws {@link NoWorker} where there is none, and the reason of `stop` when that comes. */
  async ask(task: Task, stop?: AbortSignal): Promise<Answer> {
    stop?.throwIfAborted();
    const worker = this.#take() ?? await this.#start();
    try {
      const answer = await this.#answer(worker, task, stop);
      this.#keep(worker);
      return answer;
    } catch (error) {
      void worker.terminate();
      throw error;
    }
  }

  #start(): Promise<Worker> {
    return new Promise((resolve, reject) => {
      const refuse = (cause: unknown): void => { reject(new NoWorker('no worker thread', { cause })); };
      try {
        const worker = startThread(this.#module);
        worker.once('error', refuse);
        worker.once('exit', refuse);
        worker.once('message', () => {
          worker.off('error', refuse);
          worker.off('exit', refuse);
          worker.on('exit', () => { this.#forget(worker); });
          resolve(worker);
        });
      } catch (error) {
        refuse(error);
      }
    });
  }

  #take(): Worker | undefined {
    for (const worker of this.#idle.keys()) {
      this.#forget(worker);
      return worker;
    }
    return undefined;
  }

  #forget(worker: Worker): void {
    clearTimeout(this.#idle.get(worker));
    this.#idle.delete(worker);
  }

  #keep(worker: Worker): void {
    if (this.#idle.size >= this.#most) {
      void worker.terminate();
      return;
    }
    worker.unref();
    this.#idle.set(worker, setTimeout(() => {
      this.#forget(worker);
      void worker.terminate();
    }, idleTime).unref());
  }

  #answer(worker: Worker, task: Task, stop: AbortSignal | undefined): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const listeners = {
        message: (answer: Answer): void => { end(() => { resolve(answer); }); },
        error: (error: Error): void => { end(() => { reject(this.#died(error)); }); },
        exit: (code: number): void => { end(() => { reject(this.#died(new Error(`it ended with ${code}`))); }); },
      };
      const onStop = (): void => { end(() => { if (stop !== undefined) reject(reasonOf(stop)); }); };
      const end = (then: () => void): void => {
        for (const [name, listener] of Object.entries(listeners)) worker.off(name, listener);
        stop?.removeEventListener('abort', onStop);
        then();
      };
      if (stop?.aborted === true) {
        onStop();
        return;
      }
      for (const [name, listener] of Object.entries(listeners)) worker.on(name, listener);
      stop?.addEventListener('abort', onStop, { once: true });
      worker.ref();
      worker.postMessage(task);
    });
  }
}
