// warploom completion: prints the script that a shell completes command lines by.
import { ExitCode, parseFlags, UsageError, type Command } from './command.ts';
import { completionScript, shells } from './completion.ts';

/** `warploom completion`, for these commands and itself. */
export function completionCommand(others: readonly Command[]): Command {
  const own: Command = {
    name: 'completion',
    summary: 'print the script that completes command lines in bash, zsh or fish',
    help: `Usage: warploom completion bash|zsh|fish

Prints a script with every command, option and fixed value, for the shell to read:

  eval "$(warploom completion bash)"        in ~/.bashrc
  eval "$(warploom completion zsh)"         in ~/.zshrc, after compinit
  warploom completion fish > ~/.config/fish/completions/warploom.fish
`,
    options: {},
    actions: shells,
    run(argv, { out, json }) {
      const { positionals: [name, ...more] } = parseFlags({}, argv);
      const shell = shells.find((each) => each === name);
      if (shell === undefined || more.length > 0) throw new UsageError(`name one shell: ${shells.join(', ')}`);
      const script = completionScript(shell, [...others, own]);
      out.write(json ? `${JSON.stringify({ shell, script })}\n` : script);
      return ExitCode.ok;
    },
  };
  return own;
}
