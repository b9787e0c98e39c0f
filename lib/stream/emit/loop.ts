// Loops: unrolled where turns are few and known, else kept as loops.
import type { IrStatement, Variable } from '../ir.ts';
import { continues, leaves } from './analysis.ts';
import type { Context } from './context.ts';
import { conditionOf, scalar } from './expression.ts';
import { rangeOf } from './ranges.ts';
import { statement } from './statement.ts';

type Loop = Extract<IrStatement, { kind: 'loop' }>;

/** Turns of a loop whose end is found while code is made. */
const mostTurns = 4096;

/** Writes a loop. */
export function loop(c: Context, s: Loop): void {
  for (const part of s.initial) statement(c, part);
  if (s.condition !== undefined && isShort(c, s)) unroll(c, s, s.condition);
  else keep(c, s);
}

/** Whether the loop is unrolled: its condition follows from what is known, and not too much code results. */
function isShort(c: Context, s: Loop): boolean {
  const { loop: limit } = c.options.style;
  if (s.trips === undefined || limit === 0 || leaves(s.body)) return s.trips === 0 && !s.atLeastOnce;
  if (s.trips > mostTurns || c.options.analysis.unrolled(s) > limit) return false;
  const range = rangeOf(c, s.condition!);
  return range !== undefined && (range[0] === range[1] || counterIsKnown(c, s));
}

function counterIsKnown(c: Context, s: Loop): boolean {
  const { condition } = s;
  if (condition?.kind !== 'binary' || condition.left.kind !== 'variable') return false;
  const range = rangeOf(c, condition.left);
  return range !== undefined && range[0] === range[1];
}

function unroll(c: Context, s: Loop, condition: NonNullable<Loop['condition']>): void {
  for (let turn = 0; turn <= mostTurns; ++turn) {
    const test = scalar(c, condition).known;
    if (test === undefined) throw new Error('the end of a loop is not known');
    if (test === 0) return;
    statement(c, s.body);
    for (const part of s.step) statement(c, part);
  }
  throw new Error('a loop has more turns than were found');
}

/** Counter of a loop with known turns, and its bounds inside of the body. */
function counterOf(c: Context, s: Loop): { variable: Variable; range: readonly [number, number] } | undefined {
  const [step] = s.step;
  if (s.trips === undefined || s.trips === 0 || s.step.length !== 1 || step!.kind !== 'assign'
    || step!.target.kind !== 'variable') return undefined;
  const { variable } = step!.target;
  const { value } = step!;
  if (value.kind !== 'binary' || (value.operator !== '+' && value.operator !== '-')
    || c.options.analysis.assigned(s.body).has(variable)) return undefined;
  const by = value.left.kind === 'variable' && value.left.variable === variable ? rangeOf(c, value.right) : undefined;
  const binding = c.bindings.get(variable);
  const first = binding?.kind === 'slots' ? binding.slots[0]!.ex.known : undefined;
  if (by === undefined || by[0] !== by[1] || first === undefined) return undefined;
  const last = first + (s.trips - 1) * (value.operator === '+' ? by[0] : -by[0]);
  return { variable, range: [Math.min(first, last), Math.max(first, last)] };
}

function keep(c: Context, s: Loop): void {
  const { analysis, input, output } = c.options;
  const { w } = c;
  const counter = counterOf(c, s);
  const inside: IrStatement = { kind: 'loop', initial: [], condition: s.condition, step: s.step, body: s.body,
    atLeastOnce: s.atLeastOnce, trips: s.trips };
  c.materialise(analysis.assigned(s));
  const turn: IrStatement = { kind: 'block', statements: [s.body, ...s.step] };
  const whole = [analysis.count(inside, 'pop'), analysis.count(inside, 'push')];
  c.makeEndsDynamic(whole[0], whole[1]);
  const each = [analysis.count(turn, 'pop') ?? 0, analysis.count(turn, 'push') ?? 0] as const;
  const trips = s.trips ?? 0;
  const marks = [input?.enterLoop(whole[0] === undefined ? 0 : each[0], trips),
    output?.enterLoop(whole[1] === undefined ? 0 : each[1], trips)] as const;
  const site = s.trips === undefined ? c.site('steps', s.span) : undefined;
  w.open(`${'for (;;)'} {`);
  ++c.level;
  if (site !== undefined) w.emit(c.dialect.tick(site));
  if (!s.atLeastOnce) leaveUnless(c, s);
  if (counter !== undefined) c.ranges.set(counter.variable, counter.range);
  const isDone = body(c, s);
  if (!isDone) {
    for (const part of s.step) statement(c, part);
    if (marks[0] !== undefined) input!.nextTurn(marks[0], each[0]);
    if (marks[1] !== undefined) output!.nextTurn(marks[1], each[1]);
    if (s.atLeastOnce) leaveUnless(c, s);
  }
  if (counter !== undefined) c.ranges.delete(counter.variable);
  --c.level;
  w.close();
  if (marks[0] !== undefined) input!.endLoop(marks[0], each[0], trips);
  if (marks[1] !== undefined) output!.endLoop(marks[1], each[1], trips);
}

function leaveUnless(c: Context, s: Loop): void {
  if (s.condition === undefined) return;
  const test = scalar(c, s.condition);
  if (test.known !== undefined && test.known !== 0) return;
  c.w.emit(`if (!${conditionOf(c, test)}) break;`);
}

/** The body; `continue` leaves a block around it. True: its end is not reached. */
function body(c: Context, s: Loop): boolean {
  if (!continues(s.body)) return statement(c, s.body);
  const outer = c.continueLabel;
  const label = c.continueLabel = c.w.name('L');
  c.w.open(c.dialect.openLabel(label));
  statement(c, s.body);
  c.w.close(c.dialect.closeLabel(label));
  c.continueLabel = outer;
  return false;
}
