// Computes trip counts of loops, and proves by interval analysis that indices are in bounds.
import { elementAt, lastOf, required } from '../../core/known.ts';
import { binaryOf } from '../interpret/operators.ts';
import { isScalar, known } from '../interpret/values.ts';
import type { IrExpression, IrStatement, Variable } from '../ir.ts';
import { eachExpression, eachStatement, expressionsOf, returns } from '../interpret/walk.ts';

type Loop = Extract<IrStatement, { kind: 'loop' }>;
type Range = readonly [low: number, high: number];
type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Iterations to try for counters that are multiplied or shifted: they reach a bound within 32, or never. */
const mostTurns = 64;

/** The variable or field at the root of an assignment target. */
export function rootOf(place: IrExpression): Variable | undefined {
  switch (place.kind) {
    case 'variable': case 'state': return place.variable;
    case 'element': return rootOf(place.array);
    case 'field': return rootOf(place.object);
    case 'part': return rootOf(place.vector);
    default: return undefined;
  }
}

/** Adds the arrays that a call may change. */
export function addChanged(e: IrExpression, to: Set<Variable>): void {
  if (e.kind !== 'call') return;
  for (const i of e.changes) {
    const root = rootOf(elementAt(e.args, i));
    if (root !== undefined) to.add(root);
  }
}

const assignedIn = new WeakMap<IrStatement, ReadonlySet<Variable>>();
/** Variables and fields that a statement assigns or declares, or passes to functions that change them. */
export function assignedVariables(s: IrStatement): ReadonlySet<Variable> {
  let found = assignedIn.get(s) as Set<Variable> | undefined;
  if (found === undefined) {
    const all = found = new Set<Variable>();
    eachStatement(s, (part) => {
      const variable = part.kind === 'assign' ? rootOf(part.target) : part.kind === 'declare' ? part.variable : undefined;
      if (variable !== undefined) all.add(variable);
      for (const e of expressionsOf(part)) eachExpression(e, (each) => addChanged(each, all));
    });
    assignedIn.set(s, found);
  }
  return found;
}

/** Whether the body can leave its loop early. */
function leaves(s: IrStatement): boolean {
  switch (s.kind) {
    case 'break': case 'return': return true;
    case 'block': return s.statements.some(leaves);
    case 'if': return leaves(s.then) || (s.otherwise !== undefined && leaves(s.otherwise));
    case 'loop': return returns(s.body);
    default: return false;
  }
}

/** The counter of a loop: `for (i = a; i < b; i += c)` and the like, with no other assignment to i. */
export interface Counter {
  readonly variable: Variable;
  readonly first: number;
  readonly last: number;
  readonly trips: number;
}

/** The counter of a loop, if it has one and nothing leaves the loop early. `valueOf`: what is known of expressions; default: constants. */
export function counterOf(loop: Loop, valueOf: (e: IrExpression) => number | undefined = known): Counter | undefined {
  const { condition, step, initial } = loop;
  if (condition?.kind !== 'binary' || step.length !== 1 || initial.length === 0) return undefined;
  const [change] = step;
  if (change?.kind !== 'assign' || change.target.kind !== 'variable') return undefined;
  const { variable } = change.target;
  const start = lastOf(initial);
  const begin = start.kind === 'declare' && start.variable === variable ? start.value
    : start.kind === 'assign' && start.target.kind === 'variable' && start.target.variable === variable ? start.value : undefined;
  const first = begin === undefined ? undefined : valueOf(begin);
  const next = change.value;
  if (first === undefined || !isScalar(variable.type, 'int') || next.kind !== 'binary' ||
    assignedVariables(loop.body).has(variable)) return undefined;
  const isCounter = (e: IrExpression) => e.kind === 'variable' && e.variable === variable;
  const by = isCounter(next.left) ? valueOf(next.right) : undefined;
  const bound = isCounter(condition.left) ? valueOf(condition.right) : undefined;
  if (by === undefined || bound === undefined || leaves(loop.body)) return undefined;
  return count(variable, first, { holds: required(binaryOf(condition.operator, 'int')), bound, advance: binaryOf(next.operator, 'int'), by,
    stride: next.operator === '+' ? by : next.operator === '-' ? -by : undefined }, loop.atLeastOnce);
}

type Rule = {
  holds: (a: number, b: number) => number; bound: number; advance: ((a: number, b: number) => number) | undefined; by: number;
  stride: number | undefined;
};

/** A counter with a constant step: the trip count by division, verified at the ends. */
function countStrides(variable: Variable, first: number, holds: Rule['holds'], bound: number, stride: number): Counter | undefined {
  if (holds(first, bound) === 0) return { variable, first, last: first, trips: 0 };
  if (stride === 0) return undefined;
  const near = Math.floor((bound - first) / stride);
  for (const trips of [near - 1, near, near + 1, near + 2]) {
    const last = first + (trips - 1) * stride;
    const next = last + stride;
    if (trips < 1 || next !== (next | 0)) continue;
    if (holds(last, bound) !== 0 && holds(next, bound) === 0) return { variable, first, last, trips };
  }
  return undefined;
}

function count(variable: Variable, first: number, { holds, bound, advance, by, stride }: Rule, atLeastOnce: boolean): Counter | undefined {
  if (advance === undefined || atLeastOnce) return undefined;
  if (stride !== undefined) return countStrides(variable, first, holds, bound, stride);
  let trips = 0;
  let last = first;
  try {
    for (let i = first; holds(i, bound) !== 0; i = advance(i, by)) {
      last = i;
      if (++trips > mostTurns) return undefined;
    }
  } catch {
    return undefined;
  }
  return { variable, first, last, trips };
}

const bitwise = (x: number): number => 2 ** Math.ceil(Math.log2(x + 1)) - 1;

/** The range of an int expression; undefined if nothing is known. */
function rangeOf(e: IrExpression, ranges: ReadonlyMap<Variable, Range>): Range | undefined {
  const x = known(e);
  if (x !== undefined) return [x, x];
  if (isScalar(e.type, 'bit') || isScalar(e.type, 'boolean')) return [0, 1];
  switch (e.kind) {
    case 'variable': return ranges.get(e.variable);
    case 'convert': return rangeOf(e.operand, ranges);
    case 'conditional': {
      const [a, b] = [rangeOf(e.then, ranges), rangeOf(e.otherwise, ranges)];
      return a === undefined || b === undefined ? undefined : [Math.min(a[0], b[0]), Math.max(a[1], b[1])];
    }
    case 'binary': return isScalar(e.type, 'int') ? rangeOfBinary(e, ranges) : undefined;
    default: return undefined;
  }
}

function rangeOfBinary(e: Extract<IrExpression, { kind: 'binary' }>, ranges: ReadonlyMap<Variable, Range>): Range | undefined {
  const b = rangeOf(e.right, ranges);
  const a = rangeOf(e.left, ranges);
  const fixed = b !== undefined && b[0] === b[1] ? b[0] : undefined;
  // A mask bounds any operand, and so does the remainder of a non-negative value.
  if (e.operator === '&' && fixed !== undefined && fixed >= 0) return [0, fixed];
  if (e.operator === '%' && fixed !== undefined && fixed > 0) return a !== undefined && a[0] >= 0 ? [0, Math.min(a[1], fixed - 1)]
    : [1 - fixed, fixed - 1];
  if (a === undefined || b === undefined) return undefined;
  const corners = (f: (x: number, y: number) => number): Range | undefined => {
    const all = [f(a[0], b[0]), f(a[0], b[1]), f(a[1], b[0]), f(a[1], b[1])];
    const range: Range = [Math.min(...all), Math.max(...all)];
    return range[0] < -2147483648 || range[1] > 2147483647 ? undefined : range;
  };
  switch (e.operator) {
    case '+': return corners((x, y) => x + y);
    case '-': return corners((x, y) => x - y);
    case '*': return corners((x, y) => x * y);
    case '/': return fixed === undefined || fixed === 0 ? undefined : corners((x, y) => Math.trunc(x / y));
    case '<<': return fixed === undefined || fixed < 0 || fixed > 31 ? undefined : corners((x, y) => x * 2 ** y);
    case '>>': return fixed === undefined || fixed < 0 || fixed > 31 ? undefined : corners((x, y) => Math.floor(x / 2 ** y));
    case '&': return a[0] >= 0 || b[0] >= 0 ? [0, Math.max(Math.min(a[0] >= 0 ? a[1] : Infinity, b[0] >= 0 ? b[1] : Infinity), 0)]
      : undefined;
    case '|': case '^': return a[0] >= 0 && b[0] >= 0 ? [0, bitwise(Math.max(a[1], b[1]))] : undefined;
    default: return undefined;
  }
}

/** Sets `trips` of loops and `safe` of elements throughout a body. */
export function proveLoops(body: IrStatement): void {
  proveStatement(body, new Map());
}

function proveExpression(e: IrExpression, ranges: Map<Variable, Range>): void {
  eachExpression(e, (part) => {
    if (part.kind !== 'element' || part.safe || part.array.type.kind !== 'array') return;
    const range = rangeOf(part.index, ranges);
    if (range !== undefined && range[0] >= 0 && range[1] < part.array.type.length) (part as Writable<typeof part>).safe = true;
  });
}

function proveStatement(s: IrStatement, ranges: Map<Variable, Range>): void {
  for (const e of expressionsOf(s)) proveExpression(e, ranges);
  if (s.kind === 'block') for (const part of s.statements) proveStatement(part, ranges);
  else if (s.kind === 'if') {
    proveStatement(s.then, ranges);
    if (s.otherwise !== undefined) proveStatement(s.otherwise, ranges);
  } else if (s.kind === 'loop') {
    for (const part of s.initial) proveStatement(part, ranges);
    const counter = counterOf(s);
    if (counter !== undefined) {
      (s as Writable<Loop>).trips = counter.trips;
      if (counter.trips > 0) ranges.set(counter.variable, [Math.min(counter.first, counter.last), Math.max(counter.first, counter.last)]);
    }
    proveStatement(s.body, ranges);
    // In the step and the condition, the counter is past its last value.
    if (counter !== undefined) ranges.delete(counter.variable);
    for (const part of s.step) proveStatement(part, ranges);
  }
}
