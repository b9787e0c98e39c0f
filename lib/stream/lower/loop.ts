// Lowers loops: unrolled if the trip count is small and known, otherwise kept. Several firings may share one loop.
import { elementAt, required } from '../../core/known.ts';
import { bool, branch, exact, get, i32, type Body, type Expression, type Local } from '../../kernel/ir.ts';
import { continues, leaves } from '../plan/analysis.ts';
import { eachExpression, eachStatement, someExpression } from '../interpret/walk.ts';
import type { IrExpression, IrStatement, Variable } from '../ir.ts';
import { conditionOf, opposite } from './arithmetic.ts';
import type { Context } from './context.ts';
import type { Turns } from './ends.ts';
import { scalar } from './expression.ts';
import { prepareReturn } from './frame.ts';
import { rangeOf, type Range } from './ranges.ts';
import { settle } from './settle.ts';
import { isStaged } from './staged.ts';
import { held, known } from './value.ts';

type Loop = Extract<IrStatement, { kind: 'loop' }>;
/** Contexts of the firings that are written together; usually just one. */
export type Together = readonly [Context, ...Context[]];

/** The maximum number of iterations of a loop whose end is found during lowering. */
const mostTurns = 4096;

/** Writes a statement of several firings. They share loops whose course does not depend on data. */
export function together(all: Together, s: IrStatement): boolean {
  const [c, ...others] = all;
  if (others.length === 0) return c.statement(s);
  if (s.kind === 'block') return s.statements.some((part) => together(all, part));
  if (s.kind === 'loop' && isShared(all, s)) {
    loop(all, s);
    return false;
  }
  return all.map((each) => each.statement(s)).some(Boolean);
}

/** Whether a loop takes the same course in all firings, because it depends on nothing but its counters. */
function isShared(all: Together, s: Loop): boolean {
  const { analysis } = all[0].options;
  if (s.condition === undefined || leaves(s.body)) return false;
  const own = new Set<Variable>();
  const isSame = (e: IrExpression | undefined): boolean => {
    const differs = (part: IrExpression): boolean => (part.kind === 'variable' ? !own.has(part.variable) && !isCommon(all, part.variable)
      : !['constant', 'binary', 'unary', 'convert'].includes(part.kind));
    return e !== undefined && !someExpression(e, differs);
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
  const slots = c.bindings.get(variable)?.storage.slots;
  return slots?.length === 1 ? known(elementAt(slots, 0).ex) : undefined;
}

/** Writes a loop. */
export function loop(all: Together, s: Loop): void {
  const [c, ...others] = all;
  const entry = new Map<Variable, IrExpression>();
  for (const part of s.initial) {
    if (part.kind === 'declare' && part.value !== undefined) entry.set(part.variable, part.value);
    c.statement(part);
    if (part.kind === 'declare') for (const each of others) each.bindings.set(part.variable, required(c.bindings.get(part.variable)));
  }
  if (skip(all, s)) return;
  if (s.condition !== undefined && isShort(c, s)) unroll(all, s, s.condition);
  else keep(all, s, entry);
}

/** Whether to unroll the loop: its condition is known at compile time, and the code stays small. */
function isShort(c: Context, s: Loop): boolean {
  const { loop: limit } = c.options.style;
  if (s.trips === undefined || limit === 0 || leaves(s.body)) return s.trips === 0 && !s.atLeastOnce;
  if (s.trips > mostTurns || (c.options.analysis.unrolled(s) > limit && !isStaged(c.options.analysis, s))) return false;
  const range = rangeOf(c, required(s.condition));
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
    const test = known(scalar(c, condition));
    if (test === undefined) throw new Error('the end of a loop is not known');
    if (test === 0) return;
    together(all, s.body);
    for (const one of all) for (const variable of declaredIn(s.body)) one.bindings.delete(variable);
    for (const part of s.step) c.statement(part);
  }
  throw new Error('a loop has more turns than were found');
}

const declared = new WeakMap<IrStatement, readonly Variable[]>();

/** The variables declared in one iteration. They must not leak into the next, where they are new variables. */
function declaredIn(s: IrStatement): readonly Variable[] {
  let found = declared.get(s);
  if (found === undefined) {
    const all: Variable[] = [];
    eachStatement(s, (part) => { if (part.kind === 'declare') all.push(part.variable); });
    declared.set(s, found = all);
  }
  return found;
}

/** Omits a loop that only discards items. */
function skip(all: Together, s: Loop): boolean {
  const own = s.initial.map((part) => (part.kind === 'declare' ? part.variable : undefined));
  const isOwn = (part: IrStatement): boolean =>
    part.kind === 'assign' && part.target.kind === 'variable' && own.includes(part.target.variable);
  if (s.trips === undefined || own.includes(undefined) || !s.step.every(isOwn)) return false;
  const pops = discards(s.body);
  if (pops === undefined || all.some(({ options: { input } }) => input?.canSkip(pops * required(s.trips)) !== true)) return false;
  for (const { options: { input } } of all) required(input).skip(pops * s.trips);
  return true;
}

/** How many items a statement discards; undefined if it does anything else. */
function discards(s: IrStatement): number | undefined {
  if (s.kind === 'evaluate' && s.value.kind === 'pop') return 1;
  if (s.kind !== 'block') return undefined;
  const parts = s.statements.map(discards);
  return parts.includes(undefined) ? undefined : (parts as number[]).reduce((sum, part) => sum + part, 0);
}

/** What is known of a counter inside its loop. */
interface Counter {
  readonly variable: Variable;
  readonly range: Range;
  /** The step per iteration, and the first value if it is known. */
  readonly move: number;
  readonly first: number | undefined;
  /** A variable that is a lower bound for it. */
  readonly above: Variable | undefined;
}

/** Whether an expression depends on an assigned variable. */
function changes(e: IrExpression, assigned: ReadonlySet<Variable>): boolean {
  return someExpression(e, (part) => (part.kind === 'variable' || part.kind === 'state') && assigned.has(part.variable));
}

/** The counter of a loop that certainly ends: its trip count is known, or it moves towards a bound. */
function counterOf(c: Context, s: Loop, entry: ReadonlyMap<Variable, IrExpression>): Counter | undefined {
  const [step] = s.step;
  if (s.trips === 0 || s.step.length !== 1 || step?.kind !== 'assign' || step.target.kind !== 'variable') return undefined;
  const { variable } = step.target;
  const { value } = required(step);
  const { analysis } = c.options;
  if (value.kind !== 'binary' || (value.operator !== '+' && value.operator !== '-') || analysis.assigned(s.body).has(variable)) {
    return undefined;
  }
  const changed = analysis.assigned(s);
  const fixed = (e: IrExpression): Range | undefined => (changes(e, changed) ? undefined : rangeOf(c, e));
  const by = value.left.kind === 'variable' && value.left.variable === variable ? fixed(value.right) : undefined;
  const begin = entry.get(variable);
  const x = knownOf(c, variable);
  const first = x !== undefined ? [x, x] as const : begin === undefined ? undefined : rangeOf(c, begin);
  if (by === undefined || by[0] !== by[1] || first === undefined) return undefined;
  const move = value.operator === '+' ? by[0] : -by[0];
  const above = move > 0 && begin?.kind === 'variable' && !changed.has(begin.variable) ? begin.variable : undefined;
  const counter = { variable, move, above, first: first[0] === first[1] ? first[0] : undefined };
  if (s.trips !== undefined && first[0] === first[1]) {
    const last = first[0] + (s.trips - 1) * move;
    return { ...counter, range: [Math.min(first[0], last), Math.max(first[0], last)] };
  }
  const bound = s.condition?.kind === 'binary' && s.condition.left.kind === 'variable' && s.condition.left.variable === variable
    && !s.atLeastOnce ? fixed(s.condition.right) : undefined;
  if (bound === undefined || move <= 0 || s.condition?.kind !== 'binary' || bound[1] + move > 2147483647) return undefined;
  const high = s.condition.operator === '<' ? bound[1] - 1 : s.condition.operator === '<=' ? bound[1] : -Infinity;
  if (high < first[0]) return undefined;
  // If both ends are known, so is the last value.
  const isKnown = first[0] === first[1] && bound[0] === bound[1];
  return { ...counter, range: [first[0], isKnown ? high - (high - first[0]) % move : high] };
}

/** Iterations of loops with a longer range of counter values count towards the limit, so that no run hangs. */
const shortRange = 4096;

/** A loop in the form of the kernel representation: a counter from one value to another. */
interface Counted {
  readonly counter: Counter;
  readonly local: Local;
  readonly from: Expression;
  readonly to: Expression;
}

const plainKinds: ReadonlySet<IrExpression['kind']> = new Set(['constant', 'variable', 'state', 'binary', 'unary', 'convert']);

/** Converts a loop to a counted one, if its counter is its own and moves up to a bound that does not change. */
function countedOf(c: Context, s: Loop, counter: Counter | undefined, own: ReadonlySet<Variable>): Counted | undefined {
  const { condition } = s;
  if (counter === undefined || counter.move <= 0 || condition?.kind !== 'binary' || s.atLeastOnce || !own.has(counter.variable)) {
    return undefined;
  }
  const isTo = condition.operator === '<' || condition.operator === '<=';
  if (!isTo || condition.left.kind !== 'variable' || condition.left.variable !== counter.variable) return undefined;
  const changed = c.options.analysis.assigned(s);
  let isPlain = !changes(condition.right, changed);
  eachExpression(condition.right, ({ kind }) => { isPlain &&= plainKinds.has(kind); });
  const bound = isPlain ? rangeOf(c, condition.right) : undefined;
  if (bound === undefined || bound[1] + counter.move >= 2147483647) return undefined;
  const slot = c.bindings.get(counter.variable)?.storage.slots?.[0];
  if (slot === undefined) return undefined;
  const to = c.w.stable(scalar(c, condition.right)).e;
  const end = condition.operator === '<' ? to : to.kind === 'constant' ? i32(to.value + 1) : exact('add', to, i32(1));
  return { counter, local: c.w.local('i32', 'i', counter.range), from: slot.ex.e, to: end };
}

const parts = new WeakMap<Loop, { readonly inside: IrStatement; readonly turn: IrStatement }>();

/** A loop without its initialisation, and one iteration of it. Always the same objects, because analyses are cached by object. */
function partsOf(s: Loop): { readonly inside: IrStatement; readonly turn: IrStatement } {
  let found = parts.get(s);
  if (found === undefined) {
    parts.set(s, found = { inside: { ...s, initial: [] }, turn: { kind: 'block', statements: [s.body, ...s.step] } });
  }
  return found;
}

/** Lowers a loop as a loop. */
function keep(all: Together, s: Loop, entry: ReadonlyMap<Variable, IrExpression>): void {
  const [c] = all;
  const { analysis } = c.options;
  const counter = counterOf(c, s, entry);
  const own = new Set(s.initial.flatMap((part) => (part.kind === 'declare' ? [part.variable] : [])));
  const { inside, turn } = partsOf(s);
  const whole = [analysis.count(inside, 'pop'), analysis.count(inside, 'push')];
  const each = [analysis.count(turn, 'pop') ?? 0, analysis.count(turn, 'push') ?? 0] as const;
  const trips = s.trips ?? 0;
  for (const one of all) {
    prepareReturn(one, s);
    settle(one, inside);
  }
  const counted = countedOf(c, s, counter, own);
  const turns: Turns | undefined = counted === undefined || counter?.first === undefined || counter.first < 0 || counter.move !== 1
    ? undefined : { counter: get(counted.local), first: counter.first };
  const ends = all.flatMap((one) => {
    one.materialise([...analysis.assigned(s)].filter((variable) => variable !== counted?.counter.variable));
    one.makeEndsDynamic(whole[0], whole[1]);
    const { input, output } = one.options;
    return [input, output].flatMap((end, i) => (end === undefined ? []
      : [{ end, each: elementAt(each, i), mark: end.enterLoop(whole[i] === undefined ? 0 : elementAt(each, i), trips, turns) }]));
  });
  if (counted !== undefined) {
    const binding = held(counted.counter.variable.type, { slots: [{ ex: { e: get(counted.local), stable: true }, local: undefined }] });
    for (const one of all) one.bindings.set(counted.counter.variable, binding);
  }
  for (const one of all) {
    ++one.level;
    if (counter !== undefined) one.ranges.set(counter.variable, counter.range);
    if (counter?.above !== undefined) one.above.set(counter.variable, counter.above);
  }
  writeLoop(all, s, counter, counted, () => { for (const { end, mark, each: items } of ends) end.nextTurn(mark, items); });
  for (const one of all) {
    --one.level;
    if (counter === undefined) continue;
    one.ranges.delete(counter.variable);
    one.above.delete(counter.variable);
  }
  for (const one of all) one.forget(analysis.assigned(s));
  for (const { end, mark, each: items } of ends) end.endLoop(mark, items, trips);
}

/** Writes the loop itself. `next`: what the ends of channels do after each iteration. */
function writeLoop(all: Together, s: Loop, counter: Counter | undefined, counted: Counted | undefined, next: () => void): void {
  const [c] = all;
  const { w } = c;
  const isShort = s.trips !== undefined || (counter !== undefined && counter.range[1] - counter.range[0] < shortRange);
  const tick = isShort ? undefined : c.site('steps', s.span);
  const label = w.label('n');
  const outer = c.breakLabel;
  c.breakLabel = label;
  if (counted !== undefined) {
    const { local, from, to } = counted;
    const made = w.inside(() => {
      if (tick !== undefined) c.options.tick(tick);
      if (!body(all, s)) next();
    });
    const most = s.trips === undefined ? {} : { most: s.trips };
    w.emit({ kind: 'for', label, counter: local, from, to, step: counted.counter.move, body: made, ...most });
  } else {
    let test: Expression = bool(true);
    const leave = (): void => {
      if (s.condition === undefined) return;
      const before = w.inside(() => { test = conditionOf(scalar(c, required(s.condition))); });
      w.append(before);
      if (test.kind === 'constant' && test.value !== 0) return;
      w.emit(branch(opposite(test), [{ kind: 'break', label }]));
    };
    const begin = w.inside(() => { if (!s.atLeastOnce) leave(); });
    const made = w.inside(() => {
      if (tick !== undefined) c.options.tick(tick);
      const isPlain = begin.length === 1 && tick === undefined;
      if (!isPlain) w.append(begin);
      if (body(all, s)) return;
      for (const part of s.step) c.statement(part);
      next();
      if (s.atLeastOnce) leave();
    });
    // A condition that needs no statements goes into the loop header.
    const isPlain = begin.length === 1 && tick === undefined;
    w.emit({ kind: 'while', label, condition: isPlain ? test : bool(true), body: made });
  }
  c.breakLabel = outer;
}

/** The body; `continue` leaves a block around it. Returns true if its end is unreachable. */
function body(all: Together, s: Loop): boolean {
  const [c] = all;
  if (!continues(s.body)) return together(all, s.body);
  const outer = c.continueLabel;
  const label = c.continueLabel = c.w.label();
  const made: Body = c.w.inside(() => { c.statement(s.body); });
  c.w.emit({ kind: 'block', label, body: made });
  c.continueLabel = outer;
  c.forget(c.options.analysis.assigned(s.body));
  return false;
}
