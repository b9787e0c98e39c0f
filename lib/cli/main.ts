// The `warploom` command: picks the sub-command and turns errors into exit codes.
import { benchCommand } from './bench.ts';
import { ExitCode, exitCodeOf, UsageError, type Command, type CommandContext } from './command.ts';
import { denoiseCommand } from './denoise.ts';
import { infoCommand } from './info.ts';
import { registerCommand } from './register.ts';
import { runCommand } from './run.ts';
import { scratchpadCommand } from './scratchpad.ts';
import { segmentCommand } from './segment.ts';
import { simulateCommand } from './simulate.ts';
import { solveCommand } from './solve.ts';
import { streamCommand } from './stream.ts';

const COMMANDS: readonly Command[] = [
  infoCommand, runCommand, solveCommand, simulateCommand, denoiseCommand, segmentCommand, registerCommand, scratchpadCommand, streamCommand,
  benchCommand,
];

const HELP = `Warploom: GPU numerics that keep data in registers and shared memory.

Usage: warploom COMMAND …

${COMMANDS.map((c) => `  ${c.name.padEnd(10)} ${c.summary}`).join('\n')}

  warploom COMMAND --help   explains a command
  warploom --version

Exit codes: 0 success; 1 failure; 2 invalid flags, job file or input; 3 device unavailable, lost or
out of memory; 130 interrupted (run again to resume).
`;

/** Runs one command line; never throws. */
export async function main(argv: readonly string[], context: CommandContext): Promise<ExitCode> {
  const [name, ...rest] = argv;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    context.out.write(HELP);
    return name === undefined ? ExitCode.usage : ExitCode.ok;
  }
  if (name === '--version' || name === '-v') {
    const { version } = await import('../core/version.ts');
    context.out.write(`${version}\n`);
    return ExitCode.ok;
  }
  const command = COMMANDS.find((c) => c.name === name);
  if (command === undefined) {
    context.err.write(`warploom: there is no command '${name}'\n\n${HELP}`);
    return ExitCode.usage;
  }
  if (rest.includes('--help') || rest.includes('-h')) {
    context.out.write(command.help);
    return ExitCode.ok;
  }
  try {
    return await command.run(rest, context);
  } catch (error) {
    const code = exitCodeOf(error, context.signal);
    const message = error instanceof Error ? error.message : String(error);
    context.err.write(code === ExitCode.interrupted
      ? 'warploom: interrupted; run the same command again to resume\n'
      : `warploom ${name}: ${message}\n`);
    if (error instanceof UsageError) context.err.write(`Try: warploom ${name} --help\n`);
    return code;
  }
}
