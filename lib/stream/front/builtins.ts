// Functions that every program can call, and the library functions that are written in the language.
import { mathNames, type MathName } from '../ir.ts';
import type { Program } from '../ast.ts';
import { parse } from './parser.ts';
import type { Type } from './checked.ts';
import { basic, common, isComplex, isNumeric, isWhole, rankOf } from './types.ts';

const math: ReadonlySet<string> = new Set(mathNames);
const binary: ReadonlySet<MathName> = new Set<MathName>(['atan2', 'max', 'min', 'pow']);
/** Work on int, too. */
const whole: ReadonlySet<MathName> = new Set<MathName>(['abs', 'max', 'min']);
const complex: ReadonlySet<MathName> = new Set<MathName>(['abs', 'arg', 'cos', 'csqrt', 'exp', 'log', 'sin', 'sqrt']);

/** Built-in streams. */
export const builtinStreams = ['Identity', 'FileReader', 'FileWriter'] as const;
/** Built-in functions beside those of mathematics. */
export const otherFunctions = ['print', 'println', 'init_array_1D_int', 'init_array_1D_float', 'iter'] as const;

export const isMath = (name: string): name is MathName => math.has(name);

/** Number of arguments. */
export const arityOf = (name: MathName): number => (name === 'random' ? 0 : binary.has(name) ? 2 : 1);

/** The type at which a function of mathematics works and that of its result; undefined if it does not take such arguments. */
export function signatureOf(name: MathName, args: readonly Type[]): { readonly operand: Type; readonly result: Type } | undefined {
  if (args.length === 0) return { operand: basic.float, result: basic.float };
  if (args.some(({ kind }) => kind === 'unknown')) return { operand: basic.unknown, result: basic.unknown };
  const type = args.reduce<Type | undefined>((all, one) => (all === undefined ? undefined : common(all, one)), args[0]);
  if (type === undefined || !(isNumeric(type) || isComplex(type))) return undefined;
  if (isComplex(type) || name === 'csqrt' || name === 'arg') {
    const fits = complex.has(name) && rankOf(type) < rankOf(basic.double);
    return fits ? { operand: basic.complex, result: name === 'abs' || name === 'arg' ? basic.float : basic.complex } : undefined;
  }
  if (isWhole(type) && whole.has(name)) return { operand: basic.int, result: basic.int };
  const operand = isWhole(type) ? basic.float : type;
  return { operand, result: operand };
}

/** Names of java.lang.Math that programs use and that are no primitives of the back ends. */
const kPrelude = `
helper Math {
  float toRadians(float x) { return x / 180.0 * pi; }
  float toDegrees(float x) { return x * 180.0 / pi; }
  float signum(float x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }
  float cbrt(float x) { return x < 0.0 ? -pow(-x, 1.0 / 3.0) : pow(x, 1.0 / 3.0); }
  float hypot(float x, float y) { return sqrt(x * x + y * y); }
  float fabs(float x) { return abs(x); }
  float fmod(float x, float y) { return x % y; }
  float trunc(float x) { return x < 0.0 ? ceil(x) : floor(x); }
  float expm1(float x) { double y = x; return (float) (exp(y) - 1.0); }
  float log1p(float x) { double y = x; return (float) log(1.0 + y); }
  float log2(float x) { double y = x; return (float) (log(y) / log(2.0)); }
  float exp2(float x) { return pow(2.0, x); }
  float asinh(float x) { double y = x; return (float) (y < 0.0 ? -log(sqrt(y * y + 1.0) - y) : log(y + sqrt(y * y + 1.0))); }
  float acosh(float x) { double y = x; return (float) log(y + sqrt(y * y - 1.0)); }
  float atanh(float x) { double y = x; return (float) (log((1.0 + y) / (1.0 - y)) / 2.0); }
  float copySign(float x, float y) { return y < 0.0 ? -abs(x) : abs(x); }
  int floorDiv(int x, int y) { int q = x / y; return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q; }
  int floorMod(int x, int y) { return x - floorDiv(x, y) * y; }
  complex complexPow(complex z, complex w) {
    if (z.real == 0 && z.imag == 0) return z;
    return exp(w * log(z));
  }
}
`;

let prelude: Program | undefined;

/** The library functions, parsed once. */
export function preludeProgram(): Program {
  prelude ??= parse([{ name: 'prelude', text: kPrelude }]).program;
  return prelude;
}
