// Complex numbers and small vectors: operators and functions per component, each step rounded as the interpreter rounds it.
import { elementAt } from '../../core/known.ts';
import { binary, compare, f64, unary, type Expression } from '../../kernel/ir.ts';
import { fold } from '../../kernel/passes/fold.ts';
import type { IrBinary, MathName } from '../ir.ts';
import { choice, doubleMath, negate, operate, toDouble, toSingle } from './arithmetic.ts';
import type { Ex } from './value.ts';
import type { Writer } from './writer.ts';

function made(e: Expression): Ex {
  return { e, stable: e.kind === 'constant' };
}

/** Applies an operator to the components of two vectors. */
export function vectorOperator(
  w: Writer, operator: IrBinary, isComplex: boolean, [a, b]: readonly [readonly Ex[], readonly Ex[]],
): readonly Ex[] {
  if (!isComplex || operator === '+' || operator === '-') return a.map((x, i) => made(operate(operator, x.e, elementAt(b, i).e)));
  const [p, q, r, s] = [...a, ...b].map((part) => w.stable(part).e) as [Expression, Expression, Expression, Expression];
  const two = (sign: '+' | '-', x: readonly [Expression, Expression], y: readonly [Expression, Expression]): Expression =>
    operate(sign, operate('*', ...x), operate('*', ...y));
  if (operator === '*') return [made(two('-', [p, r], [q, s])), made(two('+', [p, s], [q, r]))];
  const norm = w.stable(made(two('+', [r, r], [s, s]))).e;
  return [made(operate('/', two('+', [p, r], [q, s]), norm)), made(operate('/', two('-', [q, r], [p, s]), norm))];
}

/** A function of a complex number: computed in double, rounded once. */
export function complexCall(w: Writer, name: MathName, z: readonly Ex[]): readonly Ex[] {
  const keep = (e: Expression): Expression => w.stable(made(e)).e;
  const [re, im] = z.map((part) => keep(toDouble(w.stable(part).e))) as [Expression, Expression];
  const single = (e: Expression): Ex => made(toSingle(e));
  const product = (a: Expression, b: Expression): Expression => operate('*', a, b);
  const size = (): Expression => doubleMath('sqrt', operate('+', product(re, re), product(im, im)));
  switch (name) {
    case 'abs': return [single(size())];
    case 'arg': return [single(doubleMath('atan2', im, re))];
    case 'exp': {
      const power = doubleMath('exp', re);
      return [single(product(power, doubleMath('cos', im))), single(product(power, doubleMath('sin', im)))];
    }
    case 'log': return [single(doubleMath('log', doubleMath('hypot', re, im))), single(doubleMath('atan2', im, re))];
    case 'sin': return [
      single(product(doubleMath('sin', re), doubleMath('cosh', im))), single(product(doubleMath('cos', re), doubleMath('sinh', im))),
    ];
    case 'cos': return [
      single(product(doubleMath('cos', re), doubleMath('cosh', im))),
      single(negate(product(doubleMath('sin', re), doubleMath('sinh', im)))),
    ];
    case 'sqrt': case 'csqrt': return squareRoot(re, im, keep(size()), keep).map(single);
    default: throw new Error(`${name} has no meaning for a complex number`);
  }
}

function squareRoot(re: Expression, im: Expression, size: Expression, keep: (e: Expression) => Expression): readonly Expression[] {
  const zero = f64(0);
  const absolute = (e: Expression): Expression => fold(unary('abs', e));
  const root = keep(doubleMath('sqrt', operate('/', operate('+', size, absolute(re)), f64(2))));
  const isZero = fold(compare('eq', root, zero));
  const isRight = fold(compare('ge', re, zero));
  const twice = operate('*', f64(2), root);
  const below = choice(fold(compare('lt', im, zero)), negate(root), root);
  return [
    choice(isZero, zero, choice(isRight, root, operate('/', absolute(im), twice))),
    choice(isZero, zero, choice(isRight, fold(binary('div', im, twice)), below)),
  ];
}
