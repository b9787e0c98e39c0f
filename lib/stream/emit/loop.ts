// Loops: unrolled where turns are few and known, else kept as loops. Several firings may run through one loop together.
import { eachExpression } from '../interpret/walk.ts';
import type { IrExpression, IrStatement, Variable } from '../ir.ts';
import { continues, leaves } from '../plan/analysis.ts';
import type { Context } from './context.ts';
import { conditionOf, scalar } from './expression.ts';
import { rangeOf } from './ranges.ts';

type Loop = Extract<IrStatement, { kind: 'loop' }>;
/** Contexts of the firings that are written together; one in most cases. */
type Together = readonly [Context, ...Context[]];

/** Turns of a loop whose end is found while code is made. */
const mostTurns = 4096;

/** Writes a statement of several firings, which share the course of their loops where it does not depend on data. */
export function together(all: Together, s: IrStatement): boolean {
  const [c, ...others] = all;
  if (others.length === 0) return c.options.writing.statement(c, s);
  if (s.kind === 'block') return s.statements.some((part) => together(all, part));
  if (s.kind === 'loop' && isShared(all, s)) {
    loop(all, s);
    return false;
  }
  return all.map((each) => each.options.writing.statement(each, s)).some(Boolean);
}

/** Whether a loop goes the same way in all firings: what it counts depends on nothing else. */
function isShared(all: Together, s: Loop): boolean {
  const { analysis } = all[0].options;
  if (s.condition === undefined || leaves(s.body)) return false;
  const own = new Set<Variable>();
  const isSame = (e: IrExpression | undefined): boolean => {
    let found = e !== undefined;
    if (e !== undefined) {
      eachExpression(e, (part) => {
        if (part.kind === 'variable') found &&= own.has(part.variable) || isCommon(all, part.variable);
        else if (!['constant', 'binary', 'unary', 'convert'].includes(part.kind)) found = false;
      });
    }
    return found;
  };
  for (const part of s.initial) {
    if (part.kind !== 'declare' || !isSame(part.value)) return false;
    own.add(part.variable);
  }
  const inside = analysis.assigned(s.body);
  return isSame(s.condition) && [...own].every((variable) => !inside.has(variable))
    && s.step.every((part) => part.kind === 'assign' && part.target.kind === 'variable' && own.has(part.target.variable)
      && isSame(part.value));
}

function isCommon([c, ...others]: Together, variable: Variable): boolean {
  const binding = c.bindings.get(variable);
  if (others.every((each) => each.bindings.get(variable) === binding)) return true;
  const x = knownOf(c, variable);
  return x !== undefined && others.every((each) => knownOf(each, variable) === x);
}

function knownOf(c: Context, variable: Variable): number | undefined {
  const binding = c.bindings.get(variable);
  return binding?.kind === 'slots' && binding.slots.length === 1 ? binding.slots[0]!.ex.known : undefined;
}

/** Writes a loop. */
export function loop(all: Together, s: Loop): void {
  const [c, ...others] = all;
  const entry = new Map<Variable, IrExpression>();
  for (const part of s.initial) {
    if (part.kind === 'declare' && part.value !== undefined) entry.set(part.variable, part.value);
    c.options.writing.statement(c, part);
    if (part.kind === 'declare') for (const each of others) each.bindings.set(part.variable, c.bindings.get(part.variable)!);
  }
  if (s.condition !== undefined && isShort(c, s)) unroll(all, s, s.condition);
  else if (!skip(all, s)) keep(all, s, entry);
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

function unroll(all: Together, s: Loop, condition: NonNullable<Loop['condition']>): void {
  const [c] = all;
  for (let turn = 0; turn <= mostTurns; ++turn) {
    const test = scalar(c, condition).known;
    if (test === undefined) throw new Error('the end of a loop is not known');
    if (test === 0) return;
    together(all, s.body);
    for (const part of s.step) c.options.writing.statement(c, part);
  }
  throw new Error('a loop has more turns than were found');
}

/** A loop that only throws items away takes no code. */
function skip(all: Together, s: Loop): boolean {
  const own = s.initial.map((part) => (part.kind === 'declare' ? part.variable : undefined));
  const isOwn = (part: IrStatement): boolean =>
    part.kind === 'assign' && part.target.kind === 'variable' && own.includes(part.target.variable);
  if (s.trips === undefined || own.includes(undefined) || !s.step.every(isOwn)) return false;
  const pops = discards(s.body);
  if (pops === undefined || all.some(({ options: { input } }) => input?.canSkip(pops * s.trips!) !== true)) return false;
  for (const { options: { input } } of all) input!.skip(pops * s.trips);
  return true;
}

/** Items that a statement throws away; undefined if it does anything else. */
function discards(s: IrStatement): number | undefined {
  if (s.kind === 'evaluate' && s.value.kind === 'pop') return 1;
  if (s.kind !== 'block') return undefined;
  const parts = s.statements.map(discards);
  return parts.includes(undefined) ? undefined : (parts as number[]).reduce((sum, part) => sum + part, 0);
}

/** What is known of a counter inside of its loop. */
interface Counter {
  readonly variable: Variable;
  readonly range: readonly [low: number, high: number];
  /** A variable that it is never less than. */
  readonly above: Variable | undefined;
}

/** Whether an expression depends on what is assigned. */
function changes(e: IrExpression, assigned: ReadonlySet<Variable>): boolean {
  let found = false;
  eachExpression(e, (part) => { found ||= (part.kind === 'variable' || part.kind === 'state') && assigned.has(part.variable); });
  return found;
}

/** Counter of a loop that certainly ends: its turns are known, or it moves towards a bound. */
function counterOf(c: Context, s: Loop, entry: ReadonlyMap<Variable, IrExpression>): Counter | undefined {
  const [step] = s.step;
  if (s.trips === 0 || s.step.length !== 1 || step!.kind !== 'assign' || step!.target.kind !== 'variable') return undefined;
  const { variable } = step!.target;
  const { value } = step!;
  const { analysis } = c.options;
  if (value.kind !== 'binary' || (value.operator !== '+' && value.operator !== '-')
    || analysis.assigned(s.body).has(variable)) return undefined;
  const changed = analysis.assigned(s);
  const fixed = (e: IrExpression) => (changes(e, changed) ? undefined : rangeOf(c, e));
  const by = value.left.kind === 'variable' && value.left.variable === variable ? fixed(value.right) : undefined;
  const begin = entry.get(variable);
  const known = knownOf(c, variable);
  const first = known !== undefined ? [known, known] as const : begin === undefined ? undefined : rangeOf(c, begin);
  if (by === undefined || by[0] !== by[1] || first === undefined) return undefined;
  const move = value.operator === '+' ? by[0] : -by[0];
  const above = move > 0 && begin?.kind === 'variable' && !changed.has(begin.variable) ? begin.variable : undefined;
  if (s.trips !== undefined && first[0] === first[1]) {
    const last = first[0] + (s.trips - 1) * move;
    return { variable, range: [Math.min(first[0], last), Math.max(first[0], last)], above };
  }
  const bound = s.condition?.kind === 'binary' && s.condition.left.kind === 'variable' && s.condition.left.variable === variable
    && !s.atLeastOnce ? fixed(s.condition.right) : undefined;
  if (bound === undefined || move <= 0 || s.condition?.kind !== 'binary' || bound[1] + move > 2147483647) return undefined;
  const high = s.condition.operator === '<' ? bound[1] - 1 : s.condition.operator === '<=' ? bound[1] : -Infinity;
  return high < first[0] ? undefined : { variable, range: [first[0], high], above };
}

/** Values of a counter from which on its loop's turns are counted, so that nobody waits for them for long. */
const shortRange = 4096;

function keep(all: Together, s: Loop, entry: ReadonlyMap<Variable, IrExpression>): void {
  const [c] = all;
  const { analysis } = c.options;
  const { w } = c;
  const counter = counterOf(c, s, entry);
  const inside: IrStatement = { kind: 'loop', initial: [], condition: s.condition, step: s.step, body: s.body,
    atLeastOnce: s.atLeastOnce, trips: s.trips };
  const turn: IrStatement = { kind: 'block', statements: [s.body, ...s.step] };
  const whole = [analysis.count(inside, 'pop'), analysis.count(inside, 'push')];
  const each = [analysis.count(turn, 'pop') ?? 0, analysis.count(turn, 'push') ?? 0] as const;
  const trips = s.trips ?? 0;
  const ends = all.flatMap((one) => {
    one.materialise(analysis.assigned(s));
    one.makeEndsDynamic(whole[0], whole[1]);
    const { input, output } = one.options;
    return [input, output].flatMap((end, i) => (end === undefined ? []
      : [{ end, each: each[i]!, mark: end.enterLoop(whole[i] === undefined ? 0 : each[i]!, trips) }]));
  });
  const isShort = s.trips !== undefined || (counter !== undefined && counter.range[1] - counter.range[0] < shortRange);
  const site = isShort ? undefined : c.site('steps', s.span);
  w.open('for (;;) {');
  for (const one of all) {
    ++one.level;
    if (counter !== undefined) one.ranges.set(counter.variable, counter.range);
    if (counter?.above !== undefined) one.above.set(counter.variable, counter.above);
  }
  if (site !== undefined) w.emit(c.dialect.tick(site));
  if (!s.atLeastOnce) leaveUnless(c, s);
  if (!body(all, s)) {
    for (const part of s.step) c.options.writing.statement(c, part);
    for (const { end, mark, each: items } of ends) end.nextTurn(mark, items);
    if (s.atLeastOnce) leaveUnless(c, s);
  }
  for (const one of all) {
    --one.level;
    if (counter === undefined) continue;
    one.ranges.delete(counter.variable);
    one.above.delete(counter.variable);
  }
  w.close();
  for (const { end, mark, each: items } of ends) end.endLoop(mark, items, trips);
}

function leaveUnless(c: Context, s: Loop): void {
  if (s.condition === undefined) return;
  const test = scalar(c, s.condition);
  if (test.known !== undefined && test.known !== 0) return;
  c.w.emit(`if (!${conditionOf(c, test)}) break;`);
}

/** The body; `continue` leaves a block around it. True: its end is not reached. */
function body(all: Together, s: Loop): boolean {
  const [c] = all;
  if (!continues(s.body)) return together(all, s.body);
  const outer = c.continueLabel;
  const label = c.continueLabel = c.w.name('L');
  c.w.open(c.dialect.openLabel(label));
  c.options.writing.statement(c, s.body);
  c.w.close(c.dialect.closeLabel(label));
  c.continueLabel = outer;
  return false;
}
