// From source to graph in one call. Stages are loaded by the first call that needs them.
import { describeValue } from '../core/arrays.ts';
import { hasFields, rule, text } from '../core/checks.ts';
import { briefly } from '../core/display.ts';
import { refusal } from '../core/errors.ts';
import { required } from '../core/known.ts';
import { nested, normally, optionsOf, type ChecksOf } from '../core/options.ts';
import { snapshot } from '../core/snapshot.ts';
import type { Program } from './ast.ts';
import { StreamNode, type AnyStream } from './builders/index.ts';
import { requireNoErrors, type Diagnostic, type SourceFile } from './diagnostics.ts';
import type { ElaborationStop } from './elaborate/aside.ts';
import type { Elaborated, ElaborateOptions } from './elaborate/index.ts';
import { elaborationLimits } from './elaborate/limits.ts';
import type { ParameterValues } from './elaborate/parameters.ts';
import type { Checked } from './front/checked.ts';
import { syntaxLimits, type SyntaxLimits } from './front/limits.ts';
import type { StreamGraph } from './graph.ts';
import { contents, stopChecks } from './options.ts';
import { timeOver } from './stop.ts';

/** A program's text, its files (names and declarations of all are known in each), or a stream made by `filter`, `pipeline` and so on. */
export type Source = string | readonly SourceFile[] | AnyStream;

/** Options of {@link parse}. */
export interface ParseOptions {
  /** Name of the file in messages, if the source is a text. Default 'program.str'. */
  readonly file?: string;
  /** Limits that override the defaults. */
  readonly syntaxLimits?: Partial<SyntaxLimits>;
}

function filesOf(source: Exclude<Source, AnyStream>, name: string): readonly SourceFile[] {
  if (typeof source === 'string') return [{ name, text: source }];
  const fits = Array.isArray(source) && source.length > 0
    && source.every((file: Partial<SourceFile> | null | undefined) => typeof file?.name === 'string' && typeof file.text === 'string');
  if (!fits) throw refusal('source', 'a text, files with name and text, or a stream', describeValue(source));
  return (source as readonly SourceFile[]).map(({ name: file, text }) => ({ name: file, text }));
}

const hasErrors = (diagnostics: readonly Diagnostic[]): boolean => diagnostics.some(({ severity }) => severity === 'error');

const parseChecks = { file: normally(text(), 'program.str'), syntaxLimits: nested(syntaxLimits) };
const checkChecks = { ...parseChecks, ...stopChecks, main: text(), parameters: rule<ParameterValues>('values by name', hasFields) };
const parseOptions = optionsOf('stream.parse', parseChecks satisfies ChecksOf<ParseOptions>);
const checkOptions = optionsOf('stream.check', checkChecks satisfies ChecksOf<CheckOptions>);
const elaborateOptions = optionsOf('stream.elaborate', {
  ...checkChecks, limits: nested(elaborationLimits), files: contents,
} satisfies ChecksOf<CompileOptions>);

/** Result of {@link parse}. */
export interface ParseResult {
  readonly program: Program;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Parses a StreamIt program. Never rejects any text: errors are listed in `diagnostics`, in source order, and `program` holds what
 * could be understood.
 *
 * @see the StreamIt language specification 2.1
 */
export async function parse(source: Source, options: ParseOptions = {}): Promise<ParseResult> {
  return parsed(source, parseOptions.read(options));
}

async function parsed(source: Source, { file = '', syntaxLimits: given = {} }: ParseOptions): Promise<ParseResult> {
  if (source instanceof StreamNode) return (await import('./builders/program.ts')).toProgram(source);
  const files = filesOf(source, file);
  const limits = syntaxLimits.read(given);
  const { parse: parseFiles } = await import('./front/parser.ts');
  return parseFiles(files, limits);
}

/** Options of {@link check}. */
export interface CheckOptions extends ParseOptions {
  /**
   * Cancels the call, which then throws the signal's reason. Checked between parsing and checking, both of which the syntax limits
   * bound.
   */
  readonly signal?: AbortSignal;
  /** Milliseconds that the call may take, checked when `signal` is. Default: no limit other than those of its work. */
  readonly timeout?: number;
  /** The main stream. Default: the void->void stream that no other adds; in a program without one every stream is checked. */
  readonly main?: string;
  /** Values for the parameters of the main stream, by name. */
  readonly parameters?: ParameterValues;
}

/** Result of {@link check}. `checked` is present unless the syntax is wrong; it may be elaborated if no diagnostic is an error. */
export interface CheckResult {
  readonly program: Program;
  readonly checked: Checked | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** Parses a program and checks names, types and rates of everything that its main stream reaches. Never rejects any text. */
export async function check(source: Source, given: CheckOptions = {}): Promise<CheckResult> {
  const options = snapshot(checkOptions.read(given));
  return briefly('CheckResult', await checked(source, options, stopOf(options)));
}

async function checked(source: Source, options: CheckOptions, stop: ElaborationStop): Promise<CheckResult> {
  const found = await parsed(source, options);
  requireGoing(stop, 'check');
  return checkedProgram(found, options, stop);
}

async function checkedProgram({ program, diagnostics }: ParseResult, options: CheckOptions, stop: ElaborationStop): Promise<CheckResult> {
  if (hasErrors(diagnostics)) return { program, checked: undefined, diagnostics };
  const { check: checkProgram } = await import('./front/check.ts');
  const found = checkProgram(program, { entry: options.main, parameters: Object.keys(options.parameters ?? {}) });
  requireGoing(stop, 'check');
  return { program, checked: found.checked, diagnostics: [...diagnostics, ...found.diagnostics] };
}

/** What ends a call that begins now. */
function stopOf({ signal, timeout = Infinity }: CheckOptions): ElaborationStop {
  signal?.throwIfAborted();
  return { signal, timeout, begin: performance.now() };
}

/** Throws when the call was ended. */
function requireGoing({ signal, timeout, begin }: ElaborationStop, what: string): void {
  signal?.throwIfAborted();
  if (performance.now() - begin > timeout) throw timeOver(timeout, what);
}

/** Options of {@link elaborate}. `signal` and `timeout` end it within a tenth of a second, even in the middle of an `init`. */
export interface CompileOptions extends CheckOptions, Omit<ElaborateOptions, 'main' | 'parameters'> {}

/** A program as a graph of filters. */
export interface Compiled {
  readonly program: Program;
  readonly graph: StreamGraph;
  /** Warnings. */
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Parses, checks and elaborates a program: bodies of pipelines, split-joins and feedback loops are run, and every filter's code is
 * specialised for its arguments. Whatever the program, this ends within `limits`. The event loop keeps running: code of the program
 * that runs longer than 50 ms at a stretch moves to a worker thread.
 *
 * @throws ProgramError (`ERR_WARPLOOM_INVALID_PROGRAM`) with all diagnostics if the program is wrong
 */
export async function elaborate(source: Source, given: CompileOptions = {}): Promise<Compiled> {
  const options = snapshot(elaborateOptions.read(given));
  const stop = stopOf(options);
  const syntax = await parsed(source, options);
  const { program } = syntax;
  requireGoing(stop, 'check');
  requireNoErrors(syntax.diagnostics, program);
  const { main, parameters, files } = options;
  const limits = elaborationLimits.read(options.limits ?? {});
  const make = async (): Promise<Elaborated> => {
    const { checked: found, diagnostics } = await checkedProgram(syntax, options, stop);
    requireNoErrors(diagnostics, program);
    const { elaborateAside } = await import('./elaborate/aside.ts');
    const { graph, diagnostics: later } = await elaborateAside(required(found), { main, parameters, limits, files }, stop);
    return { graph, diagnostics: [...diagnostics, ...later] };
  };
  const { keptElaboration } = await import('./elaborate/kept.ts');
  const { graph, diagnostics } = source instanceof StreamNode ? await make()
    : await keptElaboration(program.files, { main, parameters, limits, files }, make);
  requireGoing(stop, 'elaboration');
  requireNoErrors(diagnostics, program);
  return briefly('Compiled', { program, graph: required(graph), diagnostics });
}
