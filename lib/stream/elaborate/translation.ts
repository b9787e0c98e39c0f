// The translation of a piece of code as its parts see it: those for statements, calls, and what is evaluated in part only.
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

/** What is known, what has been made, and the translator of expressions. */
export interface Translation {
  readonly session: Session;
  readonly namer: Namer;
  readonly ends: Ends | undefined;
  readonly functions: Map<string, IrFunction>;
  scope: Scope;
  /** Variables of the present body that are assigned after their declaration; the others may be constants. */
  assigned: ReadonlySet<NameSymbol>;
  /** Result of the function being translated. */
  result: IrType;
  /** Statements to be executed before the present one. */
  before: IrStatement[];

  /** The expression as the program's types have it. */
  expression(e: Expression): IrExpression;
  condition(e: Expression): IrExpression;
  /** The expression converted to a type. */
  as(e: Expression, type: IrType): IrExpression;
  converted(value: IrExpression, type: IrType, span: Span): IrExpression;
  /** The expression if it is a constant int, else a fault that names `what`. */
  constantInt(e: Expression, what: string): number;
  typeFor(type: Type, span: Span): IrType;
  find(e: Extract<Expression, { kind: 'name' }>): Entity;
  entity(entity: Entity, span: Span): IrExpression;
  /** The operator, its operands brought to one type. */
  binary(operator: IrBinary, left: IrExpression, right: IrExpression, span: Span): IrExpression;
  /**
   * Makes expressions that are evaluated one after the other: where a later one needs statements of its own before it, the values of
   * earlier ones are kept, by `keep` at a position among those statements: in variables.
   */
  ordered(makes: readonly (() => IrExpression)[], keep?: (position: number, e: IrExpression) => IrExpression): IrExpression[];
  /** The value in a variable, set before the statements that were put first after `position`. */
  storedAt(position: number, e: IrExpression, name: string): IrExpression;
}
