// Loops that only bring a number into a range, as arithmetic: the function then runs straight through.
import { required } from '../../core/known.ts';
import {
  binary, compare, get, i32, load, select, set, store, type Expression, type KernelFunction, type Statement, type StatementOf,
} from '../../kernel/ir.ts';
import { dropDead } from '../../kernel/passes/dead.ts';
import { mapBody, walkBody } from '../../kernel/visit.ts';
import { Follower } from './follow.ts';
import { wrapIn, type Wrap } from './wrap.ts';

/** The function without loops whose result arithmetic gives at once. What they count as turns is no longer counted. */
export function straighten(f: KernelFunction): KernelFunction {
  const straight = new Map<Statement, Statement>();
  walkBody(f.body, { statement: (s) => {
    if (s.kind === 'while' && canDo(f, s)) straight.set(s, inOne(s));
  } });
  return straight.size === 0 ? f : { ...f, body: mapBody(f.body, { statement: (s) => straight.get(s) ?? s }) };
}

/** Whether a loop is one of these, and nothing else reads what its turns leave in locals. */
function canDo(f: KernelFunction, s: StatementOf<'while'>): boolean {
  if (canFail(s)) return false;
  const others = wrapIn(s, (most) => new Follower(most))?.others;
  if (others === undefined) return false;
  const marks = others.map((local): Statement => set(local, i32(0)));
  const marked = { ...f, body: mapBody(f.body, { statement: (each) => (each === s ? [inOne(s), ...marks] : each) }) };
  const left = required(dropDead({ buffers: [], imports: [], functions: [marked] }).functions[0]);
  const found = new Set<Statement>();
  walkBody(left.body, { statement: (each) => { found.add(each); } });
  return marks.every((mark) => !found.has(mark));
}

/** Whether a turn can fail but for there being too many. */
function canFail({ body }: StatementOf<'while'>): boolean {
  let found = false;
  walkBody(body, { statement: (s) => {
    // Turns are counted in doubles.
    const isCount = s.kind === 'guard' && s.condition.kind === 'compare' && s.condition.left.type === 'f64';
    found ||= s.kind === 'trap' || (s.kind === 'guard' && !isCount);
  } });
  return found;
}

function inOne(s: StatementOf<'while'>): Statement {
  const { cell, wrap } = required(wrapIn(s, (most) => new Follower(most)));
  if ('local' in cell) return set(cell.local, wrappedBy(get(cell.local), wrap));
  return store(cell.buffer, i32(cell.index), wrappedBy(load(cell.buffer, i32(cell.index)), wrap));
}

function wrappedBy(x: Expression, { low, high, step }: Wrap): Expression {
  const from = (base: number): Expression => binary('add', binary('band', binary('sub', x, i32(base)), i32(step - 1)), i32(base));
  if (high - low + 1 === step) return from(low);
  return select(compare('gt', x, i32(high)), from(high - step + 1), select(compare('lt', x, i32(low)), from(low), x));
}
