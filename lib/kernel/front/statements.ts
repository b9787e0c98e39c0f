// Statements of a user's function.
import type * as acorn from 'acorn';
import { lastOf } from '../../core/known.ts';
import { branch, convert, exact, forLoop, get, i32, type Body, type Label } from '../ir.ts';
import { assigns, namesIn, nodesOf } from './assigned.ts';
import { assignment, declareUnset, placeOf } from './assignments.ts';
import { bind } from './calls.ts';
import { countedLoop, counterOf, withPlainTest, type CountedLoop } from './counted.ts';
import { evaluate, isNaming } from './expressions.ts';
import type { Context, Flow, Lowering } from './lowering.ts';
import type { FunctionNode, Node } from './source.ts';
import { conditionsOf, switchSubject } from './switches.ts';
import { computed, describe, known, Scope, type Staged } from './values.ts';

const next: Flow = { falls: true, exits: new Set() };
const leaves = (label: Label): Flow => ({ falls: false, exits: new Set([label]) });
const union = (...flows: readonly Flow[]): ReadonlySet<Label> => new Set(flows.flatMap(({ exits }) => [...exits]));

/** Trips and nodes up to which loops are unrolled, and where an index needs it. */
const mostTrips = 1_000_000, mostUnrolled = 4000, mostForIndices = 50_000;

const refused: Readonly<Record<string, readonly [what: string, hint: string]>> = {
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
  context.to.spend(node);
  switch (node.type) {
    case 'EmptyStatement': case 'FunctionDeclaration': return next;
    case 'BlockStatement': return runStatements(node.body, { ...context, scope: new Scope(context.scope) });
    case 'VariableDeclaration': return declare(node, context);
    case 'ExpressionStatement': return effect(node.expression, context);
    case 'ReturnStatement': return returned(node, context);
    case 'IfStatement': return conditional(node, context);
    case 'ForStatement':
      return isCounterOnly(node, context) && node.test && node.update ? loop(node, context) : counted(node, context);
    case 'WhileStatement': case 'DoWhileStatement': return counted(node, context);
    case 'SwitchStatement': return switched(node, context);
    case 'ForOfStatement': return elements(node, context);
    case 'BreakStatement': case 'ContinueStatement': return left(node, context);
    default: {
      const [what, hint] = refused[node.type] ?? [node.type, 'it is not part of what can be compiled'];
      throw context.to.error(node, `${what} cannot be compiled`, hint);
    }
  }
}

/** Whether a loop declares its counter and nothing else. */
function isCounterOnly({ init }: acorn.ForStatement, { frame }: Context): boolean {
  return init?.type === 'VariableDeclaration' && init.declarations.length === 1
    && (init.kind !== 'var' || !init.declarations.some(({ id }) => namesIn(id).some((name) => frame.hoisted.has(name))));
}

/** What compilers of TypeScript and minifiers write for no value. */
function isNothing(init: acorn.Expression | null | undefined): boolean {
  return !init || (init.type === 'UnaryExpression' && init.operator === 'void')
    || (init.type === 'Identifier' && init.name === 'undefined');
}

function declare(node: acorn.VariableDeclaration, { scope, to, frame, loops }: Context): Flow {
  for (const { id, init } of node.declarations) {
    if (node.kind === 'var' && namesIn(id).some((name) => frame.hoisted.has(name))) {
      if (init) assignHoisted(id, init, { scope, to, frame, loops });
    } else if (!init || isNothing(init)) {
      if (id.type !== 'Identifier') throw to.error(id, 'a value that is not there', 'give it one');
      declareUnset(id, scope, to, frame);
    } else {
      const value = evaluate(init, scope, to);
      const named = value.kind === 'closure' && id.type === 'Identifier' ? { ...value, name: id.name } : value;
      // What is declared with let, but never assigned, is a constant: a bound of loops, for instance.
      const isVariable = node.kind !== 'const' && namesIn(id).some((name) => frame.assigned.has(name));
      const isReplaced = isVariable && id.type === 'Identifier' && !to.assignsElements
        && (value.kind === 'tuple' || value.kind === 'record');
      bind(id, isReplaced ? copied(value, init, to) : named, { scope, to, owner: frame, isVariable, loops: loops.length,
        isOwn: init.type === 'ArrayExpression' || init.type === 'ObjectExpression' });
    }
  }
  return next;
}

/** A variable of the whole function gets a value. */
function assignHoisted(id: acorn.Pattern, init: acorn.Expression, context: Pick<Context, 'scope' | 'to' | 'frame' | 'loops'>): void {
  const { start, end } = init;
  const node: acorn.AssignmentExpression = { type: 'AssignmentExpression', operator: '=', left: id, right: init, start, end };
  assignment(node, context.scope, context.to, false);
  keepConstant(node, context);
}

/** Variables with the numbers of an array or object. */
function copied(value: Staged, at: Node, to: Lowering): Staged {
  const cells = to.cellsLike(value, at);
  to.assign(cells, value, at);
  return cells;
}

/** An expression as a statement; minifiers write commas, && and ? : in place of statements. */
function effect(node: acorn.Expression, context: Context): Flow {
  const statement = (expression: acorn.Expression): acorn.Statement =>
    ({ type: 'ExpressionStatement', expression, start: expression.start, end: expression.end });
  const { start, end } = node;
  switch (node.type) {
    case 'SequenceExpression': return runStatements(node.expressions.map(statement), context);
    case 'ConditionalExpression': return conditional({
      type: 'IfStatement', test: node.test, consequent: statement(node.consequent), alternate: statement(node.alternate), start, end,
    }, context);
    case 'LogicalExpression': {
      if (node.operator === '??') break;
      const nothing: acorn.EmptyStatement = { type: 'EmptyStatement', start, end };
      const [then, otherwise] = node.operator === '&&' ? [statement(node.right), null] : [nothing, statement(node.right)];
      return conditional({ type: 'IfStatement', test: node.left, consequent: then, alternate: otherwise, start, end }, context);
    }
    default: break;
  }
  return assigned(node, context);
}

function assigned(node: acorn.Expression, { scope, to }: Context): Flow {
  if (node.type === 'Literal' && typeof node.value === 'string') return next; // 'use strict'
  if (node.type === 'CallExpression' && isNaming(node, scope)) return next;
  if (node.type !== 'AssignmentExpression' && node.type !== 'UpdateExpression') {
    throw to.error(node, 'an expression whose value is not used', 'assign or return it');
  }
  assignment(node, scope, to, false);
  return next;
}

function returned(node: acorn.ReturnStatement, context: Context): Flow {
  const { scope, to, frame, isOutermost } = context;
  if (node.argument?.type === 'SequenceExpression') {
    const { expressions, start, end } = node.argument;
    const before = expressions.slice(0, -1).filter(({ type }) => type !== 'Literal');
    for (const expression of before) effect(expression, context);
    if (before.length > 0) return returned({ type: 'ReturnStatement', argument: lastOf(expressions), start, end }, context);
  }
  if (node.argument === null || node.argument === undefined) throw to.error(node, 'return without a value', 'return one');
  const value = evaluate(node.argument, scope, to);
  if (isOutermost && frame.result === undefined) {
    frame.result = to.settle(value, 'r', node);
    return { falls: false, exits: new Set() };
  }
  frame.result ??= to.cellsLike(value, node);
  to.keep(value, frame.isOwn);
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

/** A loop that a variable from outside counts: it is also set, for what comes after the loop. */
function counted(node: CountedLoop, context: Context): Flow {
  if (node.type === 'ForStatement' && node.init) {
    const inner = { ...context, scope: new Scope(context.scope) };
    if (node.init.type === 'VariableDeclaration') declare(node.init, inner);
    else {
      effect(node.init, inner);
      for (const each of node.init.type === 'SequenceExpression' ? node.init.expressions : [node.init]) keepConstant(each, inner);
    }
    return counted({ ...node, init: null }, inner);
  }
  const { scope, to } = context;
  const { name, values, end, body } = countedLoop(
    node.type === 'DoWhileStatement' ? node : withPlainTest(node, counterOf(node)), context, mostTrips);
  const { size } = measure(node.body);
  if (values.length * size > mostForIndices) {
    throw to.error(node, `a loop of ${values.length} trips`, 'use for (let k = 0; k < 10; k += 1)');
  }
  const place = placeOf({ type: 'Identifier', name, start: node.start, end: node.start }, scope, to);
  const block: acorn.BlockStatement = { type: 'BlockStatement', body: [...body], start: node.body.start, end: node.body.end };
  const flow = trips({ ...node, body: block } as acorn.ForStatement, values.map(known), (scope, value) => {
    to.assign(place, value, node);
    declareCounter(scope, name, value);
  }, context, () => { to.assign(place, known(end), node); });
  return flow;
}

/** After k = 0, the variable's value is known again. */
function keepConstant(node: acorn.Expression, { scope, to, frame, loops }: Pick<Context, 'scope' | 'to' | 'frame' | 'loops'>): void {
  if (node.type !== 'AssignmentExpression' || node.operator !== '=' || node.left.type !== 'Identifier' || assigns(node.right)) return;
  const found = scope.find(node.left.name);
  const value = evaluate(node.right, scope, to);
  if (found?.owner === frame && value.kind === 'known' && typeof value.value === 'number') {
    found.constant = { value: value.value, loops: loops.length };
  }
}

function switched(node: acorn.SwitchStatement, context: Context): Flow {
  const { scope, to } = context;
  const value = to.settle(evaluate(node.discriminant, scope, to), 's', node.discriminant);
  const inner = new Scope(scope);
  inner.declare(switchSubject, { value, isVariable: false, owner: inner });
  const chain = conditionsOf(node, to);
  return chain === null ? next : run(chain, { ...context, scope: inner });
}

/** The values of a counter: constants, as many as the loop has trips. */
function tripsOf(node: acorn.ForStatement, { scope, to }: Context): { readonly name: string; readonly values: readonly number[] } {
  const wrong = (): never => {
    throw to.error(node, 'a loop without constant bounds',
      'write for (let i = 0; i < 10; ++i), with bounds that are known while it is compiled');
  };
  const { init, test, update } = node;
  if (init?.type !== 'VariableDeclaration' || init.kind === 'const' || init.declarations.length !== 1 || !test || !update) return wrong();
  const [{ id, init: begin }] = init.declarations as [acorn.VariableDeclarator];
  if (id.type !== 'Identifier' || !begin) return wrong();
  const constantOf = (e: acorn.Expression, inner: Scope): number | boolean => {
    if (assigns(e)) return wrong();
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
    to.spend(node);
    if (values.length > mostTrips) throw to.error(node, `a loop of more than ${mostTrips} trips`, 'use shorter loops');
    value = stepped(value, inner);
  }
}

function loop(given: acorn.ForStatement, context: Context): Flow {
  const node = withPlainTest(given, counterOf(given));
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
  const { frame } = context;
  if (place.type !== 'VariableDeclaration' || (place.kind === 'var' && namesIn(place).some((name) => frame.hoisted.has(name)))) {
    throw to.error(place, 'for … of without const', 'write for (const x of a)');
  }
  const [{ id }] = place.declarations as [acorn.VariableDeclarator];
  const isVariable = place.kind !== 'const';
  return trips(node, values.items, (inner, value) => { bind(id, value, { scope: inner, to, owner: frame, isVariable }); }, context);
}

/** The body once for each value. */
function trips(
  node: acorn.ForStatement | acorn.ForOfStatement, values: readonly Staged[], declareIn: (scope: Scope, value: Staged) => void,
  context: Context, atEnd: () => void = () => undefined,
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
    atEnd();
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
      const inner: Context = { ...context, scope: new Scope(scope), loops: [...context.loops, { end, next: again }], isOutermost: false };
      const { value: flow, body: once } = to.capture(() => to.repeated(values.length, node, () => run(node.body, inner)));
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
  for (const node of nodesOf(root)) {
    ++size;
    hasIndices ||= node.type === 'MemberExpression' && node.computed && node.property.type !== 'Literal';
  }
  return { size, hasIndices };
}
