// Removes loop iterations that have no effect: loops start later, end earlier, or have a larger step.
import { constant } from '../elaborate/fold.ts';
import { scalar } from '../interpret/values.ts';
import type { FilterCode, IrStatement, Variable } from '../ir.ts';
import { counterOf, turnsOf, type Loop, type Turns } from './courses.ts';
import type { FiringTrace } from './trace.ts';

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
    const turns = courses === undefined ? undefined : turnsOf(s, courses, (turn) => trace.isLive(turn));
    if (turns === 'none') return { kind: 'block', statements: [], ...(s.span === undefined ? {} : { span: s.span }) };
    const body = rewritten(s.body);
    if (turns !== undefined && counter !== undefined) return withTurns(s, counter, turns, body);
    return body === s.body ? s : { ...s, body };
  };
  const body = rewritten(code.work.body) as FilterCode['work']['body'];
  return body === code.work.body ? code : { ...code, work: { ...code.work, body } };
}
