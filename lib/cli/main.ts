// The `warploom` command: picks the sub-command and turns errors into exit codes.
import { logTo } from '../core/log.ts';
import { didYouMean } from '../core/similar.ts';
import { ExitCode, exitCodeOf, UsageError, type Command } from './command.ts';
import { commands } from './commands.ts';
import { fitHelp } from './help-text.ts';
import { commonHelp, looseFlags } from './options.ts';
import { columnsOf, Terminal, type Streams } from './terminal.ts';

const environment = `Environment
  WARPLOOM_BACKEND     cuda, cpu or simt: what auto stands for
  WARPLOOM_NVRTC, WARPLOOM_MODULE_COMPILER, WARPLOOM_TUNE
                       the library and the compiler of run-time code, and 0 for no trial of layouts (docs/environment.md)
  NODE_DEBUG=warploom  say what is loaded, compiled and run, as --verbose does
  NO_COLOR, FORCE_COLOR
`;

const helpOf = (list: readonly Command[]): string => `Warploom: GPU numerics that keep data in registers and shared memory.

Usage: warploom COMMAND …

${list.map((c) => `  ${c.name.padEnd(10)} ${c.summary}`).join('\n')}

  warploom COMMAND --help, warploom help COMMAND   explain a command
  warploom --version

${commonHelp}
${environment}
Exit codes: 0 success; 1 failure; 2 invalid flags, job file or input; 3 device unavailable, lost or
out of memory; 130 interrupted (run again to resume).
`;

async function writeVersion({ out }: Streams, isJson: boolean): Promise<ExitCode> {
  const { version } = await import('../core/version.ts');
  out.write(`${isJson ? JSON.stringify({ version }) : version}\n`);
  return ExitCode.ok;
}

/** What a failure says: its message, with `--verbose` where it and its causes come from. */
function messageOf(error: unknown, verbose: boolean): string {
  if (!(error instanceof Error)) return String(error);
  if (!verbose || error instanceof UsageError) return error.message;
  const cause = error.cause === undefined ? '' : `\ncaused by ${messageOf(error.cause, true)}`;
  return `${error.message}\n${(error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)).join('\n')}${cause}`;
}

async function runCommandLine(command: Command, argv: string[], streams: Streams): Promise<ExitCode> {
  const isPassedOn = command.passesOn?.(argv) === true;
  const manner = looseFlags(argv, command.options);
  if (isPassedOn ? argv[0] === '--help' || argv[0] === '-h' : manner.help) {
    const whole = `${command.help}${isPassedOn || command.passesOn?.(['']) === true ? '' : `\n${commonHelp}`}`;
    streams.out.write(fitHelp(whole, columnsOf(streams.out)));
    return ExitCode.ok;
  }
  const terminal = new Terminal(streams, isPassedOn ? {} : manner);
  if (terminal.verbose) logTo((text) => { streams.err.write(`${terminal.paint('dim', text, 'err')}\n`); });
  try {
    return await command.run(argv, terminal);
  } catch (error) {
    const code = exitCodeOf(error, streams.signal);
    streams.err.write(code === ExitCode.interrupted
      ? `warploom: interrupted${command.resumes === true ? '; run the same command again to resume' : ''}\n`
      : `${terminal.paint('red', `warploom ${command.name}:`, 'err')} ${messageOf(error, terminal.verbose)}\n`);
    if (error instanceof UsageError) streams.err.write(`Try: warploom ${command.name} --help\n`);
    return code;
  } finally {
    logTo(undefined);
  }
}

/** Runs one command line; never throws. */
export async function main(argv: readonly string[], streams: Streams): Promise<ExitCode> {
  const list = commands();
  const [name, ...rest] = argv;
  const isHelp = name === '--help' || name === '-h' || name === 'help';
  if (name === undefined || (isHelp && rest[0] === undefined)) {
    streams.out.write(fitHelp(helpOf(list), columnsOf(streams.out)));
    return name === undefined ? ExitCode.usage : ExitCode.ok;
  }
  if (name === '--version' || name === '-v' || name === 'version') return writeVersion(streams, rest.includes('--json'));
  const wanted = isHelp ? rest[0] ?? '' : name;
  const command = list.find((c) => c.name === wanted);
  if (command === undefined) {
    const names = list.map((each) => each.name);
    streams.err.write(`warploom: there is no command '${wanted}'; ${didYouMean(wanted, names, `there are ${names.join(', ')}`)}\n`
      + 'Try: warploom --help\n');
    return ExitCode.usage;
  }
  return runCommandLine(command, isHelp ? ['--help'] : rest, streams);
}
