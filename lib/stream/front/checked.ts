// What checking a program yields: its entry and, for every node of the tree that was reached, types and resolved names.
//
// Checking is generic: a stream is checked once, whatever its arguments, so lengths of arrays and rates remain expressions.
// Elaboration evaluates them; it needs no resolution of its own.
import type {
  Creator, Declarator, Expression, FilterDeclaration, FunctionDeclaration, HelperDeclaration, NativeDeclaration, Parameter, Program,
  Statement, StaticDeclaration, StreamDeclaration, StructDeclaration, TypeNode,
} from '../ast.ts';
import type { MathName, ScalarName, VectorName } from '../ir.ts';

/** Types before elaboration: arrays have expressions as lengths. */
export type Type =
  | { readonly kind: 'scalar'; readonly name: ScalarName }
  | { readonly kind: 'vector'; readonly name: VectorName }
  /** `length`: as written; undefined in `int[]` and for array literals, where `count` has the number of elements. */
  | { readonly kind: 'array'; readonly element: Type; readonly length: Expression | undefined; readonly count?: number }
  | { readonly kind: 'struct'; readonly declaration: StructDeclaration }
  | { readonly kind: 'portal'; readonly receiver: StreamDeclaration | undefined }
  | { readonly kind: 'string' }
  | { readonly kind: 'void' }
  /** After an error; nothing more is said about it. Never in a program without errors. */
  | { readonly kind: 'unknown' };

interface Named {
  readonly name: string;
  readonly type: Type;
}

/** What a name stands for. */
export type NameSymbol =
  /** A variable of a function's or a composite's body; `owner`: that stream. */
  | Named & { readonly kind: 'local'; readonly declaration: Declarator; readonly owner: Owner }
  /** A parameter of a function. */
  | Named & { readonly kind: 'argument'; readonly declaration: Parameter; readonly owner: Owner }
  /** A parameter of a stream; a constant. `owner` may be an enclosing stream of the anonymous one that uses it. */
  | Named & { readonly kind: 'parameter'; readonly declaration: Parameter; readonly owner: StreamDeclaration }
  /** A field of the filter. */
  | Named & { readonly kind: 'field'; readonly declaration: Declarator; readonly owner: FilterDeclaration }
  /** A field of a `static` section. */
  | Named & { readonly kind: 'static'; readonly declaration: Declarator; readonly owner: StaticDeclaration };

/** Where code stands: a stream, a section of constants or a package of helper functions. */
export type Owner = StreamDeclaration | StaticDeclaration | HelperDeclaration;

/** What a call calls. */
export type Callee =
  /** A helper function of the same filter, of a package of the program, or of the prelude ({@link Checked.prelude}). */
  | { readonly kind: 'function'; readonly declaration: FunctionDeclaration; readonly owner: FilterDeclaration | HelperDeclaration }
  /**
   * A function of mathematics. `operand`: the type at which it works, to which all arguments convert (`abs` of int: int; `sin` of int:
   * float; `abs`, `arg` and `csqrt` of complex: complex); the call's own type is that, but float for `abs` and `arg` of complex.
   */
  | { readonly kind: 'math'; readonly name: MathName; readonly operand: Type }
  | { readonly kind: 'print'; readonly newline: boolean }
  /** `init_array_1D_int(file, count)` and its like: an array read from a text file. */
  | { readonly kind: 'load'; readonly element: 'int' | 'float' }
  /** A native function that this library does not have; refused when it is reached, so never in a program without errors. */
  | { readonly kind: 'native'; readonly declaration: NativeDeclaration['functions'][number] };

/** What a creator makes. `element`: the type of the built-in's items. */
export type Target =
  | { readonly kind: 'stream'; readonly declaration: StreamDeclaration }
  | { readonly kind: 'identity'; readonly element: Type }
  | { readonly kind: 'reader' | 'writer'; readonly element: Type };

/** Types of a stream's ends; `unknown` where an anonymous composite leaves them to be inferred from its children. */
export interface Ends {
  readonly input: Type;
  readonly output: Type;
}

/**
 * A checked program. The functions answer for nodes of streams that were reached and throw an INTERNAL error for others.
 * All types are those of the node itself: where the context wants a wider one (bit < int < float < double; bit, int, float < complex), the
 * conversion is implied and elaboration writes it out. Conversions between numbers that narrow, and those between boolean and numbers, are
 * implied too, with a warning. A condition may be any number, which is compared with 0. Elements of a literal array convert one by one.
 */
export interface Checked {
  readonly program: Program;
  /** The stream that nobody adds: void->void where there is one; undefined if the program is a library of several streams. */
  readonly entry: StreamDeclaration | undefined;
  /** Streams that can be reached from the entry (from all, without one), anonymous ones among them. */
  readonly reached: ReadonlySet<StreamDeclaration>;
  /** Sections of constants that reached code uses, in the order in which they were found to be used. */
  readonly statics: readonly StaticDeclaration[];
  /** Library functions written in the language itself. */
  readonly prelude: Program;
  typeOf(expression: Expression): Type;
  typeOfNode(node: TypeNode): Type;
  symbolOf(name: Extract<Expression, { kind: 'name' }>): NameSymbol;
  /** The symbol that a declaration or parameter makes: names mean the same exactly if their symbols are one object. */
  symbolOfDeclaration(declaration: Declarator | Parameter): NameSymbol;
  calleeOf(call: Extract<Expression, { kind: 'call' }>): Callee;
  targetOf(creator: Creator): Target;
  endsOf(stream: StreamDeclaration): Ends;
  /** The portal (a local or parameter of a composite, a parameter of a filter) and the handler in the portal's filter. */
  messageOf(message: Extract<Statement, { kind: 'message' }>): { readonly portal: NameSymbol; readonly handler: FunctionDeclaration };
  /** Portals named after `to`. */
  portalsOf(creator: Creator): readonly NameSymbol[];
  /** Whether a function with a result can end without one; it gives zero then. */
  fallsOff(declaration: FunctionDeclaration): boolean;
}
