// Operators and conversions of scalars, exactly as lib/stream/ir.ts specifies.
import type { IrBinary, ScalarName } from '../ir.ts';

export type Binary = (a: number, b: number) => number;
export type Unary = (a: number) => number;

/** An operation has no result, such as a division by zero. */
export class ArithmeticError extends Error {}

function divideInts(a: number, b: number): number {
  if (b === 0) throw new ArithmeticError('integer division by zero');
  return (a / b) | 0;
}

function remainderOfInts(a: number, b: number): number {
  if (b === 0) throw new ArithmeticError('remainder of an integer division by zero');
  return (a % b) | 0;
}

const comparisons: Partial<Record<IrBinary, Binary>> = {
  '==': (a, b) => (a === b ? 1 : 0), '!=': (a, b) => (a !== b ? 1 : 0), '<': (a, b) => (a < b ? 1 : 0), '<=': (a, b) => (a <= b ? 1 : 0),
  '>': (a, b) => (a > b ? 1 : 0), '>=': (a, b) => (a >= b ? 1 : 0),
  '&&': (a, b) => (a !== 0 && b !== 0 ? 1 : 0), '||': (a, b) => (a !== 0 || b !== 0 ? 1 : 0),
};
const ints: Partial<Record<IrBinary, Binary>> = {
  '+': (a, b) => (a + b) | 0, '-': (a, b) => (a - b) | 0, '*': Math.imul, '/': divideInts, '%': remainderOfInts,
  '<<': (a, b) => a << b, '>>': (a, b) => a >> b, '&': (a, b) => a & b, '|': (a, b) => a | b, '^': (a, b) => a ^ b,
};
const floats: Partial<Record<IrBinary, Binary>> = {
  '+': (a, b) => Math.fround(a + b), '-': (a, b) => Math.fround(a - b), '*': (a, b) => Math.fround(a * b),
  '/': (a, b) => Math.fround(a / b), '%': (a, b) => Math.fround(a % b),
};
const doubles: Partial<Record<IrBinary, Binary>> = {
  '+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b, '/': (a, b) => a / b, '%': (a, b) => a % b,
};

/** The operator on two scalars of the same type; undefined if there is none. `/` and `%` of ints throw {@link ArithmeticError}. */
export function binaryOf(operator: IrBinary, operands: ScalarName): Binary | undefined {
  const comparison = comparisons[operator];
  if (comparison !== undefined) return comparison;
  if (operands === 'float') return floats[operator];
  if (operands === 'double') return doubles[operator];
  if (operands === 'int') return ints[operator];
  return operator === '&' || operator === '|' || operator === '^' ? ints[operator] : undefined;
}

/** The operator on a scalar; undefined if there is none. */
export function unaryOf(operator: '-' | '!' | '~', operand: ScalarName): Unary | undefined {
  if (operator === '!') return (a) => (a === 0 ? 1 : 0);
  if (operator === '~') return operand === 'bit' ? (a) => a ^ 1 : operand === 'int' ? (a) => ~a : undefined;
  if (operand === 'int') return (a) => -a | 0;
  return operand === 'float' || operand === 'double' ? (a) => -a : undefined;
}

function toInt(a: number): number {
  if (a >= 2147483647) return 2147483647;
  return a <= -2147483648 ? -2147483648 : a | 0;
}

/** The conversion from one scalar type to another. */
export function conversionOf(from: ScalarName, to: ScalarName): Unary {
  if (to === 'boolean') return (a) => (a === 0 ? 0 : 1);
  if (to === 'float') return Math.fround;
  if (to === 'double') return (a) => a;
  if (from === 'float' || from === 'double') return to === 'int' ? toInt : (a) => toInt(a) & 1;
  return to === 'int' ? (a) => a : (a) => a & 1;
}
