// Standard input in the place of a file: the name -.
import { join } from 'node:path';
import { inTemporaryFolder, withoutMark, writeFileAtomic } from '../core/files.ts';
import { UsageError, type CommandContext } from './command.ts';

/** All of standard input, which one operand of a command may stand for. */
export async function readInput({ in: source = process.stdin, signal }: CommandContext): Promise<Buffer> {
  if ((source as { isTTY?: boolean }).isTTY === true) {
    throw new UsageError('- stands for standard input, which is the terminal: pipe a file into it');
  }
  const parts: Buffer[] = [];
  const stop = (): void => { source.destroy(); };
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const part of source) parts.push(Buffer.from(part as Uint8Array | string));
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
  signal.throwIfAborted();
  return Buffer.concat(parts);
}

/** The text of standard input. */
export const readInputText = async (context: CommandContext): Promise<string> => withoutMark(String(await readInput(context)));

/**
 * Runs `use` with a function that gives the path of a file that holds what a name stands for: of - a copy of standard input, which is
 * removed afterwards.
 */
export async function withInputs<T>(
  names: readonly unknown[], context: CommandContext, use: (resolve: (name: string) => string) => Promise<T>,
): Promise<T> {
  const count = names.filter((name) => name === '-').length;
  if (count > 1) throw new UsageError('only one file can come from standard input');
  if (count === 0) return use((name) => name);
  return inTemporaryFolder(async (folder) => {
    const copy = join(folder, 'standard-input');
    await writeFileAtomic(copy, await readInput(context));
    return use((name) => (name === '-' ? copy : name));
  });
}
