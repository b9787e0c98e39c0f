// Walks over statements and expressions of the intermediate representation.
import type { FilterCode, IrExpression, IrStatement } from '../ir.ts';

/** All code that a filter can execute: work, prework, functions and handlers. */
export function bodiesOf({ work, prework, functions, handlers }: FilterCode): IrStatement[] {
  return [work, ...(prework === undefined ? [] : [prework]), ...functions, ...handlers].map(({ body }) => body);
}

/** The direct parts of a statement. */
function partsOf(s: IrStatement): readonly IrStatement[] {
  switch (s.kind) {
    case 'block': return s.statements;
    case 'if': return s.otherwise === undefined ? [s.then] : [s.then, s.otherwise];
    case 'loop': return [...s.initial, s.body, ...s.step];
    default: return [];
  }
}

/** Calls `visit` for the statement and all nested ones. */
export function eachStatement(s: IrStatement, visit: (s: IrStatement) => void): void {
  visit(s);
  for (const part of partsOf(s)) eachStatement(part, visit);
}

/** Whether `isSuch` holds for the statement or a nested one. */
export function someStatement(s: IrStatement, isSuch: (s: IrStatement) => boolean): boolean {
  return isSuch(s) || partsOf(s).some((part) => someStatement(part, isSuch));
}

/** Whether `isSuch` holds for the expression or a part of it. */
export function someExpression(e: IrExpression, isSuch: (e: IrExpression) => boolean): boolean {
  return isSuch(e) || operands(e).some((part) => someExpression(part, isSuch));
}

/** Whether `isSuch` holds for some expression in the statement or in a nested one. */
export function evaluatesSome(s: IrStatement, isSuch: (e: IrExpression) => boolean): boolean {
  return someStatement(s, (part) => expressionsOf(part).some((e) => someExpression(e, isSuch)));
}

/** Whether the statement contains a `return`. */
export function returns(s: IrStatement): boolean {
  return someStatement(s, ({ kind }) => kind === 'return');
}

/** Whether code prints, sends messages or draws random numbers, so that the order of firings matters. */
export function hasOrder(s: IrStatement): boolean {
  return someStatement(s, ({ kind }) => kind === 'print' || kind === 'message')
    || evaluatesSome(s, (e) => e.kind === 'math' && e.name === 'random');
}

/** Calls `visit` for the expression and all its parts. */
export function eachExpression(e: IrExpression, visit: (e: IrExpression) => void): void {
  visit(e);
  for (const part of operands(e)) eachExpression(part, visit);
}

/** Direct parts of an expression. */
export function operands(e: IrExpression): readonly IrExpression[] {
  switch (e.kind) {
    case 'element': return [e.array, e.index];
    case 'field': return [e.object];
    case 'part': return [e.vector];
    case 'compose': return e.parts;
    case 'call': case 'math': return e.args;
    case 'peek': return [e.index];
    case 'unary': case 'convert': return [e.operand];
    case 'binary': return [e.left, e.right];
    case 'conditional': return [e.condition, e.then, e.otherwise];
    default: return [];
  }
}

/** Expressions of a statement itself, not of nested statements. */
export function expressionsOf(s: IrStatement): readonly IrExpression[] {
  switch (s.kind) {
    case 'declare': case 'return': return s.value === undefined ? [] : [s.value];
    case 'assign': return [s.target, s.value];
    case 'evaluate': case 'push': return [s.value];
    case 'if': return [s.condition];
    case 'loop': return s.condition === undefined ? [] : [s.condition];
    case 'print': return 'text' in s.value ? [] : [s.value];
    case 'message': return s.args;
    default: return [];
  }
}

const sizes = new WeakMap<IrStatement, number>();

/** The number of expressions and statements in an expression. */
export function expressionSize(e: IrExpression): number {
  let size = 1;
  for (const part of operands(e)) size += expressionSize(part);
  return size;
}

/** The number of expressions and statements in a statement: the cost of executing it once, with loops counted as one iteration. */
export function statementSize(s: IrStatement): number {
  let size = sizes.get(s);
  if (size !== undefined) return size;
  size = 1;
  for (const e of expressionsOf(s)) size += expressionSize(e);
  for (const part of partsOf(s)) size += statementSize(part);
  sizes.set(s, size);
  return size;
}
