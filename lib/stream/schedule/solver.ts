// HiGHS (WebAssembly) in a worker thread, because solving would block the caller's thread.
import type { Worker } from 'node:worker_threads';
import { abortSignal, number } from '../../core/checks.ts';
import { UnavailableError } from '../../core/errors.ts';
import { startThread } from '../../core/thread.ts';
import type { LinearModel } from './lp.ts';
import type { SolverAnswer, SolverTask } from './solver-worker.ts';

/** The outcome for a model. `feasible`: time ran out with a solution; `unknown`: without one. */
export interface Solution {
  readonly status: 'optimal' | 'feasible' | 'infeasible' | 'unknown';
  /** By variable number; empty without a solution. Binaries and integers are rounded. */
  readonly values: readonly number[];
  /** Duration of the solve in seconds, as the caller sees it. */
  readonly seconds: number;
}

/** Limits of one solve. */
export interface SolveOptions {
  /** Time limit in seconds, default 60; the solver is terminated soon after. */
  readonly seconds?: number;
  /** Relative gap at which a solution counts as optimal; default 1e-6. */
  readonly gap?: number;
  readonly signal?: AbortSignal;
}

export const solveChecks = { seconds: number({ least: 0 }), gap: number({ least: 0 }), signal: abortSignal };

/** Violations of a row, bound or integrality constraint up to this size are attributed to rounding. */
const kTolerance = 1e-5;

/** Solves several models in sequence. Dispose of it when done. */
export class Solver {
  private worker: Worker | undefined;

  private open(): Worker {
    return this.worker ??= startThread(new URL('./solver-worker.js', import.meta.url), { stdout: true, stderr: true });
  }

  /**
   * Solves a model. A solution that violates one of its rows is rejected: the status is then `unknown`. Throws {@link UnavailableError} if
   * HiGHS cannot be loaded or fails, and the reason of `signal` if that is aborted.
   */
  async solve(model: LinearModel, { seconds = 60, gap = 1e-6, signal }: SolveOptions = {}): Promise<Solution> {
    signal?.throwIfAborted();
    const start = performance.now();
    const options = { time_limit: seconds, mip_rel_gap: gap, output_flag: false, log_to_console: false };
    const answer = await this.ask({ text: model.text(), options }, 1000 * (seconds + Math.max(2, 0.2 * seconds)), signal);
    const elapsed = (performance.now() - start) / 1000;
    return { ...readAnswer(model, answer), seconds: elapsed };
  }

  /** Sends a model; undefined: no answer in time. The worker keeps the process alive only until then. */
  private ask(message: SolverTask, milliseconds: number, signal: AbortSignal | undefined): Promise<SolverAnswer | undefined> {
    const worker = this.open();
    worker.ref();
    return new Promise((resolve, reject) => {
      const settle = (endsWorker: boolean, finish: () => void): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        worker.off('message', onMessage).off('error', onError).off('exit', onExit).unref();
        if (endsWorker) {
          this.worker = undefined;
          void worker.terminate();
        }
        finish();
      };
      const onMessage = (answer: SolverAnswer): void => settle(false, () => resolve(answer));
      const onError = (cause: Error): void =>
        settle(true, () => reject(new UnavailableError(`the solver HiGHS failed: ${cause.message}`, { cause })));
      const onExit = (): void => settle(true, () => reject(new UnavailableError('the solver HiGHS ended by itself')));
      const onAbort = (): void => settle(true, () => reject(signal?.reason));
      const timer = setTimeout(() => settle(true, () => resolve(undefined)), milliseconds);
      signal?.addEventListener('abort', onAbort, { once: true });
      worker.on('message', onMessage).on('error', onError).on('exit', onExit);
      worker.postMessage(message);
    });
  }

  /** Ends the solver's thread. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { worker } = this;
    this.worker = undefined;
    await worker?.terminate();
  }
}

function readAnswer(model: LinearModel, answer: SolverAnswer | undefined): Omit<Solution, 'seconds'> {
  if (answer?.error !== undefined) throw new UnavailableError(`the solver HiGHS failed: ${answer.error}`);
  const { Status: status = '', Columns: columns = {} } = answer?.solution ?? {};
  if (status === 'Infeasible') return { status: 'infeasible', values: [] };
  const values = Array.from({ length: model.variableCount }, (_, at) => columns[`x${at}`]?.Primal ?? (status === 'Optimal' ? 0 : NaN));
  if (model.violation(values) > kTolerance) return { status: 'unknown', values: [] };
  return { status: status === 'Optimal' ? 'optimal' : 'feasible', values };
}
