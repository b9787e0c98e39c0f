// Worker threads whose code is a module of the library, compiled or in its source form.
import { Worker, type WorkerOptions } from 'node:worker_threads';

const isSource = import.meta.url.endsWith('.ts');
/** Lets a worker load TypeScript, because workers do not inherit their parent's loader. */
const loader = new URL('../../scripts/register-tsx.mjs', import.meta.url);

/**
 * Starts a worker thread, without the command line's flags.
 * @param module its compiled code, `new URL('./worker.js', import.meta.url)`
 */
export function startThread(module: URL, options: Omit<WorkerOptions, 'eval' | 'execArgv'> = {}): Worker {
  if (!isSource) return new Worker(module, { ...options, execArgv: [] });
  return new Worker(new URL(module.href.replace(/\.js$/, '.ts')), { ...options, execArgv: ['--import', loader.href] });
}
