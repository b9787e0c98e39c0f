// Statements of a user's function.
import type * as acorn from 'acorn';
import { elementAt } from '../../core/known.ts';
import { branch, convert, exact, forLoop, get, i32, type BinaryOp, type Body, type Label } from '../ir.ts';
import { bind } from './calls.ts';
import { evaluate, indexOf } from './expressions.ts';
import type { Context, Flow, Lowering } from './lowering.ts';
import { power } from './mathematics.ts';
import type { FunctionNode, Node } from './source.ts';
import { type Binding, computed, describe, known, Scope, type Staged } from './values.ts';

const next: Flow = { falls: true, exits: new Set() };
const leaves = (label: Label): Flow => ({ falls: false, exits: new Set([label]) });
const union = (...flows: readonly Flow[]): ReadonlySet<Label> => new Set(flows.flatMap(({ exits }) => [...exits]));

/** Trips and nodes up to which loops are unrolled, and where an index needs it. */
const mostTrips = 1_000_000, mostUnrolled = 4000, mostForIndices = 50_000;

const refused: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  WhileStatement: ['while', 'use for with constant bounds, and break'],
  DoWhileStatement: ['do', 'use for with constant bounds, and break'],
  SwitchStatement: ['switch', 'use if'],
  ThrowStatement: ['throw', 'return NaN, or a value that says so'],
  TryStatement: ['try', 'nothing fails here'],
  ForInStatement: ['for … in', 'name the fields'],
  LabeledStatement: ['a label', 'use functions'],
  ClassDeclaration: ['a class', 'use functions'],
  DebuggerStatement: ['debugger', 'call the function itself to debug it'],
};

/** Runs statements, in a scope that is theirs. */
export function runStatements(statements: readonly acorn.Statement[], context: Context): Flow {
  // Functions are known before they are declared.
  for (const each of statements) if (each.type === 'FunctionDeclaration') declareFunction(each, context);
  let exits: ReadonlySet<Label> = new Set();
  for (const each of statements) {
    const flow = run(each, context);
    exits = new Set([...exits, ...flow.exits]);
    if (!flow.falls) return { falls: false, exits };
  }
  return { falls: true, exits };
}

function declareFunction(node: acorn.FunctionDeclaration | acorn.AnonymousFunctionDeclaration, { scope, frame }: Context): void {
  const name = node.id?.name ?? 'function';
  scope.declare(name, { value: { kind: 'closure', name, node: node as FunctionNode, scope }, isVariable: false, owner: frame });
}

function run(node: acorn.Statement, context: Context): Flow {
  switch (node.type) {
    case 'EmptyStatement': case 'FunctionDeclaration': return next;
    case 'BlockStatement': return runStatements(node.body, { ...context, scope: new Scope(context.scope) });
    case 'VariableDeclaration': return declare(node, context);
    case 'ExpressionStatement': return assignment(node.expression, context);
    case 'ReturnStatement': return returned(node, context);
    case 'IfStatement': return conditional(node, context);
    case 'ForStatement': return loop(node, context);
    case 'ForOfStatement': return elements(node, context);
    case 'BreakStatement': case 'ContinueStatement': return left(node, context);
    default: {
      const [what, hint] = refused[node.type] ?? [node.type, 'it is not part of what can be compiled'];
      throw context.to.error(node, `${what} cannot be compiled`, hint);
    }
  }
}

function declare(node: acorn.VariableDeclaration, { scope, to, frame }: Context): Flow {
  if (node.kind === 'var') throw to.error(node, 'var', 'use let or const');
  for (const { id, init } of node.declarations) {
    if (init === null || init === undefined) throw to.error(id, 'a variable without a value', 'give it one, as in let sum = 0');
    const value = evaluate(init, scope, to);
    const named = value.kind === 'closure' && id.type === 'Identifier' ? { ...value, name: id.name } : value;
    bind(id, named, { scope, to, owner: frame, isVariable: node.kind === 'let', isOwn: init.type === 'ArrayExpression' });
  }
  return next;
}

const operators: Readonly<Record<string, BinaryOp>> = { '+=': 'add', '-=': 'sub', '*=': 'mul', '/=': 'div', '%=': 'rem' };

function assignment(node: acorn.Expression, context: Context): Flow {
  const { scope, to } = context;
  if (node.type === 'Literal' && typeof node.value === 'string') return next; // 'use strict'
  // Loaders keep the names of inner functions: __name(f, "f").
  if (node.type === 'CallExpression' && node.callee.type === 'Identifier' && node.callee.name === '__name') return next;
  if (node.type === 'UpdateExpression') {
    const place = placeOf(node.argument as acorn.Pattern, context);
    to.assign(place, to.arithmetic(node.operator === '++' ? 'add' : 'sub', place, known(1), node), node);
  } else if (node.type === 'AssignmentExpression') {
    const place = placeOf(node.left, context);
    const value = evaluate(node.right, scope, to);
    if (node.operator === '=') to.assign(place, value, node);
    else if (node.operator === '**=') to.assign(place, power(to, place, value, node), node);
    else {
      const op = operators[node.operator];
      if (op === undefined) throw to.error(node, `${node.operator} cannot be compiled`, 'use arithmetic');
      to.assign(place, to.arithmetic(op, place, value, node), node);
    }
  } else throw to.error(node, 'an expression whose value is not used', 'assign or return it');
  return next;
}

/** What an assignment sets: a variable of this call, or an element of an array that it made. */
function placeOf(node: acorn.Pattern, { scope, to, frame }: Context): Staged {
  const own = (name: acorn.Identifier, isRight: (binding: Binding) => boolean, hint: string): Binding => {
    const found = scope.find(name.name);
    if (found === undefined) throw to.error(name, `${name.name} is not known here`, 'declare it with let');
    if (found.owner !== frame || !isRight(found)) throw to.error(name, `${name.name} cannot be assigned here`, hint);
    return found;
  };
  if (node.type === 'Identifier') {
    const { value } = own(node, ({ isVariable }) => isVariable,
      'declare it with let, in the same function; the counter of a loop belongs to the loop');
    if (value.kind === 'cell') return value;
    throw to.error(node, `${describe(value)} cannot be replaced`, 'only numbers and truth values can be assigned, and elements of arrays');
  }
  if (node.type !== 'MemberExpression' || !node.computed || node.object.type !== 'Identifier') {
    throw to.error(node, 'this cannot be assigned', 'assign variables and elements of arrays, one at a time');
  }
  const { value } = own(node.object, ({ isOwn }) => isOwn === true, 'make it in the same function, as in const a = [0, 0]');
  if (value.kind !== 'tuple') throw to.error(node, `${describe(value)} has no elements`, 'assign variables and elements of arrays');
  return elementAt(value.items, indexOf(node, value.items.length, scope, to));
}

function returned(node: acorn.ReturnStatement, { scope, to, frame, isOutermost }: Context): Flow {
  if (node.argument === null || node.argument === undefined) throw to.error(node, 'return without a value', 'return one');
  const value = evaluate(node.argument, scope, to);
  if (isOutermost && frame.result === undefined) {
    frame.result = to.settle(value, 'r', node);
    return { falls: false, exits: new Set() };
  }
  frame.result ??= to.cellsLike(value, node);
  to.assign(frame.result, value, node);
  if (isOutermost) return { falls: false, exits: new Set() };
  to.emit({ kind: 'break', label: frame.end }, node);
  return leaves(frame.end);
}

function conditional(node: acorn.IfStatement, context: Context): Flow {
  const { scope, to } = context;
  const test = to.condition(evaluate(node.test, scope, to), node.test);
  const side = (statement: acorn.Statement | null | undefined, inner: Context): Flow =>
    (statement === null || statement === undefined ? next : run(statement, { ...inner, scope: new Scope(scope) }));
  if (test.kind === 'known') return side(test.value === true ? node.consequent : node.alternate, context);
  const inner = { ...context, isOutermost: false };
  const then = to.capture(() => side(node.consequent, inner));
  const otherwise = to.capture(() => side(node.alternate, inner));
  to.emit(branch(test.e, then.body, otherwise.body), node);
  return { falls: then.value.falls || otherwise.value.falls, exits: union(then.value, otherwise.value) };
}

function left(node: acorn.BreakStatement | acorn.ContinueStatement, { to, loops }: Context): Flow {
  const innermost = loops.at(-1);
  if (innermost === undefined || node.label) throw to.error(node, 'this leaves no loop', 'use it inside a loop, without a label');
  const label = node.type === 'BreakStatement' ? innermost.end : innermost.next;
  to.emit({ kind: 'break', label }, node);
  return leaves(label);
}

/** The values of a counter: constants, as many as the loop has trips. */
function tripsOf(node: acorn.ForStatement, { scope, to }: Context): { readonly name: string; readonly values: readonly number[] } {
  const wrong = (): never => {
    throw to.error(node, 'a loop without constant bounds',
      'write for (let i = 0; i < 10; ++i), with bounds that are known while it is compiled');
  };
  const { init, test, update } = node;
  if (init?.type !== 'VariableDeclaration' || init.kind !== 'let' || init.declarations.length !== 1 || !test || !update) return wrong();
  const [{ id, init: begin }] = init.declarations as [acorn.VariableDeclarator];
  if (id.type !== 'Identifier' || !begin) return wrong();
  const constantOf = (e: acorn.Expression, inner: Scope): number | boolean => {
    const value = evaluate(e, inner, to);
    return value.kind === 'known' ? value.value : wrong();
  };
  const stepped = (value: number, inner: Scope): number => {
    const isCounter = (place: acorn.Pattern | acorn.Expression): boolean => place.type === 'Identifier' && place.name === id.name;
    if (update.type === 'UpdateExpression' && isCounter(update.argument)) return value + (update.operator === '++' ? 1 : -1);
    if (update.type !== 'AssignmentExpression' || !isCounter(update.left)) return wrong();
    const right = Number(constantOf(update.right, inner));
    const op = { '+=': value + right, '-=': value - right, '*=': value * right, '/=': value / right, '=': right }[update.operator as '='];
    return op ?? wrong();
  };
  const values: number[] = [];
  for (let value = Number(constantOf(begin, scope)); ;) {
    const inner = new Scope(scope);
    inner.declare(id.name, { value: known(value), isVariable: false, owner: inner });
    if (constantOf(test, inner) !== true) return { name: id.name, values };
    values.push(value);
    if (values.length > mostTrips) throw to.error(node, `a loop of more than ${mostTrips} trips`, 'use shorter loops');
    value = stepped(value, inner);
  }
}

function loop(node: acorn.ForStatement, context: Context): Flow {
  const { name, values } = tripsOf(node, context);
  const { size, hasIndices } = measure(node.body);
  const isShort = values.length * size <= (hasIndices ? mostForIndices : mostUnrolled);
  if (isShort) return trips(node, values.map(known), (scope, value) => { declareCounter(scope, name, value); }, context);
  return rolled(node, name, values, context);
}

function declareCounter(scope: Scope, name: string, value: Staged): void {
  scope.declare(name, { value, isVariable: false, owner: scope });
}

function elements(node: acorn.ForOfStatement, context: Context): Flow {
  const { scope, to } = context;
  const values = evaluate(node.right, scope, to);
  if (values.kind !== 'tuple') throw to.error(node.right, `${describe(values)} in place of an array`, 'for … of goes through arrays');
  const { left: place } = node;
  if (place.type !== 'VariableDeclaration' || place.kind !== 'const') {
    throw to.error(place, 'for … of without const', 'write for (const x of a)');
  }
  const [{ id }] = place.declarations as [acorn.VariableDeclarator];
  return trips(node, values.items, (inner, value) => { bind(id, value, { scope: inner, to, owner: inner, isVariable: false }); }, context);
}

/** The body once for each value. */
function trips(
  node: acorn.ForStatement | acorn.ForOfStatement, values: readonly Staged[], declareIn: (scope: Scope, value: Staged) => void,
  context: Context,
): Flow {
  const { to } = context;
  const end = to.label('loop');
  const exits = new Set<Label>();
  const { value: falls, body } = to.capture(() => {
    for (const value of values) {
      const again = to.label('next');
      const scope = new Scope(context.scope);
      const { value: flow, body: once } = to.capture(() => {
        declareIn(scope, value);
        return run(node.body, { ...context, scope: new Scope(scope), loops: [...context.loops, { end, next: again }], isOutermost: false });
      });
      const isLeft = flow.exits.has(again);
      if (isLeft) to.emit({ kind: 'block', label: again, body: once }, node);
      else for (const each of once) to.emit(each, node);
      for (const label of flow.exits) if (label !== again) exits.add(label);
      if (!flow.falls && !isLeft) return false;
    }
    return true;
  });
  return close(end, body, falls, exits, node, to);
}

function close(end: Label, body: Body, falls: boolean, exits: Set<Label>, node: Node, to: Lowering): Flow {
  const isLeft = exits.delete(end);
  if (isLeft) to.emit({ kind: 'block', label: end, body }, node);
  else for (const each of body) to.emit(each, node);
  return { falls: falls || isLeft, exits };
}

/** The body in a loop at run time: its counter is an integer there. */
function rolled(node: acorn.ForStatement, name: string, values: readonly number[], context: Context): Flow {
  const { to } = context;
  const [first = 0, second = 0] = values;
  const step = second - first;
  const isEven = Number.isInteger(first) && Number.isInteger(step) && values.every((value, i) => value === first + i * step);
  if (!isEven || Math.abs(first) + Math.abs(step) * values.length > 2 ** 30) {
    throw to.error(node, `a loop of ${values.length} trips whose counter does not go in even steps of integers`,
      'count trips, and compute the value from them');
  }
  const [end, again] = [to.label('loop'), to.label('next')];
  const counter = to.newLocal('i32', name);
  const exits = new Set<Label>();
  const { value: falls, body } = to.capture(() => {
    const { body: inside } = to.capture(() => {
      const scope = new Scope(context.scope);
      const index = exact('add', i32(first), exact('mul', get(counter), i32(step)));
      declareCounter(scope, name, computed(get(to.local(convert(to.precision, index), name, node))));
      const { value: flow, body: once } = to.capture(() =>
        run(node.body, { ...context, scope: new Scope(scope), loops: [...context.loops, { end, next: again }], isOutermost: false }));
      if (flow.exits.has(again)) to.emit({ kind: 'block', label: again, body: once }, node);
      else for (const each of once) to.emit(each, node);
      for (const label of flow.exits) if (label !== again) exits.add(label);
    });
    to.emit(forLoop(to.label('for'), counter, { from: i32(0), to: i32(values.length) }, inside), node);
    return true;
  });
  return close(end, body, falls, exits, node, to);
}

/** Nodes of a body, and whether it has indices that are not constants. */
function measure(root: Node): { readonly size: number; readonly hasIndices: boolean } {
  let size = 0, hasIndices = false;
  const left: unknown[] = [root];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (Array.isArray(node)) left.push(...node as unknown[]);
    else if (typeof node === 'object' && node !== null && 'type' in node) {
      ++size;
      const member = node as acorn.MemberExpression;
      hasIndices ||= member.type === 'MemberExpression' && member.computed && member.property.type !== 'Literal';
      left.push(...Object.values(node).filter((part) => typeof part === 'object' && part !== null));
    }
  }
  return { size, hasIndices };
}
