// Executions of loops in a followed firing, and which of their iterations remain if those without effect are left out.
import { elementAt, lastOf } from '../../core/known.ts';
import { assignedVariables } from '../elaborate/loops.ts';
import { isScalar } from '../interpret/values.ts';
import { evaluatesSome, someExpression } from '../interpret/walk.ts';
import type { IrExpression, IrStatement, Variable } from '../ir.ts';
import { leaves } from '../plan/analysis.ts';
import type { Turn } from './values.ts';

export type Loop = Extract<IrStatement, { kind: 'loop' }>;

/** One execution of a loop. */
export interface LoopCourse {
  readonly outer: Turn;
  readonly turns: Turn[];
  /** By iteration: the loop's own counter, if it has one and its value is known. */
  readonly counters: (number | undefined)[];
}

/** The largest absolute value of a counter, so that no step overflows. */
const largest = 2 ** 30;

/** The remaining values of a counter. */
export interface Turns { readonly first: number; readonly last: number; readonly step: number }

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

const pops = ({ kind }: IrExpression): boolean => kind === 'pop';

/** Whether the head of a loop pops items, which another head would leave on the channel. */
function headPops({ initial, condition, step }: Loop): boolean {
  return [...initial, ...step].some((s) => evaluatesSome(s, pops)) || (condition !== undefined && someExpression(condition, pops));
}

/** The counter of a loop, if the loop declares it and only the step changes it. */
export function counterOf(s: Loop): Variable | undefined {
  const [begin] = s.initial;
  const [step] = s.step;
  if (s.initial.length !== 1 || s.step.length !== 1 || begin?.kind !== 'declare' || s.atLeastOnce || leaves(s.body) || headPops(s)) {
    return undefined;
  }
  const { variable } = begin;
  const target = step?.kind === 'assign' && step.target.kind === 'variable' ? step.target.variable : undefined;
  return isScalar(variable.type, 'int') && target === variable && !assignedVariables(s.body).has(variable) ? variable : undefined;
}

/**
 * The iterations of a loop that remain: a range of its counter, with those that have an effect in some execution. Undefined if all do, or
 * if the loop cannot be limited to a range.
 */
export function turnsOf(s: Loop, courses: readonly LoopCourse[], isLive: (turn: Turn) => boolean): Turns | 'none' | undefined {
  if (counterOf(s) === undefined) return undefined;
  const followed = courses.filter(({ outer }) => isLive(outer));
  const [one] = followed;
  if (one === undefined) return undefined;
  const { counters } = one;
  const isEqual = (course: LoopCourse): boolean =>
    course.counters.length === counters.length && course.counters.every((x, i) => x !== undefined && x === counters[i]);
  if (!followed.every(isEqual)) return undefined;
  const live = counters.flatMap((_, i) => (followed.some(({ turns }) => isLive(elementAt(turns, i))) ? [i] : []));
  if (live.length === 0) return counters.length === 0 ? undefined : 'none';
  const values = counters as readonly number[];
  const step = values.length < 2 ? 1 : elementAt(values, 1) - elementAt(values, 0);
  if (step === 0 || values.some((x, i) => x !== elementAt(values, 0) + i * step || Math.abs(x) > largest)) return undefined;
  const begin = elementAt(live, 0);
  const stride = live.reduce((common, i) => gcd(common, i - begin), 0) || 1;
  if (begin === 0 && stride === 1 && live.length === values.length) return undefined;
  return { first: elementAt(values, begin), last: elementAt(values, lastOf(live)), step: step * stride };
}

/** Iterations that remain although nothing depends on them. */
export function keptTurns(s: Loop, courses: readonly LoopCourse[], isLive: (turn: Turn) => boolean): readonly Turn[] {
  const range = turnsOf(s, courses, isLive);
  if (range === 'none') return [];
  const isKept = (x: number | undefined): boolean => {
    if (range === undefined || x === undefined) return true;
    const number = (x - range.first) / range.step;
    return Number.isInteger(number) && number >= 0 && number <= (range.last - range.first) / range.step;
  };
  return courses.filter(({ outer }) => isLive(outer))
    .flatMap(({ turns, counters }) => turns.filter((turn, i) => !isLive(turn) && isKept(counters[i])));
}
