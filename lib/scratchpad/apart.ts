// The pass on a worker thread for long texts, so that the calling thread stays free; short ones take less time than a message.
import { refusal, WarploomError } from '../core/errors.ts';
import { IdleThreads, NoWorker } from '../core/idle-threads.ts';
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

const died = (cause: Error): WarploomError =>
  new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `the thread of the pass ended: ${cause.message}`, { cause });
const threads = new IdleThreads<Task, Answer>(new URL('./worker.js', import.meta.url), 1, died);

/** Treats a module here or on a worker thread. */
export async function optimizeAnywhere(text: string, options: TakenOptimizeOptions): Promise<OptimizeResult> {
  if (text.length <= shortText) return optimizeModule(text, options);
  const { signal, ...others } = options;
  let answer: Answer;
  try {
    answer = await threads.ask({ text, options: others }, signal);
  } catch (error) {
    if (error instanceof NoWorker) return optimizeModule(text, options);
    throw error;
  }
  if (answer.kind === 'done') return answer.result;
  if (answer.kind === 'refused') throw refusal(answer.argument, answer.expected, answer.received);
  throw new WarploomError('ERR_WARPLOOM_INTERNAL', answer.message);
}
