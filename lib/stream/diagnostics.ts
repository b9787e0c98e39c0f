// What the compiler has to say about a program: errors and warnings with their place in the source.
import { requireCount, requireText } from '../core/checks.ts';
import { WarploomError } from '../core/errors.ts';
import { elementAt, required } from '../core/known.ts';
import type { Span } from './ast.ts';
import { requireFields } from './require.ts';

/** One finding. */
export interface Diagnostic {
  /** Stable: `S` and four digits; docs/stream-diagnostics.md lists them. */
  readonly code: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  /** What to do about it; '' if the message says so. */
  readonly hint: string;
  readonly span: Span;
  /** File name as given; lines and columns from 1. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

/** A program was rejected. `diagnostics`: at least one error. The message shows them with their source. */
export class ProgramError extends WarploomError {
  override readonly name = 'ProgramError';
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[], message: string) {
    super('ERR_WARPLOOM_INVALID_PROGRAM', message);
    this.diagnostics = diagnostics;
  }
}

/** A source file by name. */
export interface SourceFile {
  readonly name: string;
  readonly text: string;
}

/** A kind of diagnostic. `{name}` in message and hint is replaced by a value given when it is reported. */
export interface Rule {
  readonly code: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly hint: string;
}

/** Rule of an error; codes begin with S and have four digits. */
export const errorRule = (code: string, message: string, hint = ''): Rule => ({ code, severity: 'error', message, hint });
/** Rule of a warning. */
export const warningRule = (code: string, message: string, hint = ''): Rule => ({ code, severity: 'warning', message, hint });

const kTooMany = errorRule('S0100', 'more than {limit} errors; the others are not shown', 'fix these first');

const fill = (template: string, values: Readonly<Record<string, string | number>>): string =>
  template.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));

/** Lines of a text: \n, \r\n and \r end them. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (const match of text.matchAll(/\r\n?|\n/g)) starts.push(match.index + match[0].length);
  return starts;
}

/** Collects diagnostics of one program: the first `limit` errors and as many warnings, and only one per code and position. */
export class Reporter {
  private readonly files: readonly SourceFile[];
  private readonly limit: number;
  private readonly starts: number[][] = [];
  private readonly found: Diagnostic[] = [];
  private readonly places = new Set<string>();
  private counts = { error: 0, warning: 0 };

  constructor(files: readonly SourceFile[], limit = 100) {
    this.files = files;
    this.limit = limit;
  }

  /** Errors reported so far, including those beyond the limit. */
  get errors(): number { return this.counts.error; }

  /** Adds a diagnostic of `rule` at `span`; `hint` replaces the rule's own. */
  report(rule: Rule, span: Span, values: Readonly<Record<string, string | number>> = {}, hint?: string): void {
    const place = `${rule.code}:${span.file}:${span.start}`;
    if (this.places.has(place)) return;
    this.places.add(place);
    const count = ++this.counts[rule.severity];
    if (count > this.limit + 1 || (count > this.limit && rule.severity === 'warning')) return;
    if (count > this.limit) this.found.push(this.make(kTooMany, span, { limit: this.limit }));
    else this.found.push(this.make(rule, span, values, hint));
  }

  /** Line and column, from 1, of an offset. */
  position(file: number, offset: number): { readonly line: number; readonly column: number } {
    const starts = this.starts[file] ??= lineStarts(this.files[file]?.text ?? '');
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (elementAt(starts, middle) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - elementAt(starts, low) + 1 };
  }

  /** All diagnostics in source order: by file, position and code. */
  finish(): Diagnostic[] {
    return [...this.found].sort((a, b) => a.span.file - b.span.file || a.span.start - b.span.start ||
      (a.code < b.code ? -1 : Number(a.code > b.code)));
  }

  private make(rule: Rule, span: Span, values: Readonly<Record<string, string | number>>, hint = fill(rule.hint, values)): Diagnostic {
    const from = this.position(span.file, span.start);
    const to = this.position(span.file, span.end);
    return {
      code: rule.code, severity: rule.severity, message: fill(rule.message, values), hint, span, file: this.files[span.file]?.name ?? '',
      line: from.line, column: from.column, endLine: to.line, endColumn: to.column,
    };
  }
}

const kWidth = 120;

/** The line of a diagnostic and a mark under its place, at most 120 columns wide. */
function excerpt(diagnostic: Diagnostic, text: string): string[] {
  const start = diagnostic.span.start - diagnostic.column + 1;
  const line = required(/^[^\r\n]*/.exec(text.slice(start, start + diagnostic.column + kWidth)))[0];
  const from = diagnostic.column <= kWidth - 20 ? 0 : diagnostic.column - 60;
  // eslint-disable-next-line no-control-regex
  const shown = line.slice(from, from + kWidth).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ud800-\udfff]/g, '\ufffd');
  const length = diagnostic.endLine === diagnostic.line ? diagnostic.endColumn - diagnostic.column : line.length - diagnostic.column + 1;
  const before = shown.slice(0, diagnostic.column - 1 - from).replace(/[^\t]/g, ' ');
  const mark = '^'.repeat(Math.max(1, Math.min(length, shown.length - before.length)));
  const number = String(diagnostic.line);
  const margin = ' '.repeat(number.length);
  return [` ${number} | ${from > 0 ? '…' : ''}${shown}`, ` ${margin} | ${from > 0 ? ' ' : ''}${before}${mark}`];
}

/** Refuses what is no diagnostic of a program with files. */
function checkDiagnostic(diagnostic: Diagnostic, program: { readonly files: readonly SourceFile[] }): void {
  requireFields('diagnostic', diagnostic, 'a diagnostic');
  for (const name of ['code', 'severity', 'message', 'hint', 'file'] as const) requireText(diagnostic[name], `diagnostic.${name}`);
  for (const name of ['line', 'column', 'endLine', 'endColumn'] as const) requireCount(diagnostic[name], `diagnostic.${name}`, 1, 2 ** 31);
  requireFields('diagnostic.span', diagnostic.span, 'a place in the source');
  for (const name of ['file', 'start', 'end'] as const) requireCount(diagnostic.span[name], `diagnostic.span.${name}`, 0);
  requireFields('program', program, 'a program with files', ['files']);
  const file = program.files[diagnostic.span.file];
  if (file === undefined) return;
  requireFields(`program.files[${diagnostic.span.file}]`, file, 'a file with name and text');
  requireText(file.text, `program.files[${diagnostic.span.file}].text`);
}

/** A diagnostic as readable lines: what and where, the source line with a mark, and the hint. */
export function formatDiagnostic(diagnostic: Diagnostic, program: { readonly files: readonly SourceFile[] }): string {
  checkDiagnostic(diagnostic, program);
  const { severity, code, file, line, column, message, hint, span } = diagnostic;
  const head = `${file}:${line}:${column}: ${severity} ${code}: ${message}`;
  return [head, ...excerpt(diagnostic, program.files[span.file]?.text ?? ''), ...(hint === '' ? [] : [`   hint: ${hint}`])].join('\n');
}

/** Throws a {@link ProgramError} that shows the first ten errors with their source, if there is any error. */
export function requireNoErrors(diagnostics: readonly Diagnostic[], program: { readonly files: readonly SourceFile[] }): void {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return;
  const shown = errors.slice(0, 10).map((diagnostic) => formatDiagnostic(diagnostic, program));
  const rest = errors.length > shown.length ? [`and ${errors.length - shown.length} errors more`] : [];
  throw new ProgramError(diagnostics, [`the stream program has ${errors.length === 1 ? 'an error' : `${errors.length} errors`}`,
    ...shown, ...rest].join('\n'));
}
