// A typed low-level representation of scalar code: clients lower to it, passes rewrite it and printers print it. It knows nothing of its
// clients.
//
// A program is a set of buffers and functions. Expressions are pure: they read locals and buffers, but neither write nor trap; everything
// else is a statement. Operands may therefore be evaluated in any order, but `and`, `or` and `select` evaluate only what they need.
//
// Values. i32: a 32-bit integer that wraps. f32, f64: IEEE single and double; every operation rounds once to its type and is neither
// contracted nor reassociated; which NaN results is unspecified. bool: a condition, kept in locals and never in buffers. i32x4, f32x4,
// f64x2: vectors whose lanes are computed independently.
//
// Operations. shl, shr (arithmetic), shr_u shift by the low five bits of the right operand, which is a single i32 for vectors too. div and
// rem of i32 truncate towards zero and must not get a divisor of 0; dividing the smallest integer by -1 gives the smallest integer, with
// remainder 0. rem of floats has the sign of the left operand and is exact. min and max: NaN if either is NaN; -0 is less than +0. rint
// rounds halves to even. Comparisons with NaN are false except for ne; lt_u compares as unsigned. Conversions: floats to i32 truncate,
// values out of range give the nearest integer, and NaN gives 0; i32 to bool means "not 0", bool to i32 gives 0 or 1. high and low are
// the two words of an f64 in the IEEE format, as i32; `words` makes an f64 of two words. The high word of a NaN has all bits of the
// exponent set; the other bits of its words are unspecified.
//
// Mathematical functions take and return f64. Each is the function of that name in math/, which is written in this representation, so
// results have the same bits on all targets; they are within one unit in the last place of the true value. Special values are those of
// C99, annex F, except for pow, which is JavaScript's: pow(x, NaN) is NaN for every x, and so are pow(1, ±inf) and pow(-1, ±inf).
//
// Assumptions, which only the interpreter checks: indices are in bounds (`index` alone is not negative either), counts are not negative,
// divisors of i32 are not 0, exact arithmetic does not wrap, locals with a `range` are within it, and the counter of a counted loop passes
// its end without wrapping. Producers of programs must prove these or insert a `guard`. Distinct buffers never overlap.
import { required } from '../core/known.ts';

export type ScalarType = 'i32' | 'f32' | 'f64';
export type VectorType = 'i32x4' | 'f32x4' | 'f64x2';
export type Type = ScalarType | 'bool' | VectorType;

export type Range = readonly [low: number, high: number];

/** A variable of one function. Its identity is the object; the name is unique in the function and has no meaning. */
export interface Local {
  readonly name: string;
  readonly type: Type;
  /** Inclusive bounds of an i32, guaranteed by the producer of the program. */
  readonly range?: Range;
}

/** The target of `break` and `continue`. */
export interface Label {
  readonly name: string;
}

/**
 * `external`: given by the caller; `global`: belongs to the program, keeps its contents between calls; `constant`: a table; `local`:
 * belongs to one function, unspecified contents when the function begins.
 */
export type BufferRole = 'external' | 'global' | 'constant' | 'local';

/** An array of scalars. Its identity is the object; the name is unique in the program. */
export interface Buffer {
  readonly name: string;
  readonly element: ScalarType;
  readonly role: BufferRole;
  /** Number of elements; undefined for an external buffer of unknown length. */
  readonly length: number | undefined;
  /** Initial contents of globals and constants, followed by zeros. */
  readonly initial?: ArrayLike<number>;
  /** An external buffer that is never written. */
  readonly isReadOnly?: boolean;
}

export const unaryOps = ['neg', 'not', 'abs', 'sqrt', 'floor', 'ceil', 'rint'] as const;
export const binaryOps = [
  'add', 'sub', 'mul', 'div', 'rem', 'min', 'max', 'band', 'bor', 'xor', 'shl', 'shr', 'shr_u',
] as const;
export const compareOps = ['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'lt_u'] as const;
/** Mathematical functions, with the number of their arguments. */
export const mathFunctions = {
  acos: 1, acosh: 1, asin: 1, asinh: 1, atan: 1, atan2: 2, atanh: 1, cbrt: 1, cos: 1, cosh: 1, exp: 1, expm1: 1, hypot: 2, log: 1,
  log10: 1, log1p: 1, log2: 1, pow: 2, sin: 1, sinh: 1, tan: 1, tanh: 1,
} as const;
/** Those and the fused multiply-adds, which round once, to f64 or to what an f32 of them rounds to; the arguments of `fmaf` are singles. */
export const libraryFunctions = { ...mathFunctions, fma: 3, fmaf: 3 } as const;

export type UnaryOp = (typeof unaryOps)[number];
export type BinaryOp = (typeof binaryOps)[number];
export type CompareOp = (typeof compareOps)[number];
export type MathName = keyof typeof mathFunctions;
export type LibraryName = keyof typeof libraryFunctions;
export const wordParts = ['high', 'low'] as const;
export type Word = (typeof wordParts)[number];

export type Expression = { readonly type: Type } & (
  | { readonly kind: 'constant'; /** In the precision of the type: an f32 is rounded, a bool is 0 or 1. */ readonly value: number }
  | { readonly kind: 'get'; readonly local: Local }
  | {
    /** The element at `index + offset`; for a vector type, that one and the following ones. */
    readonly kind: 'load'; readonly buffer: Buffer; readonly index: Expression; /** Not negative. */ readonly offset: number;
  }
  | { readonly kind: 'unary'; readonly op: UnaryOp; readonly operand: Expression }
  | {
    readonly kind: 'binary'; readonly op: BinaryOp; readonly left: Expression; readonly right: Expression;
    /** Asserts that the result of an i32 add, sub or mul does not wrap. */ readonly isExact?: boolean;
  }
  | { readonly kind: 'compare'; readonly op: CompareOp; readonly left: Expression; readonly right: Expression }
  /** Combines two conditions; the right one is evaluated only if it matters. */
  | { readonly kind: 'logic'; readonly op: 'and' | 'or'; readonly left: Expression; readonly right: Expression }
  /** Selects one of two values; the other is not evaluated. */
  | { readonly kind: 'select'; readonly condition: Expression; readonly then: Expression; readonly otherwise: Expression }
  | { readonly kind: 'convert'; readonly operand: Expression }
  | { readonly kind: 'math'; readonly name: LibraryName; readonly args: readonly Expression[] }
  /** The high or low 32 bits of an f64. */
  | { readonly kind: 'word'; readonly part: Word; readonly operand: Expression }
  /** The f64 with these words. */
  | { readonly kind: 'words'; readonly high: Expression; readonly low: Expression }
  /** The same scalar in all lanes. */
  | { readonly kind: 'splat'; readonly operand: Expression }
  | { readonly kind: 'lanes'; readonly parts: readonly Expression[] }
  | { readonly kind: 'extract'; readonly vector: Expression; readonly lane: number });

export type Body = readonly Statement[];

export type Statement =
  | { readonly kind: 'set'; readonly local: Local; readonly value: Expression }
  /** Stores to the element at `index + offset`; a vector to that one and the following ones. */
  | {
    readonly kind: 'store'; readonly buffer: Buffer; readonly index: Expression; readonly offset: number; readonly value: Expression;
  }
  /** Copies as if all elements were read before any is written. */
  | {
    readonly kind: 'copy'; readonly to: Buffer; readonly toIndex: Expression; readonly from: Buffer; readonly fromIndex: Expression;
    readonly count: Expression;
  }
  /** Writes zeros. */
  | { readonly kind: 'fill'; readonly buffer: Buffer; readonly index: Expression; readonly count: Expression }
  | { readonly kind: 'if'; readonly condition: Expression; readonly then: Body; readonly otherwise: Body }
  /**
   * Runs the body with the counter going from `from` in steps while it is less than `to`; both are evaluated once. The body must not set
   * the counter.
   */
  | {
    readonly kind: 'for'; readonly label: Label; readonly counter: Local; readonly from: Expression; readonly to: Expression;
    /** Greater than 0. */ readonly step: number; readonly body: Body;
    /** The maximum number of iterations, guaranteed by the producer. */ readonly most?: number;
  }
  | { readonly kind: 'while'; readonly label: Label; readonly condition: Expression; readonly body: Body }
  /** Code that `break` can leave. */
  | { readonly kind: 'block'; readonly label: Label; readonly body: Body }
  | { readonly kind: 'break'; readonly label: Label }
  /** Continues with the next iteration of an enclosing loop. */
  | { readonly kind: 'continue'; readonly label: Label }
  /** Calls a function of the program or an import, and assigns its results to locals. There is no recursion. */
  | { readonly kind: 'call'; readonly callee: string; readonly args: readonly Expression[]; readonly results: readonly Local[] }
  | { readonly kind: 'return'; readonly values: readonly Expression[] }
  /** Ends the run with a fault: the number of its site, an i32, and an f64 that explains it. */
  | { readonly kind: 'trap'; readonly site: Expression; readonly value: Expression }
  /** Traps unless the condition holds. */
  | { readonly kind: 'guard'; readonly condition: Expression; readonly site: Expression; readonly value: Expression };

export interface KernelFunction {
  readonly name: string;
  readonly parameters: readonly Local[];
  readonly results: readonly Type[];
  /** Buffers of its own. */
  readonly buffers: readonly Buffer[];
  readonly body: Body;
}

/** A function of the host. Nothing is known of its effects. */
export interface Import {
  readonly name: string;
  readonly parameters: readonly Type[];
  readonly results: readonly Type[];
}

export interface Program {
  readonly buffers: readonly Buffer[];
  readonly imports: readonly Import[];
  /** Callees precede their callers. */
  readonly functions: readonly KernelFunction[];
}

/** The expressions or statements of one kind. */
export type ExpressionOf<K extends Expression['kind']> = Extract<Expression, { kind: K }>;
export type StatementOf<K extends Statement['kind']> = Extract<Statement, { kind: K }>;

export const vectorOf = { i32: 'i32x4', f32: 'f32x4', f64: 'f64x2' } as const;
export const elementOf: Readonly<Record<Type, ScalarType | 'bool'>> = {
  i32: 'i32', f32: 'f32', f64: 'f64', bool: 'bool', i32x4: 'i32', f32x4: 'f32', f64x2: 'f64',
};
export const lanesOf: Readonly<Record<Type, number>> = { i32: 1, f32: 1, f64: 1, bool: 1, i32x4: 4, f32x4: 4, f64x2: 2 };

export function isVector(type: Type): type is VectorType {
  return lanesOf[type] > 1;
}

// Builders. They set types but check nothing: see verify.ts.

export function constant(type: ScalarType | 'bool', value: number): ExpressionOf<'constant'> {
  return { kind: 'constant', type, value };
}
export const i32 = (value: number): ExpressionOf<'constant'> => constant('i32', value | 0);
export const f32 = (value: number): ExpressionOf<'constant'> => constant('f32', Math.fround(value));
export const f64 = (value: number): ExpressionOf<'constant'> => constant('f64', value);
export const bool = (value: boolean): ExpressionOf<'constant'> => constant('bool', value ? 1 : 0);

export function get(local: Local): ExpressionOf<'get'> {
  return { kind: 'get', type: local.type, local };
}
export function load(buffer: Buffer, index: Expression, offset = 0, type: Type = buffer.element): ExpressionOf<'load'> {
  return { kind: 'load', type, buffer, index, offset };
}
export function unary(op: UnaryOp, operand: Expression): ExpressionOf<'unary'> {
  return { kind: 'unary', type: operand.type, op, operand };
}
export function binary(op: BinaryOp, left: Expression, right: Expression): ExpressionOf<'binary'> {
  return { kind: 'binary', type: left.type, op, left, right };
}
/** i32 arithmetic that is asserted not to wrap. */
export function exact(op: 'add' | 'sub' | 'mul', left: Expression, right: Expression): ExpressionOf<'binary'> {
  return { kind: 'binary', type: 'i32', op, left, right, isExact: true };
}
export function compare(op: CompareOp, left: Expression, right: Expression): ExpressionOf<'compare'> {
  return { kind: 'compare', type: 'bool', op, left, right };
}
export function logic(op: 'and' | 'or', left: Expression, right: Expression): ExpressionOf<'logic'> {
  return { kind: 'logic', type: 'bool', op, left, right };
}
export function select(condition: Expression, then: Expression, otherwise: Expression): ExpressionOf<'select'> {
  return { kind: 'select', type: then.type, condition, then, otherwise };
}
export function convert(type: Type, operand: Expression): ExpressionOf<'convert'> {
  return { kind: 'convert', type, operand };
}
export function math(name: LibraryName, ...args: readonly Expression[]): ExpressionOf<'math'> {
  return { kind: 'math', type: 'f64', name, args };
}
export function word(part: Word, operand: Expression): ExpressionOf<'word'> {
  return { kind: 'word', type: 'i32', part, operand };
}
export function words(high: Expression, low: Expression): ExpressionOf<'words'> {
  return { kind: 'words', type: 'f64', high, low };
}
export function splat(operand: Expression): ExpressionOf<'splat'> {
  return { kind: 'splat', type: vectorOf[operand.type as ScalarType], operand };
}
export function lanes(...parts: readonly Expression[]): ExpressionOf<'lanes'> {
  return { kind: 'lanes', type: vectorOf[required(parts[0]).type as ScalarType], parts };
}
export function extract(vector: Expression, lane: number): ExpressionOf<'extract'> {
  return { kind: 'extract', type: elementOf[vector.type], vector, lane };
}

export function set(local: Local, value: Expression): StatementOf<'set'> {
  return { kind: 'set', local, value };
}
export function store(buffer: Buffer, index: Expression, value: Expression, offset = 0): StatementOf<'store'> {
  return { kind: 'store', buffer, index, offset, value };
}
export function branch(condition: Expression, then: Body, otherwise: Body = []): StatementOf<'if'> {
  return { kind: 'if', condition, then, otherwise };
}
export function forLoop(
  label: Label, counter: Local, bounds: { readonly from: Expression; readonly to: Expression; readonly step?: number }, body: Body,
): StatementOf<'for'> {
  return { kind: 'for', label, counter, from: bounds.from, to: bounds.to, step: bounds.step ?? 1, body };
}
export function whileLoop(label: Label, condition: Expression, body: Body): StatementOf<'while'> {
  return { kind: 'while', label, condition, body };
}
export function guard(condition: Expression, site: number, value: Expression = f64(0)): StatementOf<'guard'> {
  return { kind: 'guard', condition, site: i32(site), value };
}
export function call(callee: string, args: readonly Expression[], results: readonly Local[] = []): StatementOf<'call'> {
  return { kind: 'call', callee, args, results };
}

export function trap(site: number, value: Expression = f64(0)): StatementOf<'trap'> {
  return { kind: 'trap', site: i32(site), value };
}

/** Whether an index is in [0, limit), for a non-negative limit. */
export function isInside(index: Expression, limit: Expression): ExpressionOf<'compare'> {
  return compare('lt_u', index, limit);
}

/** The value of a constant; undefined for other expressions. */
export function valueOf(e: Expression): number | undefined {
  return e.kind === 'constant' ? e.value : undefined;
}
