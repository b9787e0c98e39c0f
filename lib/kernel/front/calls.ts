// Calls of the user's own functions, inlined.
import type * as acorn from 'acorn';
import { assignedIn, namesIn } from './assigned.ts';
import { declareUnset } from './assignments.ts';
import { hoistedIn } from './hoisted.ts';
import type { Frame, Lowering } from './lowering.ts';
import { partsOf } from './parts.ts';
import type { FunctionNode, Node } from './source.ts';
import { type Closure, Scope, type Staged } from './values.ts';

type Callee = Pick<Closure, 'node' | 'scope' | 'name'>;

/** The result of a call. */
export function callFunction(callee: Callee, args: readonly Staged[], at: Node, to: Lowering): Staged {
  if (to.onCall === undefined) return inlined(callee, args, at, to);
  const isOwn = to.mark();
  const { value, body } = to.capture(() => inlined(callee, args, at, to));
  const made = to.onCall({ value, body, at, isOwn });
  if (made === undefined) for (const each of body) to.emit(each, at);
  return made ?? value;
}

/** How many arguments a function needs at least. */
export function neededBy({ params }: FunctionNode): number {
  return params.findLastIndex(({ type }) => type !== 'AssignmentPattern') + 1;
}

function inlined({ node, scope: outer, name }: Callee, args: readonly Staged[], at: Node, to: Lowering): Staged {
  if (node.async || node.generator) throw to.error(node, 'an async function or a generator', 'use a plain function');
  const needed = neededBy(node);
  if (args.length < needed) throw to.error(at, `${name} takes ${needed} arguments, not ${args.length}`, 'give all of them');
  return to.inside(at, () => {
    const hoisted = hoistedIn(node);
    const frame: Frame = {
      end: to.label('end'), result: undefined, hoisted, assigned: new Set([...assignedIn(node.body), ...hoisted]), isOwn: to.mark(),
    };
    const scope = new Scope(outer);
    node.params.forEach((pattern, i) => {
      const isVariable = namesIn(pattern).some((name) => frame.assigned.has(name));
      bind(pattern, args[i], { scope, to, owner: frame, isVariable });
    });
    return to.framed(frame, () => result(node, scope, frame, to));
  });
}

/** What the body of a function returns. */
function result(node: FunctionNode, scope: Scope, frame: Frame, to: Lowering): Staged {
  const { body: inner } = node;
  for (const name of frame.hoisted) {
    if (!scope.has(name)) declareUnset({ type: 'Identifier', name, start: inner.start, end: inner.start }, scope, to, frame);
  }
  if (inner.type !== 'BlockStatement' && inner.type !== 'SequenceExpression') return to.rules.evaluate(inner, scope, to);
  const statements: acorn.Statement[] = inner.type === 'BlockStatement' ? inner.body
    : [{ type: 'ReturnStatement', argument: inner, start: inner.start, end: inner.end }];
  const { value: flow, body } = to.capture(() => to.rules.run(statements, { scope, to, frame, loops: [], isOutermost: true }));
  if (flow.falls || frame.result === undefined) {
    throw to.error(node, 'not every way through the function returns a value', 'end it with return');
  }
  if (flow.exits.has(frame.end)) to.emit({ kind: 'block', label: frame.end, body }, node);
  else for (const each of body) to.emit(each, node);
  return frame.result;
}

interface Binding {
  readonly scope: Scope;
  readonly to: Lowering;
  readonly owner: object;
  /** Whether the names can be assigned. */
  readonly isVariable: boolean;
  /** How many loops are around the declaration. */
  readonly loops?: number;
  /** Whether elements of the array can be assigned: it was made where it is declared. */
  readonly isOwn?: boolean;
}

/** Declares the names of a pattern; a value that is not there is the pattern's default. */
export function bind(pattern: acorn.Pattern, given: Staged | undefined, how: Binding): void {
  const { scope, to, owner, isVariable, isOwn = false, loops = 0 } = how;
  if (pattern.type === 'AssignmentPattern') {
    bind(pattern.left, given ?? to.rules.evaluate(pattern.right, scope, to), how);
    return;
  }
  if (given === undefined) throw to.error(pattern, 'a value that is not there', 'give it a default, or leave it out');
  const value = given;
  switch (pattern.type) {
    case 'Identifier': {
      if (scope.has(pattern.name)) throw to.error(pattern, `${pattern.name} is declared twice`, 'use another name');
      const held = isVariable ? variable(value, pattern, to) : to.settle(value, pattern.name, pattern);
      const isNumber = value.kind === 'known' && typeof value.value === 'number';
      const constant = isVariable && isNumber ? { value: Number(value.value), loops } : undefined;
      scope.declare(pattern.name, { value: held, isVariable, owner, isOwn, constant });
      return;
    }
    case 'ArrayPattern':
    case 'ObjectPattern':
      for (const [each, part] of partsOf(pattern, value, to)) bind(each, part, how);
      return;
    default: throw to.error(pattern, 'a rest parameter', 'write out the parameters');
  }
}

/** A number or truth value that can be assigned; others as they are. */
function variable(value: Staged, { name, ...at }: acorn.Identifier, to: Lowering): Staged {
  if (value.kind !== 'known' && value.kind !== 'computed' && value.kind !== 'cell') return value;
  return { kind: 'cell', local: to.local(to.expression(value, at as Node), name, at) };
}
