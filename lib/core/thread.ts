// Worker threads and processes whose code is a module of the library, compiled or in its source form.
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** Whether there are worker threads: not in a page. */
export const hasThreads = typeof Worker === 'function';

const isSource = import.meta.url.endsWith('.ts');
/** Lets a worker load TypeScript, because workers do not inherit their parent's loader. */
const loader = new URL('../../scripts/register-tsx.mjs', import.meta.url);

const flags = isSource ? ['--import', loader.href] : [];
const codeOf = (module: URL): URL => (isSource ? new URL(module.href.replace(/\.js$/, '.ts')) : module);

/**
 * Starts a worker thread, without the command line's flags.
 * @param module its compiled code, `new URL('./worker.js', import.meta.url)`
 */
export function startThread(module: URL, options: Omit<WorkerOptions, 'eval' | 'execArgv'> = {}): Worker {
  return new Worker(codeOf(module), { ...options, execArgv: flags });
}

/**
 * Starts a process that exchanges messages with this one, without the command line's flags. What it prints goes to the standard error.
 * @param module its compiled code, `new URL('./process.js', import.meta.url)`
 */
export function startProcess(module: URL): ChildProcess {
  return fork(fileURLToPath(codeOf(module)), [], { serialization: 'advanced', execArgv: flags, stdio: ['ignore', 2, 2, 'ipc'] });
}

/** Settings of node:cluster for workers with such code: the same flags, and what they print where this process prints. */
export function clusterOf(module: URL): { exec: string; args: string[]; execArgv: string[] } {
  return { exec: fileURLToPath(codeOf(module)), args: [], execArgv: flags };
}
