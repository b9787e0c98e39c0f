// Lowers the operators, conversions and mathematical functions of stream programs to the kernel representation.
import { elementAt, required } from '../../core/known.ts';
import {
  binary, compare, constant, convert, f32, f64, i32, logic, math, select, unary, type BinaryOp, type CompareOp, type Expression,
  type MathName as KernelMath, type ScalarType,
} from '../../kernel/ir.ts';
import { fold } from '../../kernel/passes/fold.ts';
import { kindOf } from '../plan/layout.ts';
import type { IrBinary, MathName, ScalarName } from '../ir.ts';
import { scalarTypes, type Ex } from './value.ts';

const operators: Readonly<Partial<Record<IrBinary, BinaryOp>>> = {
  '+': 'add', '-': 'sub', '*': 'mul', '/': 'div', '%': 'rem', '<<': 'shl', '>>': 'shr', '&': 'band', '|': 'bor', '^': 'xor',
};
export const comparisons: Readonly<Partial<Record<IrBinary, CompareOp>>> = {
  '==': 'eq', '!=': 'ne', '<': 'lt', '<=': 'le', '>': 'gt', '>=': 'ge',
};

/** An operator on two scalars of the same type. Integer divisors must not be 0. `isExact`: the result does not wrap. */
export function operate(operator: IrBinary, a: Expression, b: Expression, isExact = false): Expression {
  const e = binary(required(operators[operator]), a, b);
  return fold(isExact ? { ...e, isExact } : e);
}

export function compareOf(operator: IrBinary, a: Expression, b: Expression): Expression {
  return fold(compare(required(comparisons[operator]), a, b));
}

/** A condition as a scalar: 0 or 1. */
export function fromCondition(condition: Expression): Ex {
  const e = fold(convert('i32', condition));
  return e.kind === 'constant' ? { e, stable: true } : { e, stable: false, condition };
}

/** A scalar as a condition: true if it is not 0. */
export function conditionOf({ e, condition }: Ex): Expression {
  return condition ?? fold(compare('ne', e, constant(e.type as ScalarType, 0)));
}

export function opposite(condition: Expression): Expression {
  return fold(unary('not', condition));
}

export function both(op: 'and' | 'or', a: Expression, b: Expression): Expression {
  return fold(logic(op, a, b));
}

export function choice(condition: Expression, then: Expression, otherwise: Expression): Expression {
  return fold(select(condition, then, otherwise));
}

export function negate(a: Expression): Expression {
  return fold(unary('neg', a));
}

export function complement(a: Expression, type: ScalarName): Expression {
  return fold(binary('xor', a, i32(type === 'bit' ? 1 : -1)));
}

/** Converts a scalar from one type to another. */
export function conversion(from: ScalarName, to: ScalarName, { e, condition }: Ex): Ex {
  const made = (result: Expression): Ex => ({ e: result, stable: result.kind === 'constant' });
  if (to === 'boolean') return fromCondition(condition ?? compareOf('!=', e, constant(e.type as ScalarType, 0)));
  const type = scalarTypes[kindOf(to)];
  if (to === 'float' || to === 'double') return made(e.type === type ? e : fold(convert(type, e)));
  const whole = e.type === 'i32' ? e : fold(convert('i32', e));
  return made(to === 'int' || from === 'bit' || from === 'boolean' ? whole : fold(binary('band', whole, i32(1))));
}

export function toDouble(e: Expression): Expression {
  return e.type === 'f64' ? e : fold(convert('f64', e));
}

/** Rounds a double to a single. */
export function toSingle(e: Expression): Expression {
  return fold(convert('f32', e));
}

/** A mathematical function of doubles. */
export function doubleMath(name: KernelMath | 'sqrt', ...args: readonly Expression[]): Expression {
  return fold(name === 'sqrt' ? unary('sqrt', elementAt(args, 0)) : math(name, ...args));
}

const exactly: ReadonlySet<MathName> = new Set(['abs', 'ceil', 'floor', 'rint', 'sqrt']);

/** A mathematical function of scalars of the same type. Singles are computed in double precision and rounded once. */
export function mathematics(name: MathName, args: readonly Expression[]): Expression {
  const [a, b] = args as [Expression, Expression];
  if (name === 'max' || name === 'min') return fold(binary(name, a, b));
  // These give the same bits in either precision.
  if (exactly.has(name)) return fold(unary(name as 'abs', a));
  const wide = args.map(toDouble);
  const made = name === 'round' ? fold(unary('floor', fold(binary('add', elementAt(wide, 0), f64(0.5)))))
    : doubleMath(name as KernelMath, ...wide);
  return a.type === 'f32' ? toSingle(made) : made;
}

/** The next state of the generator behind `random` (mulberry32). */
export function nextState(state: Expression): Expression {
  return binary('add', state, i32(0x6d2b79f5));
}

/** 32 random bits from a state. `keep` stores a value in a local. */
export function randomBits(state: Expression, keep: (e: Expression) => Expression): Expression {
  const mixed = (x: Expression, shift: number, odd: number): Expression =>
    binary('mul', binary('xor', x, binary('shr_u', x, i32(shift))), binary('bor', i32(odd), x));
  const t = keep(mixed(state, 15, 1));
  const u = keep(binary('xor', binary('add', t, mixed(t, 7, 61)), t));
  return binary('xor', u, binary('shr_u', u, i32(14)));
}

/** Turns random bits into a single in [0, 1). */
export function unitOf(bits: Expression): Expression {
  return binary('mul', convert('f32', binary('shr_u', bits, i32(8))), f32(2 ** -24));
}

/** Turns random bits (in a local) into an integer from 0 to `n` - 1. */
export function belowOf(bits: Expression, n: Expression): Expression {
  const signed = convert('f64', bits);
  const whole = select(compare('lt', bits, i32(0)), binary('add', signed, f64(2 ** 32)), signed);
  return convert('i32', unary('floor', binary('mul', binary('mul', whole, f64(2 ** -32)), convert('f64', n))));
}
