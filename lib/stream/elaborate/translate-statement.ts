// Statements of functions to the intermediate representation: dead branches dropped, locals that never change replaced by their values.
import type { Declarator, Expression, FilterDeclaration, FunctionDeclaration, Statement } from '../ast.ts';
import { Fault } from '../interpret/fault.ts';
import { isScalar, scalar, typeText } from '../interpret/values.ts';
import type { IrExpression, IrPlace, IrStatement, Variable } from '../ir.ts';
import { constant, known } from './fold.ts';
import { textOf } from './load.ts';
import { Namer } from './names.ts';
import type { Translator } from './translate.ts';

type Of<K extends Statement['kind']> = Extract<Statement, { kind: K }>;

/** The statements of a block in a block. */
export function translateBlock(t: Translator, statement: Statement): IrStatement {
  const statements = statement.kind === 'block' ? statement.statements : [statement];
  return { kind: 'block', statements: statements.flatMap((each) => translateStatement(t, each)), span: statement.span };
}

/** One statement as however many it takes. */
export function translateStatement(t: Translator, statement: Statement): IrStatement[] {
  const outer = t.before;
  t.before = [];
  try {
    const made = translate(t, statement);
    return t.before.length === 0 ? made : [...t.before, ...made];
  } finally {
    t.before = outer;
  }
}

function translate(t: Translator, s: Statement): IrStatement[] {
  const { span } = s;
  switch (s.kind) {
    case 'block': return [translateBlock(t, s)];
    case 'empty': return [];
    case 'declare': return s.variables.flatMap((variable) => translateDeclarator(t, variable));
    case 'assign': return assignment(t, s);
    case 'increment': return increment(t, s);
    case 'expression': return expressionStatement(t, s);
    case 'push': {
      if (t.ends === undefined) throw new Fault('S4010', 'there is no channel to write during elaboration', span);
      if (t.ends.output.kind === 'void') throw new Fault('S4011', 'this filter has no output', span);
      return [{ kind: 'push', value: t.as(s.value, t.ends.output), span }];
    }
    case 'if': return conditional(t, s);
    case 'while': return whileLoop(t, s);
    case 'do': return [{
      kind: 'loop', initial: [], body: translateBlock(t, s.body), condition: loopCondition(t, s.condition), step: [], atLeastOnce: true,
      trips: undefined, span,
    }];
    case 'for': return forLoop(t, s);
    case 'break': case 'continue': return [{ kind: s.kind, span }];
    case 'return': {
      if (s.value === undefined) return [{ kind: 'return', value: undefined, span }];
      if (t.result.kind === 'void') throw new Fault('S4024', 'this function returns nothing', span);
      return [{ kind: 'return', value: t.as(s.value, t.result), span }];
    }
    case 'message': return [message(t, s)];
    case 'add': case 'body': case 'loop': case 'split': case 'join': case 'enqueue':
      throw new Fault('S4025', `'${s.kind}' can only stand in the body of a composite stream`, span);
  }
}

export function translateDeclarator(t: Translator, d: Declarator): IrStatement[] {
  const { checked } = t.session;
  const symbol = checked.symbolOfDeclaration(d);
  const written = checked.typeOfNode(d.type);
  if (written.kind === 'string') {
    const text = d.value === undefined ? '' : textOf(t, d.value);
    if (text === undefined) throw new Fault('S4005', 'a string can only be printed or name a file', d.span);
    t.scope.set(symbol, { kind: 'text', text });
    return [];
  }
  const type = t.typeFor(written, d.span);
  const value = d.value === undefined ? undefined : t.as(d.value, type);
  if (value !== undefined && !t.assigned.has(symbol)) {
    if (value.kind === 'constant') {
      t.scope.set(symbol, { kind: 'constant', data: value.value });
      return [];
    }
    if (value.kind === 'state' && value.variable.role === 'constant') {
      t.scope.set(symbol, { kind: 'state', variable: value.variable });
      return [];
    }
  }
  const variable: Variable = { name: t.namer.unique(d.name), type };
  t.scope.set(symbol, { kind: 'variable', variable });
  return [{ kind: 'declare', variable, value, span: d.span }];
}

function place(t: Translator, e: Expression): IrPlace {
  switch (e.kind) {
    case 'name': {
      const entity = t.find(e);
      if (entity.kind === 'variable' || (entity.kind === 'state' && entity.variable.role !== 'constant')) return t.entity(entity, e.span) as IrPlace;
      throw new Fault('S4026', `${e.name} is a constant here and cannot be assigned`, e.span);
    }
    case 'index': {
      const array = place(t, e.array);
      const index = t.as(e.index, scalar('int'));
      if (array.type.kind !== 'array') throw new Fault('S4012', `${typeText(array.type)} has no elements`, e.span);
      const { length, element } = array.type;
      const at = known(index);
      const safe = at !== undefined && at >= 0 && at < length;
      if (at !== undefined && !safe) t.session.report(new Fault('S4013', `index ${at} is outside an array of ${length}`, e.index.span), 'warning');
      return { kind: 'element', array, index, safe, type: element, span: e.span };
    }
    case 'field': {
      place(t, e.object);
      return t.expression(e) as IrPlace;
    }
    default: throw new Fault('S4027', 'this cannot be assigned', e.span);
  }
}

/** Whether evaluating the expression changes anything. */
function hasEffects(e: IrExpression): boolean {
  switch (e.kind) {
    case 'pop': case 'call': return true;
    case 'math': return e.name === 'random' || e.args.some(hasEffects);
    case 'element': return hasEffects(e.array) || hasEffects(e.index);
    case 'field': return hasEffects(e.object);
    case 'part': return hasEffects(e.vector);
    case 'compose': return e.parts.some(hasEffects);
    case 'peek': return hasEffects(e.index);
    case 'unary': case 'convert': return hasEffects(e.operand);
    case 'binary': return hasEffects(e.left) || hasEffects(e.right);
    case 'conditional': return hasEffects(e.condition) || hasEffects(e.then) || hasEffects(e.otherwise);
    default: return false;
  }
}

/** The place with its indices evaluated beforehand where `isDue`. */
function steady(t: Translator, target: IrPlace, isDue: (index: IrExpression) => boolean): IrPlace {
  switch (target.kind) {
    case 'element': {
      const array = steady(t, target.array as IrPlace, isDue);
      return { ...target, array, index: isDue(target.index) ? t.stored(target.index, 'at') : target.index };
    }
    case 'field': return { ...target, object: steady(t, target.object as IrPlace, isDue) };
    case 'part': return { ...target, vector: steady(t, target.vector as IrPlace, isDue) };
    default: return target;
  }
}

function assignment(t: Translator, s: Of<'assign'>): IrStatement[] {
  let target = place(t, s.target);
  if (s.operator === '=') {
    const value = t.as(s.value, target.type);
    if (hasEffects(value)) target = steady(t, target, (index) => index.kind !== 'constant' && index.kind !== 'variable');
    return [{ kind: 'assign', target, value, span: s.span }];
  }
  target = steady(t, target, hasEffects);
  const operand = t.expression(s.value);
  if (hasEffects(operand)) target = steady(t, target, (index) => index.kind !== 'constant' && index.kind !== 'variable');
  const operator = s.operator.slice(0, -1) as '+' | '-' | '*' | '/' | '<<' | '>>';
  const value = t.converted(t.binary(operator, target, operand, s.span), target.type, s.span);
  return [{ kind: 'assign', target, value, span: s.span }];
}

function increment(t: Translator, s: Of<'increment'>): IrStatement[] {
  const target = steady(t, place(t, s.target), hasEffects);
  const one = constant(isScalar(target.type, 'float') || isScalar(target.type, 'double') ? 'float' : 'int', 1, s.span);
  const value = t.converted(t.binary(s.by > 0 ? '+' : '-', target, one, s.span), target.type, s.span);
  return [{ kind: 'assign', target, value, span: s.span }];
}

function expressionStatement(t: Translator, s: Of<'expression'>): IrStatement[] {
  const e = s.value;
  if (e.kind === 'call') {
    const callee = t.session.checked.calleeOf(e);
    if (callee.kind === 'print') return print(t, e, callee.newline);
  }
  return [{ kind: 'evaluate', value: t.expression(e), span: s.span }];
}

/** What is printed, piece by piece: `"a" + x` is a text and a value. */
function printPieces(t: Translator, e: Expression): (IrExpression | { text: string })[] {
  const text = textOf(t, e);
  if (text !== undefined) return [{ text }];
  if (e.kind === 'character') return [{ text: String.fromCharCode(e.value) }];
  const isJoined = e.kind === 'binary' && e.operator === '+' && t.session.checked.typeOf(e).kind === 'string';
  if (isJoined) return [...printPieces(t, e.left), ...printPieces(t, e.right)];
  return [t.expression(e)];
}

function print(t: Translator, e: Extract<Expression, { kind: 'call' }>, newline: boolean): IrStatement[] {
  const pieces = e.args.flatMap((arg) => printPieces(t, arg));
  if (pieces.length === 0) pieces.push({ text: '' });
  return pieces.map((value, i) => ({ kind: 'print', value, newline: newline && i === pieces.length - 1, span: e.span }));
}

function conditional(t: Translator, s: Of<'if'>): IrStatement[] {
  const condition = t.condition(s.condition);
  const x = known(condition);
  if (x !== undefined) {
    const live = x !== 0 ? s.then : s.otherwise;
    return live === undefined ? [] : [translateBlock(t, live)];
  }
  const then = translateBlock(t, s.then);
  const otherwise = s.otherwise === undefined ? undefined : translateBlock(t, s.otherwise);
  return [{ kind: 'if', condition, then, otherwise, span: s.span }];
}

/** The condition of a loop, which must be an expression: what it needs beforehand would be evaluated only once. */
function loopCondition(t: Translator, e: Expression): IrExpression {
  const before = t.before.length;
  const condition = t.condition(e);
  if (t.before.length > before) throw new Fault('S4028', 'the condition of a loop cannot hold this', e.span, { hint: 'store it in a variable first' });
  return condition;
}

function whileLoop(t: Translator, s: Of<'while'>): IrStatement[] {
  const condition = loopCondition(t, s.condition);
  if (known(condition) === 0) return [];
  return [{
    kind: 'loop', initial: [], condition: known(condition) === undefined ? condition : undefined, step: [], body: translateBlock(t, s.body),
    atLeastOnce: false, trips: undefined, span: s.span,
  }];
}

function forLoop(t: Translator, s: Of<'for'>): IrStatement[] {
  const initial = s.initial === undefined ? [] : translateStatement(t, s.initial);
  const condition = s.condition === undefined ? undefined : loopCondition(t, s.condition);
  if (condition !== undefined && known(condition) === 0) return initial;
  const body = translateBlock(t, s.body);
  const step = s.step === undefined ? [] : translateStatement(t, s.step);
  return [{
    kind: 'loop', initial, condition: condition !== undefined && known(condition) !== undefined ? undefined : condition, step, body,
    atLeastOnce: false, trips: undefined, span: s.span,
  }];
}

/** The name under which a handler is known to senders and receivers. */
export function handlerName(filter: FilterDeclaration, handler: FunctionDeclaration): string {
  const names = new Namer();
  for (const each of filter.functions) {
    if (each.kind !== 'handler') continue;
    const name = names.unique(each.name);
    if (each === handler) return name;
  }
  return names.unique(handler.name);
}

function message(t: Translator, s: Of<'message'>): IrStatement {
  const { checked } = t.session;
  const { portal: symbol, handler } = checked.messageOf(s);
  const entity = t.scope.find(symbol);
  if (entity?.kind !== 'portal') throw new Fault('S4029', `${s.portal} is not a portal here`, s.span);
  const receiver = symbol.type.kind === 'portal' ? symbol.type.receiver : undefined;
  if (receiver?.kind !== 'filter') throw new Fault('S4029', `the receivers of ${s.portal} are not filters`, s.span);
  const args = handler.parameters.map((parameter, i) => {
    const arg = s.args[i];
    if (arg === undefined) throw new Fault('S4022', `${s.handler} takes ${handler.parameters.length} arguments, not ${s.args.length}`, s.span);
    return t.as(arg, t.typeFor(checked.typeOfNode(parameter.type), parameter.span));
  });
  const bound = (e: Expression | undefined) => (e === undefined ? undefined : t.constantInt(e, 'the latency of a message'));
  return {
    kind: 'message', portal: entity.portal.name, handler: handlerName(receiver, handler), args, low: bound(s.latency?.low),
    high: bound(s.latency?.high), span: s.span,
  };
}
