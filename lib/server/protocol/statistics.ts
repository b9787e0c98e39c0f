// Statistics of models, as Triton's statistics extension has them: load generators read them before and after they measure.
import type { Departure } from '../../core/batching/departure.ts';

/** What the requests of one model took, in milliseconds. */
export interface ModelStatistics {
  succeeded: number;
  failed: number;
  /** Launches; those of several calls count in parts. */
  launches: number;
  /** From the request to its answer. */
  success: number;
  fail: number;
  /** Until the launch began, and from there to its results; then to the answer. */
  queue: number;
  compute: number;
  output: number;
  /** When the last one ended, in milliseconds since 1970. */
  last: number;
}

const none = (): ModelStatistics =>
  ({ succeeded: 0, failed: 0, launches: 0, success: 0, fail: 0, queue: 0, compute: 0, output: 0, last: 0 });

/** Statistics by the model's name. */
export type AllStatistics = Readonly<Record<string, ModelStatistics>>;

/** The times of a request, by `performance.now()`. */
export interface Times {
  readonly began: number;
  readonly made: number;
  readonly ended: number;
}

/** Counts the requests of a process. */
export class Statistics {
  readonly #models = new Map<string, ModelStatistics>();

  #of(model: string): ModelStatistics {
    let found = this.#models.get(model);
    if (found === undefined) this.#models.set(model, found = none());
    return found;
  }

  succeeded(model: string, { began, made, ended }: Times, { launched = made, company }: Departure): void {
    const all = this.#of(model);
    all.succeeded += 1;
    all.launches += company === 0 ? 1 : 1 / company;
    all.success += ended - began;
    all.queue += launched - began;
    all.compute += made - launched;
    all.output += ended - made;
    all.last = Date.now();
  }

  failed(model: string, milliseconds: number): void {
    const all = this.#of(model);
    all.failed += 1;
    all.fail += milliseconds;
  }

  all(): AllStatistics {
    return Object.fromEntries(this.#models);
  }
}

/** Those of several processes, added up. */
function added(parts: readonly AllStatistics[], model: string): ModelStatistics {
  const sum = none();
  for (const { [model]: part } of parts) {
    if (part === undefined) continue;
    for (const name of Object.keys(sum) as (keyof ModelStatistics)[]) {
      sum[name] = name === 'last' ? Math.max(sum.last, part.last) : sum[name] + part[name];
    }
  }
  return sum;
}

/** The answer about one model. Inputs are read while a call waits. */
export function describedStatistics(parts: readonly AllStatistics[], name: string, version: string): object {
  const { succeeded, failed, launches, success, fail, queue, compute, output, last } = added(parts, name);
  const spent = (count: number, milliseconds: number): object => ({ count, ns: Math.round(1e6 * milliseconds) });
  return {
    name, version, last_inference: last, inference_count: succeeded, execution_count: Math.round(launches),
    inference_stats: {
      success: spent(succeeded, success), fail: spent(failed, fail), queue: spent(succeeded, queue), compute_input: spent(succeeded, 0),
      compute_infer: spent(succeeded, compute), compute_output: spent(succeeded, output), cache_hit: spent(0, 0), cache_miss: spent(0, 0),
    },
    batch_stats: [],
  };
}
