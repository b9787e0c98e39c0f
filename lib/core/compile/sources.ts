// Programs compiled by the system's C++ compiler, which runs with fixed arguments in a child process; its output is cached by content.
import { createHash } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cachedProgram, cacheFolder } from './cache.ts';
import { kept, runChild } from './child.ts';
import { findCompiler, identityOf, searchPaths, versionOf } from './compiler.ts';
import { WarploomError } from '../errors.ts';
import { required } from '../known.ts';

export interface CompilerOptions {
  /** Path or name of the compiler. Default: the first of g++, clang++ and c++ on PATH. */
  readonly compiler?: string;
  /** Folder for compiled programs. Default: `warploom/stream` or `warploom/stencil` in the user's cache folder. */
  readonly cacheFolder?: string;
  /** Time limit per compilation in milliseconds; default 300 000. */
  readonly compileTimeout?: number;
  /** Allows floating-point operations to be reordered and contracted (-ffast-math): outputs differ in rounding. */
  readonly fast?: boolean;
  /** The compiler's optimisation level; default 3, or 1 for programs of more than 600,000 characters of C++. */
  readonly effort?: 1 | 3;
  readonly signal?: AbortSignal;
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
async function isGcc(compiler: string | undefined): Promise<boolean> {
  const version = await versionOf(findCompiler(compiler));
  const [, major = '0'] = / (\d+)\.\d+\.\d+/.exec(version) ?? [];
  return !/clang/i.test(version) && Number(major) >= 11;
}

/**
 * Additional GCC arguments for strict programs. GCC merges nested conditions and evaluates them in its own order: data-dependent ones
 * before well-predicted ones, and a maximum inside becomes a branch (channel-vocoder: 1.1 times slower). Also for programs with long
 * functions: GCC's vectorised straight-line code is slower than the scalar code (des 1.4 times, fft-coarse 1.2, dct and tde 1.1) and
 * accounts for most of the compile time.
 */
export async function gccArguments(isLong: boolean, compiler?: string): Promise<string[]> {
  if (!await isGcc(compiler)) return [];
  return ['--param=logical-op-non-short-circuit=0', ...(isLong ? ['-fvect-cost-model=very-cheap'] : [])];
}

/** The sources of a program. */
export interface Sources {
  /** The user's cache folder that they belong to. */
  readonly cache: 'stream' | 'stencil';
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

const runtimeArguments = ['-std=c++17', '-O2', '-w', '-pthread', '-ffp-contract=off'];

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
  const keyOf = async (texts: readonly string[], by: readonly string[]): Promise<string> => {
    const hash = createHash('sha256').update(await identityOf(compiler, by));
    for (const text of texts) hash.update(text).update('\0');
    return hash.digest('hex').slice(0, 40);
  };
  const { program, headers, runtime } = sources;
  const folder = cacheFolder(options.cacheFolder, sources.cache);
  const fixed = [...Object.values(headers), runtime];
  return cachedProgram(folder, await keyOf([...program, ...fixed], args), async (work, to) => {
    const [made, objects] = await Promise.all([
      cachedProgram(folder, await keyOf(fixed, runtimeArguments), async (inner, at) => {
        const [object] = await compileObjects(compiler, [runtime], sources, runtimeArguments, inner, options);
        await rename(required(object), at);
      }),
      compileObjects(compiler, program, sources, args, work, options),
    ]);
    await compile(compiler, ['-pthread', '-o', to, ...objects, made], work, options);
  });
}
