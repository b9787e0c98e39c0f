// Expressions with parts that may not be evaluated, and increments inside expressions.
import { lastOf, required } from '../../core/known.ts';
import type { Expression } from '../ast.ts';
import { Fault } from '../interpret/fault.ts';
import { known, sameType, scalar, typeText } from '../interpret/values.ts';
import type { IrExpression, IrPlace, IrStatement, IrType, Variable } from '../ir.ts';
import { increment } from './assign.ts';
import { constant, makeBinary, makeUnary, operandType } from './fold.ts';
import type { Translation } from './translation.ts';

/** An expression with the statements that must precede it. */
interface Prepared {
  readonly value: IrExpression;
  readonly before: readonly IrStatement[];
}

function prepared(t: Translation, make: () => IrExpression): Prepared {
  const outer = t.before;
  t.before = [];
  try {
    const value = make();
    return { value, before: t.before };
  } finally {
    t.before = outer;
  }
}

/** Translates `condition ? a : b` to an `if` statement and a variable. */
function byStatement(t: Translation, condition: IrExpression, type: IrType, branches: readonly [Prepared, Prepared]): IrExpression {
  const variable: Variable = { name: t.namer.unique('chosen'), type };
  const target: IrPlace = { kind: 'variable', variable, type, span: condition.span };
  const [then, otherwise] = branches.map(({ before, value }): IrStatement => ({
    kind: 'block', statements: [...before, { kind: 'assign', target, value, span: value.span }], span: value.span,
  }));
  t.before.push({ kind: 'declare', variable, value: undefined, span: condition.span });
  t.before.push({ kind: 'if', condition, then: required(then), otherwise, span: condition.span });
  return target;
}

/** `a && b`, `a || b`: evaluates b only if it matters. */
export function lazyBoth(t: Translation, e: Extract<Expression, { kind: 'binary' }>): IrExpression {
  const left = t.condition(e.left);
  const right = prepared(t, () => t.condition(e.right));
  const x = known(left);
  const isAnd = e.operator === '&&';
  if (right.before.length === 0) return required(makeBinary(e.operator, left, right.value, e.span));
  if (x !== undefined) {
    if ((x !== 0) !== isAnd) return left;
    t.before.push(...right.before);
    return right.value;
  }
  const decided = { value: constant('boolean', isAnd ? 0 : 1, e.span), before: [] };
  return byStatement(t, isAnd ? left : required(makeUnary('!', left, e.span)), scalar('boolean'), [right, decided]);
}

/** `c ? a : b`. */
export function lazyConditional(t: Translation, e: Extract<Expression, { kind: 'conditional' }>): IrExpression {
  const condition = t.condition(e.condition);
  const x = known(condition);
  const branches = [e.then, e.otherwise].map((branch) => prepared(t, () => t.expression(branch))) as [Prepared, Prepared];
  const [a, b] = branches.map(({ value }) => value.type) as [IrType, IrType];
  const type = sameType(a, b) ? a : operandType('?', a, b);
  if (type === undefined) throw new Fault('S4018', `one branch is ${typeText(a)}, the other ${typeText(b)}`, e.span);
  const [then, otherwise] = branches.map(({ value, before }, i) => ({
    before, value: t.converted(value, type, i === 0 ? e.then.span : e.otherwise.span),
  })) as [Prepared, Prepared];
  if (x !== undefined) {
    const live = x !== 0 ? then : otherwise;
    t.before.push(...live.before);
    return live.value;
  }
  if (then.before.length + otherwise.before.length > 0) return byStatement(t, condition, type, [then, otherwise]);
  return { kind: 'conditional', condition, then: then.value, otherwise: otherwise.value, type, span: e.span };
}

/** `x++` and the like: the increment is moved before the statement, and the value takes its place. */
export function incrementExpression(t: Translation, e: Extract<Expression, { kind: 'increment' }>): IrExpression {
  const statements = increment(t, e);
  const assign = lastOf(statements);
  if (assign.kind !== 'assign') throw new Error('an increment is an assignment');
  const old = e.position === 'postfix' ? t.storedAt(t.before.length, assign.target, 'old') : undefined;
  t.before.push(...statements);
  return old ?? t.storedAt(t.before.length, assign.target, 'new_value');
}
