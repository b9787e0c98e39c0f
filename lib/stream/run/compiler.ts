// The system's C++ compiler: locates it, runs it with fixed arguments in a child process, and caches its output by content.
import { required } from '../../core/known.ts';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, statSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { WarploomError } from '../../core/errors.ts';
import { cachedProgram, isDenied, processor, systemError } from './cache.ts';
import { childEnvironment, kept, runChild } from './child.ts';

export interface CompilerOptions {
  /** Path or name of the compiler. Default: the first of g++, clang++ and c++ on PATH. */
  readonly compiler?: string;
  /** Folder for compiled programs. Default: `warploom/stream` in the user's cache folder. */
  readonly cacheFolder?: string;
  /** Time limit per compilation in milliseconds; default 300 000. */
  readonly compileTimeout?: number;
  /** Allows floating-point operations to be reordered and contracted (-ffast-math): outputs differ in rounding. */
  readonly fast?: boolean;
  /** The compiler's optimisation level; default 3, or 1 for programs of more than 600,000 characters of C++. */
  readonly effort?: 1 | 3;
  readonly signal?: AbortSignal;
}

/** There is no C++ compiler; WebAssembly does not need one. */
export class NoCompilerError extends WarploomError {
  override readonly name = 'NoCompilerError';

  constructor(what: string) {
    super('ERR_WARPLOOM_UNAVAILABLE', `no C++ compiler: ${what}; install g++ or clang++, or run the program as WebAssembly`);
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch (error) {
    if (isDenied(error)) throw systemError('look for a compiler', error);
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

/** The compiler's version output, queried again when its file has changed. */
function versionOf(compiler: string): string {
  try {
    const { size, mtimeMs } = statSync(compiler);
    const key = JSON.stringify([compiler, size, mtimeMs]);
    let version = versions.get(key);
    if (version === undefined) {
      const env = childEnvironment(kept(searchPaths));
      const found = spawnSync(compiler, ['--version'], { encoding: 'utf8', timeout: 20_000, env });
      if (found.status !== 0) throw new NoCompilerError(`${compiler} --version fails`);
      versions.set(key, version = `${found.stdout} ${size} ${mtimeMs}`);
    }
    return version;
  } catch (error) {
    throw error instanceof WarploomError ? error : systemError('ask the compiler for its version', error);
  }
}

/** The compiler's version, for cache keys. Throws {@link NoCompilerError}. */
export function compilerIdentity(): string {
  return versionOf(findCompiler());
}

/** Arguments of a compilation, without file names. `strict`: floating-point operations exactly as written. */
export function compilerArguments(mode: 'baseline' | 'strict' | 'fast', effort: 1 | 3 = 3): string[] {
  const common = ['-std=c++17', `-O${effort}`, '-w', '-pthread'];
  if (mode === 'baseline') return [...common, '-ffp-contract=off'];
  if (mode === 'fast') return [...common, '-march=native', '-ffast-math'];
  // GCC 12 fuses multiplications and additions of vectors (vfmaddsub) in spite of -ffp-contract, unless those instructions are disabled.
  const joined = process.arch === 'x64' ? ['-mno-fma', '-mno-avx512f'] : [];
  return [...common, '-march=native', ...joined, '-ffp-contract=off', '-fno-math-errno', '-fno-trapping-math'];
}

/** Whether a compiler is a GCC that accepts the parameters below. */
function isGcc(compiler: string | undefined): boolean {
  const version = versionOf(findCompiler(compiler));
  const [, major = '0'] = / (\d+)\.\d+\.\d+/.exec(version) ?? [];
  return !/clang/i.test(version) && Number(major) >= 11;
}

/**
 * Additional GCC arguments for strict programs. GCC merges nested conditions and evaluates them in its own order: data-dependent ones
 * before well-predicted ones, and a maximum inside becomes a branch (channel-vocoder: 1.1 times slower). Also for programs with long
 * functions: GCC's vectorised straight-line code is slower than the scalar code (des 1.4 times, fft-coarse 1.2, dct and tde 1.1) and
 * accounts for most of the compile time.
 */
export function gccArguments(isLong: boolean, compiler?: string): string[] {
  if (!isGcc(compiler)) return [];
  return ['--param=logical-op-non-short-circuit=0', ...(isLong ? ['-fvect-cost-model=very-cheap'] : [])];
}

/** Variables that determine where a compiler searches. */
const searchPaths = ['PATH', 'HOME', 'CPATH', 'CPLUS_INCLUDE_PATH', 'LIBRARY_PATH', 'SDKROOT', 'DEVELOPER_DIR', 'SystemRoot'];

/** What a compiled program depends on besides its source: the compiler, its arguments, the target processor. */
function identityOf(compiler: string, args: readonly string[]): string {
  return JSON.stringify([compiler, versionOf(compiler), process.platform, process.arch, processor(), kept(searchPaths.slice(2)), args]);
}

/** The sources of a program. */
export interface Sources {
  /** Files that are compiled in parallel. */
  readonly program: readonly string[];
  /** Headers, placed next to the program and the runtime; by name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Compiled once for all programs. */
  readonly runtime: string;
}

/** Runs the compiler in a folder. Throws WarploomError if it fails. */
async function compile(compiler: string, args: readonly string[], work: string, options: CompilerOptions): Promise<void> {
  const done = await runChild(compiler, args, {
    cwd: work, timeout: options.compileTimeout ?? 300_000, env: { ...kept(searchPaths), TMPDIR: work },
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  if (done.code !== 0) {
    throw new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `${compiler} ${done.reason}: ${done.stderr.slice(0, 2000)}`);
  }
}

const runtimeArguments = ['-std=c++17', '-O2', '-w', '-pthread'];

/** Compiles texts, next to their headers, to object files in parallel. */
async function compileObjects(
  compiler: string, texts: readonly string[], { headers }: Sources, args: readonly string[], work: string, options: CompilerOptions,
): Promise<string[]> {
  await Promise.all(Object.entries(headers).map(([name, header]) => writeFile(join(work, name), header)));
  return Promise.all(texts.map(async (text, i) => {
    const [from, to] = [join(work, `source${i}.cpp`), join(work, `source${i}.o`)];
    await writeFile(from, text);
    await compile(compiler, [...args, '-c', '-o', to, from], work, options);
    return to;
  }));
}

/**
 * The path of the program made from the sources, compiled if necessary. Throws {@link NoCompilerError}, or WarploomError if the compiler
 * fails.
 */
export async function compileSources(sources: Sources, args: readonly string[], options: CompilerOptions = {}): Promise<string> {
  const compiler = findCompiler(options.compiler);
  const keyOf = (texts: readonly string[], by: readonly string[]): string => {
    const hash = createHash('sha256').update(identityOf(compiler, by));
    for (const text of texts) hash.update(text).update('\0');
    return hash.digest('hex').slice(0, 40);
  };
  const { program, headers, runtime } = sources;
  const fixed = [...Object.values(headers), runtime];
  return cachedProgram(options.cacheFolder, keyOf([...program, ...fixed], args), async (work, to) => {
    const [made, objects] = await Promise.all([
      cachedProgram(options.cacheFolder, keyOf(fixed, runtimeArguments), async (folder, at) => {
        const [object] = await compileObjects(compiler, [runtime], sources, runtimeArguments, folder, options);
        await rename(required(object), at);
      }),
      compileObjects(compiler, program, sources, args, work, options),
    ]);
    await compile(compiler, ['-pthread', '-o', to, ...objects, made], work, options);
  });
}
