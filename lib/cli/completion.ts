// Scripts that complete command lines in bash, zsh and fish, made from the commands and options that the parser reads.
import type { Command } from './command.ts';
import { commonHelp, commonOptions, type OptionSpec, type Options } from './options.ts';

/** Shells that completion is made for. */
export const shells = ['bash', 'zsh', 'fish'] as const;

/** What an option does: the text beside it in a command's help, its first line only. */
export function aboutOption(help: string, name: string): string {
  const declared = new RegExp(`^ {2,}(?:-\\w, )?(?:--[\\w-]+(?: \\S+)?, )*--${name}(?![\\w-])`);
  const line = help.split('\n').find((each) => declared.test(each)) ?? '';
  const text = new RegExp(`--${name}(?![\\w-]).*?(?: {2,}|$)(.*)$`).exec(line)?.[1] ?? '';
  return text.replace(/ \(default[^)]*\)/g, '').replace(/[;:,.(]?\s*(?:default.*)?$/i, '').slice(0, 90);
}

interface Entry {
  readonly name: string;
  readonly spec: OptionSpec;
  readonly about: string;
}

/** Options in the order of their declaration, the command's own first. */
function entriesOf({ options, help }: Pick<Command, 'options' | 'help'>): Entry[] {
  const all: Options = { ...options, ...commonOptions };
  return Object.entries(all).map(([name, spec]) => ({ name, spec, about: aboutOption(`${help}\n${commonHelp}`, name) }));
}

/** What the first argument may be besides a command. */
const others = [{ name: 'help', summary: 'explain a command' }, { name: 'version', summary: 'print the version' }] as const;

const spellings = ({ name, spec: { short } }: Entry): string[] => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];

function bash(commands: readonly Command[]): string {
  const cases = commands.map((command) => {
    const entries = entriesOf(command);
    const words = entries.flatMap(spellings).join(' ');
    const valued = entries.filter(({ spec }) => spec.type === 'string').map((entry) => {
      const { values, takes } = entry.spec;
      const kind = values !== undefined ? `-W '${values.join(' ')}'` : takes === undefined ? '' : takes === 'folder' ? '-d' : '-f';
      const reply = kind === '' ? '' : `$(compgen ${kind} -- "$cur")`;
      return `        ${spellings(entry).join('|')}) COMPREPLY=(${reply}); return ;;`;
    });
    return `    ${command.name})
      case "$prev" in
${valued.join('\n')}
      esac
      words='${words}' actions='${(command.actions ?? []).join(' ')}' ;;`;
  });
  return `# Completion of warploom in bash: eval "$(warploom completion bash)", for example in ~/.bashrc.
_warploom() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" words= actions=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${commands.map(({ name }) => name).join(' ')} help version --help --version' -- "$cur"))
    return
  fi
  if [ "\${COMP_WORDS[1]}" = help ]; then
    COMPREPLY=($(compgen -W '${commands.map(({ name }) => name).join(' ')}' -- "$cur"))
    return
  fi
  if [ "$prev" = = ] && [ "$COMP_CWORD" -gt 2 ]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"
  elif [ "$cur" = = ]; then cur=; fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  if [[ "$cur" == -* ]]; then COMPREPLY=($(compgen -W "$words" -- "$cur"))
  elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$actions" ]; then COMPREPLY=($(compgen -W "$actions" -- "$cur"))
  else COMPREPLY=($(compgen -f -- "$cur")); fi
}
complete -o filenames -F _warploom warploom
`;
}

/** For single quotes in zsh and fish; both end the quotes, and zsh takes brackets and colons only after a backslash. */
const inZsh = (text: string): string => text.replace(/'/g, String.raw`'\''`).replace(/[[\]:]/g, String.raw`\$&`);
const inFish = (text: string): string => text.replace(/\\/g, String.raw`\\`).replace(/'/g, String.raw`\'`);

function zsh(commands: readonly Command[]): string {
  const cases = commands.map((command) => {
    const lines = entriesOf(command).map(({ name, spec, about }) => {
      const { values, takes, short, multiple } = spec;
      const action = values !== undefined ? `(${values.join(' ')})` : takes === 'folder' ? '_files -/' : takes === 'file' ? '_files' : ' ';
      const value = spec.type === 'string' ? `:${name}:${action}` : '';
      const what = `[${inZsh(about)}]${value}`;
      if (multiple === true) return `'*--${name}${what}'`;
      return short === undefined ? `'--${name}${what}'` : `'(-${short} --${name})'{-${short},--${name}}'${what}'`;
    });
    const first = command.actions === undefined ? [] : [`'1:action:(${command.actions.join(' ')})'`];
    return `    ${command.name}) _arguments -s ${[...lines, ...first, "'*:file:_files'"].join(' \\\n        ')} ;;`;
  });
  return `#compdef warploom
# Completion of warploom in zsh: eval "$(warploom completion zsh)" after compinit, for example in ~/.zshrc.
_warploom() {
  local -a commands=(${[...commands, ...others].map(({ name, summary }) => `'${name}:${inZsh(summary)}'`).join(' ')})
  if (( CURRENT == 2 || CURRENT == 3 && $words[2] == (help) )); then
    _describe command commands
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join('\n')}
  esac
}
if [ "$funcstack[1]" = _warploom ]; then _warploom "$@"; else compdef _warploom warploom; fi
`;
}

function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap((command) => {
    const only = `-n '__fish_seen_subcommand_from ${command.name}'`;
    const options = entriesOf(command).map(({ name, spec: { type, short, values, takes }, about }) => [
      `complete -c warploom ${only} -l ${name}`, short === undefined ? '' : `-s ${short}`,
      type === 'boolean' ? '' : values !== undefined ? `-x -a '${values.join(' ')}'`
        : takes === 'folder' ? `-x -a '(__fish_complete_directories)'` : takes === 'file' ? '-r -F' : '-x',
      about === '' ? '' : `-d '${inFish(about)}'`,
    ].filter((part) => part !== '').join(' '));
    const actions = command.actions === undefined ? []
      : [`complete -c warploom -n '__fish_seen_subcommand_from ${command.name}; and not __fish_seen_subcommand_from `
        + `${command.actions.join(' ')}' -f -a '${command.actions.join(' ')}'`];
    return [`complete -c warploom -n __fish_use_subcommand -f -a ${command.name} -d '${inFish(command.summary)}'`, ...actions, ...options];
  });
  lines.push(...others.map(({ name, summary }) => `complete -c warploom -n __fish_use_subcommand -f -a ${name} -d '${summary}'`),
    `complete -c warploom -n '__fish_seen_subcommand_from help' -f -a '${commands.map(({ name }) => name).join(' ')}'`);
  return `# Completion of warploom in fish: warploom completion fish > ~/.config/fish/completions/warploom.fish
${lines.join('\n')}
`;
}

/** The script for one shell. */
export function completionScript(shell: (typeof shells)[number], commands: readonly Command[]): string {
  return { bash, zsh, fish }[shell](commands);
}
