// Checks a program: names, types, rates and structure of everything that its main stream reaches.
import type { Program, StreamDeclaration } from '../ast.ts';
import { Reporter, type Diagnostic } from '../diagnostics.ts';
import { WarploomError } from '../../core/errors.ts';
import { lastOf, required } from '../../core/known.ts';
import { Context } from './check-context.ts';
import { checkRecursion } from './check-functions.ts';
import { checkRules } from './check-rules.ts';
import { endsOfStream } from './infer-ends.ts';
import { StreamChecker } from './check-streams.ts';
import type { Checked } from './checked.ts';
import { abbreviate } from './lexer.ts';
import { withinStack } from './stack.ts';
import { syntaxRules } from './syntax-rules.ts';
import { creatorsOf } from './walk.ts';

const isVoid = (stream: StreamDeclaration): boolean =>
  [stream.input, stream.output].every((end) => end?.kind === 'primitive' && end.name === 'void');

/**
 * Where checking begins. One stream is the program: the void->void one that no other adds; without any such, the only one that no other
 * adds, or the only one of them that has the name of its file or is called Main. Of several void->void ones those whose parameters all
 * have values come first, among them the one with the name of its file, else the last, with a warning. Several others make a library, in
 * which all are checked.
 */
function findEntry(context: Context, { entry: wanted, parameters = [] }: CheckOptions): readonly StreamDeclaration[] {
  const { streams } = context.program;
  const zero = { file: 0, start: 0, end: 0 };
  if (wanted !== undefined) {
    const stream = context.findStream(wanted, zero);
    return stream === undefined ? [] : [stream];
  }
  if (streams.length === 0) {
    context.report(checkRules.noStream, zero);
    return [];
  }
  const added = new Set<string>();
  for (const stream of streams) {
    for (const creator of creatorsOf(stream)) {
      if (creator.kind === 'named' && creator.name !== stream.name) added.add(creator.name);
    }
  }
  const free = streams.filter(({ name }) => !added.has(name));
  let programs = free.filter(isVoid);
  const fileOf = ({ at }: StreamDeclaration) => context.program.files[at.file]?.name.replace(/^.*[\\/]|\.str$/g, '').toLowerCase();
  const isTitled = (stream: StreamDeclaration) => fileOf(stream) === stream.name.toLowerCase();
  const titled = programs.filter(isTitled);
  if (titled.length === 1) programs = titled;
  if (programs.length === 0) {
    const named = free.filter((stream) => isTitled(stream) || stream.name === 'Main');
    return [free, named].find((some) => some.length === 1) ?? streams;
  }
  const lacking = (stream: StreamDeclaration) => stream.parameters.find(({ name }) => !parameters.includes(name));
  const ready = programs.filter((stream) => lacking(stream) === undefined);
  const last = lastOf((ready.length > 0 ? ready : programs));
  if (programs.length > 1) {
    const names = programs.slice(0, 4).map(({ name }) => `'${name}'`).join(', ');
    context.report(checkRules.severalEntries, last.at, { names: programs.length > 4 ? `${names}, …` : names, name: last.name });
  }
  const without = lacking(last);
  if (without !== undefined) context.report(checkRules.entryParameters, without.span, { name: last.name, parameter: without.name });
  return [last];
}

function warnUnused(context: Context, reached: ReadonlySet<StreamDeclaration>): void {
  const seen = new Set<string>();
  for (const stream of context.program.streams) {
    const { name, at } = stream;
    if (reached.has(stream) && required(context.streams.get(name)).length > 1) context.findStream(name, at);
    if (!reached.has(stream) && !required(context.streams.get(name)).some((other) => reached.has(other))) {
      context.report(seen.has(name) ? checkRules.duplicateUnused : checkRules.unusedStream, at, { name });
    }
    seen.add(name);
  }
}

/** Literals beyond 32 bits where an int is wanted: bit patterns wrap, larger ones are errors. */
function checkLiterals({ wide, reporter }: Context): void {
  for (const [{ wide: value, value: wrapped, span }, isMet] of wide) {
    if (isMet || value === undefined || value <= 0x80000000) continue;
    const text = abbreviate(BigInt(value).toString());
    if (value > 0xffffffff) reporter.report(syntaxRules.intRange, span, { text });
    else reporter.report(syntaxRules.intWraps, span, { text, value: wrapped });
  }
}

const missing = (): never => {
  throw new WarploomError('ERR_WARPLOOM_INTERNAL', 'a part of a stream program was looked up that has not been checked');
};

function makeChecked(context: Context, entry: StreamDeclaration | undefined, checker: StreamChecker): Checked {
  return {
    program: context.program, entry, reached: checker.reached, statics: [...checker.statics], prelude: context.prelude,
    typeOf: (expression) => context.types.get(expression) ?? missing(),
    typeOfNode: (node) => context.nodeTypes.get(node) ?? missing(),
    symbolOf: (name) => context.names.get(name) ?? missing(),
    symbolOfDeclaration: (declaration) => context.declared.get(declaration) ?? missing(),
    calleeOf: (call) => context.callees.get(call) ?? missing(),
    targetOf: (creator) => context.targets.get(creator) ?? missing(),
    endsOf: (stream) => endsOfStream(context, stream),
    messageOf: (message) => context.messages.get(message) ?? missing(),
    portalsOf: (creator) => context.portals.get(creator) ?? missing(),
    fallsOff: (declaration) => context.fallsOff.has(declaration),
  };
}

/** Choices of {@link check}. */
export interface CheckOptions {
  /** Name of the stream that is the program; default: the void->void stream that no other adds. */
  readonly entry?: string;
  /** Names of its parameters that get values from outside. */
  readonly parameters?: readonly string[];
}

/**
 * Checks a program that parsed without errors. Streams that the entry does not reach get a warning only. `checked` may be elaborated
 * exactly if no diagnostic is an error. Diagnostics come in the order of the source.
 */
export function check(program: Program, options: CheckOptions = {}): {
  readonly checked: Checked; readonly diagnostics: readonly Diagnostic[];
} {
  const reporter = new Reporter(program.files);
  const context = new Context(program, reporter);
  const checker = new StreamChecker(context);
  const roots = findEntry(context, options);
  const entry = roots.length === 1 ? roots[0] : undefined;
  withinStack(reporter, entry?.at ?? { file: 0, start: 0, end: 0 }, () => checker.run(roots));
  checkRecursion(context);
  checkLiterals(context);
  warnUnused(context, checker.reached);
  return { checked: makeChecked(context, entry, checker), diagnostics: reporter.finish() };
}
