// Child processes with limits on time and memory and a minimal environment.
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import type { Socket } from 'node:net';
import { setPriority } from 'node:os';
import type { Readable } from 'node:stream';
import { WarploomError } from '../errors.ts';
import { log } from '../log.ts';
import { reasonOf } from '../progress.ts';
import { systemError } from './cache.ts';

export interface ChildResult {
  /** Exit status; undefined if it was ended by a signal. */
  readonly code: number | undefined;
  /** How it ended, in words. */
  readonly reason: string;
  readonly stderr: string;
  /** Its standard output, if requested. */
  readonly stdout: string;
}

/** Limit on the characters of output that are kept. */
const mostMessages = 65_536;

/** Default limit on the address space of compilers and compiled programs, in bytes. */
export const childMemory = 16 * 2 ** 30;

export interface ChildOptions {
  readonly cwd: string;
  /** Time limit in milliseconds. */
  readonly timeout: number;
  /** The complete environment. Default: only the language. */
  readonly env?: Readonly<Record<string, string>>;
  /** Limit on the address space in bytes; default {@link childMemory}. Not enforced on Windows. */
  readonly memory?: number;
  readonly signal?: AbortSignal;
  /** Whether to collect standard output. */
  readonly output?: boolean;
  /** Whether it gives way to other programs, and to the end of this process. */
  readonly isBackground?: boolean;
}

/**
 * Starts the program through a shell that sets the memory limit and then replaces itself with it. Arguments are passed on, never parsed.
 */
function limited(path: string, args: readonly string[], bytes: number): readonly [string, readonly string[]] {
  if (process.platform === 'win32') return [path, args];
  return ['/bin/sh', ['-c', 'ulimit -v "$0" || exit 126; exec "$@"', String(Math.floor(bytes / 1024)), path, ...args]];
}

/** The environment of a child: the given variables, the plain language, and the search paths of libraries in unusual places. */
export function childEnvironment(given: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { ...kept(['LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'SystemRoot']), LANG: 'C', LC_ALL: 'C', ...given };
}

/** Those of this process's variables that are set. */
export function kept(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));
}

function started<T>(start: () => T): T {
  try {
    return start();
  } catch (error) {
    throw systemError('start a program', error);
  }
}

/** Collects the beginning of what arrives through a pipe. */
function collect(pipe: Readable | null): () => string {
  let all = '';
  pipe?.setEncoding('utf8').on('data', (text: string) => { if (all.length < mostMessages) all += text; });
  return () => all;
}

/** How to stop the running children: none may outlive this process. */
const running = new Set<() => void>();
process.on('exit', () => { for (const stop of running) stop(); });

/** A child process that has just been started. */
export interface StartedChild {
  readonly child: ChildProcess;
  /** Kills it and the processes that it started. */
  readonly stop: () => void;
  /** To be called once, when it has ended. */
  readonly ended: () => void;
}

/** Starts a program with limited memory, which does not outlive this process. */
export function startChild(
  path: string, args: readonly string[], { cwd, env, memory = childMemory }: Pick<ChildOptions, 'cwd' | 'env' | 'memory'>,
  stdio: StdioOptions,
): StartedChild {
  const isGroup = process.platform !== 'win32';
  const child = started(() => spawn(...limited(path, args, memory), {
    cwd, env: childEnvironment(env), stdio, windowsHide: true, detached: isGroup,
  }));
  const stop = (): void => {
    // A compiler consists of several processes: kill its whole group.
    if (isGroup && child.pid !== undefined) killGroup(child.pid);
    else child.kill('SIGKILL');
  };
  running.add(stop);
  return { child, stop, ended: () => { running.delete(stop); } };
}

/** How a child ended, in words. */
export function endOf(code: number | null, killed: NodeJS.Signals | null, memory = childMemory): string {
  return killed === null ? `ended with ${code}` : `died by ${killed}; it may take ${(memory / 2 ** 30).toPrecision(3)} GiB of memory`;
}

/** The error for a program that cannot be started. */
export function cannotRun(path: string, error: Error): WarploomError {
  return new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `${path} cannot be run: ${error.message}`, { cause: error });
}

/**
 * Runs a program until it ends, its time is over, or the signal fires (then the signal's reason is thrown). Its child processes end with
 * it.
 */
export function runChild(path: string, args: readonly string[], options: ChildOptions): Promise<ChildResult> {
  const { signal, timeout, cwd, memory = childMemory, env, output = false, isBackground = false } = options;
  signal?.throwIfAborted();
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const { child, stop, ended } = startChild(path, args, { cwd, env, memory }, ['ignore', output ? 'pipe' : 'ignore', 'pipe']);
    const messages = collect(child.stderr), written = collect(child.stdout);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      stop();
    }, timeout);
    if (isBackground) yieldTo(child, timer);
    signal?.addEventListener('abort', stop, { once: true });
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
      ended();
    };
    child.on('error', (error) => {
      end();
      reject(cannotRun(path, error));
    });
    child.on('close', (code, killed) => {
      end();
      log(() => `${path} ${args.join(' ')}: ${((performance.now() - began) / 1000).toFixed(2)} s, ${endOf(code, killed, memory)}`);
      const reason = isLate ? `took more than ${timeout} ms` : endOf(code, killed, memory);
      if (signal?.aborted === true) reject(reasonOf(signal));
      else resolve({ code: code ?? undefined, stderr: messages(), stdout: written(), reason });
    });
  });
}

/** The operating system's priority of what runs only where nothing else does. */
const leastPriority = 19;

/** Lets a child run beside others with the least priority, and this process end before it, which then ends it. */
function yieldTo(child: ChildProcess, timer: NodeJS.Timeout): void {
  for (const each of [child, child.stderr as Socket | null, child.stdout as Socket | null, timer]) each?.unref();
  try {
    if (child.pid !== undefined) setPriority(child.pid, leastPriority);
  } catch {
    // It has ended, or the system does not allow it.
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}
