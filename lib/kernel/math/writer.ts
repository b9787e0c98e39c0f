// For writing mathematical functions in the representation: short names for its operations, and a writer of function bodies.
import {
  binary, branch, call, compare, convert, f64, get, i32, select, set, unary, word, words, type BinaryOp, type CompareOp, type Expression,
  type KernelFunction, type Local, type Statement,
} from '../ir.ts';
import { required } from '../../core/known.ts';

/** An expression, or a constant, which has the type of the other operand (f64 without one). */
export type Value = Expression | number;

/** A mathematical function or part of one. It uses no buffers and calls only the functions listed here. */
export interface MathFunction {
  readonly f: KernelFunction;
  readonly calls: readonly MathFunction[];
  /** Needed for few arguments, so compilers should not inline it. */
  readonly isRare: boolean;
}

function typed(x: Value, beside: Value): Expression {
  if (typeof x !== 'number') return x;
  return typeof beside !== 'number' && beside.type === 'i32' ? i32(x) : f64(x);
}

const operation = (op: BinaryOp) => (a: Value, b: Value): Expression => binary(op, typed(a, b), typed(b, a));
const comparison = (op: CompareOp) => (a: Value, b: Value): Expression => compare(op, typed(a, b), typed(b, a));

export const plus = operation('add');
export const minus = operation('sub');
export const times = operation('mul');
export const over = operation('div');
export const bitAnd = operation('band');
export const bitOr = operation('bor');
export const bitXor = operation('xor');
export const shiftLeft = operation('shl');
export const shiftRight = operation('shr');
export const same = comparison('eq');
export const differs = comparison('ne');
export const less = comparison('lt');
export const lessOrSame = comparison('le');
export const greater = comparison('gt');
export const greaterOrSame = comparison('ge');
/** `low <= x < low + count` of integers. */
export const isAmong = (x: Expression, low: number, count: number): Expression => compare('lt_u', minus(x, low), i32(count));

export const negative = (x: Expression): Expression => unary('neg', x);
export const absolute = (x: Expression): Expression => unary('abs', x);
export const root = (x: Expression): Expression => unary('sqrt', x);
export const floorOf = (x: Expression): Expression => unary('floor', x);
export const toDouble = (x: Expression): Expression => convert('f64', x);
export const either = (a: Expression, b: Expression): Expression => ({ kind: 'logic', type: 'bool', op: 'or', left: a, right: b });
export const both = (a: Expression, b: Expression): Expression => ({ kind: 'logic', type: 'bool', op: 'and', left: a, right: b });
export const choose = (condition: Expression, a: Value, b: Value): Expression => select(condition, typed(a, b), typed(b, a));

export const highWord = (x: Expression): Expression => word('high', x);
export const lowWord = (x: Expression): Expression => word('low', x);
export const fromWords = (high: Expression, low: Value): Expression => words(high, typeof low === 'number' ? i32(low) : low);
/** The high word without the sign, which orders doubles by magnitude. Infinity and NaN start at {@link notFinite}. */
export const sizeWord = (x: Expression): Expression => bitAnd(highWord(x), 0x7fffffff);
export const notFinite = 0x7ff00000;
/** A double truncated to 21 bits. The product of two such numbers is exact. */
export const coarse = (x: Expression): Expression => fromWords(highWord(x), 0);
/** 2^k for -1023 < k < 1024. */
export const powerOfTwo = (k: Expression): Expression => fromWords(shiftLeft(plus(k, 1023), 20), 0);
/** `x`, which is not negative, with the sign of `from`. */
export const withSign = (x: Expression, from: Expression): Expression => choose(less(highWord(from), i32(0)), negative(x), x);

/** Adding and subtracting this rounds a double below 2^51 to an integer, halves to even; the low word of the sum is that integer. */
export const roundingShift = 1.5 * 2 ** 52;

export class Writer {
  #body: Statement[] = [];
  #next = 0;

  get body(): readonly Statement[] {
    return this.#body;
  }

  #local(type: Expression['type']): Local {
    return { name: `v${++this.#next}`, type };
  }

  /** Stores a value in a local, so that it can be used more than once. */
  keep(e: Expression): Expression {
    const local = this.#local(e.type);
    this.#body.push(set(local, e));
    return get(local);
  }

  /** A local that is assigned more than once. */
  variable(value: Value): Local {
    const e = typed(value, 0);
    const local = this.#local(e.type);
    this.#body.push(set(local, e));
    return local;
  }

  set(local: Local, value: Value): void {
    this.#body.push(set(local, typed(value, get(local))));
  }

  when(condition: Expression, then: () => void, otherwise?: () => void): void {
    this.#body.push(branch(condition, this.#inside(then), otherwise === undefined ? [] : this.#inside(otherwise)));
  }

  #inside(write: () => void): readonly Statement[] {
    const outer = this.#body;
    const inner: Statement[] = this.#body = [];
    write();
    this.#body = outer;
    return inner;
  }

  /** Returns these results. */
  give(...values: readonly Value[]): void {
    this.#body.push({ kind: 'return', values: values.map((value) => typed(value, 0)) });
  }

  giveWhen(condition: Expression, ...values: readonly Value[]): void {
    this.when(condition, () => { this.give(...values); });
  }

  call({ f }: MathFunction, args: readonly Expression[], results: readonly Local[]): void {
    this.#body.push(call(f.name, args, results));
  }

  /** c0 + c1 z + c2 z² + …, evaluated by Estrin's scheme, which has more instruction-level parallelism than Horner's. */
  polynomial(z: Expression, coefficients: readonly number[]): Expression {
    let terms: readonly Expression[] = coefficients.map((each) => f64(each));
    for (let power = z; terms.length > 1; power = this.keep(times(power, power))) {
      terms = Array.from({ length: Math.ceil(terms.length / 2) }, (_, i) => {
        const low = required(terms[2 * i]);
        const high = terms[2 * i + 1];
        return high === undefined ? low : plus(low, times(power, high));
      });
      if (terms.length === 1) break;
    }
    return required(terms[0]);
  }
}

export interface MathOptions {
  readonly results?: KernelFunction['results'];
  readonly calls?: readonly MathFunction[];
  readonly isRare?: boolean;
}

/** Defines a function. `types` are those of its parameters. */
export function defineFunction(
  name: string, types: KernelFunction['results'], write: (w: Writer, ...args: [Expression, Expression, Expression]) => void,
  { results = ['f64'], calls = [], isRare = false }: MathOptions = {},
): MathFunction {
  const parameters = types.map((type, i): Local => ({ name: 'xyz'.charAt(i), type }));
  const w = new Writer();
  write(w, ...parameters.map(get) as unknown as [Expression, Expression, Expression]);
  return { f: { name, parameters, results, buffers: [], body: w.body }, calls, isRare };
}
