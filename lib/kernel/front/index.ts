// Functions of the user's, as functions of the kernel representation.
import { get, type Expression, type KernelFunction, type Local, type Type } from '../ir.ts';
import { assignment } from './assignments.ts';
import { callFunction, neededBy } from './calls.ts';
import { evaluate } from './expressions.ts';
import { Lowering, type Rules } from './lowering.ts';
import type { FunctionSource, Node } from './source.ts';
import { runStatements } from './statements.ts';
import { computed, Scope, type Services, type Staged } from './values.ts';

export { FunctionSource } from './source.ts';
export { Lowering } from './lowering.ts';
export * from './values.ts';
export { callFunction } from './calls.ts';
export { Outliner } from './outline.ts';

/** How the compiler goes through a function. */
export const rules: Rules = { evaluate, run: runStatements, assign: assignment };

/** A function of numbers. */
export interface PointFunction {
  readonly f: KernelFunction;
  /** The shape of what it returns: each number stands for a result, in order. */
  readonly shape: Staged;
}

/** Options of {@link pointFunction}. */
export interface PointOptions {
  readonly precision: 'f32' | 'f64';
  /** Numbers among the arguments. */
  readonly count: number;
  /** What the function sees besides what it declares. Default: nothing. */
  readonly globals?: Scope;
  /** Other functions that it may call, and they each other, by name. */
  readonly functions?: ReadonlyMap<string, FunctionSource>;
}

/** The expressions of a value, in order. */
export function flatten(value: Staged, source: FunctionSource, lowering: Lowering): Expression[] {
  switch (value.kind) {
    case 'tuple': return value.items.flatMap((item) => flatten(item, source, lowering));
    case 'record': return [...value.fields.values()].flatMap((item) => flatten(item, source, lowering));
    default: return [lowering.expression(value, source.node)];
  }
}

/** A scope with functions of the user's, which may call each other, by name. */
export function scopeOf(functions: ReadonlyMap<string, FunctionSource>, globals: Scope = new Scope()): Scope {
  const scope = new Scope(globals);
  for (const [name, source] of functions) {
    const { node } = source;
    const apply = (args: readonly Staged[], at: Node, to: Services): Staged => {
      const count = node.params.length;
      const needed = neededBy(node);
      if (args.length < needed || args.length > count) {
        throw to.error(at, `${name} takes ${args.length < needed ? needed : count} arguments, not ${args.length}`, 'give all of them');
      }
      const lowering = to as Lowering;
      return lowering.within(source, () => callFunction({ node, scope, name }, args, node, lowering));
    };
    scope.declare(name, { value: { kind: 'builtin', name, apply }, isVariable: false, owner: scope });
  }
  return scope;
}

/**
 * Compiles a function of `count` numbers.
 * @throws FunctionError with line, column and a hint for what cannot be compiled
 */
export function pointFunction(
  name: string, source: FunctionSource, { precision, count, globals = new Scope(), functions = new Map() }: PointOptions,
): PointFunction {
  const lowering = new Lowering(source, precision, rules, [...functions.values()]);
  const parameters: Local[] = Array.from({ length: count }, (_, i) => ({ name: `p${i}`, type: precision }));
  const closure = { node: source.node, scope: scopeOf(functions, globals), name: source.argument };
  const shape = callFunction(closure, parameters.map((each) => computed(get(each))), source.node, lowering);
  const values = flatten(shape, source, lowering);
  return { shape, f: {
    name, parameters, results: values.map(({ type }): Type => type), buffers: [], body: [...lowering.body, { kind: 'return', values }],
  } };
}
