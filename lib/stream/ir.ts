// What back ends accept: filters with all types, sizes and rates known, conversions written out and constants folded.
//
// Values: bit and boolean are 0 or 1; int is a 32-bit integer that wraps; float is an IEEE single, rounded after every operation; double an
// IEEE double; complex, float2, float3 and float4 are that many singles. Arrays and structs are values: assigning, returning and pushing
// them copies, and so does passing a struct or sending a message; an array is passed to a function by reference. Operands are evaluated
// from left to right; the indices on the left of an assignment before its value. Variables begin as zeros,
// again each time their declaration is reached. Integers shift by the low five bits of the right operand. To int, float and double truncate
// towards zero, values out of range give the nearest int and NaN gives 0; to bit an int gives its lowest bit; a mathematical
// function on floats is computed in double and rounded once.
//
// Names of variables, fields, functions and filters match [A-Za-z][A-Za-z0-9_]*, hold no `__`, do not begin with `wl_`, are neither
// keywords of C++, CUDA or JavaScript nor all-capital macros; back ends use the prefix `wl_` for their own.
import type { Span } from './ast.ts';

export type ScalarName = 'bit' | 'boolean' | 'int' | 'float' | 'double';
export type VectorName = 'complex' | 'float2' | 'float3' | 'float4';

/** Types of values, of known size. */
export type IrType =
  | { readonly kind: 'scalar'; readonly name: ScalarName }
  | { readonly kind: 'vector'; readonly name: VectorName }
  | { readonly kind: 'array'; readonly element: IrType; readonly length: number }
  | { readonly kind: 'struct'; readonly name: string; readonly fields: readonly { readonly name: string; readonly type: IrType }[] }
  | { readonly kind: 'void' };

/**
 * A constant: numbers in the order in which the value is stored in memory (fields in order, elements in order, real before imaginary),
 * one per scalar. Typed arrays if it is large.
 */
export interface ConstantData {
  readonly type: IrType;
  readonly numbers: ArrayLike<number>;
}

/** A variable: of a function, or a field of a filter. Names are fit for any target language and unique in their filter. */
export interface Variable {
  readonly name: string;
  readonly type: IrType;
}
/** A field. */
export interface StateVariable extends Variable {
  /** What `init` left in it. */
  readonly initial: ConstantData;
  /**
   * `constant`: never written by work; `scratch`: written before it is read in every firing, so that nothing is carried over; `state`:
   * carried from one firing to the next.
   */
  readonly role: 'constant' | 'scratch' | 'state';
}

/** Functions of mathematics, on float or double (int: abs, min, max), complex where it makes sense. */
export const mathNames = [
  'abs', 'acos', 'arg', 'asin', 'atan', 'atan2', 'ceil', 'cos', 'cosh', 'csqrt', 'exp', 'floor', 'log', 'log10', 'max', 'min', 'pow',
  'random', 'rint', 'round', 'sin', 'sinh', 'sqrt', 'tan', 'tanh',
] as const;
export type MathName = (typeof mathNames)[number];

export type IrBinary = '+' | '-' | '*' | '/' | '%' | '<<' | '>>' | '&' | '|' | '^' | '==' | '!=' | '<' | '<=' | '>' | '>=' | '&&' | '||';

/** Expressions. Both operands of an arithmetic operator have its result's type. */
export type IrExpression = { readonly type: IrType; /** Place in the source, for messages. */ readonly span?: Span } & (
  | { readonly kind: 'constant'; readonly value: ConstantData }
  | { readonly kind: 'variable'; readonly variable: Variable }
  | { readonly kind: 'state'; readonly variable: StateVariable }
  | {
    readonly kind: 'element'; readonly array: IrExpression; readonly index: IrExpression;
    /** The index was proved to lie inside. */ readonly safe: boolean;
  }
  | { readonly kind: 'field'; readonly object: IrExpression; readonly field: string }
  | { readonly kind: 'part'; readonly vector: IrExpression; readonly part: number }
  | { readonly kind: 'compose'; readonly parts: readonly IrExpression[] }
  | {
    readonly kind: 'call'; readonly function: string; readonly args: readonly IrExpression[];
    /** Places in `args` of the arrays that the function may change; a place that can be assigned stands there. */
    readonly changes: readonly number[];
  }
  | { readonly kind: 'math'; readonly name: MathName; readonly args: readonly IrExpression[] }
  | { readonly kind: 'pop' }
  | { readonly kind: 'peek'; readonly index: IrExpression }
  | { readonly kind: 'iter' }
  | { readonly kind: 'unary'; readonly operator: '-' | '!' | '~'; readonly operand: IrExpression }
  | { readonly kind: 'binary'; readonly operator: IrBinary; readonly left: IrExpression; readonly right: IrExpression }
  | { readonly kind: 'conditional'; readonly condition: IrExpression; readonly then: IrExpression; readonly otherwise: IrExpression }
  /** Between scalars; to a smaller type it truncates. Scalars become vectors with zeros behind. */
  | { readonly kind: 'convert'; readonly operand: IrExpression });

/** What can stand on the left: a variable, a field of a filter, or a part of such. */
export type IrPlace = Extract<IrExpression, { kind: 'variable' | 'state' | 'element' | 'field' | 'part' }>;

export type IrStatement = { /** Place in the source, for messages. */ readonly span?: Span } & (
  | { readonly kind: 'block'; readonly statements: readonly IrStatement[] }
  | { readonly kind: 'declare'; readonly variable: Variable; readonly value: IrExpression | undefined }
  | { readonly kind: 'assign'; readonly target: IrPlace; readonly value: IrExpression }
  | { readonly kind: 'evaluate'; readonly value: IrExpression }
  | { readonly kind: 'push'; readonly value: IrExpression }
  | { readonly kind: 'if'; readonly condition: IrExpression; readonly then: IrStatement; readonly otherwise: IrStatement | undefined }
  | {
    readonly kind: 'loop';
    /** Before the first turn; its variables live as long as the loop. */ readonly initial: readonly IrStatement[];
    readonly condition: IrExpression | undefined; readonly step: readonly IrStatement[]; readonly body: IrStatement;
    /** `do … while`: the first turn is made in any case. */ readonly atLeastOnce: boolean;
    /** Turns, where they are known. */ readonly trips: number | undefined;
  }
  | { readonly kind: 'break' } | { readonly kind: 'continue' }
  | { readonly kind: 'return'; readonly value: IrExpression | undefined }
  | {
    readonly kind: 'print'; readonly value: IrExpression | { readonly text: string }; readonly newline: boolean;
    /** Recorded as the texts are, but not shown: see run/marks.ts. */ readonly isMark?: true;
  }
  | {
    readonly kind: 'message'; readonly portal: string; readonly handler: string; readonly args: readonly IrExpression[];
    readonly low: number | undefined; readonly high: number | undefined;
  });

/** Rates of a function, in items of the channel. Dynamic: bounds, `Infinity` where there is none. */
export interface IrRates {
  readonly push: number;
  readonly pop: number;
  /** At least `pop`. */
  readonly peek: number;
  readonly dynamic?: {
    readonly push?: readonly [low: number, high: number]; readonly pop?: readonly [low: number, high: number];
    readonly peek?: readonly [low: number, high: number];
  };
}

export interface IrFunction {
  readonly name: string;
  readonly parameters: readonly Variable[];
  readonly result: IrType;
  readonly body: Extract<IrStatement, { kind: 'block' }>;
}

/** The code of a filter. Instances with the same arguments share one. */
export interface FilterCode {
  /** Name of the declaration, made fit for any target language. */
  readonly name: string;
  readonly input: IrType;
  readonly output: IrType;
  readonly state: readonly StateVariable[];
  readonly functions: readonly IrFunction[];
  readonly handlers: readonly IrFunction[];
  readonly work: { readonly rates: IrRates; readonly body: Extract<IrStatement, { kind: 'block' }> };
  /** Instead of the first firing of `work`. */
  readonly prework: { readonly rates: IrRates; readonly body: Extract<IrStatement, { kind: 'block' }> } | undefined;
  /** Whether any field is carried over, or the work prints, so that firings must follow each other. */
  readonly stateful: boolean;
  /** Place of the declaration in the source, for messages. */
  readonly span?: Span;
}
