// What a sub-command is, and the exit codes all of them share.
import type { Readable } from 'node:stream';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { FileError, WarploomError, type ErrorCode } from '../core/errors.ts';

/** Exit codes of the `warploom` command. */
export const ExitCode = {
  ok: 0,
  /** The work ran and failed, or a system could not be solved. */
  failed: 1,
  /** Bad flags, a bad job file or bad input data; nothing was started. */
  usage: 2,
  /** The device asked for is not available, was lost or ran out of memory. */
  device: 3,
  /** Interrupted by SIGINT or SIGTERM; run again to resume. */
  interrupted: 130,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** Where a command writes and how it is stopped; tests pass their own. */
export interface CommandContext {
  /** Default: standard input. */
  readonly in?: Readable;
  readonly out: NodeJS.WritableStream;
  readonly err: NodeJS.WritableStream & { isTTY?: boolean; columns?: number };
  readonly signal: AbortSignal;
}

/** One sub-command: `warploom <name> …`. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  /** The whole text of `warploom <name> --help`. */
  readonly help: string;
  run(argv: string[], context: CommandContext): ExitCode | Promise<ExitCode>;
}

/** Bad flags; the message says which and what was expected. */
export class UsageError extends Error {}

/** `parseArgs` of node:util with its errors turned into {@link UsageError}. */
export function parseFlags<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** A whole number flag within limits, or undefined when absent. */
export function integerFlag(name: string, text: string | undefined, low: number, high: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < low || value > high) {
    throw new UsageError(`--${name} takes a whole number from ${low} to ${high}, not '${text}'`);
  }
  return value;
}

/** A number flag, or undefined when absent. */
export function numberFlag(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const number = text.trim() === '' ? NaN : Number(text);
  if (!Number.isFinite(number)) throw new UsageError(`--${name} takes a number, not '${text}'`);
  return number;
}

/** What the system says of paths that are wrong; the rest (a full disk, rights) is no matter of flags. */
const wrongNames: readonly string[] = ['ENOENT', 'EISDIR', 'ENOTDIR', 'EEXIST'];

/** The exit code an error stands for. */
export function exitCodeOf(error: unknown, signal: AbortSignal): ExitCode {
  if (signal.aborted) return ExitCode.interrupted;
  if (error instanceof UsageError) return ExitCode.usage;
  if (error instanceof FileError) return wrongNames.includes(error.systemCode) ? ExitCode.usage : ExitCode.failed;
  const code: unknown = (error as { code?: unknown } | undefined)?.code;
  if (error instanceof WarploomError || (typeof code === 'string' && code.startsWith('ERR_WARPLOOM_'))) {
    switch (code as ErrorCode) {
      case 'ERR_WARPLOOM_INVALID_ARGUMENT':
      case 'ERR_WARPLOOM_DAMAGED_FILE': return ExitCode.usage;
      case 'ERR_WARPLOOM_UNAVAILABLE':
      case 'ERR_WARPLOOM_NOT_COMPILED':
      case 'ERR_WARPLOOM_DEVICE_LOST':
      case 'ERR_WARPLOOM_OUT_OF_MEMORY': return ExitCode.device;
      default: return ExitCode.failed;
    }
  }
  return ExitCode.failed;
}
