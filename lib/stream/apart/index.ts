// The interpreter and the elaborator on a worker thread: the calling thread stays free, and what they do can be ended in the middle of
// a loop.
import type { Worker } from 'node:worker_threads';
import { WarploomError } from '../../core/errors.ts';
import { startThread } from '../../core/thread.ts';
import type { Program } from '../ast.ts';
import type { ElaborateOptions } from '../elaborate/index.ts';
import type { StreamGraph } from '../graph.ts';
import { StreamRunError } from '../interpret/error.ts';
import type { InterpretOptions } from '../interpret/options.ts';
import { reasonOf } from '../../core/progress.ts';

/** What the worker is told; options: what can be sent to another thread. */
export type Task =
  | { readonly kind: 'interpret'; readonly graph: StreamGraph; readonly options: InterpretOptions }
  /** Up to `most` scalars of each channel. */
  | { readonly kind: 'record'; readonly graph: StreamGraph; readonly options: InterpretOptions; readonly most: number }
  | { readonly kind: 'elaborate'; readonly program: Program; readonly options: ElaborateOptions };

export type Answer =
  | { readonly kind: 'done'; readonly made: unknown }
  | { readonly kind: 'fault'; readonly message: string; readonly details: ConstructorParameters<typeof StreamRunError>[1] }
  | { readonly kind: 'failed'; readonly message: string; readonly isMemory: boolean };

/** Milliseconds after which an idle worker ends, and the most that wait. */
const idleTime = 5000;
const mostIdle = 2;
const idle = new Set<Worker>();
const timers = new WeakMap<Worker, NodeJS.Timeout>();

/** There is no worker thread for this: it is not permitted, or the module is not where it was (bundled programs). */
export class NoWorker extends Error {}

function start(): Promise<Worker> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: unknown): void => { reject(new NoWorker('no worker thread', { cause })); };
    try {
      const worker = startThread(new URL('./worker.js', import.meta.url));
      worker.once('error', refuse);
      worker.once('exit', refuse);
      worker.once('message', () => {
        worker.off('error', refuse);
        worker.off('exit', refuse);
        worker.on('exit', () => { idle.delete(worker); });
        resolve(worker);
      });
    } catch (error) {
      refuse(error);
    }
  });
}

function take(): Worker | undefined {
  for (const worker of idle) {
    idle.delete(worker);
    clearTimeout(timers.get(worker));
    return worker;
  }
  return undefined;
}

function keep(worker: Worker): void {
  if (idle.size >= mostIdle) {
    void worker.terminate();
    return;
  }
  worker.unref();
  idle.add(worker);
  timers.set(worker, setTimeout(() => {
    idle.delete(worker);
    void worker.terminate();
  }, idleTime).unref());
}

function ask(worker: Worker, task: Task, stop: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const onStop = (): void => { end(() => { reject(reasonOf(stop)); }); };
    const listeners = {
      message: (answer: Answer): void => { end(() => { resolve(answer); }); },
      error: (error: Error): void => { end(() => { reject(died(error)); }); },
      exit: (code: number): void => { end(() => { reject(died(new Error(`it ended with ${code}`))); }); },
    };
    const end = (then: () => void): void => {
      for (const [name, listener] of Object.entries(listeners)) worker.off(name, listener);
      stop.removeEventListener('abort', onStop);
      then();
    };
    if (stop.aborted) {
      onStop();
      return;
    }
    for (const [name, listener] of Object.entries(listeners)) worker.on(name, listener);
    stop.addEventListener('abort', onStop, { once: true });
    worker.ref();
    worker.postMessage(task);
  });
}

function died(cause: Error): WarploomError {
  const isMemory = (cause as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
  return new WarploomError(isMemory ? 'ERR_WARPLOOM_OUT_OF_MEMORY' : 'ERR_WARPLOOM_SYSTEM_FAILED',
    `the interpreter's thread ended unexpectedly: ${cause.message}`, { cause });
}

/** Does a task on a worker thread. Throws {@link NoWorker} where there is none, the reason of `stop` when that comes. */
export async function apart<T>(task: Task, stop: AbortSignal): Promise<T> {
  const worker = take() ?? await start();
  try {
    const answer = await ask(worker, task, stop);
    keep(worker);
    if (answer.kind === 'fault') throw new StreamRunError(answer.message, answer.details);
    if (answer.kind === 'failed') {
      throw new WarploomError(answer.isMemory ? 'ERR_WARPLOOM_OUT_OF_MEMORY' : 'ERR_WARPLOOM_INTERNAL', answer.message);
    }
    return answer.made as T;
  } catch (error) {
    if (!idle.has(worker)) void worker.terminate();
    throw error;
  }
}
