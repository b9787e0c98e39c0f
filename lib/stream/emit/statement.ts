// Statements of the intermediate representation: those whose course is known are worked out, the others written.
import type { IrExpression, IrPlace, IrStatement } from '../ir.ts';
import { rootOf } from '../elaborate/loops.ts';
import { leaves } from '../plan/analysis.ts';
import { giveBack } from './frame.ts';
import { type Block, type Context } from './context.ts';
import { assignSlots, conditionOf, evaluate, fieldPlace, index, movedPlace, parts, scalar } from './expression.ts';
import { loop } from './loop.ts';
import { storeValue } from './memory.ts';
import { isPlace, sizeOfType, type Place, type Slot } from './value.ts';
import { fieldOf } from '../plan/layout.ts';
import { Retry } from './writer.ts';

/** Writes a block. True: what stands behind it is not reached. */
export function block(c: Context, s: Block): boolean {
  return s.statements.some((part) => statement(c, part));
}

/** Writes a statement. True: what stands behind it is not reached. */
export function statement(c: Context, s: IrStatement): boolean {
  switch (s.kind) {
    case 'block': return block(c, s);
    case 'declare':
      c.ranges.delete(s.variable);
      c.declare(s.variable, s.value === undefined ? undefined : evaluate(c, s.value));
      return false;
    case 'assign': assign(c, s.target, s.value); return false;
    case 'evaluate': discard(c, s.value); return false;
    case 'push': c.options.output!.push(evaluate(c, s.value)); return false;
    case 'if': return branch(c, s);
    case 'loop': loop([c], s); return false;
    case 'break': c.w.emit('break;'); return true;
    case 'continue':
      if (c.continueLabel === undefined) throw new Error('a continue outside of a loop');
      c.w.emit(c.dialect.leave(c.continueLabel));
      return true;
    case 'return': return giveBack(c, s.value === undefined ? undefined : evaluate(c, s.value), s.value?.type);
    case 'print': print(c, s); return false;
    case 'message': throw new Error('messages are refused before');
  }
}

/** Evaluates for what it does, faults among it. */
function discard(c: Context, e: IrExpression): void {
  const value = evaluate(c, e);
  if (isPlace(value)) return;
  for (const part of value) if (!part.stable && e.kind !== 'pop') c.w.stable(part);
}

/** A place as slots, or as memory. */
type Target = { slots: Slot[]; place?: undefined } | { place: Place; slots?: undefined };

export function locate(c: Context, target: IrExpression): Target {
  switch (target.kind) {
    case 'variable': case 'state': {
      const binding = c.binding(target.variable);
      return binding.kind === 'slots' ? { slots: binding.slots } : { place: binding.place };
    }
    case 'element': {
      const outer = locate(c, target.array);
      const at = index(c, target);
      if (outer.place !== undefined) return { place: movedPlace(c, outer.place, at, target.type) };
      const size = sizeOfType(target.type);
      if (at.known === undefined || (at.known + 1) * size > outer.slots.length) throw new Retry('memory', c.owner(rootOf(target)!));
      return { slots: outer.slots.slice(at.known * size, (at.known + 1) * size) };
    }
    case 'field': {
      const outer = locate(c, target.object);
      if (outer.place !== undefined) return { place: fieldPlace(c, outer.place, target.object.type, target.field).place };
      const { at } = fieldOf(target.object.type, target.field);
      return { slots: outer.slots.slice(at, at + sizeOfType(target.type)) };
    }
    case 'part': {
      const outer = locate(c, target.vector);
      if (outer.slots !== undefined) return { slots: [outer.slots[target.part]!] };
      return { place: { ...outer.place, at: { ...outer.place.at, f: c.w.plus(outer.place.at.f, target.part) } } };
    }
    default: throw new Error('this is no place');
  }
}

function hasPlaceEffects(c: Context, e: IrPlace): boolean {
  return e.kind === 'element' && c.options.analysis.hasEffects(e);
}

function assign(c: Context, target: IrPlace, e: IrExpression): void {
  const isLate = hasPlaceEffects(c, target) || c.options.analysis.hasEffects(e);
  const place = locate(c, target);
  const fixed: Target = place.place !== undefined && isLate ? { place: c.w.stablePlace(place.place) } : place;
  const value = evaluate(c, e);
  if (target.kind === 'variable') c.ranges.delete(target.variable);
  if (fixed.slots !== undefined) assignSlots(c, fixed.slots, value, e.type);
  else storeValue(c.w, fixed.place, value, e.type);
}

function branch(c: Context, s: Extract<IrStatement, { kind: 'if' }>): boolean {
  const test = scalar(c, s.condition);
  if (test.known !== undefined) {
    const live = test.known !== 0 ? s.then : s.otherwise;
    return live === undefined ? false : statement(c, live);
  }
  const { analysis, input, output } = c.options;
  const { w } = c;
  const condition = { ...test, text: conditionOf(c, test) };
  const assigned = analysis.assigned(s);
  const moves = movesOf(c, s);
  // What the condition reads may change under new names; so it is kept first.
  const isPlain = assigned.size === 0 && !moves.isDynamic;
  const kept = isPlain ? condition.text : c.dialect.compare('!=',
    w.stable({ text: c.dialect.fromCondition(condition.text), kind: 'i', stable: false }).text, '0');
  c.materialise(assigned);
  c.makeEndsDynamic(moves.pop, moves.push);
  const marks = [input?.enterBranches(moves.pop ?? 0, false), output?.enterBranches(moves.push ?? 0, true)] as const;
  w.open(`if (${kept}) {`);
  ++c.level;
  const ends = [statement(c, s.then), false];
  if (s.otherwise !== undefined) {
    w.close('} else {');
    ++w.depth;
    if (marks[0] !== undefined) input!.nextBranch(marks[0]);
    if (marks[1] !== undefined) output!.nextBranch(marks[1]);
    ends[1] = statement(c, s.otherwise);
  }
  --c.level;
  w.close();
  if (marks[0] !== undefined) input!.endBranches(marks[0]);
  if (marks[1] !== undefined) output!.endBranches(marks[1]);
  return ends[0]! && ends[1]!;
}

function movesOf(c: Context, s: Extract<IrStatement, { kind: 'if' }>) {
  const { analysis } = c.options;
  const one = (verb: 'pop' | 'push') => {
    const [a, b] = [analysis.count(s.then, verb), s.otherwise === undefined ? 0 : analysis.count(s.otherwise, verb)];
    // A branch that leaves early may still move as many items as the rest of the firing would.
    const isEarly = (a !== 0 || b !== 0) && (leaves(s.then) || (s.otherwise !== undefined && leaves(s.otherwise)));
    return a === b && !isEarly ? a : undefined;
  };
  const [pop, push] = [one('pop'), one('push')];
  return { pop, push, isDynamic: pop === undefined || push === undefined };
}

function print(c: Context, s: Extract<IrStatement, { kind: 'print' }>): void {
  const isText = 'text' in s.value;
  const values = isText ? [] : parts(c, s.value as IrExpression);
  const { newline } = s;
  const lines = (isText ? (s.value as { text: string }).text.split('\n').length - 1 : 0) + (newline ? 1 : 0);
  const print = isText ? { text: (s.value as { text: string }).text, newline, lines }
    : { type: (s.value as IrExpression).type, newline, lines, ...(s.isMark === true ? { isMark: s.isMark } : {}) };
  const site = c.options.site({ kind: 'print', node: c.options.node, span: s.span, limit: 0, print });
  c.w.emit(c.dialect.print(site, values.map(({ text }) => text), lines));
}
