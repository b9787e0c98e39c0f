// Types of operators.
import type { BinaryOperator, Expression, UnaryOperator } from '../ast.ts';
import type { Expressions, Frame } from './check-frame.ts';
import { checkRules } from './check-rules.ts';
import type { Type } from './checked.ts';
import { basic, common, constantOf, describe, isNumeric, isScalar, isUnknown, isWhole } from './types.ts';

type Operands = { readonly left: Expression; readonly right: Expression; readonly span: Expression['span'] };

const kHints: Readonly<Record<BinaryOperator | UnaryOperator, string>> = {
  '%': 'it takes numbers', '<<': 'shifts are of ints', '>>': 'shifts are of ints',
  '&': 'it joins ints, bits or booleans', '|': 'it joins ints, bits or booleans', '^': 'it joins ints, bits or booleans',
  '~': "it inverts ints and bits; for booleans write '!'", '!': 'it inverts booleans', '-': 'it takes numbers', '+': 'it takes numbers',
  '*': 'it takes numbers', '/': 'it takes numbers', '<': 'it compares numbers', '<=': 'it compares numbers', '>': 'it compares numbers',
  '>=': 'it compares numbers', '==': 'compare their parts', '!=': 'compare their parts',
  '&&': 'it takes booleans', '||': 'it takes booleans',
};

const isBoolean = (type: Type): boolean => isScalar(type, 'boolean');

/** The type of a result of arithmetic, or undefined. Arithmetic of bits is of ints. */
function arithmetic(operator: BinaryOperator, left: Type, right: Type): Type | undefined {
  if (operator === '+' && (left.kind === 'string' || right.kind === 'string')) return basic.string;
  // A number beside a float2 to float4 stands for all its parts.
  for (const [vector, other] of [[left, right], [right, left]] as const) {
    if (vector.kind === 'vector' && isNumeric(other) && !isScalar(other, 'double')) return vector;
  }
  const type = common(left, right);
  if (type === undefined) return undefined;
  if (isScalar(type, 'bit')) return basic.int;
  return isNumeric(type) || type.kind === 'vector' ? type : undefined;
}

function resultOf(operator: BinaryOperator, left: Type, right: Type): Type | undefined {
  const type = common(left, right);
  switch (operator) {
    case '&&': case '||': return [left, right].every((side) => isBoolean(side) || isNumeric(side)) ? basic.boolean : undefined;
    case '==': case '!=': return type !== undefined && ['scalar', 'vector'].includes(type.kind) ? basic.boolean : undefined;
    case '<': case '<=': case '>': case '>=': return type !== undefined && isNumeric(type) ? basic.boolean : undefined;
    case '<<': case '>>': return isWhole(left) && isWhole(right) ? basic.int : undefined;
    case '%': return isWhole(left) && isWhole(right) ? basic.int : type !== undefined && isNumeric(type) ? type : undefined;
    case '&': case '|': case '^': return type !== undefined && (isBoolean(type) || isWhole(type)) ? type : undefined;
    default: return arithmetic(operator, left, right);
  }
}

/** The type of `left operator right`, whose operands have the types given; reports what does not fit. */
export function checkOperator(checker: Expressions, operator: BinaryOperator, node: Operands, left: Type, right: Type): Type {
  const { context } = checker;
  if (isUnknown(left) || isUnknown(right)) {
    return ['==', '!=', '<', '<=', '>', '>=', '&&', '||'].includes(operator) ? basic.boolean : basic.unknown;
  }
  const type = resultOf(operator, left, right);
  if (type === undefined) {
    const types = `${describe(left)} and ${describe(right)}`;
    context.report(checkRules.operator, node.span, { operator, types, hint: kHints[operator] });
    return basic.unknown;
  }
  if (operator === '&&' || operator === '||') {
    for (const [side, found] of [[node.left, left], [node.right, right]] as const) {
      if (!isBoolean(found)) context.report(checkRules.intCondition, side.span, { found: describe(found) });
    }
  } else if (isBoolean(left) !== isBoolean(right) && type.kind !== 'string') {
    const [side, found, expected] = isBoolean(left) ? [node.left, left, right] : [node.right, right, left];
    context.report(checkRules.booleanNumber, side.span, { found: describe(found), expected: describe(expected) });
  }
  const both = common(left, right) ?? type;
  for (const side of [node.left, node.right]) checker.meet(side, both);
  const count = constantOf(node.right);
  if ((operator === '/' || operator === '%') && isScalar(type, 'int') && count === 0) context.report(checkRules.zero, node.right.span);
  if ((operator === '<<' || operator === '>>') && count !== undefined && (count < 0 || count > 31)) {
    context.report(checkRules.shift, node.right.span, { count });
  }
  return type;
}

/** The type of `operator operand`. */
export function checkUnary(checker: Expressions, node: Extract<Expression, { kind: 'unary' }>, frame: Frame): Type {
  const { operator, operand, span } = node;
  if (operator === '!') {
    checker.condition(operand, frame);
    return basic.boolean;
  }
  const type = checker.value(operand, frame);
  if (isUnknown(type)) return type;
  if (operator === '~' ? isWhole(type) : isNumeric(type) || type.kind === 'vector') {
    return operator !== '~' && isScalar(type, 'bit') ? basic.int : type;
  }
  checker.context.report(checkRules.operator, span, { operator, types: describe(type), hint: kHints[operator] });
  return basic.unknown;
}
