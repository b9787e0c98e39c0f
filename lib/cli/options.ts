// Options of commands: their declaration, and the parser that reads a command line by it.
import { parseArgs } from 'node:util';
import { nearest } from '../core/similar.ts';

/** Bad flags; the message says which and what was expected. */
export class UsageError extends Error {}

/** One option of a command: read by the parser, and offered by the completion of shells. */
export interface OptionSpec {
  readonly type: 'string' | 'boolean';
  /** One letter. */
  readonly short?: string;
  /** May be given several times; its value is then a list. */
  readonly multiple?: boolean;
  readonly default?: string | boolean;
  /** Words that it takes, if these are all. */
  readonly values?: readonly string[];
  /** What its value names. */
  readonly takes?: 'file' | 'folder';
}

/** Options by their long names. */
export type Options = Readonly<Record<string, OptionSpec>>;

type Value<S extends OptionSpec> = S['type'] extends 'boolean' ? boolean : S['multiple'] extends true ? string[] : string;

/** The values of options; those with a default are always there. */
export type Values<O extends Options> = {
  readonly [Name in keyof O]: O[Name] extends { readonly default: string | boolean } ? Value<O[Name]> : Value<O[Name]> | undefined;
};

/** The backends that `--backend` takes where nothing else is said. */
export const backendNames = ['auto', 'cuda', 'cpu', 'simt'] as const;

/** Options that every command takes. */
export const commonOptions = {
  help: { type: 'boolean', short: 'h' }, json: { type: 'boolean' }, quiet: { type: 'boolean', short: 'q' },
  verbose: { type: 'boolean', short: 'v' }, 'no-color': { type: 'boolean' },
} as const satisfies Options;

/** Their help. */
export const commonHelp = `Options of every command
  -h, --help           explain the command
      --json           write the result as JSON (run: events and results as JSON lines)
  -q, --quiet          write no notes and no progress, only results and errors
  -v, --verbose        say what is loaded, compiled and run, with times; show where errors come from
      --no-color       no colour; NO_COLOR=1 does the same everywhere, FORCE_COLOR=1 colours
                       output to files, too
`;

type Parsed<O extends Options> = { readonly values: Values<O & typeof commonOptions>; readonly positionals: string[] };

interface Token {
  readonly kind: string; readonly name?: string; readonly value?: string; readonly inlineValue?: boolean;
}

const named = (name: string, { short }: OptionSpec = { type: 'string' }): string =>
  (short === undefined ? '' : `-${short}, `) + (name.length === 1 ? `-${name}` : `--${name}`);

/** `; did you mean --weight?`, or nothing. */
function suggestion(name: string, known: readonly string[], dashes = ''): string {
  const found = nearest(name, known);
  return found === undefined ? '' : `; did you mean ${dashes}${found}?`;
}

/** The value of one option on the command line. */
function valueOf(options: Options, { name = '', value, inlineValue }: Token): string | boolean {
  const spec = Object.hasOwn(options, name) ? options[name] : undefined;
  if (spec === undefined) throw new UsageError(`there is no option ${named(name)}${suggestion(name, Object.keys(options), '--')}`);
  if (spec.type === 'boolean') {
    if (value !== undefined) throw new UsageError(`${named(name, spec)} takes no value, not '${value}'`);
    return true;
  }
  const taken = spec.values === undefined ? '' : `: ${spec.values.join(', ')}`;
  if (value === undefined) throw new UsageError(`${named(name, spec)} takes a value${taken}`);
  // A number may be negative; - is standard input or output, -.png the latter in a format.
  if (inlineValue !== true && /^-(?![.\d]|$)/.test(value)) {
    throw new UsageError(`${named(name, spec)} takes a value${taken}; write one that begins with a dash as --${name}=${value}`);
  }
  return value;
}

/**
 * Reads a command line by a command's options and those of every command.
 * @throws UsageError for options that are not known, naming the nearest one, and for values that are missing or superfluous
 */
export function parseFlags<const O extends Options>(own: O, args: readonly string[]): Parsed<O> {
  const options: Options = { ...own, ...commonOptions };
  const shapes = Object.fromEntries(Object.entries(options).map(([name, { type, short, multiple = false }]) =>
    [name, { type, multiple, ...(short === undefined ? {} : { short }) }]));
  const { tokens, positionals } = parseArgs({ args: [...args], options: shapes, strict: false, tokens: true, allowPositionals: true });
  const values: Record<string, unknown> = Object.fromEntries(
    Object.entries(options).flatMap(([name, spec]) => (spec.default === undefined ? [] : [[name, spec.default]])));
  const lists: Record<string, unknown[]> = {};
  for (const token of tokens as readonly Token[]) {
    if (token.kind !== 'option') continue;
    const { name = '' } = token;
    const value = valueOf(options, token);
    values[name] = options[name]?.multiple === true ? (lists[name] = [...lists[name] ?? [], value]) : value;
  }
  return { values: values as Parsed<O>['values'], positionals };
}

/** The options of every command on a line that may be wrong in others. What follows `--` is not looked at. */
export function looseFlags(args: readonly string[], own: Options): { readonly [Name in keyof typeof commonOptions]: boolean } {
  const shapes = Object.fromEntries(Object.entries({ ...own, ...commonOptions } as Options).map(([name, { type, short }]) =>
    [name, { type, ...(short === undefined ? {} : { short }) }]));
  const { values } = parseArgs({ args: [...args], options: shapes, strict: false, allowPositionals: true });
  const has = (name: string): boolean => values[name] === true;
  return { help: has('help'), json: has('json'), quiet: has('quiet'), verbose: has('verbose'), 'no-color': has('no-color') };
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

/** One of a few words, or undefined when absent. */
export function choiceFlag<const W extends string>(name: string, text: string | undefined, words: readonly W[]): W | undefined {
  const found = words.find((word) => word === text);
  if (text !== undefined && found === undefined) {
    throw new UsageError(`--${name} takes ${words.join(', ')}, not '${text}'${suggestion(text, words)}`);
  }
  return found;
}
