// Where a command writes: results on standard output, notes and progress on standard error, in colour where that is wanted.
import { styleText } from 'node:util';
import type { Readable } from 'node:stream';
import { ProgressBar, type Output } from './progress-bar.ts';
import { formatTable } from './table.ts';

/** Where a command line is run; tests pass their own. */
export interface Streams {
  /** Default: standard input. */
  readonly in?: Readable;
  readonly out: Output;
  readonly err: Output;
  readonly signal: AbortSignal;
  /** Variables such as NO_COLOR. Default: those of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The options of every command that change what is written. */
export interface Manner {
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  readonly verbose?: boolean | undefined;
  readonly 'no-color'?: boolean | undefined;
}

/**
 * Whether to colour what goes to a stream: FORCE_COLOR decides, then NO_COLOR (no-color.org) and `--no-color`, then whether it is a
 * terminal that shows colours.
 */
function coloured({ isTTY }: Output, env: NonNullable<Streams['env']>, refused: boolean): boolean {
  const { FORCE_COLOR: force, NO_COLOR: none = '', TERM: term } = env;
  if (refused) return false;
  if (force !== undefined) return force !== '0' && force !== 'false';
  return none === '' && isTTY === true && term !== 'dumb';
}

/** The characters in a line of a terminal; as many as wanted elsewhere. */
export const columnsOf = ({ isTTY, columns = 0 }: Output): number => (isTTY === true && columns > 0 ? columns : Infinity);

/** What commands write to. */
export class Terminal implements Streams {
  readonly in?: Readable;
  readonly out: Output;
  readonly err: Output;
  readonly signal: AbortSignal;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly #colours: { readonly out: boolean; readonly err: boolean };

  constructor(streams: Streams, manner: Manner) {
    if (streams.in !== undefined) this.in = streams.in;
    this.out = streams.out;
    this.err = streams.err;
    this.signal = streams.signal;
    this.json = manner.json === true;
    this.quiet = manner.quiet === true;
    this.verbose = manner.verbose === true;
    const env = streams.env ?? process.env;
    const refused = manner['no-color'] === true;
    this.#colours = { out: coloured(streams.out, env, refused), err: coloured(streams.err, env, refused) };
  }

  /** A result: text for people, or with `--json` the value on a line of its own. */
  result(value: unknown, text: string): void {
    this.out.write(this.json ? `${JSON.stringify(value)}\n` : `${text}\n`);
  }

  /** Something to know besides the result; nothing with `--quiet`. */
  note(text: string): void {
    if (!this.quiet) this.err.write(`${this.paint('yellow', text, 'err')}\n`);
  }

  /** A bar on a terminal, elsewhere a line every ten seconds; nothing with `--quiet`. */
  progress(): ProgressBar {
    return new ProgressBar(this.err, { silent: this.quiet });
  }

  /** A table that fits into the terminal; whole where standard output is none. */
  table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
    return formatTable(headings, rows, columnsOf(this.out));
  }

  /** Coloured text, if the stream that it is for takes colours. */
  paint(style: 'red' | 'yellow' | 'green' | 'bold' | 'dim', text: string, to: 'out' | 'err' = 'out'): string {
    return this.#colours[to] ? styleText(style, text, { validateStream: false }) : text;
  }
}
