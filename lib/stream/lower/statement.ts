// Lowers statements of stream programs. Statements whose course is known are evaluated; code is written for the others.
import { elementAt, required } from '../../core/known.ts';
import { call } from '../../kernel/ir.ts';
import { leaves } from '../plan/analysis.ts';
import type { IrExpression, IrPlace, IrStatement, Variable } from '../ir.ts';
import { conditionOf, toDouble } from './arithmetic.ts';
import type { Context } from './context.ts';
import { assignSlots, evaluate, parts, scalar } from './expression.ts';
import { giveBack, prepareReturn } from './frame.ts';
import { loop } from './loop.ts';
import { storeValue } from './memory.ts';
import { isInMemory, locate } from './place.ts';
import { rangeOf } from './ranges.ts';
import { settle } from './settle.ts';
import { known, placeOfBinding, slotsOf } from './value.ts';

/** Writes a statement. Returns true if the code after it is unreachable. */
export function statement(c: Context, s: IrStatement): boolean {
  switch (s.kind) {
    case 'block': return s.statements.some((part) => statement(c, part));
    case 'declare':
      declare(c, s.variable, s.value);
      return false;
    case 'assign': assign(c, s.target, s.value); return false;
    // Its effects, including faults, have already become statements.
    case 'evaluate': evaluate(c, s.value); return false;
    case 'push': required(c.options.output).push(evaluate(c, s.value)); return false;
    case 'if': return conditional(c, s);
    case 'loop': loop([c], s); return false;
    case 'break': case 'continue': {
      const label = s.kind === 'break' ? c.breakLabel : c.continueLabel;
      if (label === undefined) throw new Error(`a ${s.kind} outside of a loop`);
      c.w.emit({ kind: 'break', label });
      return true;
    }
    case 'return': return giveBack(c, s.value === undefined ? undefined : evaluate(c, s.value));
    case 'print': print(c, s); return false;
    case 'message': throw new Error('messages are refused before');
  }
}

function declare(c: Context, variable: Variable, value: IrExpression | undefined): void {
  const range = value === undefined ? undefined : rangeOf(c, value);
  c.declare(variable, value === undefined ? undefined : evaluate(c, value), value?.kind === 'pop' || value?.kind === 'peek');
  c.bound(variable, range);
}

function hasPlaceEffects(c: Context, e: IrExpression): boolean {
  return e.kind === 'element' && c.options.analysis.hasEffects(e);
}

function assign(c: Context, target: IrPlace, e: IrExpression): void {
  const isLate = hasPlaceEffects(c, target) || c.options.analysis.hasEffects(e);
  const found = locate(c, target);
  const fixed = isInMemory(found) && isLate ? c.w.stablePlace(found) : found;
  const range = rangeOf(c, e);
  const value = evaluate(c, e);
  if (target.kind === 'variable') c.bound(target.variable, range);
  const slots = isInMemory(fixed) ? undefined : slotsOf(fixed);
  if (slots !== undefined) assignSlots(c, slots, value, e.type);
  else storeValue(c.w, isInMemory(fixed) ? fixed : placeOfBinding(fixed), value, e.type);
}

function conditional(c: Context, s: Extract<IrStatement, { kind: 'if' }>): boolean {
  const test = scalar(c, s.condition);
  const x = known(test);
  if (x !== undefined) {
    const live = x !== 0 ? s.then : s.otherwise;
    return live === undefined ? false : statement(c, live);
  }
  const { analysis, input, output } = c.options;
  const { w } = c;
  const assigned = analysis.assigned(s);
  const moves = movesOf(c, s);
  // Code below may change what the condition reads, so the condition is saved first.
  const isKept = assigned.size > 0 || moves.isDynamic;
  const condition = conditionOf(isKept ? w.stable(test) : test);
  prepareReturn(c, s);
  settle(c, s);
  c.materialise(assigned);
  c.makeEndsDynamic(moves.pop, moves.push);
  const marks = [input?.enterBranches(moves.pop ?? 0), output?.enterBranches(moves.push ?? 0)] as const;
  const ends = [false, false];
  ++c.level;
  const then = w.inside(() => { ends[0] = statement(c, s.then); });
  c.forget(assigned);
  if (marks[0] !== undefined) required(input).nextBranch(marks[0]);
  if (marks[1] !== undefined) required(output).nextBranch(marks[1]);
  const otherwise = w.inside(() => { if (s.otherwise !== undefined) ends[1] = statement(c, s.otherwise); });
  --c.level;
  c.forget(assigned);
  w.emit({ kind: 'if', condition, then, otherwise });
  if (marks[0] !== undefined) required(input).endBranches(marks[0]);
  if (marks[1] !== undefined) required(output).endBranches(marks[1]);
  return elementAt(ends, 0) && elementAt(ends, 1);
}

function movesOf(c: Context, s: Extract<IrStatement, { kind: 'if' }>) {
  const { analysis } = c.options;
  const one = (verb: 'pop' | 'push'): number | undefined => {
    const [a, b] = [analysis.count(s.then, verb), s.otherwise === undefined ? 0 : analysis.count(s.otherwise, verb)];
    // A branch that leaves early may still move as many items as the rest of the firing would.
    const isEarly = (a !== 0 || b !== 0) && (leaves(s.then) || (s.otherwise !== undefined && leaves(s.otherwise)));
    return a === b && !isEarly ? a : undefined;
  };
  const [pop, push] = [one('pop'), one('push')];
  return { pop, push, isDynamic: pop === undefined || push === undefined };
}

function print(c: Context, s: Extract<IrStatement, { kind: 'print' }>): void {
  const { value, newline } = s;
  const isText = 'text' in value;
  const values = isText ? [] : parts(c, value);
  const lines = (isText ? value.text.split('\n').length - 1 : 0) + (newline ? 1 : 0);
  const print = isText ? { text: value.text, newline, lines }
    : { type: value.type, newline, lines, ...(s.isMark === true ? { isMark: s.isMark } : {}) };
  const site = c.options.site({ kind: 'print', node: c.options.node, span: s.span, limit: 0, print });
  for (const { e } of values) c.w.emit(call('put', [toDouble(e)]));
  c.w.emit(call('print', [{ kind: 'constant', type: 'i32', value: site }]));
}
