// Turns one stream with its arguments into a piece of the graph with at most one end on each side.
import { elementAt, required } from '../../core/known.ts';
import type { Creator, Expression, Span, StreamDeclaration } from '../ast.ts';
import type { NameSymbol, Target } from '../front/checked.ts';
import { byNeed } from '../front/scope.ts';
import { withCounts } from '../front/types.ts';
import { Fault } from '../interpret/fault.ts';
import { sameType, toConstant, typeText } from '../interpret/values.ts';
import type { ConstantData, FilterCode, IrType } from '../ir.ts';
import { composite } from './composite.ts';
import { makeFilter } from './filter.ts';
import type { BoundParameter, Piece, Task } from './pieces.ts';
import type { Runner } from './runner.ts';
import { staticEntity } from './statics.ts';
import { Scope, type Entity, type Session } from './session.ts';

/** Elaborates a stream and everything in it, in small steps. */
export function* elaborated(whole: Task): Generator<void, Piece> {
  const tasks = [whole];
  let piece: Piece | undefined;
  let failure: { readonly error: unknown } | undefined;
  for (let task = tasks.at(-1); task !== undefined; task = tasks.at(-1)) {
    try {
      // The first step of a task takes no value.
      const step = failure === undefined ? task.next(piece as Piece) : task.throw(failure.error);
      [piece, failure] = [undefined, undefined];
      if (step.done === true) {
        piece = step.value;
        tasks.pop();
      } else tasks.push(step.value);
    } catch (error) {
      failure = { error };
      tasks.pop();
    }
    yield;
  }
  if (failure !== undefined) throw failure.error;
  return required(piece);
}

/** Elaborates the stream that `add`, `body` or `loop` creates, within the stream whose body `runner` executes. */
export function* instantiate(session: Session, creator: Creator, runner: Runner): Task {
  const portals = session.checked.portalsOf(creator).map((symbol) => {
    const entity = runner.scope.find(symbol);
    if (entity?.kind !== 'portal') throw new Fault('S4029', `${symbol.name} is not a portal here`, creator.span);
    return entity.portal;
  });
  const before = session.nodes.length;
  const piece = yield* make(session, creator, runner, session.checked.targetOf(creator));
  for (const portal of portals) {
    for (let node = before; node < session.nodes.length; ++node) {
      const made = elementAt(session.nodes, node);
      if (made.kind === 'filter' && made.code.handlers.length > 0) portal.receivers.push(node);
    }
  }
  // Mismatches are reported where the stream is added.
  return { ...piece, span: creator.span };
}

function* make(session: Session, creator: Creator, runner: Runner, target: Target): Task {
  const { span } = creator;
  if (target.kind === 'stream') {
    const { declaration } = target;
    const captured = new Map<NameSymbol, Entity | undefined>();
    // Current values of the surroundings, each copied once.
    const outside = creator.kind === 'named' ? (symbol: NameSymbol) => staticEntity(session, symbol) : (symbol: NameSymbol) => {
      if (!captured.has(symbol)) captured.set(symbol, runner.captured(symbol));
      return captured.get(symbol);
    };
    return yield stream(session, declaration, { span, args: creator.kind === 'named' ? creator.args : [], runner, outside });
  }
  const type = session.sized(target.element, (length) => runner.int(length), span);
  if (type.kind === 'void') throw new Fault('S4037', 'items of a channel cannot be void', span);
  if (target.kind === 'identity') {
    const node = session.node('Identity', { kind: 'identity' }, { inputs: 1, outputs: 1 }, span);
    return { tree: { kind: 'node', node }, input: { node, port: 0, type }, output: { node, port: 0, type }, name: 'Identity', span };
  }
  const pathArg = creator.kind === 'named' ? creator.args[0] : undefined;
  const path = pathArg === undefined ? undefined : runner.text(pathArg);
  if (path === undefined) throw new Fault('S4020', 'the name of a file is expected here', pathArg?.span ?? span);
  const isReader = target.kind === 'reader';
  const node = session.node(isReader ? 'FileReader' : 'FileWriter', { kind: target.kind, file: { path } },
    { inputs: isReader ? 0 : 1, outputs: isReader ? 1 : 0 }, span);
  const end = { node, port: 0, type };
  return {
    tree: { kind: 'node', node }, input: isReader ? undefined : end, output: isReader ? end : undefined,
    name: isReader ? 'FileReader' : 'FileWriter', span,
  };
}

/** How a stream is created. */
interface Making {
  readonly span: Span;
  readonly args: readonly Expression[];
  /** Evaluates the arguments. */
  readonly runner: Runner;
  readonly outside: (symbol: NameSymbol) => Entity | undefined;
}

/** Elaborates a declared or anonymous stream. */
export function* stream(session: Session, declaration: StreamDeclaration, making: Making): Task {
  return yield* boundStream(session, declaration, { ...making, bound: bindParameters(session, declaration, making) });
}

/** Elaborates a stream whose parameters are bound. */
export function* boundStream(session: Session, declaration: StreamDeclaration,
  { bound, span, outside }: Pick<Making, 'span' | 'outside'> & { readonly bound: readonly BoundParameter[] }): Task {
  const label = declaration.name === '' ? declaration.kind : declaration.name + labelOf(bound);
  return yield* session.inside(label, span, function* (): Task {
    const scope = new Scope(outside);
    for (const { symbol, entity } of bound) scope.set(symbol, entity);
    if (declaration.kind !== 'filter') return yield* composite(session, declaration, { scope, bound, instantiate });
    return filter(session, declaration, scope, bound);
  });
}

function bindParameters(session: Session, declaration: StreamDeclaration, making: Making): BoundParameter[] {
  const { checked } = session;
  const { args, runner } = making;
  if (args.length !== declaration.parameters.length) {
    throw new Fault('S4022', `${declaration.name} takes ${declaration.parameters.length} arguments, not ${args.length}`, making.span);
  }
  const entities = new Map<NameSymbol, Entity>();
  const lengths = new Map<NameSymbol, number>();
  for (const parameter of byNeed(declaration.parameters)) {
    const arg = elementAt(args, declaration.parameters.indexOf(parameter));
    const symbol = checked.symbolOfDeclaration(parameter);
    const entity = bindOne(session, runner, { symbol, arg, lengths });
    if (entity.kind === 'constant' && entity.data.type.kind === 'scalar') lengths.set(symbol, elementAt(entity.data.numbers, 0));
    entities.set(symbol, entity);
  }
  return [...entities].map(([symbol, entity]) => ({ symbol, entity }));
}

function bindOne(
  session: Session, runner: Runner, { symbol, arg, lengths }: { symbol: NameSymbol; arg: Expression; lengths: Map<NameSymbol, number> },
): Entity {
  if (symbol.type.kind === 'string') {
    const text = runner.text(arg);
    if (text === undefined) throw new Fault('S4005', 'a string is expected here', arg.span);
    return { kind: 'text', text };
  }
  if (symbol.type.kind === 'portal') {
    const entity = arg.kind === 'name' ? runner.scope.find(session.checked.symbolOf(arg)) : undefined;
    if (entity?.kind !== 'portal') throw new Fault('S4029', 'a portal is expected here', arg.span);
    return entity;
  }
  if (symbol.type.kind === 'array' && arg.kind !== 'array-literal') return arrayArgument(session, runner, { symbol, arg, lengths });
  const inner = new Scope((name) => (lengths.has(name) ? number(required(lengths.get(name))) : runner.scope.find(name)));
  const type = withScope(runner, inner, () => runner.translator.typeFor(withCounts(symbol.type, arg), arg.span));
  return { kind: 'constant', data: toConstant(type, runner.evaluate(arg, type).value), name: symbol.name };
}

function number(x: number): Entity {
  return { kind: 'constant', data: { type: { kind: 'scalar', name: 'int' }, numbers: [x] } };
}

function withScope<T>(runner: Runner, scope: Scope, make: () => T): T {
  const outer = runner.translator.scope;
  runner.translator.scope = scope;
  try {
    return make();
  } finally {
    runner.translator.scope = outer;
  }
}

/** Arrays are passed as they are; their length should be the one that the parameter declares. */
function arrayArgument(
  session: Session, runner: Runner, { symbol, arg, lengths }: { symbol: NameSymbol; arg: Expression; lengths: Map<NameSymbol, number> },
): Entity {
  const { type, value } = runner.evaluate(arg);
  const inner = new Scope((name) => (lengths.has(name) ? number(required(lengths.get(name))) : runner.scope.find(name)));
  let declared: IrType | undefined;
  if (symbol.type.kind === 'array' && symbol.type.length !== undefined) {
    declared = withScope(runner, inner, () => runner.translator.typeFor(symbol.type, arg.span));
  }
  if (type.kind !== 'array') throw new Fault('S4007', `a value of ${typeText(type)} cannot be used where an array is expected`, arg.span);
  if (declared !== undefined && !sameType(declared, type)) {
    if (!sameType(rootType(declared), rootType(type))) {
      throw new Fault('S4007', `a value of ${typeText(type)} cannot be used where ${typeText(declared)} is expected`, arg.span);
    }
    session.report(new Fault('S4038', `${symbol.name} is declared ${typeText(declared)} but gets ${typeText(type)}`, arg.span), 'warning');
  }
  return { kind: 'constant', data: toConstant(type, value), name: symbol.name };
}

function rootType(type: IrType): IrType {
  return type.kind === 'array' ? rootType(type.element) : type;
}

function labelOf(bound: readonly BoundParameter[]): string {
  if (bound.length === 0) return '';
  return `(${bound.map(({ entity }) => {
    if (entity.kind === 'text') return `"${entity.text}"`;
    if (entity.kind !== 'constant') return entity.kind;
    return entity.data.numbers.length === 1 ? String(entity.data.numbers[0]) : typeText(entity.data.type);
  }).join(', ')})`;
}

/** A text that is the same if and only if the constants are equal. */
function keyOf(entity: Entity | undefined): string {
  if (entity === undefined) return '-';
  if (entity.kind === 'text') return `"${entity.text}"`;
  if (entity.kind === 'portal') return `portal ${entity.portal.name}`;
  if (entity.kind !== 'constant') return entity.kind;
  return typeText(entity.data.type) + keyOfNumbers(entity.data);
}

/** Numbers bit by bit: singles and ints as they are, all others as doubles. */
function bytesOf(numbers: ArrayLike<number>): string {
  const view = ArrayBuffer.isView(numbers) ? numbers : Float64Array.from(numbers);
  return `${view.constructor.name}${Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString('latin1')}`;
}

const keys = new WeakMap<ConstantData, string>();
function keyOfNumbers(data: ConstantData): string {
  let key = keys.get(data);
  if (key === undefined) keys.set(data, key = bytesOf(data.numbers));
  return key;
}

function filter(
  session: Session, declaration: StreamDeclaration & { kind: 'filter' }, scope: Scope, bound: readonly BoundParameter[],
): Piece {
  const free = session.usage.free(declaration).map((symbol) => keyOf(scope.find(symbol)));
  const key = `${session.idOf(declaration)}(${bound.map(({ entity }) => keyOf(entity)).join(';')})[${free.join(';')}]`;
  let code: FilterCode | undefined = session.codes.get(key);
  if (code === undefined) {
    const name = declaration.name === '' ? `${session.path.at(-2) ?? 'Anonymous'}_filter`.replace(/\(.*?\)/g, '') : declaration.name;
    code = makeFilter(session, declaration, scope, session.codeNames.unique(name));
    session.codes.set(key, code);
  }
  const [hasInput, hasOutput] = [code.input.kind !== 'void', code.output.kind !== 'void'];
  const node = session.node(code.name.replace(/_\d+$/, ''), { kind: 'filter', code },
    { inputs: hasInput ? 1 : 0, outputs: hasOutput ? 1 : 0 }, declaration.at);
  return {
    tree: { kind: 'node', node }, name: code.name, span: declaration.at,
    input: hasInput ? { node, port: 0, type: code.input } : undefined, output: hasOutput ? { node, port: 0, type: code.output } : undefined,
  };
}
