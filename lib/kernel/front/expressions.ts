// Expressions of a user's function.
import type * as acorn from 'acorn';
import { lastOf, leading, required } from '../../core/known.ts';
import { branch, compare, convert, get, logic, select, unary, type BinaryOp, type Body, type CompareOp } from '../ir.ts';
import { assigns } from './assigned.ts';
import { callFunction } from './calls.ts';
import type { Lowering } from './lowering.ts';
import {
  asNumber, fusedMultiplyAdd, globalConstants, mathItself, mathMember, mathNames, numberMember, numberTest, oneOrZero, power,
} from './mathematics.ts';
import { keyOf } from './names.ts';
import { partOf } from './parts.ts';
import type { FunctionNode, Node } from './source.ts';
import { computed, describe, known, record, type Scope, type Staged, tuple } from './values.ts';

const arithmetic: Readonly<Record<string, BinaryOp>> = { '+': 'add', '-': 'sub', '*': 'mul', '/': 'div', '%': 'rem' };
const comparisons: Readonly<Record<string, CompareOp>> = {
  '===': 'eq', '!==': 'ne', '==': 'eq', '!=': 'ne', // the same on numbers
  '<': 'lt', '<=': 'le', '>': 'gt', '>=': 'ge',
};
const onNumbers: Readonly<Record<CompareOp, (a: number, b: number) => boolean>> = {
  eq: (a, b) => a === b, ne: (a, b) => a !== b, lt: (a, b) => a < b, le: (a, b) => a <= b, gt: (a, b) => a > b, ge: (a, b) => a >= b,
  lt_u: (a, b) => (a >>> 0) < (b >>> 0),
};

/** What else is refused, in words, and what to do. */
const refused: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  ChainExpression: ['?.', 'values are never undefined here'],
  AwaitExpression: ['await', 'a compiled function cannot wait'],
  YieldExpression: ['yield', 'a compiled function is no generator'],
  NewExpression: ['new', 'only numbers, arrays of fixed length and plain objects can be made'],
  ThisExpression: ['this', 'pass what is needed as a parameter'],
  TemplateLiteral: ['a string', 'only numbers can be computed with'],
  TaggedTemplateExpression: ['a string', 'only numbers can be computed with'],
  ClassExpression: ['a class', 'use functions'],
  ImportExpression: ['import()', 'pass what is needed as a parameter'],
};

type AnyExpression = acorn.Expression | acorn.Super | acorn.SpreadElement | acorn.PrivateIdentifier;

/** The value of an expression. */
export function evaluate(node: AnyExpression, scope: Scope, to: Lowering): Staged {
  switch (node.type) {
    case 'Literal': return literal(node, to);
    case 'Identifier': return identifier(node, scope, to);
    case 'SequenceExpression': return sequence(node, scope, to);
    case 'AssignmentExpression': case 'UpdateExpression': return to.rules.assign(node, scope, to);
    case 'ParenthesizedExpression': return evaluate(node.expression, scope, to);
    case 'UnaryExpression': return unaryOf(node, scope, to);
    case 'BinaryExpression': return binaryOf(node, scope, to);
    case 'LogicalExpression': return logicalOf(node, scope, to);
    case 'ConditionalExpression': return conditionalOf(node, scope, to);
    case 'ArrayExpression': return to.bounded(tuple(node.elements.flatMap((each) => {
      if (each === null) throw to.error(node, 'an array with gaps', 'name each element');
      const values = each.type === 'SpreadElement' ? itemsOf(each, scope, to) : [evaluate(each, scope, to)];
      return values.map((value) => held(value, 'e', each, to));
    })), node);
    case 'ObjectExpression': return objectOf(node, scope, to);
    case 'MemberExpression': return memberOf(node, scope, to);
    case 'CallExpression': return callOf(node, scope, to);
    case 'ArrowFunctionExpression': case 'FunctionExpression': {
      const name = node.type === 'FunctionExpression' ? node.id?.name : undefined;
      return { kind: 'closure', name: name ?? 'function', node: node as FunctionNode, scope };
    }
    default: {
      const [what, hint] = refused[node.type] ?? [`${node.type}`, 'it is not part of what can be compiled'];
      throw to.error(node, `${what} cannot be compiled`, hint);
    }
  }
}

/** A value as an element or field: one that can be assigned where elements are. */
function held(value: Staged, name: string, at: Node, to: Lowering): Staged {
  const isNumber = value.kind === 'known' || value.kind === 'computed' || value.kind === 'cell';
  if (!to.assignsElements || !isNumber) return to.settle(value, name, at);
  return { kind: 'cell', local: to.local(to.expression(value, at), name, at) };
}

/** The elements of ...array. */
function itemsOf({ argument }: acorn.SpreadElement, scope: Scope, to: Lowering): readonly Staged[] {
  const value = evaluate(argument, scope, to);
  if (value.kind === 'tuple') return value.items;
  throw to.error(argument, `${describe(value)} in place of an array`, 'only arrays can be spread here');
}

function literal(node: acorn.Literal, to: Lowering): Staged {
  if (typeof node.value === 'number' || typeof node.value === 'boolean') return known(node.value);
  throw to.error(node, `${node.raw ?? 'this'} is neither a number nor a truth value`, 'only numbers can be computed with');
}

function identifier(node: acorn.Identifier, scope: Scope, to: Lowering): Staged {
  const found = scope.find(node.name);
  if (found !== undefined) {
    found.unset = undefined;
    // Arrays that are replaced are values here; where their elements are assigned, none is replaced.
    const isReplaced = found.isVariable && !to.assignsElements && (found.value.kind === 'tuple' || found.value.kind === 'record');
    return isReplaced ? to.snapshot(found.value, node.name, node) : found.value;
  }
  if (Object.hasOwn(globalConstants, node.name)) return known(required(globalConstants[node.name]));
  if (node.name === 'Math') return mathItself();
  if (node.name === 'fma') return fusedMultiplyAdd();
  if (node.name === 'Number') return asNumber();
  const test = node.name === 'isNaN' || node.name === 'isFinite' ? numberTest(node.name) : undefined;
  if (test !== undefined) return test;
  if (/^cov_\w+$|__WEBPACK_|^__(?!name$)\w+|^_interop|^_\w+_(?:js|ts)\d*$/.test(node.name)) {
    throw to.error(node, `${node.name} is not known here: a bundler or another tool has rewritten the function`,
      'exclude its file from that tool, or give the function as text');
  }
  if (node.name === 'undefined') throw to.error(node, 'undefined has no number', 'give it a value');
  throw to.error(node, `${node.name} is not known here`,
    'a compiled function sees its parameters, Math, and what it declares itself: pass other values as parameters, other functions as '
    + '`functions`; if a bundler has rewritten the function, give it as text');
}

/** Bundlers write calls of imported functions like this, (0, f)(x), and minifiers statements: (a = 1, a + x). */
function sequence({ expressions }: acorn.SequenceExpression, scope: Scope, to: Lowering): Staged {
  for (const each of expressions.slice(0, -1)) {
    if (each.type === 'AssignmentExpression' || each.type === 'UpdateExpression') to.rules.assign(each, scope, to, false);
    else if (each.type !== 'Literal') {
      throw to.error(each, 'a comma between expressions cannot be compiled',
        'write statements; give a function that a minifier has rewritten as text');
    }
  }
  return evaluate(lastOf(expressions), scope, to);
}

function unaryOf(node: acorn.UnaryExpression, scope: Scope, to: Lowering): Staged {
  // Minifiers write !0 and !1.
  const { operator, argument } = node;
  if (operator === '!' && argument.type === 'Literal' && typeof argument.value === 'number') return known(!argument.value);
  const value = evaluate(node.argument, scope, to);
  if (node.operator === '!') {
    const condition = to.condition(value, node.argument);
    return condition.kind === 'known' ? known(condition.value !== true) : computed(unary('not', condition.e));
  }
  if (operator === '+' && isTruth(value)) return oneOrZero(to, value, node);
  if (operator !== '-' && operator !== '+') throw to.error(node, `${operator} cannot be compiled`, 'use arithmetic');
  const number = to.numeric(value, node.argument);
  if (node.operator === '+') return number;
  return number.kind === 'known' ? known(-Number(number.value)) : computed(unary('neg', number.e));
}

function binaryOf(node: acorn.BinaryExpression, scope: Scope, to: Lowering): Staged {
  const { operator } = node;
  const first = evaluate(node.left, scope, to);
  const left = assigns(node.right) ? to.settle(first, 'l', node.left) : first;
  const right = evaluate(node.right, scope, to);
  if (operator === '**') return power(to, left, right, node);
  if (Object.hasOwn(arithmetic, operator)) return to.arithmetic(required(arithmetic[operator]), left, right, node);
  if (!Object.hasOwn(comparisons, operator)) {
    throw to.error(node, `${operator} cannot be compiled`, 'use arithmetic on numbers, and Math.trunc and Math.floor to round');
  }
  const op = required(comparisons[operator]);
  if ((op === 'eq' || op === 'ne') && isTruth(left) && isTruth(right)) return sameTruth(op, left, right, node, to);
  const [a, b] = [to.numeric(left, node.left), to.numeric(right, node.right)];
  if (a.kind === 'known' && b.kind === 'known') return known(onNumbers[op](Number(a.value), Number(b.value)));
  return computed(compare(op, to.expression(a, node), to.expression(b, node)));
}

const isTruth = (value: Staged): boolean => describe(value) === 'a truth value';

/** Whether two truth values are the same, or differ. */
function sameTruth(op: 'eq' | 'ne', left: Staged, right: Staged, at: Node, to: Lowering): Staged {
  if (left.kind === 'known' && right.kind === 'known') return known((left.value === right.value) === (op === 'eq'));
  return computed(compare(op, convert('i32', to.expression(left, at)), convert('i32', to.expression(right, at))));
}

function logicalOf(node: acorn.LogicalExpression, scope: Scope, to: Lowering): Staged {
  if (node.operator === '??') throw to.error(node, '?? cannot be compiled', 'values are never undefined here');
  const isAnd = node.operator === '&&';
  const left = to.condition(evaluate(node.left, scope, to), node.left);
  if (left.kind === 'known') {
    return left.value === isAnd ? to.condition(evaluate(node.right, scope, to), node.right) : left;
  }
  const { value: right, body } = to.capture(() => to.condition(evaluate(node.right, scope, to), node.right));
  if (body.length === 0) return computed(logic(isAnd ? 'and' : 'or', left.e, to.expression(right, node.right)));
  const result = to.newLocal('bool', 'c');
  to.emit({ kind: 'set', local: result, value: left.e }, node);
  const more = [...body, { kind: 'set' as const, local: result, value: to.expression(right, node.right) }];
  to.emit(isAnd ? branch(get(result), more) : branch(get(result), [], more), node);
  return computed(get(result));
}

function conditionalOf(node: acorn.ConditionalExpression, scope: Scope, to: Lowering): Staged {
  const test = to.condition(evaluate(node.test, scope, to), node.test);
  if (test.kind === 'known') return evaluate(test.value === true ? node.consequent : node.alternate, scope, to);
  const [then, otherwise] = leading([node.consequent, node.alternate].map((side) => to.capture(() => evaluate(side, scope, to))), 2);
  const isPlain = (e: Staged): boolean => ['known', 'computed', 'cell'].includes(e.kind);
  if (then.body.length + otherwise.body.length === 0 && isPlain(then.value) && isPlain(otherwise.value)) {
    const [a, b] = [to.expression(then.value, node.consequent), to.expression(otherwise.value, node.alternate)];
    if (a.type !== b.type) {
      throw to.error(node, `${describe(then.value)} or ${describe(otherwise.value)}`, 'give the same kind of value on both sides');
    }
    return computed(select(test.e, a, b));
  }
  const cells = to.cellsLike(then.value, node.consequent);
  to.keep(then.value);
  to.keep(otherwise.value);
  const whole = (side: { readonly value: Staged; readonly body: Body }, at: Node): Body => {
    const { body } = to.capture(() => { to.assign(cells, side.value, at); });
    return [...side.body, ...body];
  };
  to.emit(branch(test.e, whole(then, node.consequent), whole(otherwise, node.alternate)), node);
  return cells;
}

function objectOf(node: acorn.ObjectExpression, scope: Scope, to: Lowering): Staged {
  const fields = node.properties.flatMap((each): (readonly [string, Staged])[] => {
    if (each.type === 'SpreadElement') {
      const value = evaluate(each.argument, scope, to);
      if (value.kind !== 'record') throw to.error(each, `${describe(value)} in place of an object`, 'only objects can be spread here');
      return [...value.fields].map(([name, field]) => [name, held(field, name, each, to)] as const);
    }
    if (each.kind !== 'init' || each.computed) throw to.error(each, 'a getter, a setter or a computed name', 'write name: value');
    const name = keyOf(each.key, to);
    return [[name, held(evaluate(each.value, scope, to), name, each.value, to)]];
  });
  return to.bounded(record(fields), node);
}

function memberOf(node: acorn.MemberExpression, scope: Scope, to: Lowering): Staged {
  if (node.optional) throw to.error(node, '?. cannot be compiled', 'values are never undefined here');
  const library = node.object.type === 'Identifier' && scope.find(node.object.name) === undefined ? node.object.name : undefined;
  if (library === 'Math' || library === 'Number') {
    if (node.computed) throw to.error(node, `${library}[…] cannot be compiled`, 'name the function');
    const name = keyOf(node.property, to);
    const found = library === 'Math' ? mathMember(name) : numberMember(name);
    if (found !== undefined) return found;
    const hint = library === 'Math' ? `there are ${mathNames.join(', ')}` : 'write the number';
    throw to.error(node, `${library}.${name} cannot be compiled`, hint);
  }
  return partOf(evaluate(node.object, scope, to), node, scope, to);
}

/** Loaders such as esbuild wrap inner functions to keep their names: __name(f, "f"), where minified o(f, "f"). */
export function isNaming({ callee, arguments: args }: acorn.CallExpression, scope: Scope): boolean {
  if (callee.type !== 'Identifier' || scope.find(callee.name) !== undefined || args.length !== 2) return false;
  const [f, name] = args;
  if (name?.type !== 'Literal' || typeof name.value !== 'string') return false;
  return f?.type === 'ArrowFunctionExpression' || f?.type === 'FunctionExpression'
    || (f?.type === 'Identifier' && scope.find(f.name)?.value.kind === 'closure');
}

/** What TypeScript writes for { ...a, b }: Object.assign(Object.assign({}, a), { b }). */
function joinedObjects({ callee, arguments: args }: acorn.CallExpression, scope: Scope, to: Lowering): Staged | undefined {
  const isAssign = callee.type === 'MemberExpression' && callee.object.type === 'Identifier' && callee.object.name === 'Object'
    && scope.find('Object') === undefined && callee.property.type === 'Identifier' && callee.property.name === 'assign';
  const [first] = args;
  // An object with a name would change.
  if (!isAssign || (first?.type !== 'ObjectExpression' && first?.type !== 'CallExpression')) return undefined;
  const { start, end } = callee;
  const properties = args.map((argument) => ({ type: 'SpreadElement', argument, start, end }) as acorn.SpreadElement);
  return objectOf({ type: 'ObjectExpression', properties, start, end }, scope, to);
}

function callOf(node: acorn.CallExpression, scope: Scope, to: Lowering): Staged {
  if (node.optional) throw to.error(node, '?.() cannot be compiled', 'values are never undefined here');
  const { callee } = node;
  if (isNaming(node, scope)) return evaluate(required(node.arguments[0]), scope, to);
  if (callee.type === 'Identifier' && /^cov_\w+$/.test(callee.name)) {
    throw to.error(node, 'the function was rewritten by a coverage tool', 'exclude its file, or give the function as text');
  }
  const joined = joinedObjects(node, scope, to);
  if (joined !== undefined) return joined;
  const f = evaluate(callee, scope, to);
  const args = node.arguments.flatMap((each) => (each.type === 'SpreadElement' ? itemsOf(each, scope, to) : [evaluate(each, scope, to)])
    .map((value) => to.settle(value, 'a', each)));
  if (f.kind === 'builtin') return f.apply(args, node, to);
  if (f.kind === 'closure') return callFunction(f, args, node, to);
  throw to.error(callee, `${describe(f)} is not a function`, 'call functions of Math, your own, or those that are given');
}
