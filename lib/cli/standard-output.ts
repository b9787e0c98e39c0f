// Standard output in the place of a file: the name -, or - and an ending.
import { join } from 'node:path';
import { inTemporaryFolder, readBytes } from '../core/files.ts';
import { UsageError, type CommandContext } from './command.ts';

/** Whether a name stands for standard output: -, or -.png for a format. */
export const isStandardOutput = (name: string): boolean => /^-(\.[\w.]+)?$/.test(name);

/** A name whose ending says the format: of - with that of a file that has none. */
export const endingOf = (name: string, ending: string): string => (name === '-' ? `-${ending}` : name);

/** Where a command writes its result. */
export interface Place {
  /** The file to write. */
  readonly path: string;
  /** How texts name it. */
  readonly name: string;
  /** Tells the result: on standard output, or where that takes the file, as a note. */
  readonly tell: (value: unknown, text: string) => void;
}

/** Writes bytes, and waits until they are taken. */
function send(out: NodeJS.WritableStream, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    out.write(bytes, (error) => { if (error) reject(error); else resolve(); });
  });
}

/**
 * Runs `use` with the file that a result goes to. For standard output, this is a temporary one, which is sent at the end.
 * @param ending of the file where the name has none
 */
export async function withOutput<T>(name: string, ending: string, context: CommandContext, use: (place: Place) => Promise<T>): Promise<T> {
  if (!isStandardOutput(name)) return use({ path: name, name, tell: (value, text) => { context.result(value, text); } });
  if (context.json) throw new UsageError('the result and --json would both go to standard output: name a file');
  if (context.out.isTTY === true) throw new UsageError('- stands for standard output, which is the terminal: pipe it, or name a file');
  return inTemporaryFolder(async (folder) => {
    const path = join(folder, `result${name === '-' ? ending : name.slice(1)}`);
    const done = await use({ path, name: 'standard output', tell: (_, text) => { context.note(text); } });
    await send(context.out, await readBytes(path));
    return done;
  });
}
