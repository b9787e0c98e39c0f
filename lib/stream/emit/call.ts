// Calls of functions of the program: their bodies put in place.
import type { IrExpression, Variable } from '../ir.ts';
import type { Block, Context, Frame } from './context.ts';
import { evaluateAll, assignSlots } from './expression.ts';
import { UnsupportedProgram } from './unsupported.ts';
import { block } from './statement.ts';
import { Retry } from './writer.ts';
import { zeros } from './memory.ts';
import type { Val } from './value.ts';

/** Calls inside one another, beyond which recursion is taken not to end while code is made. */
const deepest = 40;

/** Puts the body of the called function here. */
export function callFunction(c: Context, e: Extract<IrExpression, { kind: 'call' }>): Val {
  const called = c.options.analysis.function(e.function);
  if (c.calls >= deepest) throw new UnsupportedProgram(`${called.name} calls itself to a depth that depends on data`, e.span);
  const args = evaluateAll(c, e.args);
  const saved = new Map<Variable, ReturnType<Context['bindings']['get']>>();
  called.parameters.forEach((parameter) => saved.set(parameter, c.bindings.get(parameter)));
  ++c.calls;
  called.parameters.forEach((parameter, i) => c.declare(parameter, args[i]));
  const value = runBody(c, called.body, called.result.kind === 'void' ? undefined : called.result);
  --c.calls;
  for (const [parameter, binding] of saved) if (binding !== undefined) c.bindings.set(parameter, binding);
  return value;
}

/**
 * Writes the body of a function. Where control returns from inside of loops and branches, the body becomes a block with a label (found
 * out by
 * making the code once more).
 */
export function runBody(c: Context, body: Block, result: IrExpression['type'] | undefined): Val {
  const outer = c.frame;
  const isLabelled = c.options.lessons.labelled.has(body);
  if (!isLabelled) {
    const frame: Frame = c.frame = { body, label: undefined, result: undefined, level: c.level, value: undefined };
    block(c, body);
    c.frame = outer;
    return frame.value ?? (result === undefined ? [] : zeros(c.w, result));
  }
  const { analysis, input, output } = c.options;
  const slots = result === undefined ? undefined : c.variables(result);
  c.materialise(analysis.assigned(body));
  const [pops, pushes] = [analysis.count(body, 'pop'), analysis.count(body, 'push')];
  c.makeEndsDynamic(pops, pushes);
  const marks = [input?.enterBranches(pops ?? 0, false), output?.enterBranches(pushes ?? 0, true)];
  const label = c.w.name('L');
  c.frame = { body, label, result: slots, level: c.level, value: undefined };
  c.w.open(c.dialect.openLabel(label));
  ++c.level;
  block(c, body);
  --c.level;
  c.w.close(c.dialect.closeLabel(label));
  if (marks[0] !== undefined) input!.endBranches(marks[0]);
  if (marks[1] !== undefined) output!.endBranches(marks[1]);
  c.frame = outer;
  return slots?.map(({ ex }) => ({ ...ex, stable: true })) ?? [];
}

/** What `return` does. True: nothing behind it is reached. */
export function giveBack(c: Context, value: Val | undefined, type: IrExpression['type'] | undefined): boolean {
  const { frame } = c;
  if (frame.label !== undefined) {
    if (value !== undefined) assignSlots(c, frame.result!, value, type!);
    c.w.emit(c.dialect.leave(frame.label));
    return true;
  }
  if (c.level > frame.level) throw new Retry('label', frame.body);
  frame.value = value === undefined ? [] : c.w.stableValue(value);
  return true;
}
