// Bodies of functions and firings, and the lowering of `return`.
import { required } from '../../core/known.ts';
import { returns } from '../interpret/walk.ts';
import type { IrStatement, IrType } from '../ir.ts';
import type { Block, Context, Frame } from './context.ts';
import { assignSlots } from './expression.ts';
import { zeros } from './memory.ts';
import { settle } from './settle.ts';
import type { Val } from './value.ts';

/** Writes the body of a function. If control returns from inside loops or branches, the body becomes a block that can be left. */
export function runBody(c: Context, body: Block, result: IrType | undefined): Val {
  const outer = c.frame;
  const frame: Frame = c.frame = { body, result, level: c.level, early: undefined, value: undefined };
  const made = c.w.inside(() => { c.statement(body); });
  c.frame = outer;
  if (frame.early === undefined) {
    c.w.append(made);
    return frame.value ?? (result === undefined ? [] : zeros(c.w, result));
  }
  c.w.append([{ kind: 'block', label: frame.early.label, body: made }]);
  return frame.early.result?.map(({ ex }) => ({ ...ex, stable: true })) ?? [];
}

const returning = new WeakMap<IrStatement, boolean>();

function mayReturn(s: IrStatement): boolean {
  let found = returning.get(s);
  if (found === undefined) returning.set(s, found = returns(s));
  return found;
}

/** Called before a branch or loop that may return: from there on, the rest of the function may or may not run. */
export function prepareReturn(c: Context, s: IrStatement): void {
  const { frame } = c;
  if (frame.early !== undefined || !mayReturn(s)) return;
  const { analysis } = c.options;
  frame.early = { label: c.w.label(), result: frame.result === undefined ? undefined : c.variables(frame.result) };
  settle(c, frame.body);
  c.materialise(analysis.assigned(frame.body));
  c.makeEndsDynamic(analysis.count(frame.body, 'pop'), analysis.count(frame.body, 'push'));
}

/** Lowers `return`. Always true: the code after it is unreachable. */
export function giveBack(c: Context, value: Val | undefined): boolean {
  const { frame } = c;
  if (frame.early === undefined) frame.value = value === undefined ? [] : c.w.stableValue(value);
  else {
    if (value !== undefined) assignSlots(c, required(frame.early.result), value, required(frame.result));
    c.w.emit({ kind: 'break', label: frame.early.label });
  }
  return true;
}
