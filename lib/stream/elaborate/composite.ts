// Bodies of pipelines, split-joins and feedback loops: executes them and connects their children by channels.
import { elementAt, lastOf } from '../../core/known.ts';
import type { CompositeDeclaration, Creator, Span, SplitPolicy, Statement } from '../ast.ts';
import type { Type } from '../front/checked.ts';
import type { GraphTree } from '../graph.ts';
import { Fault } from '../interpret/fault.ts';
import { fromConstant, sameType, toConstant, typeText, type Value } from '../interpret/values.ts';
import type { ConstantData, IrType } from '../ir.ts';
import { constantOf, makeConversion } from './fold.ts';
import { limitHint } from '../interpret/limits.ts';
import { endType, voidType, type BoundParameter, type Instantiate, type Piece, type Task } from './pieces.ts';
import { Runner } from './runner.ts';
import { Reported, type End, type Scope, type Session } from './session.ts';

/** What executing a body has collected. */
interface Parts {
  readonly children: Piece[];
  body: Piece | undefined;
  loop: Piece | undefined;
  split: Policy | undefined;
  join: Policy | undefined;
  readonly enqueued: { readonly type: IrType; readonly value: Value; readonly span: Span }[];
  /** A child could not be created; this has been reported. */
  isBroken: boolean;
}

/** A splitter or joiner as written, with its weights evaluated. */
interface Policy {
  readonly span: Span;
  readonly kind: 'duplicate' | 'roundrobin';
  readonly weights: readonly number[];
}

/** Elaborates a composite. */
export function* composite(
  session: Session, declaration: CompositeDeclaration,
  { scope, bound, instantiate }: {
    readonly scope: Scope; readonly bound: readonly BoundParameter[]; readonly instantiate: Instantiate;
  },
): Task {
  const parts: Parts = { children: [], body: undefined, loop: undefined, split: undefined, join: undefined, enqueued: [], isBroken: false };
  const runner = new Runner(session, (symbol) => scope.find(symbol));
  for (const { symbol, entity } of bound) {
    if (entity.kind === 'constant') runner.bind(symbol, entity.data.type, fromConstant(entity.data));
  }
  for (const statement of runner.steps(declaration.body)) yield* collect({ session, runner, instantiate }, parts, statement);
  const declared = declaredEnds(session, declaration, runner);
  runner.finish();
  if (parts.isBroken) throw new Reported();
  const piece = join(session, declaration, parts, declared);
  checkEnds(declaration, piece, declared);
  return piece;
}

interface Declared {
  readonly input: IrType | undefined;
  readonly output: IrType | undefined;
}

function declaredEnds(session: Session, declaration: CompositeDeclaration, runner: Runner): Declared {
  const { input, output } = session.checked.endsOf(declaration);
  const sized = (type: Type) => (type.kind === 'unknown' ? undefined : session.sized(type, (length) => runner.int(length), declaration.at));
  return { input: sized(input), output: sized(output) };
}

function checkEnds(declaration: CompositeDeclaration, piece: Piece, declared: Declared): void {
  for (const side of ['input', 'output'] as const) {
    const wanted = declared[side];
    const found = endType(piece[side]);
    if (wanted === undefined || sameType(wanted, found)) continue;
    throw new Fault('S4039', `the ${side} is declared ${typeText(wanted)}, but the streams inside make it ${typeText(found)}`,
      declaration.at);
  }
}

interface Making {
  readonly session: Session;
  readonly runner: Runner;
  readonly instantiate: Instantiate;
}

function* collect(making: Making, parts: Parts, s: Statement): Generator<Task, void, Piece> {
  const { session, runner } = making;
  switch (s.kind) {
    case 'add': case 'body': case 'loop': yield* addChild(making, parts, s); break;
    case 'split': case 'join':
      if (parts[s.kind] !== undefined) throw new Fault('S4040', `a second '${s.kind}'`, s.span);
      parts[s.kind] = policy(session, runner, s.policy);
      break;
    case 'enqueue': {
      const { type, value } = runner.evaluate(s.value);
      session.keepBytes(type, s.span);
      parts.enqueued.push({ type, value, span: s.value.span });
      break;
    }
    default: throw new Fault('S4027', 'this statement is not allowed in the body of a composite stream', s.span);
  }
}

function* addChild({ session, runner, instantiate }: Making, parts: Parts,
  s: { kind: 'add' | 'body' | 'loop'; creator: Creator; span: Span }): Generator<Task, void, Piece> {
  let piece: Piece;
  try {
    piece = yield* instantiate(session, s.creator, runner);
  } catch (error) {
    if (error instanceof Fault && !error.fatal) session.report(error);
    else if (!(error instanceof Reported)) throw error;
    parts.isBroken = true;
    return;
  }
  if (s.kind === 'add') parts.children.push(piece);
  else if (parts[s.kind] !== undefined) throw new Fault('S4040', `a second '${s.kind}'`, s.span);
  else parts[s.kind] = piece;
}

function policy(session: Session, runner: Runner, written: SplitPolicy): Policy {
  if (written.kind === 'duplicate') return { span: written.span, kind: 'duplicate', weights: [] };
  const weights = written.weights.map((weight) => {
    const x = runner.int(weight);
    if (x < 0) throw new Fault('S4041', `the weight ${x} is negative`, weight.span);
    if (x > session.limits.rate) throw new Fault('S4108', `the weight ${x} is more than the limit of ${session.limits.rate}`, weight.span,
      { hint: limitHint('rate') });
    return x;
  });
  return { span: written.span, kind: 'roundrobin', weights };
}

function join(session: Session, declaration: CompositeDeclaration, parts: Parts, declared: Declared): Piece {
  const name = declaration.name === '' ? declaration.kind : declaration.name;
  const make = { pipeline, splitjoin, feedbackloop }[declaration.kind];
  return { ...make(session, { declaration, parts, declared, name }), name, span: declaration.at };
}

/** The data for connecting children. */
interface Joining {
  readonly declaration: CompositeDeclaration;
  readonly parts: Parts;
  readonly declared: Declared;
  readonly name: string;
}
type Joined = Pick<Piece, 'tree' | 'input' | 'output'>;

function pipeline(session: Session, { declaration, parts: { children }, name }: Joining): Joined {
  if (children.length === 0) throw new Fault('S4042', 'this pipeline has no streams', declaration.at);
  for (let i = 1; i < children.length; ++i) link(session, elementAt(children, i - 1), elementAt(children, i));
  const tree: GraphTree = { kind: 'pipeline', name, children: children.map((child) => child.tree) };
  return { tree, input: elementAt(children, 0).input, output: lastOf(children).output };
}

function link(session: Session, from: Piece, to: Piece): void {
  const [left, right] = [endType(from.output), endType(to.input)];
  if (!sameType(left, right)) {
    throw new Fault('S4043', `${from.name} gives ${typeText(left)}, but ${to.name} takes ${typeText(right)}`, to.span,
      { hint: 'both ends of a channel have the same type; nothing is converted' });
  }
  if (from.output !== undefined && to.input !== undefined) session.connect(from.output, to.input);
}

/** One weight for each of `count` streams. */
function weightsFor(given: Policy, count: number, what: string): number[] {
  const { weights } = given;
  if (weights.length === 0) return new Array<number>(count).fill(1);
  if (weights.length === 1) return new Array<number>(count).fill(elementAt(weights, 0));
  if (weights.length !== count) {
    throw new Fault('S4044', `${weights.length} weights for ${count} ${what}`, given.span);
  }
  return [...weights];
}

/** The common type of several ends, ignoring void ones. */
function commonType(pieces: readonly Piece[], side: 'input' | 'output'): IrType {
  let type = voidType;
  for (const piece of pieces) {
    const own = endType(piece[side]);
    if (own.kind === 'void') continue;
    if (type.kind !== 'void' && !sameType(type, own)) {
      throw new Fault('S4045', `${piece.name} has ${typeText(own)} as ${side}, the others have ${typeText(type)}`, piece.span);
    }
    type = own;
  }
  return type;
}

function checkWeight(piece: Piece, weight: number, side: 'input' | 'output', span: Span): void {
  if (weight > 0 && piece[side] === undefined) {
    throw new Fault('S4046', `${piece.name} has no ${side}, but its weight is ${weight}`, span, { hint: 'give it the weight 0' });
  }
}

/** Creates a splitter and connects it to the children; undefined if there is nothing to split. */
function splitter(session: Session, given: Policy, children: readonly Piece[], name: string): { node: number; input: End } | undefined {
  const type = commonType(children, 'input');
  if (type.kind === 'void') return undefined;
  const count = children.length;
  if (given.kind === 'duplicate') children.forEach((child) => checkWeight(child, 1, 'input', given.span));
  const weights = given.kind === 'duplicate' ? undefined : weightsFor(given, count, 'streams');
  children.forEach((child, i) => checkWeight(child, weights?.[i] ?? 1, 'input', given.span));
  const node = session.node(`${name}_split`, weights === undefined ? { kind: 'duplicate' } : { kind: 'splitter', weights },
    { inputs: 1, outputs: count }, given.span);
  children.forEach((child, port) => {
    if (child.input !== undefined) session.connect({ node, port, type }, child.input);
  });
  return { node, input: { node, port: 0, type } };
}

function joiner(session: Session, given: Policy, children: readonly Piece[], name: string): { node: number; output: End } | undefined {
  const type = commonType(children, 'output');
  if (type.kind === 'void') return undefined;
  const weights = joinWeights(given, children.length);
  children.forEach((child, i) => checkWeight(child, elementAt(weights, i), 'output', given.span));
  const node = session.node(`${name}_join`, { kind: 'joiner', weights }, { inputs: children.length, outputs: 1 }, given.span);
  children.forEach((child, port) => {
    if (child.output !== undefined) session.connect(child.output, { node, port, type });
  });
  return { node, output: { node, port: 0, type } };
}

function joinWeights(given: Policy, count: number): number[] {
  if (given.kind === 'duplicate') throw new Fault('S4047', 'a joiner cannot duplicate', given.span, { hint: 'join by roundrobin' });
  return weightsFor(given, count, 'streams');
}

function splitjoin(session: Session, { declaration, parts, name }: Joining): Joined {
  const { children } = parts;
  if (children.length === 0) throw new Fault('S4042', 'this splitjoin has no streams', declaration.at);
  const need = (side: 'split' | 'join', end: 'input' | 'output'): Policy => {
    const given = parts[side];
    if (given !== undefined) return given;
    if (commonType(children, end).kind !== 'void') throw new Fault('S4048', `this splitjoin has no '${side}'`, declaration.at);
    return { span: declaration.at, kind: 'roundrobin', weights: [0] };
  };
  const split = splitter(session, need('split', 'input'), children, name);
  const joined = joiner(session, need('join', 'output'), children, name);
  const tree: GraphTree = {
    kind: 'splitjoin', name, children: children.map((child) => child.tree),
    ...(split === undefined ? {} : { splitter: split.node }), ...(joined === undefined ? {} : { joiner: joined.node }),
  };
  return { tree, input: split?.input, output: joined?.output };
}

/** A required part of a feedback loop. */
function needed<K extends 'join' | 'split' | 'body' | 'loop'>({ declaration, parts }: Joining, what: K): NonNullable<Parts[K]> {
  const found = parts[what];
  if (found === undefined) throw new Fault('S4048', `this feedbackloop has no '${what}'`, declaration.at);
  return found;
}

function feedbackloop(session: Session, given: Joining): Joined {
  const { declaration, parts, declared, name } = given;
  const { at } = declaration;
  const [added] = parts.children;
  if (added !== undefined) throw new Fault('S4049', "a feedbackloop takes 'body' and 'loop', not 'add'", added.span);
  const [joining, splitting, body, loop] = [needed(given, 'join'), needed(given, 'split'), needed(given, 'body'), needed(given, 'loop')];
  if (body.input === undefined || body.output === undefined || loop.input === undefined || loop.output === undefined) {
    throw new Fault('S4050', 'the streams of a feedbackloop need an input and an output', at);
  }
  mustMatch(loop.output, body.input, 'the loop gives', 'the body takes', loop.span);
  mustMatch(body.output, loop.input, 'the body gives', 'the loop takes', loop.span);
  const inWeights = joinWeights(joining, 2);
  const outWeights = splitting.kind === 'duplicate' ? undefined : weightsFor(splitting, 2, 'streams');
  if (inWeights[1] === 0 || outWeights?.[1] === 0) {
    throw new Fault('S4055', 'nothing goes around this feedbackloop: the weight of the loop is 0',
      inWeights[1] === 0 ? joining.span : splitting.span, { hint: 'the second weight is that of the loop' });
  }
  const joinNode = session.node(`${name}_join`, { kind: 'joiner', weights: inWeights }, { inputs: 2, outputs: 1 }, joining.span);
  const splitNode = session.node(
    `${name}_split`, outWeights === undefined ? { kind: 'duplicate' } : { kind: 'splitter', weights: outWeights },
    { inputs: 1, outputs: 2 }, splitting.span);
  const [inside, outside] = [body.input.type, body.output.type];
  session.connect({ node: joinNode, port: 0, type: inside }, body.input);
  session.connect(body.output, { node: splitNode, port: 0, type: outside });
  session.connect({ node: splitNode, port: 1, type: outside }, loop.input);
  session.connect(loop.output, { node: joinNode, port: 1, type: inside }, enqueued(parts, inside));
  const inWeight = elementAt(inWeights, 0);
  const hasInput = declared.input === undefined ? inWeight > 0 : declared.input.kind !== 'void';
  const hasOutput = declared.output === undefined ? outWeights?.[0] !== 0 : declared.output.kind !== 'void';
  if (!hasInput && inWeight > 0) throw new Fault('S4046', `there is no input, but its weight is ${inWeight}`, joining.span,
    { hint: 'give it the weight 0' });
  if (!hasOutput && outWeights?.[0] !== 0) throw new Fault('S4046', 'there is no output, but its weight is not 0', splitting.span,
    { hint: 'give it the weight 0' });
  const tree: GraphTree = { kind: 'feedbackloop', name, children: [body.tree, loop.tree], splitter: splitNode, joiner: joinNode };
  return {
    tree, input: hasInput ? { node: joinNode, port: 0, type: inside } : undefined,
    output: hasOutput ? { node: splitNode, port: 0, type: outside } : undefined,
  };
}

function mustMatch(from: End, to: End, gives: string, takes: string, span: Span): void {
  if (sameType(from.type, to.type)) return;
  throw new Fault('S4043', `${gives} ${typeText(from.type)}, but ${takes} ${typeText(to.type)}`, span,
    { hint: 'both ends of a channel have the same type; nothing is converted' });
}

function enqueued(parts: Parts, type: IrType): ConstantData[] {
  return parts.enqueued.map(({ type: own, value, span }) => {
    const made = makeConversion(constantOf(toConstant(own, value), span), type);
    if (made?.kind === 'constant') return made.value;
    throw new Fault('S4007', `a value of ${typeText(own)} cannot be used where ${typeText(type)} is expected`, span);
  });
}
