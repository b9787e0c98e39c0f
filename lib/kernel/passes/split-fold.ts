// Cuts a loop that looks for the largest or smallest of many values into parts that run in parallel: each finds that of its iterations.
import {
  binary, compare, exact, get, i32, load, select, set, store, valueOf, type Body, type Buffer, type Expression, type KernelFunction,
  type Local, type Program, type ScalarType, type Statement, type StatementOf,
} from '../ir.ts';
import { buffersIn, labelsLeft, loadedIn, mapBodies, mapBody, Names, walkBody, walkExpression, writesIn } from '../visit.ts';
import { required } from '../../core/known.ts';
import { dropDead } from './dead.ts';
import { isSame } from './fold.ts';
import { mentionsIn, privateTo, sizeOf, tripsOf } from './unroll.ts';

type For = StatementOf<'for'>;

/** A function in two: what each part does of the loop, and what needs the result. */
export interface SplitFold {
  /** Takes the number of the part, and leaves what it found in `out`. */
  readonly part: KernelFunction;
  /** Does everything else. It finds the result in `out`. */
  readonly rest: KernelFunction;
  /** An array of one element, which the caller gives. */
  readonly out: Buffer;
  /** How what two parts found is joined, the earlier part's being `a`: `gt`: b > a ? b : a; `lt`: b < a ? b : a; or a function. */
  readonly join: 'gt' | 'lt' | 'max' | 'min';
}

/** A loop with its one result, and how values are joined to it. */
interface Fold {
  readonly loop: For;
  readonly result: Local;
  readonly join: SplitFold['join'];
}

/** The number of nodes of all iterations of a loop from which on it is worth being cut; inner loops count as so many iterations. */
const leastWork = 2000, innerTurns = 8;

/** How many parts a function may be cut into: iterations of its loop; 0 if there is no such loop. */
export function foldTrips(f: KernelFunction): number {
  const fold = foldIn(withSelections(f));
  return fold === undefined ? 0 : required(tripsOf(fold.loop));
}

/**
 * Cuts a function, whose parameters are left as they are, at the first loop that can be cut into `parts`. A part makes every `parts`-th
 * iteration, or a stretch of them where the order matters: of zeros with different signs, the first one counts.
 */
export function splitFold(program: Program, given: KernelFunction, parts: number): SplitFold | undefined {
  const f = withSelections(given), fold = foldIn(f);
  if (fold === undefined) return undefined;
  const { loop, result, join } = fold;
  const trips = required(tripsOf(loop)), from = required(valueOf(loop.from));
  const at = f.body.indexOf(loop);
  const names = Names.of(program, f);
  const number: Local = { name: names.make('part'), type: 'i32' };
  const out: Buffer = { name: `${f.name}_found`, element: result.type as ScalarType, role: 'external', length: 1 };
  const leave = store(out, i32(0), get(result));
  const begin: Local = { name: names.make('begin'), type: 'i32' };
  const each = Math.ceil(trips / parts);
  const inStretches = isOrdered(f.body.slice(0, at), fold);
  const stride = inStretches ? each * loop.step : loop.step;
  const own: For = inStretches
    ? { ...loop, from: get(begin), to: binary('min', exact('add', get(begin), i32(stride)), loop.to), most: each }
    : { ...loop, from: get(begin), step: loop.step * parts, most: each };
  const first = set(begin, exact('add', exact('mul', get(number), i32(stride)), i32(from)));
  const before = f.body.slice(0, at).flatMap((s) => withoutStores(s));
  const made = (g: KernelFunction): KernelFunction => required(dropDead({ ...program, functions: [g] }).functions[0]);
  return {
    part: made({ ...f, name: `${f.name}_part`, parameters: [number, ...f.parameters], body: [...before, first, own, leave] }),
    rest: made({ ...f, name: `${f.name}_rest`, body: [...f.body.slice(0, at), set(result, load(out, i32(0))), ...f.body.slice(at + 1)] }),
    out, join,
  };
}

/** The function with v ← condition ? x : v in place of conditions that guard nothing else. */
function withSelections(f: KernelFunction): KernelFunction {
  const mentions = mentionsIn(f.body);
  const inOne = (body: Body): Body => {
    const made: Statement[] = [];
    for (const s of body.map((each) => mapBodies(each, inOne))) {
      const [only] = s.kind === 'if' && s.then.length === 1 && s.otherwise.length === 0 ? s.then : [];
      if (s.kind !== 'if' || only?.kind !== 'set' || joinOf(only) !== undefined) {
        made.push(s);
        continue;
      }
      // What was computed as a number just before it, for this alone.
      const [before] = made.slice(-1), { condition } = s;
      const isKept = before?.kind === 'set' && condition.kind === 'compare' && condition.op === 'ne' && valueOf(condition.right) === 0
        && condition.left.kind === 'get' && condition.left.local === before.local && mentions.get(before.local) === 2
        && before.value.kind === 'convert' && before.value.operand.type === 'bool';
      const test = isKept && before.value.kind === 'convert' ? before.value.operand : condition;
      if (isKept) made.pop();
      made.push(set(only.local, select(test, only.value, get(only.local))));
    }
    return made;
  };
  return { ...f, body: inOne(f.body) };
}

function foldIn(f: KernelFunction): Fold | undefined {
  let isPlain = labelsLeft(f.body).size === 0;
  walkBody(f.body, { statement: (s) => { isPlain &&= ['set', 'store', 'if', 'for', 'copy', 'fill'].includes(s.kind); } });
  if (!isPlain) return undefined;
  const loaded = loadedIn(f.body);
  if ([...writesIn(f.body).buffers].some((buffer) => buffer.role !== 'local' && loaded.has(buffer))) return undefined;
  for (const s of f.body) {
    const isLong = s.kind === 'for' && valueOf(s.from) !== undefined && (tripsOf(s) ?? 0) > 1 && workIn(s) >= leastWork;
    const fold = isLong ? foldOf(f, s) : undefined;
    if (fold !== undefined) return fold;
  }
  return undefined;
}

function workIn(s: For): number {
  let work = sizeOf(s.body);
  for (const inner of s.body) if (inner.kind === 'for') work += innerTurns * sizeOf(inner.body);
  return work * (tripsOf(s) ?? 1);
}

/** What a loop looks for, if it does nothing else that lasts. */
function foldOf(f: KernelFunction, loop: For): Fold | undefined {
  if ([...buffersIn(loop.body)].some((buffer) => writesIn(loop.body).buffers.has(buffer))) return undefined;
  const found: { readonly s: Statement; readonly join: SplitFold['join']; readonly local: Local }[] = [];
  walkBody(loop.body, { statement: (s) => {
    const join = s.kind === 'set' ? joinOf(s) : undefined;
    if (s.kind === 'set' && join !== undefined) found.push({ s, join, local: s.local });
  } });
  const outside = f.body.filter((each) => each !== loop);
  if (mentionsIn(outside).has(loop.counter)) return undefined;
  for (const { s, join, local } of found) {
    // Nothing else in the loop reads or sets it, and all other locals are the iteration's own.
    const without = mapBody(loop.body, { statement: (each) => (each === s ? [] : each) });
    const withValue = mapBody(loop.body, { statement: (each) => (each === s ? valueRead(each) : each) });
    if (mentionsIn(without).has(local)) continue;
    if (privateTo(withValue, mentionsIn([...outside, ...withValue])) !== undefined) return { loop, result: local, join };
  }
  return undefined;
}

/** The value that a join joins, as a statement of its own, for finding what it reads. */
function valueRead(s: Statement): Body {
  const value = s.kind === 'set' ? joinedBy(s) : undefined;
  return value === undefined ? [] : [{ kind: 'if', condition: compare('eq', value, value), then: [], otherwise: [] }];
}

/** x of v ← x > v ? x : v and the like. */
function joinedBy({ local, value }: StatementOf<'set'>): Expression | undefined {
  const isOwn = (e: Expression): boolean => e.kind === 'get' && e.local === local;
  const reads = (e: Expression): boolean => {
    let found = false;
    walkExpression(e, (part) => { found ||= isOwn(part); });
    return found;
  };
  const only = (e: Expression): Expression | undefined => (reads(e) ? undefined : e);
  if (value.kind === 'binary' && (value.op === 'max' || value.op === 'min')) {
    return isOwn(value.left) ? only(value.right) : isOwn(value.right) ? only(value.left) : undefined;
  }
  if (value.kind !== 'select' || value.condition.kind !== 'compare' || !isOwn(value.otherwise)) return undefined;
  const { left, right, op } = value.condition;
  if (op !== 'gt' && op !== 'lt') return undefined;
  return (isOwn(right) && isSame(left, value.then)) || (isOwn(left) && isSame(right, value.then)) ? only(value.then) : undefined;
}

function joinOf(s: StatementOf<'set'>): SplitFold['join'] | undefined {
  const { value, local: { type } } = s;
  if ((type !== 'i32' && type !== 'f32' && type !== 'f64') || joinedBy(s) === undefined) return undefined;
  if (value.kind === 'binary') return value.op as 'max' | 'min';
  if (value.kind !== 'select' || value.condition.kind !== 'compare') return undefined;
  const { left, op } = value.condition;
  const isFirst = !(left.kind === 'get' && left.local === s.local);
  return (op === 'gt') === isFirst ? 'gt' : 'lt';
}

/**
 * Whether the order of values may be told from the result: only by zeros of different signs, where neither of them loses to what the loop
 * begins with.
 */
function isOrdered(before: Body, { result, join }: Fold): boolean {
  if (result.type === 'i32' || join === 'max' || join === 'min') return false;
  const sets: StatementOf<'set'>[] = [];
  walkBody(before, { statement: (s) => { if (s.kind === 'set' && s.local === result) sets.push(s); } });
  const [begin] = sets;
  if (begin === undefined || sets.length > 1 || !before.includes(begin)) return true;
  const first = valueOf(begin.value) ?? NaN;
  return !(join === 'gt' ? first >= 0 : first <= 0);
}

function withoutStores(s: Statement): Body {
  return mapBody([s], { statement: (each) => {
    const to = each.kind === 'store' || each.kind === 'fill' ? each.buffer : each.kind === 'copy' ? each.to : undefined;
    return to === undefined || to.role === 'local' ? each : [];
  } });
}
