// Removes loop iterations that have no effect: loops start later, end earlier, or have a larger step.
import { elementAt, lastOf } from '../../core/known.ts';
import { assignedVariables } from '../elaborate/loops.ts';
import { constant } from '../elaborate/fold.ts';
import { isScalar, scalar } from '../interpret/values.ts';
import { evaluatesSome, someExpression } from '../interpret/walk.ts';
import type { FilterCode, IrExpression, IrStatement, Variable } from '../ir.ts';
import { leaves } from '../plan/analysis.ts';
import type { FiringTrace, Loop, LoopCourse } from './trace.ts';

/** The largest absolute value of a counter, so that no step overflows. */
const largest = 2 ** 30;

/** The remaining values of a counter. */
interface Turns { readonly first: number; readonly last: number; readonly step: number }

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

const pops = ({ kind }: IrExpression): boolean => kind === 'pop';

/** Whether the head of a loop pops items, which another head would leave on the channel. */
function headPops({ initial, condition, step }: Loop): boolean {
  return [...initial, ...step].some((s) => evaluatesSome(s, pops)) || (condition !== undefined && someExpression(condition, pops));
}

/** The counter of a loop, if the loop declares it and only the step changes it. */
function counterOf(s: Loop): Variable | undefined {
  const [begin] = s.initial;
  const [step] = s.step;
  if (s.initial.length !== 1 || s.step.length !== 1 || begin?.kind !== 'declare' || s.atLeastOnce || leaves(s.body) || headPops(s)) {
    return undefined;
  }
  const { variable } = begin;
  const target = step?.kind === 'assign' && step.target.kind === 'variable' ? step.target.variable : undefined;
  return isScalar(variable.type, 'int') && target === variable && !assignedVariables(s.body).has(variable) ? variable : undefined;
}

/** Which iterations have an effect in some execution of a loop; undefined if all have, or if the executions count differently. */
function turnsOf(trace: FiringTrace, courses: readonly LoopCourse[]): Turns | 'none' | undefined {
  const followed = courses.filter(({ outer }) => trace.isLive(outer));
  const [one] = followed;
  if (one === undefined) return undefined;
  const { counters } = one;
  const isEqual = (course: LoopCourse): boolean =>
    course.counters.length === counters.length && course.counters.every((x, i) => x !== undefined && x === counters[i]);
  if (!followed.every(isEqual)) return undefined;
  const live = counters.flatMap((_, i) => (followed.some(({ turns }) => trace.isLive(elementAt(turns, i))) ? [i] : []));
  if (live.length === 0) return counters.length === 0 ? undefined : 'none';
  const values = counters as readonly number[];
  const step = values.length < 2 ? 1 : elementAt(values, 1) - elementAt(values, 0);
  if (step === 0 || values.some((x, i) => x !== elementAt(values, 0) + i * step || Math.abs(x) > largest)) return undefined;
  const begin = elementAt(live, 0);
  const stride = live.reduce((common, i) => gcd(common, i - begin), 0) || 1;
  if (begin === 0 && stride === 1 && live.length === values.length) return undefined;
  return { first: elementAt(values, begin), last: elementAt(values, lastOf(live)), step: step * stride };
}

function withTurns(s: Loop, variable: Variable, { first, last, step }: Turns, body: IrStatement): IrStatement {
  const type = scalar('int');
  const { span } = s;
  const counter = { kind: 'variable', type, variable, span } as const;
  const int = (x: number) => constant('int', x, span);
  return {
    ...s, body, trips: (last - first) / step + 1,
    initial: [{ kind: 'declare', variable, value: int(first), span }],
    condition: {
      kind: 'binary', operator: step > 0 ? '<' : '>', left: counter, right: int(last + Math.sign(step)), type: scalar('boolean'), span,
    },
    step: [{
      kind: 'assign', target: counter, span, value: { kind: 'binary', operator: '+', left: counter, right: int(step), type, span },
    }],
  };
}

const made = new WeakMap<FiringTrace, FilterCode>();

/** The code without iterations that have no effect; the code itself if all have. */
export function withoutIdleTurns(code: FilterCode, trace: FiringTrace): FilterCode {
  let found = made.get(trace);
  if (found === undefined) made.set(trace, found = rewrite(code, trace));
  return found;
}

function rewrite(code: FilterCode, trace: FiringTrace): FilterCode {
  const rewritten = (s: IrStatement): IrStatement => {
    switch (s.kind) {
      case 'block': {
        const statements = s.statements.map(rewritten);
        return statements.every((part, i) => part === s.statements[i]) ? s : { ...s, statements };
      }
      case 'if': {
        const [then, otherwise] = [rewritten(s.then), s.otherwise === undefined ? undefined : rewritten(s.otherwise)];
        return then === s.then && otherwise === s.otherwise ? s : { ...s, then, otherwise };
      }
      case 'loop': return loop(s);
      default: return s;
    }
  };
  const loop = (s: Loop): IrStatement => {
    const courses = trace.loops.get(s);
    const counter = counterOf(s);
    const turns = courses === undefined || counter === undefined ? undefined : turnsOf(trace, courses);
    if (turns === 'none') return { kind: 'block', statements: [], ...(s.span === undefined ? {} : { span: s.span }) };
    const body = rewritten(s.body);
    if (turns !== undefined && counter !== undefined) return withTurns(s, counter, turns, body);
    return body === s.body ? s : { ...s, body };
  };
  const body = rewritten(code.work.body) as FilterCode['work']['body'];
  return body === code.work.body ? code : { ...code, work: { ...code.work, body } };
}
