// Constant expressions: creating, reading and folding them.
import { elementAt, required } from '../../core/known.ts';
import type { Span } from '../ast.ts';
import { complexMath, mathOf, vectorBinary } from '../interpret/arithmetic.ts';
import { ArithmeticError, binaryOf, conversionOf, unaryOf } from '../interpret/operators.ts';
import { known, normalise, sameType, scalar, scalarCount, vectorSizes } from '../interpret/values.ts';
import type { ConstantData, IrBinary, IrExpression, IrType, MathName, ScalarName } from '../ir.ts';

/** Scalar types from the narrowest to the widest. */
const order: readonly ScalarName[] = ['boolean', 'bit', 'int', 'float', 'double'];

type Scalar = Extract<IrType, { kind: 'scalar' }>;

/** Exact values of literals that were rounded to float or truncated to int, in case they are converted to double or float later. */
const exact = new WeakMap<IrExpression, number>();

/** A constant scalar, converted to its type. */
export function constant(name: ScalarName, x: number, span: Span | undefined): IrExpression {
  const type = scalar(name);
  const made: IrExpression = { kind: 'constant', type, value: { type, numbers: [normalise(name, x)] }, span };
  if (name === 'float' || (name === 'int' && x !== (x | 0))) exact.set(made, x);
  return made;
}

export function constantOf(data: ConstantData, span: Span | undefined): IrExpression {
  return { kind: 'constant', type: data.type, value: data, span };
}

/** The part of a constant that starts at `offset` and has the given type. */
export function slice(data: ConstantData, type: IrType, offset: number): ConstantData {
  const count = scalarCount(type);
  if (count === 1) return { type, numbers: [elementAt(data.numbers, offset)] };
  const { numbers } = data;
  const part = ArrayBuffer.isView(numbers) ? (numbers as Float64Array).subarray(offset, offset + count)
    : (numbers as number[]).slice(offset, offset + count);
  return { type, numbers: part };
}

export function makeUnary(operator: '-' | '!' | '~', operand: IrExpression, span: Span | undefined): IrExpression | undefined {
  const { type } = operand;
  if (type.kind === 'vector') return operator === '-' ? { kind: 'unary', operator, operand, type, span } : undefined;
  const f = type.kind === 'scalar' ? unaryOf(operator, type.name) : undefined;
  if (f === undefined) return undefined;
  const result = operator === '!' ? scalar('boolean') : type as Scalar;
  const a = known(operand);
  if (a === undefined) return { kind: 'unary', operator, operand, type: result, span };
  const folded = constant(result.name, f(a), span);
  if (operator === '-' && exact.has(operand)) exact.set(folded, -required(exact.get(operand)));
  return folded;
}

const truth = new Set<IrBinary>(['==', '!=', '<', '<=', '>', '>=', '&&', '||']);

/** The operator on operands of one type; undefined if there is none. */
export function makeBinary(operator: IrBinary, left: IrExpression, right: IrExpression, span: Span | undefined): IrExpression | undefined {
  const { type } = left;
  if (type.kind === 'vector') {
    if (!'+-*/'.includes(operator)) return undefined;
    if (left.kind === 'constant' && right.kind === 'constant') {
      const [a, b] = [Float32Array.from(left.value.numbers), Float32Array.from(right.value.numbers)];
      const value = required(vectorBinary(operator, type.name, a, b));
      return constantOf({ type, numbers: [...value] }, span);
    }
    return { kind: 'binary', operator, left, right, type, span };
  }
  const f = type.kind === 'scalar' ? binaryOf(operator, type.name) : undefined;
  if (f === undefined) return undefined;
  const [a, b] = [known(left), known(right)];
  const result = truth.has(operator) ? scalar('boolean') : type as Scalar;
  if (a !== undefined && (operator === '&&' || operator === '||')) return (a !== 0) === (operator === '&&') ? right : left;
  if (a !== undefined && b !== undefined) {
    try {
      return constant(result.name, f(a, b), span);
    } catch (error) {
      // Left to run time, where it is an error if it is ever reached.
      if (!(error instanceof ArithmeticError)) throw error;
    }
  }
  return { kind: 'binary', operator, left, right, type: result, span };
}

export function makeMath(name: MathName, args: readonly IrExpression[], type: IrType, span: Span | undefined): IrExpression | undefined {
  const made: IrExpression = { kind: 'math', name, args, type, span };
  if (name === 'random') return made;
  const operand = args[0]?.type;
  const numbers = args.map(known);
  if (operand?.kind === 'vector') {
    const [z] = args;
    if (z?.kind !== 'constant') return made;
    const value = complexMath(name, Float32Array.from(z.value.numbers));
    if (value === undefined) return undefined;
    return typeof value === 'number' ? constant('float', value, span) : constantOf({ type, numbers: [...value] }, span);
  }
  const f = operand?.kind === 'scalar' ? mathOf(name, operand.name) : undefined;
  if (f === undefined || type.kind !== 'scalar') return undefined;
  return numbers.includes(undefined) ? made : constant(type.name, f(...numbers as number[]), span);
}

/** Conversion to a type; undefined if there is none. */
export function makeConversion(e: IrExpression, type: IrType): IrExpression | undefined {
  if (sameType(e.type, type)) return e;
  const { span } = e;
  if (e.type.kind !== 'scalar') return undefined;
  const a = known(e);
  if (type.kind === 'vector') {
    const single = required(makeConversion(e, scalar('float')));
    const re = known(single);
    if (re === undefined) return { kind: 'convert', operand: single, type, span };
    const numbers = new Array<number>(vectorSizes[type.name]).fill(0);
    numbers[0] = re;
    return constantOf({ type, numbers }, span);
  }
  if (type.kind !== 'scalar') return undefined;
  if (a === undefined) return { kind: 'convert', operand: e, type, span };
  const isReal = type.name === 'double' || (type.name === 'float' && e.type.name === 'int');
  const from = isReal ? exact.get(e) ?? a : a;
  return constant(type.name, conversionOf(e.type.name, type.name)(from), span);
}

/** The common type in which an operator works on operands of two types; `?`: the type that can hold both. */
export function operandType(operator: IrBinary | '?', a: IrType, b: IrType): IrType | undefined {
  if (a.kind === 'vector' || b.kind === 'vector') {
    if (a.kind === 'vector' && b.kind === 'vector') return a.name === b.name ? a : undefined;
    const [vector, other] = a.kind === 'vector' ? [a, b] : [b, a];
    return other.kind === 'scalar' && other.name !== 'boolean' && vector.kind === 'vector' ? vector : undefined;
  }
  if (a.kind !== 'scalar' || b.kind !== 'scalar') return undefined;
  if (operator === '&&' || operator === '||') return scalar('boolean');
  const wider = elementAt(order, Math.max(order.indexOf(a.name), order.indexOf(b.name)));
  if (operator === '<<' || operator === '>>' || '+-*/%'.includes(operator)) {
    return scalar(wider === 'bit' || wider === 'boolean' ? 'int' : wider);
  }
  return scalar(wider);
}
