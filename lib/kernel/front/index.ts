// Functions of the user's, as functions of the kernel representation.
import { get, type Expression, type KernelFunction, type Local, type Type } from '../ir.ts';
import { callFunction } from './calls.ts';
import { evaluate } from './expressions.ts';
import { Lowering } from './lowering.ts';
import type { FunctionSource } from './source.ts';
import { runStatements } from './statements.ts';
import { computed, Scope, type Staged } from './values.ts';

export { FunctionSource } from './source.ts';
export { Lowering } from './lowering.ts';
export * from './values.ts';
export { callFunction } from './calls.ts';

/** A function of numbers. */
export interface PointFunction {
  readonly f: KernelFunction;
  /** The shape of what it returns: each number stands for a result, in order. */
  readonly shape: Staged;
}

/** The expressions of a value, in order. */
export function flatten(value: Staged, source: FunctionSource, lowering: Lowering): Expression[] {
  switch (value.kind) {
    case 'tuple': return value.items.flatMap((item) => flatten(item, source, lowering));
    case 'record': return [...value.fields.values()].flatMap((item) => flatten(item, source, lowering));
    default: return [lowering.expression(value, source.node)];
  }
}

/**
 * Compiles a function of `count` numbers.
 * @throws FunctionError with line, column and a hint for what cannot be compiled
 */
export function pointFunction(
  name: string, source: FunctionSource, { precision, count, globals = new Scope() }:
  { readonly precision: 'f32' | 'f64'; readonly count: number; readonly globals?: Scope },
): PointFunction {
  const lowering = new Lowering(source, precision, { evaluate, run: runStatements });
  const parameters: Local[] = Array.from({ length: count }, (_, i) => ({ name: `p${i}`, type: precision }));
  const closure = { node: source.node, scope: globals, name: source.argument };
  const shape = callFunction(closure, parameters.map((each) => computed(get(each))), source.node, lowering);
  const values = flatten(shape, source, lowering);
  return { shape, f: {
    name, parameters, results: values.map(({ type }): Type => type), buffers: [], body: [...lowering.body, { kind: 'return', values }],
  } };
}
