// The system's compilers: finding them on PATH, and their versions.
import { accessSync, constants } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { isDenied, processor, systemError, withFiles } from './cache.ts';
import { kept, runChild } from './child.ts';
import { WarploomError } from '../errors.ts';

/** There is no C++ compiler. */
export class NoCompilerError extends WarploomError {
  override readonly name = 'NoCompilerError';

  constructor(what: string) {
    super('ERR_WARPLOOM_UNAVAILABLE',
      `no C++ compiler: ${what}; install g++ or clang++ (without one, programs and equations run as WebAssembly)`);
  }
}

/** Whether there is a program at `path` that this process may execute. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch (error) {
    if (isDenied(error)) throw systemError('look for a compiler', error);
    return false;
  }
}

/** Full path of the first of these programs that is on PATH. */
export function onPath(names: readonly string[]): string | undefined {
  for (const each of names) {
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
      const path = join(folder, each);
      if (isAbsolute(path) && isExecutable(path)) return path;
    }
  }
  return undefined;
}

/** Full path of the C++ compiler. Throws {@link NoCompilerError}. */
export function findCompiler(name?: string): string {
  if (name !== undefined && isAbsolute(name)) {
    if (isExecutable(name)) return name;
    throw new NoCompilerError(`${name} cannot be executed`);
  }
  const names = name === undefined ? ['g++', 'clang++', 'c++'] : [name];
  const found = onPath(names);
  if (found === undefined) throw new NoCompilerError(`neither ${names.join(' nor ')} is on PATH`);
  return found;
}

/** Variables that determine where a compiler searches. */
export const searchPaths: readonly string[] =
  ['PATH', 'HOME', 'CPATH', 'CPLUS_INCLUDE_PATH', 'LIBRARY_PATH', 'SDKROOT', 'DEVELOPER_DIR', 'SystemRoot'];

const versions = new Map<string, string>();

/** The compiler's version output, queried again when its file has changed. Throws {@link NoCompilerError}. */
export async function versionOf(compiler: string): Promise<string> {
  return withFiles('ask the compiler for its version', async () => {
    const { size, mtimeMs } = await stat(compiler);
    const key = JSON.stringify([compiler, size, mtimeMs]);
    let version = versions.get(key);
    if (version === undefined) {
      const options = { cwd: tmpdir(), timeout: 20_000, env: kept(searchPaths), output: true };
      const { code, stdout } = await runChild(compiler, ['--version'], options);
      if (code !== 0) throw new NoCompilerError(`${compiler} --version fails`);
      versions.set(key, version = `${stdout} ${size} ${mtimeMs}`);
    }
    return version;
  });
}

/** What a compiled program depends on besides its source: the compiler, its arguments, the target processor. */
export async function identityOf(compiler: string, args: readonly string[]): Promise<string> {
  const version = await versionOf(compiler);
  return JSON.stringify([compiler, version, process.platform, process.arch, processor(), kept(searchPaths.slice(2)), args]);
}
