// Scalar replacement: an element that a loop reads and writes in every iteration, such as a sum of products, is kept in a local during the
// loop.
import {
  get, load, set, store, type Body, type Buffer, type Expression, type ExpressionOf, type Local, type Program, type Statement,
  type StatementOf,
} from '../ir.ts';
import { assignedIn, eachExpressionOf, labelsLeft, mapBody, mapFunctions, Names, walkBody, walkExpression } from '../visit.ts';
import { isSame } from './fold.ts';
import { tripsOf } from './unroll.ts';

type For = StatementOf<'for'>;
type Store = StatementOf<'store'>;

function isElement({ buffer, index, offset }: Store, e: ExpressionOf<'load'>): boolean {
  return e.buffer === buffer && e.offset === offset && e.type === buffer.element && isSame(e.index, index);
}

function isPlace({ buffer, index, offset }: Store, s: Store): boolean {
  return s.value.type === buffer.element && s.offset === offset && isSame(s.index, index);
}

function loads(s: Statement, target: Store): boolean {
  let found = false as boolean;
  eachExpressionOf(s, (e) => { walkExpression(e, (part) => { found ||= part.kind === 'load' && isElement(target, part); }); });
  return found;
}

function mentions(s: Statement, buffer: Buffer): boolean {
  let found = false as boolean;
  walkBody([s], {
    statement: (each) => { found ||= (each.kind === 'store' && each.buffer === buffer); },
    expression: (e) => { found ||= e.kind === 'load' && e.buffer === buffer; },
  });
  return found;
}

/** Whether an index is loop-invariant. */
function isFixed(index: Expression, assigned: ReadonlySet<Local>): boolean {
  let found = true as boolean;
  walkExpression(index, (e) => { found &&= e.kind !== 'load' && !(e.kind === 'get' && assigned.has(e.local)); });
  return found;
}

/** Whether the loop accesses the buffer only at this element, and cannot be left where the element is out of date. */
function isAlone({ body, label }: For, target: Store): boolean {
  const { buffer } = target;
  let found = [...labelsLeft(body)].every((each) => each === label);
  walkBody(body, {
    statement: (s) => {
      if (s.kind === 'store') found &&= s.buffer !== buffer || isPlace(target, s);
      else if (s.kind === 'copy') found &&= s.to !== buffer && s.from !== buffer;
      else if (s.kind === 'fill') found &&= s.buffer !== buffer;
      else if (s.kind === 'call') found = false;
      // The contents of a local buffer do not matter after the function returns.
      else if (s.kind === 'return' || s.kind === 'trap' || s.kind === 'guard') found &&= buffer.role === 'local';
    },
    expression: (e) => { if (e.kind === 'load') found &&= e.buffer !== buffer || isElement(target, e); },
  });
  return found;
}

/** A store in the loop whose element can be kept: every iteration reads it first, and there is at least one iteration. */
function candidate(s: For): Store | undefined {
  if ((tripsOf(s) ?? 0) < 2) return undefined;
  const stores = s.body.filter((each) => each.kind === 'store');
  if (stores.length === 0) return undefined;
  const assigned = assignedIn(s.body).add(s.counter);
  return stores.find((each) => {
    const first = s.body.find((other) => mentions(other, each.buffer));
    return isFixed(each.index, assigned) && first !== undefined && loads(first, each) && isAlone(s, each);
  });
}

function kept(s: For, names: Names): Body {
  const target = candidate(s);
  if (target === undefined) return [s];
  const { buffer, index, offset } = target;
  const local: Local = { name: names.make('kept'), type: buffer.element };
  const body = mapBody(s.body, {
    expression: (e) => (e.kind === 'load' && e.buffer === buffer ? get(local) : e),
    statement: (each) => (each.kind === 'store' && each.buffer === buffer ? set(local, each.value) : each),
  });
  return [set(local, load(buffer, index, offset)), ...kept({ ...s, body }, names), store(buffer, index, get(local), offset)];
}

/** Keeps elements that loops of known length read and write in locals. */
export function keepElements(program: Program): Program {
  return mapFunctions(program, (f) => {
    const names = Names.of(program, f);
    const body = mapBody(f.body, { statement: (s) => {
      if (s.kind !== 'for') return s;
      const made = kept(s, names);
      return made.length === 1 ? s : made;
    } });
    return body === f.body ? f : { ...f, body };
  });
}
