// Math and Number, as functions see them.
import { elementAt, required } from '../../core/known.ts';
import {
  binary, compare, constant, convert, get, logic, math, mathFunctions, select, unary, type BinaryOp, type Expression, type MathName,
  type UnaryOp,
} from '../ir.ts';
import { fma } from '../../core/fma.ts';
import { binaryOn, mathOf } from '../semantics.ts';
import type { Node } from './source.ts';
import { type Builtin, computed, describe, known, record, type Services, type Staged } from './values.ts';

const constants: Readonly<Record<string, number>> = {
  E: Math.E, LN10: Math.LN10, LN2: Math.LN2, LOG10E: Math.LOG10E, LOG2E: Math.LOG2E, PI: Math.PI, SQRT1_2: Math.SQRT1_2, SQRT2: Math.SQRT2,
};
const numberConstants: Readonly<Record<string, number>> = {
  EPSILON: Number.EPSILON, MAX_VALUE: Number.MAX_VALUE, MIN_VALUE: Number.MIN_VALUE, MAX_SAFE_INTEGER: Number.MAX_SAFE_INTEGER,
  MIN_SAFE_INTEGER: Number.MIN_SAFE_INTEGER, NaN, POSITIVE_INFINITY: Infinity, NEGATIVE_INFINITY: -Infinity,
};
export const globalConstants: Readonly<Record<string, number>> = { NaN, Infinity };

const plainUnary: Readonly<Record<string, UnaryOp>> = { abs: 'abs', ceil: 'ceil', floor: 'floor', sqrt: 'sqrt' };

type Apply = (lowering: Services, args: readonly Expression[]) => Expression;
type ApplyToOne = (lowering: Services, x: Expression) => Expression;

/** Functions of one number that are made of others, on an expression without cost: a constant or a local. */
const composed: Readonly<Record<string, ApplyToOne>> = {
  // Halves go up; -0 and what rounds to it from below keep their sign.
  round: (_, x) => {
    const low = unary('floor', x);
    const up = binary('add', low, constant(x.type as 'f64', 1));
    const rounded = select(compare('ge', binary('sub', x, low), constant(x.type as 'f64', 0.5)), up, low);
    return signed(x, rounded);
  },
  trunc: (_, x) => signed(x, select(compare('lt', x, zero(x)), unary('ceil', x), unary('floor', x))),
  sign: (_, x) => select(compare('gt', x, zero(x)), one(x, 1), select(compare('lt', x, zero(x)), one(x, -1), x)),
  fround: (lowering, x) => (lowering.precision === 'f32' ? x : convert('f64', convert('f32', x))),
};

const one = (like: Expression, value: number): Expression => constant(like.type as 'f64', value);
const zero = (like: Expression): Expression => one(like, 0);

/** A result that is -0 where it is 0 and the argument is negative or -0. */
function signed(x: Expression, result: Expression): Expression {
  const isZero = compare('eq', result, zero(x));
  // -0 itself, and 0 times what is negative.
  return select(isZero, binary('mul', select(compare('lt', x, zero(x)), one(x, -1), x), zero(x)), result);
}

/** The names of Math that can be used, for messages. */
export const mathNames: readonly string[] = [
  ...Object.keys(plainUnary), ...Object.keys(composed), 'max', 'min', ...Object.keys(mathFunctions), ...Object.keys(constants),
].sort();

function numbers(lowering: Services, name: string, args: readonly Staged[], at: Node, count: number): readonly Staged[] {
  if (args.length !== count) throw lowering.error(at, `${name} takes ${count} argument${count === 1 ? '' : 's'}, not ${args.length}`,
    `give ${count === 1 ? 'one number' : `${count} numbers`}`);
  return args.map((arg) => lowering.numeric(arg, at));
}

/** A function of numbers: computed now where all are known, by the operations that the targets compute. */
function numeric(name: string, count: number, now: (...values: number[]) => number, later: Apply): Builtin {
  return { kind: 'builtin', name, apply: (given, at, lowering) => {
    const args = numbers(lowering, name, given, at, count);
    if (args.every((arg) => arg.kind === 'known')) return known(now(...args.map((arg) => Number(arg.value))));
    return computed(later(lowering, args.map((arg) => get(lowering.local(lowering.expression(arg, at))))));
  } };
}

/** min and max of any number of arguments. */
function extreme(name: 'min' | 'max'): Builtin {
  return { kind: 'builtin', name: `Math.${name}`, apply: (given, at, lowering) => {
    const args = given.map((arg) => lowering.numeric(arg, at));
    const [first = known(name === 'min' ? Infinity : -Infinity), ...rest] = args;
    return rest.reduce<Staged>((a, b) => lowering.arithmetic(name, a, b, at), first);
  } };
}

function mathFunction(name: MathName): Builtin {
  return numeric(`Math.${name}`, mathFunctions[name], (...values) => mathOf(name)(...values), (lowering, args) => {
    const result = math(name, ...args.map((arg) => (arg.type === 'f64' ? arg : convert('f64', arg))));
    return lowering.precision === 'f64' ? result : convert('f32', result);
  });
}

/** hypot of any number of arguments, two at a time. */
function hypot(): Builtin {
  const [pair, single] = [mathFunction('hypot'), required(mathMember('abs')) as Builtin];
  return { kind: 'builtin', name: 'Math.hypot', apply: (args, at, lowering) => {
    const [first, ...rest] = args;
    if (first === undefined) return known(0);
    if (rest.length === 0) return single.apply([first], at, lowering);
    return rest.reduce((a, b) => pair.apply([a, b], at, lowering), first);
  } };
}

/** x * y + z, rounded once: not of JavaScript, but known by its name. */
export function fusedMultiplyAdd(): Builtin {
  return numeric('fma', 3, fma, ({ precision }, args) => (precision === 'f64' ? math('fma', ...args)
    : convert('f32', math('fmaf', ...args.map((arg) => convert('f64', arg))))));
}

/** A member of Math; undefined if it cannot be used. */
export function mathMember(name: string): Staged | undefined {
  if (Object.hasOwn(constants, name)) return known(required(constants[name]));
  if (name === 'min' || name === 'max') return extreme(name);
  if (name === 'hypot') return hypot();
  if (name === 'pow') {
    return { kind: 'builtin', name: 'Math.pow', apply: (args, at, lowering) => {
      const [x, y] = numbers(lowering, 'Math.pow', args, at, 2) as [Staged, Staged];
      return power(lowering, x, y, at);
    } };
  }
  if (Object.hasOwn(mathFunctions, name)) return mathFunction(name as MathName);
  const plain = Object.hasOwn(plainUnary, name) ? plainUnary[name] : undefined;
  const own = Math[name as 'abs'] as ((x: number) => number) | undefined;
  const ofOne = (apply: ApplyToOne): Builtin =>
    numeric(`Math.${name}`, 1, required(own), (lowering, args) => apply(lowering, elementAt(args, 0)));
  if (plain !== undefined) return ofOne((_, x) => unary(plain, x));
  if (Object.hasOwn(composed, name)) return ofOne(required(composed[name]));
  return undefined;
}

/** Tests of numbers, as of Number; those of the global scope are the same for numbers. */
const tests: Readonly<Record<string, readonly [now: (x: number) => boolean, later: (x: Expression) => Expression]>> = {
  isNaN: [Number.isNaN, (x) => compare('ne', x, x)],
  isFinite: [Number.isFinite, (x) => compare('lt', unary('abs', x), one(x, Infinity))],
  isInteger: [Number.isInteger, (x) => compare('eq', binary('sub', x, unary('floor', x)), zero(x))],
  isSafeInteger: [Number.isSafeInteger, (x) => logic('and', compare('eq', x, unary('floor', x)),
    compare('lt', unary('abs', x), one(x, 2 ** 53)))],
};

/** A test of a number: `isNaN` and `isFinite` are also known without Number. */
export function numberTest(name: string): Builtin | undefined {
  if (!Object.hasOwn(tests, name)) return undefined;
  const [now, later] = required(tests[name]);
  return { kind: 'builtin', name, apply: (given, at, lowering) => {
    const [arg] = numbers(lowering, name, given, at, 1) as [Staged];
    if (arg.kind === 'known') return known(now(Number(arg.value)));
    return computed(later(get(lowering.local(lowering.expression(arg, at)))));
  } };
}

/** 1 for true and 0 for false. */
export function oneOrZero(lowering: Services, value: Staged, at: Node): Staged {
  if (value.kind === 'known') return known(Number(value.value));
  const like = (each: number): Expression => lowering.expression(known(each), at);
  return computed(select(lowering.expression(value, at), like(1), like(0)));
}

/** Number(x), of a number or a truth value. */
export function asNumber(): Builtin {
  return { kind: 'builtin', name: 'Number', apply: (args, at, lowering) => {
    const [value = known(0)] = args;
    return describe(value) === 'a truth value' ? oneOrZero(lowering, value, at) : lowering.numeric(value, at);
  } };
}

/** Math itself, for names that are taken from it: const { abs, PI } = Math. */
export function mathItself(): Staged {
  return record(mathNames.map((name) => [name, required(mathMember(name))] as const));
}

/** A member of Number; undefined if it cannot be used. */
export function numberMember(name: string): Staged | undefined {
  return Object.hasOwn(numberConstants, name) ? known(required(numberConstants[name])) : numberTest(name);
}

/** x ** y, Math.pow. Squares, the number itself and its reciprocal are exact to the last bit as products and quotients. */
export function power(lowering: Services, base: Staged, exponent: Staged, at: Node): Staged {
  const [x, y] = [lowering.numeric(base, at), lowering.numeric(exponent, at)];
  if (x.kind !== 'known' && y.kind === 'known') {
    if (y.value === 2) {
      const e = get(lowering.local(lowering.expression(x, at)));
      return computed(binary('mul', e, e));
    }
    if (y.value === 1) return x;
    if (y.value === -1) return lowering.arithmetic('div', known(1), x, at);
  }
  return mathFunction('pow').apply([x, y], at, lowering);
}

/** An operation on two known numbers, as the targets compute it in doubles. */
export function onKnown(op: BinaryOp, a: number, b: number): number {
  return required(binaryOn(op, 'f64'))(a, b);
}
