// The bodies of functions and what `return` does in them.
import type { IrExpression } from '../ir.ts';
import type { Block, Context, Frame } from './context.ts';
import { assignSlots } from './expression.ts';
import { zeros } from './memory.ts';
import type { Val } from './value.ts';
import { Retry } from './writer.ts';

/**
 * Writes the body of a function. Where control returns from inside of loops and branches, the body becomes a block with a label (found out
 * by making the code once more).
 */
export function runBody(c: Context, body: Block, result: IrExpression['type'] | undefined): Val {
  const outer = c.frame;
  const isLabelled = c.options.lessons.labelled.has(body);
  if (!isLabelled) {
    const frame: Frame = c.frame = { body, label: undefined, result: undefined, level: c.level, value: undefined };
    c.options.writing.statement(c, body);
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
  c.options.writing.statement(c, body);
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
