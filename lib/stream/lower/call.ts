// Calls of functions of the program: their bodies put in place.
import { rootOf } from '../elaborate/loops.ts';
import { UnsupportedProgram } from '../emit/unsupported.ts';
import { eachStatement } from '../interpret/walk.ts';
import type { IrExpression, IrFunction, IrStatement, IrType, Variable } from '../ir.ts';
import type { Block, Context, Frame } from './context.ts';
import { assignSlots, evaluate, evaluateAll } from './expression.ts';
import { zeros } from './memory.ts';
import { settle } from './settle.ts';
import { block, locate } from './statement.ts';
import { held, isPlace, type Binding, type Val } from './value.ts';

/** Calls inside one another, beyond which recursion is taken not to end while code is made. */
const deepest = 40;

/** Puts the body of the called function here. */
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
    const { value, binding } = args[i]!;
    if (binding === undefined) c.declare(parameter, value);
    else c.bindings.set(parameter, binding);
  });
  const value = runBody(c, called.body, called.result.kind === 'void' ? undefined : called.result);
  --c.calls;
  restore();
  return value;
}

/** What puts the variables of a function back as they are now: it may be called while its own body is written. */
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

/** An argument: a value, or what an array of the caller is bound to. */
interface Argument {
  readonly value?: Val;
  readonly binding?: Binding;
}

/** Arguments from left to right: arrays with a name are passed by reference, all else as values. */
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

/** Writes the body of a function. Where control returns from inside of loops and branches, it becomes a block that can be left. */
export function runBody(c: Context, body: Block, result: IrType | undefined): Val {
  const outer = c.frame;
  const frame: Frame = c.frame = { body, result, level: c.level, early: undefined, value: undefined };
  const made = c.w.inside(() => { block(c, body); });
  c.frame = outer;
  if (frame.early === undefined) {
    c.w.append(made);
    return frame.value ?? (result === undefined ? [] : zeros(c.w, result));
  }
  c.w.append([{ kind: 'block', label: frame.early.label, body: made }]);
  return frame.early.result?.map(({ ex }) => ({ ...ex, stable: true })) ?? [];
}

const returning = new WeakMap<IrStatement, boolean>();

function returns(s: IrStatement): boolean {
  let found = returning.get(s);
  if (found === undefined) {
    found = false;
    eachStatement(s, (part) => { found ||= part.kind === 'return'; });
    returning.set(s, found);
  }
  return found;
}

/** Before a branch or loop from inside of which control may return: whatever the function does further on may or may not happen. */
export function prepareReturn(c: Context, s: IrStatement): void {
  const { frame } = c;
  if (frame.early !== undefined || !returns(s)) return;
  const { analysis } = c.options;
  frame.early = { label: c.w.label(), result: frame.result === undefined ? undefined : c.variables(frame.result) };
  settle(c, frame.body);
  c.materialise(analysis.assigned(frame.body));
  c.makeEndsDynamic(analysis.count(frame.body, 'pop'), analysis.count(frame.body, 'push'));
}

/** What `return` does. True: nothing behind it is reached. */
export function giveBack(c: Context, value: Val | undefined): boolean {
  const { frame } = c;
  if (frame.early === undefined) frame.value = value === undefined ? [] : c.w.stableValue(value);
  else {
    if (value !== undefined) assignSlots(c, frame.early.result!, value, frame.result!);
    c.w.emit({ kind: 'break', label: frame.early.label });
  }
  return true;
}
