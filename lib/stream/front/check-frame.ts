// What the checkers of calls and of operators need of that of expressions, which uses them.
import type { Expression } from '../ast.ts';
import type { Context, Place } from './check-context.ts';
import type { Type } from './checked.ts';
import type { Scope } from './scope.ts';

/** Where an expression stands. */
export interface Frame {
  readonly scope: Scope;
  readonly place: Place;
}

/** The checker of expressions. */
export interface Expressions {
  readonly context: Context;
  /** The type of an expression that must have a value. */
  value(node: Expression, frame: Frame): Type;
  /** An expression that stands where a value of a type is wanted. */
  convert(node: Expression, to: Type, frame: Frame): void;
  /** Reports an expression of one type that does not become one of another. */
  requireConversion(node: Expression, from: Type, to: Type): void;
  /** Notes what type an expression is wanted as. */
  meet(node: Expression, to: Type): void;
  condition(node: Expression, frame: Frame): void;
}
