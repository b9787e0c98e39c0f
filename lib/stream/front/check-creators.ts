// What composites are made of: creators, splitters, joiners, and whether the types of neighbours fit.
import { elementAt, required } from '../../core/known.ts';
import type { Creator, Expression, Statement, StreamDeclaration } from '../ast.ts';
import { counted } from './check-calls.ts';
import { quoted, title, type Context } from './check-context.ts';
import type { ExpressionChecker } from './check-expressions.ts';
import type { Frame } from './check-frame.ts';
import { checkRules } from './check-rules.ts';
import type { GraphStatement } from './check-statements.ts';
import type { NameSymbol, Target, Type } from './checked.ts';
import { endsOfStream, endsOfTarget } from './infer-ends.ts';
import { basic, constantOf, describe, isUnknown, same } from './types.ts';

type Composite = Exclude<StreamDeclaration, { kind: 'filter' }>;
type Named = Extract<Creator, { kind: 'named' }>;

const kAllowed: Readonly<Record<Composite['kind'], ReadonlySet<string>>> = {
  pipeline: new Set(['add']), splitjoin: new Set(['add', 'split', 'join']),
  feedbackloop: new Set(['body', 'loop', 'split', 'join', 'enqueue']),
};
const kPlaces: Readonly<Record<string, string>> = {
  add: "add children in pipelines and splitjoins; feedbackloops have 'body' and 'loop'", split: 'only splitjoins and feedbackloops split',
  join: 'only splitjoins and feedbackloops join', body: 'only feedbackloops have a body', loop: 'only feedbackloops have a loop',
  enqueue: 'only feedbackloops enqueue',
};

/** Checks creators; `anonymous` checks an anonymous stream inside the scope of its composite. */
export class CreatorChecker {
  private readonly context: Context;
  private readonly expressions: ExpressionChecker;
  private readonly anonymous: (stream: StreamDeclaration, frame: Frame) => void;

  constructor(expressions: ExpressionChecker, anonymous: (stream: StreamDeclaration, frame: Frame) => void) {
    this.expressions = expressions;
    this.context = expressions.context;
    this.anonymous = anonymous;
  }

  /** A statement that builds the graph: allowed where it stands, and right in itself. */
  statement(node: GraphStatement, frame: Frame): void {
    const { owner, kind } = frame.place;
    if (kind !== 'body' || owner.kind === 'filter' || owner.kind === 'static' || owner.kind === 'helpers') {
      const found = owner.kind === 'filter' ? 'filter' : 'function';
      this.context.report(checkRules.place, node.span, { statement: node.kind, kind: found, hint: 'composites build the graph' });
      return;
    }
    if (!kAllowed[owner.kind].has(node.kind)) {
      this.context.report(checkRules.place, node.span, { statement: node.kind, kind: owner.kind, hint: required(kPlaces[node.kind]) });
    }
    if ('policy' in node) {
      if (node.kind === 'join' && node.policy.kind === 'duplicate') this.context.report(checkRules.joinDuplicate, node.policy.span);
      this.weights(node.policy.kind === 'roundrobin' ? node.policy.weights : [], owner, frame);
    } else if (node.kind === 'enqueue') {
      const { input } = endsOfStream(this.context, owner);
      this.expressions.convert(node.value, input.kind === 'void' ? basic.unknown : input, frame);
    } else {
      this.creator(node.creator, frame);
    }
  }

  private weights(weights: readonly Expression[], owner: Composite, frame: Frame): void {
    for (const weight of weights) {
      this.expressions.whole(weight, frame, checkRules.rateType);
      if ((constantOf(weight) ?? 0) < 0) this.context.report(checkRules.rateNegative, weight.span);
    }
    const surplus = weights[2];
    if (owner.kind !== 'feedbackloop' || surplus === undefined) return;
    this.context.report(checkRules.weights, surplus.span, { found: weights.length, expected: 'the two ends of a feedbackloop' });
  }

  private creator(creator: Creator, frame: Frame): void {
    let target: Target | undefined;
    if (creator.kind === 'anonymous') {
      target = { kind: 'stream', declaration: creator.stream };
      this.context.sites.set(creator.stream, { owner: frame.place.owner as Composite, creator });
      this.anonymous(creator.stream, frame);
    } else {
      target = this.named(creator, frame);
    }
    if (target !== undefined) this.context.targets.set(creator, target);
    const portals: NameSymbol[] = [];
    for (const name of creator.portals) this.portal(name, creator, target, frame, portals);
    this.context.portals.set(creator, portals);
  }

  private named(creator: Named, frame: Frame): Target | undefined {
    const { name, type } = creator;
    const at = { ...creator.span, end: creator.span.start + name.length };
    const builtin = name === 'Identity' || name === 'FileReader' || name === 'FileWriter';
    if (builtin && !this.context.streams.has(name)) return this.builtin(creator, name, frame);
    if (type !== undefined) this.context.report(checkRules.creatorNoType, type.span, { name });
    const declaration = this.context.findStream(name, at);
    creator.args.forEach((argument, index) => {
      const parameter = declaration?.parameters[index];
      this.expressions.convert(argument, parameter === undefined ? basic.unknown : this.context.resolveType(parameter.type), frame);
    });
    if (declaration === undefined) return undefined;
    if (declaration.parameters.length !== creator.args.length) this.count(creator, declaration.parameters.length);
    this.context.reach(declaration);
    return { kind: 'stream', declaration };
  }

  private builtin(creator: Named, name: 'Identity' | 'FileReader' | 'FileWriter', frame: Frame): Target {
    let element: Type = creator.type === undefined ? basic.unknown : this.expressions.written(creator.type, frame);
    if (creator.type === undefined) this.context.report(checkRules.creatorType, creator.span, { name });
    else if (['void', 'string', 'portal'].includes(element.kind)) {
      const hint = 'items are numbers, arrays and structs';
      this.context.report(checkRules.typeUse, creator.type.span, { type: describe(element), what: 'items', hint });
      element = basic.unknown;
    }
    const expected = name === 'Identity' ? 0 : 1;
    for (const argument of creator.args) this.expressions.convert(argument, expected === 0 ? basic.unknown : basic.string, frame);
    if (creator.args.length !== expected) this.count(creator, expected);
    return { kind: name === 'Identity' ? 'identity' : name === 'FileReader' ? 'reader' : 'writer', element };
  }

  private count(creator: Named, expected: number): void {
    const found = creator.args.length;
    this.context.report(checkRules.creatorCount, creator.span,
      { name: creator.name, expected: counted(expected, 'argument'), found: found === 0 ? 'none' : found });
  }

  private portal(name: string, creator: Creator, target: Target | undefined, frame: Frame, portals: NameSymbol[]): void {
    const { span } = creator;
    const symbol = this.expressions.resolve({ kind: 'name', name, span: { ...span, start: span.end - 1 } }, frame);
    if (symbol === undefined) return;
    this.context.read.add(symbol);
    if (symbol.type.kind !== 'portal') {
      if (!isUnknown(symbol.type)) this.context.report(checkRules.notPortal, span, { name, found: describe(symbol.type) });
      return;
    }
    portals.push(symbol);
    const { receiver } = symbol.type;
    // If the receiver is a composite, the filters inside it that have handlers receive.
    if (target === undefined || receiver === undefined) return;
    if (target.kind === 'stream' && (target.declaration === receiver || target.declaration.kind !== 'filter')) return;
    const found = target.kind === 'stream' ? target.declaration.name || title(target.declaration) : target.kind;
    this.context.report(checkRules.receiver, span, { portal: name, expected: receiver.name, found });
  }
}

interface Line {
  /** Top-level statements that add; undefined where a loop or a condition adds, too. */
  readonly adds: readonly (Extract<Statement, { kind: 'add' | 'body' | 'loop' }> | undefined)[];
}

/** What a body adds, in order, as far as it does not depend on conditions and loops. */
function lineOf(stream: Composite, adds: (node: Statement) => boolean): Line {
  const list: (Extract<Statement, { kind: 'add' | 'body' | 'loop' }> | undefined)[] = [];
  for (const statement of stream.body.statements) {
    if (statement.kind === 'add' || statement.kind === 'body' || statement.kind === 'loop') list.push(statement);
    else if (adds(statement)) list.push(undefined);
  }
  return { adds: list };
}

const nameOf = (creator: Creator): string => (creator.kind === 'named' ? `'${creator.name}'` : `this ${title(creator.stream)}`);

/** Checks that types of neighbours in a composite agree, where both are known. */
export function checkNeighbours(context: Context, stream: Composite, adds: (node: Statement) => boolean): void {
  const own = endsOfStream(context, stream);
  const { adds: line } = lineOf(stream, adds);
  const compare = (what: string, found: Type, expected: Type, span: Statement['span']) => {
    if (!same(found, expected)) context.report(checkRules.ends, span, { what, found: describe(found), expected: describe(expected) });
  };
  if (stream.kind === 'pipeline') {
    let last: Type = own.input;
    for (const node of line) {
      if (node === undefined) {
        last = basic.unknown;
        continue;
      }
      const { creator } = node;
      const ends = endsOfTarget(context, context.targets.get(creator));
      compare(`the input of ${nameOf(creator)}`, ends.input, last, creator.span);
      last = ends.output;
    }
    const end = line.at(-1);
    if (end !== undefined) compare(`the output of ${nameOf(end.creator)}, the last one,`, last, own.output, end.creator.span);
    return;
  }
  for (const node of line) {
    if (node === undefined || node.kind === 'loop') continue;
    const ends = endsOfTarget(context, context.targets.get(node.creator));
    // A branch that gets or gives nothing has the weight 0.
    if (ends.input.kind !== 'void' && own.input.kind !== 'void') {
      compare(`the input of ${nameOf(node.creator)}`, ends.input, own.input, node.creator.span);
    }
    if (ends.output.kind !== 'void' && own.output.kind !== 'void') {
      compare(`the output of ${nameOf(node.creator)}`, ends.output, own.output, node.creator.span);
    }
  }
  checkWeights(context, stream, line);
}

/** Weights of a splitjoin against its children, where all of them are known. */
function checkWeights(context: Context, stream: Composite, line: Line['adds']): void {
  if (stream.kind !== 'splitjoin' || line.includes(undefined)) return;
  for (const node of stream.body.statements) {
    if (!('policy' in node)) continue;
    const { policy } = node;
    if (policy.kind !== 'roundrobin' || policy.weights.length < 2 || policy.weights.length === line.length || line.length === 0) continue;
    const expected = line.length === 1 ? 'one child' : `${line.length} children`;
    context.report(checkRules.weights, policy.span, { found: policy.weights.length, expected });
  }
}

/** `split` and `join`, `body` and `loop`: there, and not twice. `statements`: all of the body, those in loops and conditions too. */
export function checkParts(context: Context, stream: Composite, statements: readonly Statement[]): void {
  const { kind, at } = stream;
  const name = quoted(stream);
  const top = new Set(stream.body.statements);
  for (const wanted of ['split', 'join', 'body', 'loop'] as const) {
    if (!kAllowed[kind].has(wanted)) continue;
    const found = statements.filter((node) => node.kind === wanted);
    const certain = found.filter((node) => top.has(node));
    const isPolicy = wanted === 'split' || wanted === 'join';
    const end = wanted === 'split' ? stream.input : stream.output;
    const isVoid = kind === 'splitjoin' && (end === undefined || (end.kind === 'primitive' && end.name === 'void'));
    if (found.length === 0 && !isVoid) {
      const hint = {
        split: 'write split duplicate; or split roundrobin;', join: 'write join roundrobin;', body: 'write body and a stream',
        loop: 'write loop Identity<int>; where items come back as they are',
      }[wanted];
      context.report(checkRules.splitMissing, at, { kind, name, statement: wanted, hint });
    }
    if (certain.length < 2) continue;
    const rule = isPolicy ? checkRules.splitTwice : checkRules.bodyTwice;
    context.report(rule, elementAt(certain, 1).span, { statement: wanted, kind, name, line: context.lineOf(elementAt(certain, 0).span) });
  }
  const firstAdd = stream.body.statements.find((node) => node.kind === 'add');
  const late = statements.find((node) => node.kind === 'split' && kind === 'splitjoin');
  if (firstAdd !== undefined && late !== undefined && late.span.start > firstAdd.span.start) {
    context.report(checkRules.splitLate, late.span, { name });
  }
  const children = statements.filter((node) => node.kind === 'add' || node.kind === 'body' || node.kind === 'loop');
  if (children.length === 0) context.report(checkRules.empty, at, { kind, name });
  for (const node of stream.body.statements) {
    if ((node.kind === 'add' || node.kind === 'body' || node.kind === 'loop') && node.creator.kind === 'named' &&
      stream.name !== '' && node.creator.name === stream.name) {
      context.report(checkRules.endless, node.creator.span, { name: stream.name });
    }
  }
}
