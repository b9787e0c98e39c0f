// Assignments: of variables, and of elements and fields of arrays and objects that the function has made.
import type * as acorn from 'acorn';
import { branch, unary, type BinaryOp } from '../ir.ts';
import { assigns } from './assigned.ts';
import type { Assigning, Frame, Lowering } from './lowering.ts';
import { power } from './mathematics.ts';
import { partOf, partsOf } from './parts.ts';
import { type Binding, describe, known, type Scope, type Staged } from './values.ts';

const operators: Readonly<Record<string, BinaryOp>> = { '+=': 'add', '-=': 'sub', '*=': 'mul', '/=': 'div', '%=': 'rem' };

/** An assignment, and its value, if that is used. */
export function assignment(node: Assigning, scope: Scope, to: Lowering, isUsed = true): Staged {
  if (node.type === 'UpdateExpression') {
    const place = placeOf(node.argument as acorn.Pattern, scope, to);
    const old = isUsed && !node.prefix ? to.settle(place, 'o', node) : place;
    to.assign(place, to.arithmetic(node.operator === '++' ? 'add' : 'sub', old, known(1), node), node);
    return isUsed && node.prefix ? to.settle(place, 'n', node) : old;
  }
  const { left, right, operator } = node;
  if (operator === '=') {
    const made = to.rules.evaluate(right, scope, to);
    const value = isUsed ? to.settle(to.snapshot(made, 'n', right), 'n', right) : to.snapshot(made, 'n', right);
    assignPattern(left, value, scope, to);
    return value;
  }
  if (operator === '&&=' || operator === '||=') return logical(node, scope, to);
  // JavaScript reads the variable first.
  const first = assigns(right) ? to.settle(placeOf(left, scope, to), 'o', left) : undefined;
  const value = to.rules.evaluate(right, scope, to);
  const place = placeOf(left, scope, to);
  const op = operators[operator];
  if (op === undefined && operator !== '**=') throw to.error(node, `${operator} cannot be compiled`, 'use arithmetic');
  to.assign(place, op === undefined ? power(to, first ?? place, value, node) : to.arithmetic(op, first ?? place, value, node), node);
  return isUsed ? to.settle(place, 'n', node) : place;
}

/** a &&= b and a ||= b of truth values. */
function logical({ left, right, operator, ...at }: acorn.AssignmentExpression, scope: Scope, to: Lowering): Staged {
  const node = { ...at, left, right, operator } as acorn.AssignmentExpression;
  const place = placeOf(left, scope, to);
  const now = to.expression(to.condition(place, left), left);
  const { body } = to.capture(() => { to.assign(place, to.condition(to.rules.evaluate(right, scope, to), right), node); });
  to.emit(branch(operator === '&&=' ? now : unary('not', now), body), node);
  return to.settle(place, 'n', node);
}

/** Assigns the parts of a value to the places of a pattern. */
export function assignPattern(pattern: acorn.Pattern, value: Staged | undefined, scope: Scope, to: Lowering): void {
  if (pattern.type === 'AssignmentPattern') {
    assignPattern(pattern.left, value ?? to.rules.evaluate(pattern.right, scope, to), scope, to);
    return;
  }
  if (value === undefined) throw to.error(pattern, 'a value that is not there', 'give it a default, or leave it out');
  if (pattern.type === 'ArrayPattern' || pattern.type === 'ObjectPattern') {
    for (const [each, part] of partsOf(pattern, value, to)) assignPattern(each, part, scope, to);
  } else to.assign(placeOf(pattern, scope, to, value), value, pattern);
}

/** A name that may be assigned here: declared by this call. */
function own(node: acorn.Identifier, { scope, to, isRight, hint }: {
  readonly scope: Scope; readonly to: Lowering; readonly isRight: (binding: Binding) => boolean; readonly hint: string;
}): Binding {
  const found = scope.find(node.name);
  if (found === undefined) throw to.error(node, `${node.name} is not known here`, 'declare it with let');
  if (found.owner !== to.frame || !isRight(found)) throw to.error(node, `${node.name} cannot be assigned here`, hint);
  return found;
}

/** What an assignment sets: a variable of this call, or a part of an array or object that it made. `value`: what it will be set to. */
export function placeOf(node: acorn.Pattern, scope: Scope, to: Lowering, value?: Staged): Staged {
  if (node.type === 'Identifier') {
    const binding = own(node, { scope, to, isRight: ({ isVariable }) => isVariable,
      hint: 'declare it with let, in the same function; the counter of a loop belongs to the loop' });
    binding.constant = undefined;
    const { unset } = binding;
    binding.unset = undefined;
    if (unset !== undefined && value !== undefined) to.typed(binding, unset, value, node);
    const { value: place } = binding;
    if (place.kind === 'cell' || (!to.assignsElements && (place.kind === 'tuple' || place.kind === 'record'))) return place;
    throw to.error(node, `${describe(place)} cannot be replaced`,
      to.assignsElements ? 'a function may either replace arrays, or assign their elements' : 'assign numbers, truth values and arrays');
  }
  if (node.type !== 'MemberExpression') throw to.error(node, 'this cannot be assigned', 'assign variables and elements of arrays');
  const place = partOf(containerOf(node.object, scope, to), node, scope, to);
  if (place.kind !== 'cell') {
    throw to.error(node, `${describe(place)} cannot be replaced`,
      'assign numbers and truth values in arrays and objects that are made here');
  }
  if (to.isKept(place.local)) {
    throw to.error(node, 'an element of an array that was chosen by a condition before', 'assign first, or choose numbers');
  }
  return place;
}

/** An array or object whose parts may be assigned. */
function containerOf(node: acorn.Expression | acorn.Super, scope: Scope, to: Lowering): Staged {
  if (node.type === 'Identifier') {
    const hint = 'make it in the same function, as in const a = [0, 0]';
    return own(node, { scope, to, isRight: ({ isOwn }) => isOwn === true, hint }).value;
  }
  if (node.type === 'MemberExpression') return partOf(containerOf(node.object, scope, to), node, scope, to);
  to.rules.evaluate(node as acorn.Expression, scope, to); // a coverage tool's counters are refused by name
  throw to.error(node, 'this cannot be assigned', 'assign variables and elements of arrays, one at a time');
}

/** Declares a variable without a value: a number that is NaN, unless something else is assigned first. */
export function declareUnset(node: acorn.Identifier, scope: Scope, to: Lowering, frame: Frame): void {
  if (scope.has(node.name)) throw to.error(node, `${node.name} is declared twice`, 'use another name');
  const { local, statement } = to.unsetLocal(node.name, node);
  scope.declare(node.name, { value: { kind: 'cell', local }, isVariable: true, owner: frame, unset: statement });
}
