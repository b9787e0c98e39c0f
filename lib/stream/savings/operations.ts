// Operations on traced values: constants if all operands are known, and the operand itself if the operation leaves it unchanged.
//
// x + (−0) is x, and x + 0 is x unless x is −0. Under rounding to nearest a sum is −0 only if both operands are, so a sum that starts at 0
// is unchanged by any zeros. A product with 0 is a zero only if the other operand is a known finite number: unknown items may be infinite.
import { mathOf } from '../interpret/arithmetic.ts';
import { binaryOf, conversionOf, unaryOf } from '../interpret/operators.ts';
import type { IrBinary, MathName, ScalarName } from '../ir.ts';
import type { Facts, Value, Values } from './values.ts';

const isReal = (name: ScalarName): boolean => name === 'float' || name === 'double';

function factsOf(constant: number | undefined, isNoNegativeZero: boolean): Facts {
  return { constant, isNoNegativeZero: constant === undefined ? isNoNegativeZero : !Object.is(constant, -0) };
}

/** Undefined if there is no such operation. */
export function unary(values: Values, operator: '-' | '!' | '~', name: ScalarName, a: Value): Value | undefined {
  const f = unaryOf(operator, name);
  const x = values.constantOf(a);
  return f === undefined ? undefined : values.make([a], factsOf(x === undefined ? undefined : f(x), !isReal(name)));
}

/** The operand that an operation leaves unchanged, if any. */
function unchanged(values: Values, operator: IrBinary, a: Value, b: Value): Value | undefined {
  const [x, y] = [values.constantOf(a), values.constantOf(b)];
  const isNothing = (zero: number | undefined, to: Value): boolean => Object.is(zero, -0) || (zero === 0 && values.isNoNegativeZero(to));
  switch (operator) {
    case '+': return isNothing(y, a) ? values.kept(a, b) : isNothing(x, b) ? values.kept(b, a) : undefined;
    case '-': return y === 0 && (!Object.is(y, -0) || values.isNoNegativeZero(a)) ? values.kept(a, b) : undefined;
    case '*': return y === 1 ? values.kept(a, b) : x === 1 ? values.kept(b, a) : undefined;
    default: return undefined;
  }
}

/** An operator on scalars of one type; undefined if there is none. The caller excludes integer divisions by a known zero. */
export function binary(values: Values, operator: IrBinary, name: ScalarName, a: Value, b: Value): Value | undefined {
  const f = binaryOf(operator, name);
  if (f === undefined) return undefined;
  const [x, y] = [values.constantOf(a), values.constantOf(b)];
  if (x !== undefined && y !== undefined) return values.make([a, b], factsOf(f(x, y), false));
  const kept = unchanged(values, operator, a, b);
  if (kept !== undefined) return kept;
  const [isA, isB] = [values.isNoNegativeZero(a), values.isNoNegativeZero(b)];
  // a − b is −0 only for −0 and 0.
  return values.make([a, b], { isNoNegativeZero: !isReal(name) || (operator === '+' && (isA || isB)) || (operator === '-' && isA) });
}

export function convert(values: Values, from: ScalarName, to: ScalarName, a: Value): Value {
  const x = values.constantOf(a);
  if (x !== undefined) return values.make([a], factsOf(conversionOf(from, to)(x), false));
  // A double that underflows becomes a zero of the same sign.
  const keepsSign = from === 'float' && to === 'double' && values.isNoNegativeZero(a);
  return values.make([a], { isNoNegativeZero: !isReal(from) || !isReal(to) || keepsSign });
}

/** Functions whose results are exact, and so equal in every back end. */
const exactFunctions: ReadonlySet<MathName> = new Set(['abs', 'max', 'min', 'floor', 'ceil', 'rint', 'round', 'sqrt']);

/** A mathematical function on scalars of a type. */
export function mathematical(values: Values, name: MathName, type: ScalarName, args: readonly Value[]): Value {
  const numbers = args.map((value) => values.constantOf(value));
  const f = exactFunctions.has(name) && !numbers.includes(undefined) ? mathOf(name, type) : undefined;
  return values.make(args, factsOf(f?.(...numbers as number[]), name === 'abs' || type === 'int'));
}
