// Mathematical functions, written in the representation, so that all targets compute the same bits.
import type { LibraryName, Program } from '../ir.ts';
import { walkBody } from '../visit.ts';
import { cosh, exp, expm1, sinh, tanh } from './exponential.ts';
import { acosh, asinh, atanh } from './hyperbolic.ts';
import { acos, asin, atan, atan2 } from './inverse.ts';
import { fma, fmaf } from './fused.ts';
import { hypot, log, log10, log1p, log2, pow } from './logarithm.ts';
import { cbrt } from './root.ts';
import { cos, sin, tan } from './trigonometric.ts';
import type { MathFunction } from './writer.ts';

export type { MathFunction } from './writer.ts';

/** The functions by name. */
export const mathLibrary: Readonly<Record<LibraryName, MathFunction>> = {
  acos, acosh, asin, asinh, atan, atan2, atanh, cbrt, cos, cosh, exp, expm1, fma, fmaf, hypot, log, log10, log1p, log2, pow, sin, sinh, tan,
  tanh,
};

/** These functions and the ones they call, each once, callees first. */
export function withCallees(functions: Iterable<MathFunction>): readonly MathFunction[] {
  const found = new Set<MathFunction>();
  const add = (each: MathFunction): void => {
    each.calls.forEach(add);
    found.add(each);
  };
  for (const each of functions) add(each);
  return [...found];
}

/** The functions that a program uses and the ones they call, callees first. `except`: those that the target has itself. */
export function mathIn({ functions }: Pick<Program, 'functions'>, except: readonly LibraryName[] = []): readonly MathFunction[] {
  const names = new Set<LibraryName>();
  for (const { body } of functions) walkBody(body, { expression: (e) => { if (e.kind === 'math') names.add(e.name); } });
  return withCallees([...names].filter((name) => !except.includes(name)).sort().map((name) => mathLibrary[name]));
}
