// Toolchains for modules: a compiler with its arguments, run in a child process.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { withFiles } from './cache.ts';
import { kept, runChild } from './child.ts';
import { searchPaths } from './compiler.ts';
import { packageRoot } from '../binding.ts';
import { ModuleError, WarploomError } from '../errors.ts';
import type { ReadModuleOptions } from '../module-options.ts';

export interface Toolchain {
  /** Everything that the compiled code depends on besides the text. */
  readonly identity: string;
  /** Compiles in the folder `work` and writes the image to the path `to`. Throws ModuleError with the compiler's messages. */
  compile(work: string, to: string, options: ReadModuleOptions): Promise<void>;
}

/** File name of the text in the folder in which it is compiled; messages and reports show it. */
export const textName = 'module.cu';

/** Writes the text and its headers into the folder `work`. */
export async function writeTexts(work: string, { source, headers }: ReadModuleOptions): Promise<void> {
  await withFiles('write the text of a module', async () => {
    await writeFile(join(work, textName), source);
    for (const [name, text] of headers) {
      await mkdir(dirname(join(work, name)), { recursive: true });
      await writeFile(join(work, name), text);
    }
  });
}

/** A message, not about a line of the text, that the machine has no more disk space or memory. */
const usedUp = /^(?!\s|\S*[:(]\d).*(?:No space left on device|out of memory|virtual memory exhausted|Cannot allocate memory|bad_alloc)/mi;

/** Runs a compiler. `name`: its name in messages. */
export async function runCompiler(
  program: string, args: readonly string[], work: string,
  { timeout, signal, isBackground = false }: Pick<ReadModuleOptions, 'timeout' | 'signal'> & Partial<ReadModuleOptions>,
  { name: compiler, env = {} }: { readonly name: string; readonly env?: Readonly<Record<string, string>> },
): Promise<void> {
  const done = await runChild(program, args, {
    cwd: work, timeout, env: { ...kept(searchPaths), TMPDIR: work, ...env }, ...(signal === undefined ? {} : { signal }), isBackground,
  });
  if (done.code === 0) return;
  const log = done.stderr.trim();
  // A message is cut, and what precedes the first error can be long.
  const told = log.slice(Math.max(0, log.search(/^.*\berror\b/mi) - 500)).slice(0, 2000);
  const what = `${compiler} ${done.reason}`;
  // If it was killed, said nothing, or found no memory or disk, the text need not be wrong.
  const isText = done.code !== undefined && log !== '' && !usedUp.test(log);
  if (!isText) throw new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `${what}: ${told}`);
  throw new ModuleError(`the module does not compile: ${told} (${what})`, { compiler, log });
}

let headers: Promise<string> | undefined;

/** Hash of the library's own headers, which texts may include. */
export function headersHash(): Promise<string> {
  return headers ??= hashHeaders();
}

async function hashHeaders(): Promise<string> {
  return withFiles('read the headers of modules', async () => {
    const hash = createHash('sha256');
    for (const folder of ['cuda', 'native/simt']) {
      const found = await readdir(join(packageRoot(), folder), { recursive: true }).catch(() => []); // releases have no shim
      for (const name of found.filter((each) => /\.(cuh|h|inc)$|(^|\/)rtc\//.test(each)).sort()) {
        if (/(^|\/)rtc$/.test(name)) continue;
        hash.update(`${folder}/${name}\0`).update(await readFile(join(packageRoot(), folder, name))).update('\0');
      }
    }
    return hash.digest('hex');
  });
}
