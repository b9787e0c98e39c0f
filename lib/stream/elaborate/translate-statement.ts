// Translates statements of functions to the intermediate representation: drops dead branches, and replaces locals that never change by
// their values.
import type { Declarator, Expression, FilterDeclaration, FunctionDeclaration, Statement } from '../ast.ts';
import { Fault } from '../interpret/fault.ts';
import type { IrExpression, IrPlace, IrStatement, Variable } from '../ir.ts';
import { assignment, increment } from './assign.ts';
import { known } from '../interpret/values.ts';
import { textOf } from './load.ts';
import { counterOf } from './loops.ts';
import { Namer } from './names.ts';
import type { Translation } from './translation.ts';

type Of<K extends Statement['kind']> = Extract<Statement, { kind: K }>;

/** Translates a block, or a single statement, to a block. */
export function translateBlock(t: Translation, statement: Statement): IrStatement {
  const statements = statement.kind === 'block' ? statement.statements : [statement];
  return { kind: 'block', statements: statements.flatMap((each) => translateStatement(t, each)), span: statement.span };
}

/** Translates one statement to any number of statements. */
export function translateStatement(t: Translation, statement: Statement): IrStatement[] {
  const outer = t.before;
  t.before = [];
  try {
    const made = translate(t, statement);
    return t.before.length === 0 ? made : [...t.before, ...made];
  } finally {
    t.before = outer;
  }
}

function translate(t: Translation, s: Statement): IrStatement[] {
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
    case 'while': case 'do': case 'for': return loop(t, s);
    case 'break': case 'continue': return [{ kind: s.kind, span }];
    case 'return': {
      if (s.value === undefined) return [{ kind: 'return', value: undefined, span }];
      if (t.result.kind === 'void') throw new Fault('S4024', 'this function returns nothing', span);
      return [{ kind: 'return', value: t.as(s.value, t.result), span }];
    }
    case 'message': return [message(t, s)];
    case 'add': case 'body': case 'loop': case 'split': case 'join': case 'enqueue':
      throw new Fault('S4025', `'${s.kind}' is only allowed in the body of a composite stream`, span);
  }
}

export function translateDeclarator(t: Translation, d: Declarator): IrStatement[] {
  const { checked } = t.session;
  const symbol = checked.symbolOfDeclaration(d);
  const written = symbol.type;
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

function expressionStatement(t: Translation, s: Of<'expression'>): IrStatement[] {
  const e = s.value;
  if (e.kind === 'call') {
    const callee = t.session.checked.calleeOf(e);
    if (callee.kind === 'print') return print(t, e, callee.newline);
  }
  return [{ kind: 'evaluate', value: t.expression(e), span: s.span }];
}

/** The pieces to print: `"a" + x` is a text and a value. */
function printPieces(t: Translation, e: Expression): (IrExpression | { text: string })[] {
  const text = textOf(t, e);
  if (text !== undefined) return [{ text }];
  if (e.kind === 'character') return [{ text: String.fromCharCode(e.value) }];
  const isJoined = e.kind === 'binary' && e.operator === '+' && t.session.checked.typeOf(e).kind === 'string';
  if (isJoined) return [...printPieces(t, e.left), ...printPieces(t, e.right)];
  return [t.expression(e)];
}

function print(t: Translation, e: Extract<Expression, { kind: 'call' }>, newline: boolean): IrStatement[] {
  const pieces = e.args.flatMap((arg) => printPieces(t, arg));
  if (pieces.length === 0) pieces.push({ text: '' });
  return pieces.map((value, i) => ({ kind: 'print', value, newline: newline && i === pieces.length - 1, span: e.span }));
}

function conditional(t: Translation, s: Of<'if'>): IrStatement[] {
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

/** A condition and the statements that must be executed before each evaluation. */
function loopCondition(t: Translation, e: Expression | undefined): { condition: IrExpression | undefined; before: IrStatement[] } {
  if (e === undefined) return { condition: undefined, before: [] };
  const outer = t.before;
  t.before = [];
  const condition = t.condition(e);
  const { before } = t;
  t.before = outer;
  return { condition, before };
}

/** Separates the variables that the statements declare from the statements, where assignments replace the declarations. */
function undeclared(statements: readonly IrStatement[]): { declared: IrStatement[]; assigned: IrStatement[] } {
  const declared: IrStatement[] = [];
  const assigned = statements.map((statement): IrStatement => {
    if (statement.kind !== 'declare') return statement;
    const { variable, value, span } = statement;
    declared.push({ kind: 'declare', variable, value: undefined, span });
    const target: IrPlace = { kind: 'variable', variable, type: variable.type, span };
    return value === undefined ? { kind: 'block', statements: [], span } : { kind: 'assign', target, value, span };
  });
  return { declared, assigned };
}

function loop(t: Translation, s: Of<'while' | 'do' | 'for'>): IrStatement[] {
  const initial = s.kind === 'for' && s.initial !== undefined ? translateStatement(t, s.initial) : [];
  const { condition, before } = loopCondition(t, s.condition);
  const x = condition === undefined ? undefined : known(condition);
  const { declared, assigned } = undeclared(before);
  if (x === 0 && s.kind !== 'do') return initial;
  const body = translateBlock(t, s.body);
  const step = s.kind === 'for' && s.step !== undefined ? translateStatement(t, s.step) : [];
  const made: Extract<IrStatement, { kind: 'loop' }> = {
    kind: 'loop', initial: [...initial, ...declared, ...(s.kind === 'do' ? [] : assigned)],
    condition: x !== undefined && x !== 0 ? undefined : condition, step: [...step, ...assigned], body, atLeastOnce: s.kind === 'do',
    trips: undefined, span: s.span,
  };
  return counterOf(made)?.trips === 0 ? initial : [made];
}

/** The name by which senders and receivers refer to a handler. */
export function handlerName(filter: FilterDeclaration, handler: FunctionDeclaration): string {
  const names = new Namer();
  for (const each of filter.functions) {
    if (each.kind !== 'handler') continue;
    const name = names.unique(each.name);
    if (each === handler) return name;
  }
  return names.unique(handler.name);
}

function message(t: Translation, s: Of<'message'>): IrStatement {
  const { checked } = t.session;
  const { portal: symbol, handler } = checked.messageOf(s);
  const entity = t.scope.find(symbol);
  if (entity?.kind !== 'portal') throw new Fault('S4029', `${s.portal} is not a portal here`, s.span);
  const receiver = symbol.type.kind === 'portal' ? symbol.type.receiver : undefined;
  if (receiver?.kind !== 'filter') throw new Fault('S4029', `the receivers of ${s.portal} are not filters`, s.span);
  const args = handler.parameters.map((parameter, i) => {
    const arg = s.args[i];
    if (arg === undefined) throw new Fault(
      'S4022', `${s.handler} takes ${handler.parameters.length} arguments, not ${s.args.length}`, s.span);
    return t.as(arg, t.typeFor(checked.typeOfNode(parameter.type), parameter.span));
  });
  const bound = (e: Expression | undefined) => (e === undefined ? undefined : t.constantInt(e, 'the latency of a message'));
  return {
    kind: 'message', portal: entity.portal.name, handler: handlerName(receiver, handler), args, low: bound(s.latency?.low),
    high: bound(s.latency?.high), span: s.span,
  };
}
