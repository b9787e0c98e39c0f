// Worker threads for long calls on the CPU. They stay for five idle seconds, and do not keep the process alive.
import type { Worker } from 'node:worker_threads';
import { WarploomError } from '../../core/errors.ts';
import { reasonOf } from '../../core/progress.ts';
import { startThread } from '../../core/thread.ts';
import type { SharedRun } from './worker.ts';
import type { WasmCode } from './wasm-engine.ts';

const idleTime = 5000;
/** Programs that a worker keeps: see worker.ts. */
const mostEngines = 8;

class Thread {
  readonly #worker: Worker;
  /** Programs that it has, the oldest first. */
  readonly #known = new Set<number>();
  isAlive = true;

  constructor() {
    this.#worker = startThread(new URL('./worker.js', import.meta.url), { name: 'warploom kernel' });
    this.#worker.on('exit', () => { this.isAlive = false; });
  }

  run(message: Omit<SharedRun, 'code'>, code: WasmCode): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (reason: unknown): void => {
        settle();
        reject(new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `a worker thread failed: ${String(reason)}`, { cause: reason }));
      };
      const answer = (error: unknown): void => {
        if (error !== undefined) { fail(error); return; }
        settle();
        resolve();
      };
      const exit = (): void => { fail('it ended before its work was done'); };
      const settle = (): void => { this.#worker.off('message', answer).off('error', fail).off('exit', exit); };
      this.#worker.on('message', answer).on('error', fail).on('exit', exit);
      this.#worker.ref();
      const isKnown = this.#known.has(message.id);
      if (!isKnown) {
        const [oldest] = this.#known;
        if (this.#known.size >= mostEngines && oldest !== undefined) this.#known.delete(oldest);
        this.#known.add(message.id);
      }
      this.#worker.postMessage({ ...message, code: isKnown ? undefined : code } satisfies SharedRun);
    });
  }

  rest(): void {
    this.#worker.unref();
  }

  end(): void {
    this.isAlive = false;
    void this.#worker.terminate();
  }
}

const free: Thread[] = [];
let timer: NodeJS.Timeout | undefined;

function takeThread(): Thread {
  for (let thread; (thread = free.pop()) !== undefined;) if (thread.isAlive) return thread;
  return new Thread();
}

/** Runs a program's chunks on worker threads. Rejects with the signal's reason, once the threads have stopped. */
export async function runByThreads(
  message: Omit<SharedRun, 'code'>, code: WasmCode, threads: number, signal: AbortSignal | undefined,
): Promise<void> {
  const crew = Array.from({ length: threads }, takeThread);
  const stop = (): void => { Atomics.store(message.state, 1, 1); };
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const answers = await Promise.allSettled(crew.map((thread) => thread.run(message, code)));
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    if (signal?.aborted === true) throw reasonOf(signal);
  } finally {
    signal?.removeEventListener('abort', stop);
    for (const thread of crew) {
      thread.rest();
      if (thread.isAlive) free.push(thread);
    }
    clearTimeout(timer);
    timer = setTimeout(() => { for (const thread of free.splice(0)) thread.end(); }, idleTime).unref();
  }
}
