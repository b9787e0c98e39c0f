// Inlines calls of program functions.
import { elementAt } from '../../core/known.ts';
import { rootOf } from '../elaborate/loops.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { eachStatement } from '../interpret/walk.ts';
import type { IrExpression, IrFunction, Variable } from '../ir.ts';
import type { Context } from './context.ts';
import { evaluate, evaluateAll } from './expression.ts';
import { runBody } from './frame.ts';
import { locate } from './place.ts';
import { held, isPlace, type Binding, type Val } from './value.ts';

/** Deeper nesting of calls is taken for unbounded recursion. */
const deepest = 40;

/** Inlines the body of the called function here. */
export function callFunction(c: Context, e: Extract<IrExpression, { kind: 'call' }>): Val {
  const called = c.options.analysis.function(e.function);
  if (c.calls >= deepest) {
    throw new UnsupportedProgram(`${called.name} calls itself to a depth that depends on data, or deeper than ${deepest}`, e.span,
      'which takes calls 1000 deep, or as deep as the limit nesting says');
  }
  const args = callArguments(c, e);
  const restore = remember(c, called);
  ++c.calls;
  called.parameters.forEach((parameter, i) => {
    const { value, binding } = elementAt(args, i);
    if (binding === undefined) c.declare(parameter, value);
    else c.bindings.set(parameter, binding);
  });
  const value = runBody(c, called.body, called.result.kind === 'void' ? undefined : called.result);
  --c.calls;
  restore();
  return value;
}

/** Returns a function that restores the variables of a function: it may be called again while its own body is being written. */
function remember(c: Context, called: IrFunction): () => void {
  const outer = variablesOf(called).map((variable) => ({
    variable, binding: c.bindings.get(variable), range: c.ranges.get(variable), above: c.above.get(variable),
  }));
  return () => {
    for (const { variable, binding, range, above } of outer) {
      put(c.bindings, variable, binding);
      put(c.ranges, variable, range);
      put(c.above, variable, above);
    }
  };
}

function put<T>(map: Map<Variable, T>, variable: Variable, value: T | undefined): void {
  if (value === undefined) map.delete(variable);
  else map.set(variable, value);
}

const variables = new WeakMap<IrFunction, readonly Variable[]>();

/** Parameters and variables of a function. */
function variablesOf(called: IrFunction): readonly Variable[] {
  let found = variables.get(called);
  if (found === undefined) {
    const all = [...called.parameters];
    eachStatement(called.body, (s) => { if (s.kind === 'declare') all.push(s.variable); });
    variables.set(called, found = all);
  }
  return found;
}

/** An argument: a value, or the binding of an array of the caller. */
interface Argument {
  readonly value?: Val;
  readonly binding?: Binding;
}

/** Arguments from left to right: named arrays are passed by reference, everything else by value. */
function callArguments(c: Context, { args }: Extract<IrExpression, { kind: 'call' }>): Argument[] {
  const roots = args.map((arg) => (arg.type.kind === 'array' ? rootOf(arg) : undefined));
  const values = evaluateAll(c, args, (arg, i) => (roots[i] === undefined ? undefined : reference(c, arg, roots[i])));
  return values.map((made): Argument => ('storage' in made ? { binding: made } : { value: made }));
}

function reference(c: Context, arg: IrExpression, root: Variable): Binding | undefined {
  if (!c.bindings.has(root)) {
    const table = evaluate(c, arg);
    return isPlace(table) ? held(arg.type, { place: c.w.stablePlace(table) }) : undefined;
  }
  const found = locate(c, arg);
  return 'storage' in found ? found : held(arg.type, { place: c.w.stablePlace(found) });
}
