// cbrt.
import { convert } from '../ir.ts';
import { split } from './logarithm.ts';
import {
  absolute, both, choose, coarse, defineFunction, floorOf, greater, less, minus, over, plus, powerOfTwo, same, times, withSign,
} from './writer.ts';

/** The cube root of numbers between √½ and √2, within 0.1 %. */
const start = [0.5574239481027832, 0.546252116043505, -0.10398876445584465] as const;

export const cbrt = defineFunction('cbrt', ['f64'], (w, x) => {
  const size = w.keep(absolute(x));
  w.giveWhen({ kind: 'unary', type: 'bool', op: 'not', operand: both(greater(size, 0), less(size, Infinity)) }, plus(x, x));
  const { exponent, fraction } = split(w, size);
  const third = w.keep(floorOf(over(exponent, 3)));
  const left = w.keep(minus(exponent, times(third, 3)));
  const isOne = w.keep(same(left, 1)), isTwo = w.keep(same(left, 2));
  const value = w.keep(times(fraction, choose(isOne, 2, choose(isTwo, 4, 1))));
  const near = w.keep(times(plus(plus(times(times(fraction, fraction), start[2]), times(fraction, start[1])), start[0]),
    choose(isOne, Math.cbrt(2), choose(isTwo, Math.cbrt(4), 1))));
  // Halley's steps: the error is cubed. The square of the second one's argument is exact.
  const cube = w.keep(times(times(near, near), near));
  const t = w.keep(coarse(times(near, over(plus(cube, times(value, 2)), plus(times(cube, 2), value)))));
  const quotient = w.keep(over(value, times(t, t)));
  const result = plus(t, over(times(t, minus(quotient, t)), plus(plus(t, t), quotient)));
  w.give(withSign(w.keep(times(result, powerOfTwo(convert('i32', third)))), x));
});
