// Programs by the system's C++ compiler: run with fixed arguments in a child process, its output kept by content.
import { createHash } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cachedProgram, cacheFolder } from '../../core/compile/cache.ts';
import { kept, runChild } from '../../core/compile/child.ts';
import { findCompiler, identityOf, searchPaths, versionOf } from '../../core/compile/compiler.ts';
import { WarploomError } from '../../core/errors.ts';
import { required } from '../../core/known.ts';

export interface CompilerOptions {
  /** Path or name of the compiler. Default: the first of g++, clang++ and c++ on PATH. */
  readonly compiler?: string;
  /** Folder for compiled programs. Default: `warploom/stream` in the user's cache folder. */
  readonly cacheFolder?: string;
  /** Milliseconds that one compilation may take; default 300 000. */
  readonly compileTimeout?: number;
  /** Lets float operations be reordered and joined (-ffast-math): outputs differ in rounding. */
  readonly fast?: boolean;
  /** The compiler's level of optimisation; default 3, 1 for programs of more than 600,000 characters of C++. */
  readonly effort?: 1 | 3;
  readonly signal?: AbortSignal;
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

/** Whether a compiler is a GCC whose parameters are known here. */
async function isGcc(compiler: string | undefined): Promise<boolean> {
  const version = await versionOf(findCompiler(compiler));
  const [, major = '0'] = / (\d+)\.\d+\.\d+/.exec(version) ?? [];
  return !/clang/i.test(version) && Number(major) >= 11;
}

/**
 * More arguments for programs as written, of GCC. It joins nested conditions and asks them in an order of its own: one that depends on
 * data before one that is predicted well, and a maximum inside becomes a branch (channel-vocoder: 1.1 times slower). For programs of long
 * functions also: vectors that GCC makes of straight code are slower than what they are made of (des 1.4 times, fft-coarse 1.2, dct and
 * tde 1.1), and take most of its time.
 */
export async function gccArguments(isLong: boolean, compiler?: string): Promise<string[]> {
  if (!await isGcc(compiler)) return [];
  return ['--param=logical-op-non-short-circuit=0', ...(isLong ? ['-fvect-cost-model=very-cheap'] : [])];
}

/** What a program is made of. */
export interface Sources {
  /** Files that are compiled side by side. */
  readonly program: readonly string[];
  /** Files that stand beside it and the runtime, by name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Compiled once for all programs. */
  readonly runtime: string;
}

/** Runs the compiler in a folder. Throws WarploomError where it fails. */
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

/** Compiles texts beside their headers to objects, side by side. */
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

/** The path of a source's program, compiled if need be. Throws {@link NoCompilerError}, or WarploomError where the compiler fails. */
export async function compileSources(sources: Sources, args: readonly string[], options: CompilerOptions = {}): Promise<string> {
  const compiler = findCompiler(options.compiler);
  const keyOf = async (texts: readonly string[], by: readonly string[]): Promise<string> => {
    const hash = createHash('sha256').update(await identityOf(compiler, by));
    for (const text of texts) hash.update(text).update('\0');
    return hash.digest('hex').slice(0, 40);
  };
  const { program, headers, runtime } = sources;
  const folder = cacheFolder(options.cacheFolder, 'stream');
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
