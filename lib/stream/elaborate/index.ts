// Elaboration: turns a checked program into a graph of filters whose code has known types, sizes and rates.
import { WarploomError } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import type { Span, StreamDeclaration } from '../ast.ts';
import { Reporter, type Diagnostic } from '../diagnostics.ts';
import type { Checked } from '../front/checked.ts';
import type { GraphTree, StreamGraph } from '../graph.ts';
import { Fault } from '../interpret/fault.ts';
import { shownGraph } from '../pictures/shown-graph.ts';
import { trusted } from '../require.ts';
import { ScheduleError } from '../schedule/error.ts';
import { repetitions, scheduled } from '../schedule/steady.ts';
import { boundStream, elaborated } from './instance.ts';
import type { Piece } from './pieces.ts';
import { defaultLimits, type ElaborationLimits } from './limits.ts';
import { givenParameters, type ParameterValues } from './parameters.ts';
import { Reported, Session } from './session.ts';
import { staticEntity } from './statics.ts';
import { isDynamic, sdfOf } from './to-sdf.ts';

export { describeGraph } from './describe.ts';
export { defaultLimits, type ElaborationLimits } from './limits.ts';
export type { ParameterValue, ParameterValues } from './parameters.ts';
export { toSdf } from './to-sdf.ts';

export interface ElaborateOptions {
  /** The main stream. Default: the one of the program. */
  readonly main?: string;
  /** Values for the parameters of the main stream, by name. */
  readonly parameters?: ParameterValues;
  /** Limits that override {@link defaultLimits}. */
  readonly limits?: Partial<ElaborationLimits>;
  /** Contents of files that the program reads during elaboration (`init_array_1D_float`), by the path in the program. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
}

export interface Elaborated {
  /** Undefined if there is an error among the diagnostics. */
  readonly graph: StreamGraph | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Runs the bodies of all streams, starting from the main stream, and translates the filters that they create. The program must have
 * been checked without errors. Whatever the program, this ends within its limits; errors become diagnostics with their position in
 * the source and the instance in which they happened. Filters with equal arguments share one FilterCode.
 */
export function elaborate(checked: Checked, options: ElaborateOptions = {}): Elaborated {
  const work = elaboration(checked, options);
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Like {@link elaborate}, in small steps. `watch` is called every few milliseconds of a program's own code, and may throw. */
export function* elaboration(checked: Checked, options: ElaborateOptions, watch?: () => void): Generator<void, Elaborated> {
  const limits = { ...defaultLimits, ...options.limits };
  const files = options.files ?? {};
  const session = new Session(checked, { limits, file: (path) => (Object.hasOwn(files, path) ? files[path] : undefined), watch });
  let piece: Piece | undefined;
  try {
    piece = yield* start(session, options);
  } catch (error) {
    keep(session, error);
  }
  const hasErrors = session.faults.some(({ severity }) => severity === 'error');
  const graph = piece === undefined || hasErrors ? undefined : finish(session, piece);
  if (graph !== undefined) checkRates(session, graph);
  const isWrong = session.faults.some(({ severity }) => severity === 'error');
  return { graph: isWrong ? undefined : graph, diagnostics: diagnosticsOf(session) };
}

/**
 * Reports unbalanced rates: such a program has no schedule, and items pile up when it is interpreted. A loop in which nothing can start is
 * an error.
 */
function checkRates(session: Session, graph: StreamGraph): void {
  if (graph.nodes.some(isDynamic)) return;
  try {
    const sdf = sdfOf(graph);
    if (hasLoop(graph.tree)) scheduled(sdf);
    else repetitions(sdf);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    if (error.reason !== 'inconsistent' && error.reason !== 'deadlock') return;
    const spans = error.actors.map((id) => elementAt(graph.nodes, id)).map((node) => (node.kind === 'filter' ? node.code.span : undefined));
    const at = spans.find((span) => span !== undefined) ?? session.checked.entry?.at;
    if (error.reason === 'deadlock') {
      session.faults.push({ fault: new Fault('S4056', error.message, at), path: '', severity: 'error' });
      return;
    }
    const hint = 'a split-join must give each branch as many items as it takes back';
    session.faults.push({ fault: new Fault('S4054', error.message, at, { hint }), path: '', severity: 'warning' });
  }
}

function hasLoop(tree: GraphTree): boolean {
  const trees = [tree];
  for (const each of trees) {
    if (each.kind === 'feedbackloop') return true;
    if (each.kind !== 'node') trees.push(...each.children);
  }
  return false;
}

function* start(session: Session, { main, parameters = {} }: ElaborateOptions): Generator<void, Piece> {
  const entry = entryOf(session, main);
  const bound = givenParameters(session, entry, parameters);
  return yield* elaborated(boundStream(session, entry, { span: entry.at, bound, outside: (symbol) => staticEntity(session, symbol) }));
}

function entryOf(session: Session, main: string | undefined): StreamDeclaration {
  const { checked } = session;
  const origin: Span = { file: 0, start: 0, end: 0 };
  if (main === undefined) {
    if (checked.entry !== undefined) return checked.entry;
    throw new Fault('S4052', 'the program does not say where it begins', origin,
      { hint: 'write a void->void stream that no other stream adds, or name the main stream' });
  }
  const found = checked.program.streams.find(({ name }) => name === main);
  if (found === undefined || !checked.reached.has(found)) throw new Fault('S4052', `there is no stream ${main} to start from`, origin);
  return found;
}

/** Records what ended the elaboration, unless it has already been recorded. */
function keep(session: Session, error: unknown): void {
  if (error instanceof Reported) return;
  if (error instanceof Fault) {
    const isKept = session.faults.some(({ fault }) => fault === error || (fault.fatal && error.fatal));
    if (!isKept && error.code !== 'S4100') session.faults.push({ fault: error, path: '', severity: 'error' });
    return;
  }
  if (!(error instanceof RangeError) || error instanceof WarploomError) throw error;
  const entry = session.checked.entry?.at;
  session.faults.push({ fault: new Fault('S4104', 'the program is nested too deeply', entry), path: '', severity: 'error' });
}

function diagnosticsOf(session: Session): Diagnostic[] {
  const reporter = new Reporter(session.checked.program.files, session.limits.errors);
  for (const { fault, path, severity } of session.faults) {
    const message = path === '' ? fault.message : `${fault.message} (in ${path})`;
    reporter.report({ code: fault.code, severity, message, hint: fault.hint }, fault.span ?? { file: 0, start: 0, end: 0 });
  }
  return reporter.finish();
}

function finish(session: Session, piece: Piece): StreamGraph {
  const end = (found: Piece['input']) => (found === undefined ? undefined : { type: found.type, node: found.node });
  return trusted(shownGraph({
    nodes: session.nodes, channels: session.channels, tree: piece.tree,
    input: end(piece.input), output: end(piece.output), portals: session.portals, files: session.checked.program.files,
    ...(session.missing.size === 0 ? {} : { missing: [...session.missing] }),
  }));
}
