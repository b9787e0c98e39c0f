// What a sub-command is, and the exit codes all of them share.
import { FileError, WarploomError, type ErrorCode } from '../core/errors.ts';
import { UsageError, type Options } from './options.ts';
import type { Terminal } from './terminal.ts';

export { backendNames, choiceFlag, integerFlag, numberFlag, parseFlags, UsageError, type Options } from './options.ts';

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

/** What commands write to, and what stops them. */
export type CommandContext = Terminal;

/** One sub-command: `warploom <name> …`. All are in commands.ts. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  /** The whole text of `warploom <name> --help`, but for the options of every command. */
  readonly help: string;
  /** Its own options, without {@link commonOptions}: what `run` parses, and what shells complete. */
  readonly options: Options;
  /** What its first argument may be, if these are all. */
  readonly actions?: readonly string[];
  /** Whether a command line is passed on to another program as it is, options of every command included. */
  readonly passesOn?: (argv: readonly string[]) => boolean;
  /** Whether the same command line, run again after an interruption, goes on where it was. */
  readonly resumes?: boolean;
  run(argv: string[], context: CommandContext): ExitCode | Promise<ExitCode>;
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
      case 'ERR_WARPLOOM_UNSUPPORTED':
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
