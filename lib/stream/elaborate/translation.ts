// The interface of the translator for its parts: statements, calls, and partially evaluated expressions.
import type { Expression, Span } from '../ast.ts';
import type { NameSymbol, Type } from '../front/checked.ts';
import type { IrBinary, IrExpression, IrFunction, IrStatement, IrType } from '../ir.ts';
import type { Namer } from './names.ts';
import type { Entity, Scope, Session } from './session.ts';

/** What the code being translated may do. */
export interface Ends {
  readonly input: IrType;
  readonly output: IrType;
}

/** What is known, what has been created, and the translator of expressions. */
export interface Translation {
  readonly session: Session;
  readonly namer: Namer;
  readonly ends: Ends | undefined;
  readonly functions: Map<string, IrFunction>;
  scope: Scope;
  /** Variables of the current body that are assigned after their declaration; the others may be constants. */
  assigned: ReadonlySet<NameSymbol>;
  /** Result type of the function being translated. */
  result: IrType;
  /** Statements to be executed before the current one. */
  before: IrStatement[];

  /** Translates an expression. */
  expression(e: Expression): IrExpression;
  condition(e: Expression): IrExpression;
  /** Translates an expression and converts it to a type. */
  as(e: Expression, type: IrType): IrExpression;
  converted(value: IrExpression, type: IrType, span: Span): IrExpression;
  /** Translates an expression that must be a constant int; otherwise throws a fault that names `what`. */
  constantInt(e: Expression, what: string): number;
  typeFor(type: Type, span: Span): IrType;
  find(e: Extract<Expression, { kind: 'name' }>): Entity;
  entity(entity: Entity, span: Span): IrExpression;
  /** The operator, with its operands converted to one type. */
  binary(operator: IrBinary, left: IrExpression, right: IrExpression, span: Span): IrExpression;
  /**
   * Translates expressions that are evaluated in order. If a later one needs preceding statements, the values of earlier ones are saved in
   * variables, by `keep`, at a position among those statements.
   */
  ordered(makes: readonly (() => IrExpression)[], keep?: (position: number, e: IrExpression) => IrExpression): IrExpression[];
  /** Saves the value in a variable that is set before the statements added after `position`. */
  storedAt(position: number, e: IrExpression, name: string): IrExpression;
}
