// The system's C++ compiler: found, run with fixed arguments in a child process, its output kept by content.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, mkdirSync } from 'node:fs';
import { mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { WarploomError } from '../../core/errors.ts';

export interface CompilerOptions {
  /** Path or name of the compiler. Default: the first of g++, clang++ and c++ on PATH. */
  readonly compiler?: string;
  /** Folder for compiled programs. Default: `warploom/stream` in the user's cache folder. */
  readonly cacheFolder?: string;
  /** Milliseconds that one compilation may take; default 300 000. */
  readonly compileTimeout?: number;
  /** Lets float operations be reordered and joined (-ffast-math): outputs differ in rounding. */
  readonly fast?: boolean;
  /** The compiler's level of optimisation; default 3, 1 for programs of more than a megabyte of C++. */
  readonly effort?: 1 | 3;
  readonly signal?: AbortSignal;
}

/** There is no C++ compiler: the JavaScript back end serves. */
export class NoCompilerError extends WarploomError {
  override readonly name = 'NoCompilerError';

  constructor(what: string) {
    super('ERR_WARPLOOM_UNAVAILABLE', `no C++ compiler: ${what}; install g++ or clang++, or run the program as JavaScript`);
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Full path of the compiler. Throws {@link NoCompilerError}. */
export function findCompiler(name?: string): string {
  if (name !== undefined && isAbsolute(name)) {
    if (isExecutable(name)) return name;
    throw new NoCompilerError(`${name} cannot be executed`);
  }
  const names = name === undefined ? ['g++', 'clang++', 'c++'] : [name];
  for (const each of names) {
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
      const path = join(folder, each);
      if (isAbsolute(path) && isExecutable(path)) return path;
    }
  }
  throw new NoCompilerError(`neither ${names.join(' nor ')} is on PATH`);
}

const versions = new Map<string, string>();
function versionOf(compiler: string): string {
  let version = versions.get(compiler);
  if (version === undefined) {
    const found = spawnSync(compiler, ['--version'], { encoding: 'utf8', timeout: 20_000 });
    if (found.status !== 0) throw new NoCompilerError(`${compiler} --version fails`);
    versions.set(compiler, version = found.stdout);
  }
  return version;
}

/** The compiler's version, for keys of what is kept. Throws {@link NoCompilerError}. */
export function compilerIdentity(): string {
  return versionOf(findCompiler());
}

/** Arguments of a compilation, files aside. `strict`: floats as they are written. */
export function compilerArguments(mode: 'baseline' | 'strict' | 'fast', effort: 1 | 3 = 3): string[] {
  const common = ['-std=c++17', `-O${effort}`, '-w', '-pthread'];
  if (mode === 'baseline') return [...common, '-ffp-contract=off'];
  if (mode === 'fast') return [...common, '-march=native', '-ffast-math'];
  // GCC 12 joins products and sums of vectors (vfmaddsub) whatever -ffp-contract says, unless the instructions are forbidden.
  const joined = process.arch === 'x64' ? ['-mno-fma', '-mno-avx512f'] : [];
  return [...common, '-march=native', ...joined, '-ffp-contract=off', '-fno-math-errno', '-fno-trapping-math'];
}

/** The folder for what is worth keeping between processes, made if need be. */
export function cacheFolder(given: string | undefined): string {
  const { XDG_CACHE_HOME = '' } = process.env;
  const caches = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : homedir() === '' ? tmpdir() : join(homedir(), '.cache');
  const folder = given ?? join(caches, 'warploom', 'stream');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** Compiles a source and gives the path of the program. Throws {@link NoCompilerError}, or WarploomError where the compiler fails. */
export async function compileSource(source: string, args: readonly string[], options: CompilerOptions = {}): Promise<string> {
  const compiler = findCompiler(options.compiler);
  const key = createHash('sha256').update(JSON.stringify([versionOf(compiler), process.arch,
    args])).update(source).digest('hex').slice(0, 40);
  const folder = cacheFolder(options.cacheFolder);
  const target = join(folder, key);
  if (await isFile(target)) return target;
  const work = await mkdtemp(join(folder, 'work-'));
  try {
    const [from, to] = [join(work, 'program.cpp'), join(work, 'program')];
    await writeFile(from, source);
    const done = await runChild(compiler, [...args, '-o', to, from], {
      cwd: work, timeout: options.compileTimeout ?? 300_000, ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    if (done.code !== 0) {
      throw new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `${compiler} ${done.reason}: ${done.stderr.slice(0, 2000)}`);
    }
    await rename(to, target);
    return target;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

export interface ChildResult {
  /** Exit status; undefined if a signal ended it. */
  readonly code: number | undefined;
  /** How it ended, in words. */
  readonly reason: string;
  readonly stderr: string;
}

/** Most memory of a compiler or a compiled program, bytes of address space. */
export const childMemory = 16 * 2 ** 30;

export interface ChildOptions {
  readonly cwd: string;
  /** Milliseconds. */
  readonly timeout: number;
  /** Bytes of address space; default {@link childMemory}. Not enforced on Windows. */
  readonly memory?: number;
  readonly signal?: AbortSignal;
}

/** The program as the shell starts it, which sets the limit of memory and is then replaced by it; arguments are passed, never parsed. */
function limited(path: string, args: readonly string[], bytes: number): readonly [string, readonly string[]] {
  if (process.platform === 'win32') return [path, args];
  return ['/bin/sh', ['-c', 'ulimit -v "$0" || exit 126; exec "$@"', String(Math.floor(bytes / 1024)), path, ...args]];
}

/** How to stop the children that run: none outlives this process. */
const running = new Set<() => void>();
process.on('exit', () => { for (const stop of running) stop(); });

/**
 * Runs a program until it ends, the time is over or the signal comes (then the signal's reason is thrown). What it started ends with it.
 */
export function runChild(path: string, args: readonly string[], options: ChildOptions): Promise<ChildResult> {
  const { signal, timeout, cwd, memory = childMemory } = options;
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const isGroup = process.platform !== 'win32';
    const child = spawn(...limited(path, args, memory), { cwd, stdio: ['ignore', 'ignore', 'pipe'], windowsHide: true, detached: isGroup });
    let stderr = '';
    let isLate = false;
    child.stderr.setEncoding('utf8').on('data', (text: string) => { if (stderr.length < 65_536) stderr += text; });
    const stop = (): void => {
      // A compiler is several processes: all of its group.
      if (isGroup && child.pid !== undefined) killGroup(child.pid);
      else child.kill('SIGKILL');
    };
    const timer = setTimeout(() => {
      isLate = true;
      stop();
    }, timeout);
    signal?.addEventListener('abort', stop, { once: true });
    running.add(stop);
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
      running.delete(stop);
    };
    child.on('error', (error) => {
      end();
      reject(new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `${path} cannot be run: ${error.message}`, { cause: error }));
    });
    child.on('close', (code, killed) => {
      end();
      const reason = isLate ? `took more than ${timeout} ms` : killed === null ? `ended with ${code}`
        : `died by ${killed}; it may take ${(memory / 2 ** 30).toPrecision(3)} GiB of memory`;
      if (signal?.aborted === true) reject(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)));
      else resolve({ code: code ?? undefined, stderr, reason });
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
