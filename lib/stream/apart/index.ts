// The interpreter, the elaborator and the printer of kernels on worker threads: the calling thread stays free, and what they do can be
// ended in the middle of a loop.
import { WarploomError } from '../../core/errors.ts';
import { IdleThreads } from '../../core/idle-threads.ts';
import type { Program } from '../ast.ts';
import type { ElaborateOptions } from '../elaborate/index.ts';
import type { StreamGraph } from '../graph.ts';
import { StreamRunError } from '../interpret/error.ts';
import type { InterpretOptions } from '../interpret/options.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import type { FusedOptions } from '../targets/cuda-layout.ts';

/** What the worker is told; options: what can be sent to another thread. */
export type Task =
  | { readonly kind: 'interpret'; readonly graph: StreamGraph; readonly options: InterpretOptions }
  /** Up to `most` scalars of each channel. */
  | { readonly kind: 'record'; readonly graph: StreamGraph; readonly options: InterpretOptions; readonly most: number }
  | { readonly kind: 'elaborate'; readonly program: Program; readonly options: ElaborateOptions }
  /** A graph in one layout, as text. Tasks with the same number are about the same graph, which never changes. */
  | { readonly kind: 'print'; readonly graph: StreamGraph; readonly number: number | undefined; readonly options: FusedOptions };

export type Answer =
  | { readonly kind: 'done'; readonly made: unknown }
  | { readonly kind: 'fault'; readonly message: string; readonly details: ConstructorParameters<typeof StreamRunError>[1] }
  | { readonly kind: 'unsupported'; readonly reason: string }
  | { readonly kind: 'failed'; readonly message: string; readonly isMemory: boolean };

export { NoWorker } from '../../core/idle-threads.ts';

function died(cause: Error): WarploomError {
  const isMemory = (cause as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
  return new WarploomError(isMemory ? 'ERR_WARPLOOM_OUT_OF_MEMORY' : 'ERR_WARPLOOM_SYSTEM_FAILED',
    `a thread of the stream compiler ended unexpectedly: ${cause.message}`, { cause });
}

const module = new URL('./worker.js', import.meta.url);
const threads = new IdleThreads<Task, Answer>(module, 2, died);
/** Searches for layouts print many at once, and the next program's soon after. */
const printers = new IdleThreads<Task, Answer>(module, 8, died);

/** Does a task on a worker thread. Throws {@link NoWorker} where there is none, the reason of `stop` when that comes. */
export async function apart<T>(task: Task, stop: AbortSignal): Promise<T> {
  const answer = await (task.kind === 'print' ? printers : threads).ask(task, stop);
  if (answer.kind === 'unsupported') throw new UnsupportedProgram(answer.reason);
  if (answer.kind === 'fault') throw new StreamRunError(answer.message, answer.details);
  if (answer.kind === 'failed') {
    throw new WarploomError(answer.isMemory ? 'ERR_WARPLOOM_OUT_OF_MEMORY' : 'ERR_WARPLOOM_INTERNAL', answer.message);
  }
  return answer.made as T;
}
