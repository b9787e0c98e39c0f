// The pass on a worker thread for long texts, so that the calling thread stays free; short ones take less time than a message.
import type { Worker } from 'node:worker_threads';
import { refusal, WarploomError } from '../core/errors.ts';
import { reasonOf } from '../core/progress.ts';
import { startThread } from '../core/thread.ts';
import type { OptimizeResult, TakenOptimizeOptions } from './options.ts';
import { optimizeModule } from './ptx/optimize.ts';

/** What the worker is told, and what it answers. */
export interface Task {
  readonly text: string;
  readonly options: TakenOptimizeOptions;
}
export type Answer =
  | { readonly kind: 'done'; readonly result: OptimizeResult }
  | { readonly kind: 'refused'; readonly argument: string; readonly expected: string; readonly received: string }
  | { readonly kind: 'failed'; readonly message: string };

/** Texts up to this many characters are treated at once: some tens of milliseconds. */
const shortText = 16_384;
/** Milliseconds after which an idle worker ends. */
const idleTime = 5000;
let idle: { readonly worker: Worker; readonly timer: NodeJS.Timeout } | undefined;

/** A worker; undefined where there can be none: threads are not permitted, or the module is not where it was (bundled programs). */
function take(): Promise<Worker | undefined> {
  if (idle !== undefined) {
    const { worker, timer } = idle;
    clearTimeout(timer);
    idle = undefined;
    return Promise.resolve(worker);
  }
  return new Promise((resolve) => {
    const none = (): void => { resolve(undefined); };
    try {
      const worker = startThread(new URL('./worker.js', import.meta.url));
      worker.once('error', none);
      worker.once('exit', none);
      worker.once('message', () => {
        worker.off('error', none);
        worker.off('exit', none);
        worker.on('exit', () => { forget(worker); });
        resolve(worker);
      });
    } catch {
      none();
    }
  });
}

function forget(worker: Worker): void {
  if (idle?.worker !== worker) return;
  clearTimeout(idle.timer);
  idle = undefined;
}

function keep(worker: Worker): void {
  if (idle !== undefined) {
    void worker.terminate();
    return;
  }
  worker.unref();
  const end = (): void => {
    forget(worker);
    void worker.terminate();
  };
  idle = { worker, timer: setTimeout(end, idleTime).unref() };
}

function ask(worker: Worker, task: Task, signal: AbortSignal | undefined): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const died = (why: unknown): void => {
      end();
      reject(new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `the thread of the pass ended: ${String(why)}`, { cause: why }));
    };
    const listeners = { message: (answer: Answer): void => { end(); resolve(answer); }, error: died, exit: died };
    const stop = (): void => {
      end();
      if (signal !== undefined) reject(reasonOf(signal));
    };
    const end = (): void => {
      for (const [name, listener] of Object.entries(listeners)) worker.off(name, listener);
      signal?.removeEventListener('abort', stop);
    };
    for (const [name, listener] of Object.entries(listeners)) worker.on(name, listener);
    signal?.addEventListener('abort', stop, { once: true });
    worker.ref();
    worker.postMessage(task);
  });
}

/** Treats a module here or on a worker thread. */
export async function optimizeAnywhere(text: string, options: TakenOptimizeOptions): Promise<OptimizeResult> {
  const worker = text.length <= shortText ? undefined : await take();
  if (worker === undefined) return optimizeModule(text, options);
  const { signal, ...others } = options;
  try {
    signal?.throwIfAborted();
    const answer = await ask(worker, { text, options: others }, signal);
    keep(worker);
    if (answer.kind === 'done') return answer.result;
    if (answer.kind === 'refused') throw refusal(answer.argument, answer.expected, answer.received);
    throw new WarploomError('ERR_WARPLOOM_INTERNAL', answer.message);
  } catch (error) {
    if (idle?.worker !== worker) void worker.terminate();
    throw error;
  }
}
