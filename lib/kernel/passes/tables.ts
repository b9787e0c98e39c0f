// Values that depend only on a loop's counter but need loops of their own to compute, such as the indices of a bit reversal:
// computed beforehand and read from tables.
import {
  get, isVector, load, set, valueOf, type Body, type Buffer, type Expression, type KernelFunction, type Local, type Program,
  type ScalarType, type Statement, type StatementOf,
} from '../ir.ts';
import { Machine } from '../interpret.ts';
import { required } from '../../core/known.ts';
import { bodiesOf, eachExpressionOf, labelsLeft, mapBody, Names, walkBody, walkExpression } from '../visit.ts';
import { exposedIn, mentionsIn, tripsOf } from './unroll.ts';

type For = StatementOf<'for'>;

/** The maximum size of a table, and the maximum number of statements for computing it. */
const mostElements = 4096;
const mostStatements = 200_000;
/** The maximum number of tables per loop. */
const mostTables = 4;

/** Whether an expression has the same value in every run and on every target. */
function isFixed(e: Expression): boolean {
  let found = true as boolean;
  walkExpression(e, (part) => {
    if (part.kind === 'load') found &&= part.buffer.role === 'constant';
    found &&= !isVector(part.type);
  });
  return found;
}

/** Whether a statement only sets locals to such values. */
function isPure(s: Statement): boolean {
  if (!(s.kind === 'set' || s.kind === 'for' || s.kind === 'while' || s.kind === 'if' || s.kind === 'block' || s.kind === 'break'
    || s.kind === 'continue')) return false;
  let found = true as boolean;
  eachExpressionOf(s, (e) => { found &&= isFixed(e); });
  return found && bodiesOf(s).every((body) => body.every(isPure));
}

function hasLoop(s: Statement): boolean {
  let found = false as boolean;
  walkBody([s], { statement: (each) => { found ||= each.kind === 'for' || each.kind === 'while'; } });
  return found;
}

/** How many statements at the start of a loop's body compute values from the counter alone, using loops of their own. */
function headOf({ body, counter }: For): number {
  const end = body.findIndex((s) => !isPure(s));
  for (let count = end < 0 ? body.length : end; count > 0; --count) {
    const head = body.slice(0, count);
    if (!hasLoop(required(head.at(-1)))) continue;
    const defined = new Set<unknown>();
    walkBody(head, { statement: (s) => { if ('label' in s && s.kind !== 'break' && s.kind !== 'continue') defined.add(s.label); } });
    const isWhole = [...labelsLeft(head)].every((label) => defined.has(label));
    return isWhole && [...exposedIn(head)].every((local) => local === counter) ? count : 0;
  }
  return 0;
}

/** The values of locals after these statements, by value of the counter; undefined if that takes too long. */
function valuesOf(
  { counter, step, from, to }: For, head: Body, locals: readonly Local[],
): ReadonlyMap<number, readonly number[]> | undefined {
  const f: KernelFunction = {
    name: 'head', parameters: [counter], results: locals.map(({ type }) => type), buffers: [],
    body: [...head, { kind: 'return', values: locals.map(get) }],
  };
  const buffers = new Set<Buffer>();
  walkBody(head, { expression: (e) => { if (e.kind === 'load') buffers.add(e.buffer); } });
  const machine = new Machine({ buffers: [...buffers], imports: [], functions: [f] }, { limit: mostStatements });
  const found = new Map<number, readonly number[]>();
  try {
    const end = required(valueOf(to));
    for (let at = required(valueOf(from)); at < end; at += step) found.set(at, machine.call('head', [at]) as readonly number[]);
  } catch {
    // It takes too long or fails, so it stays where it is.
    return undefined;
  }
  return found;
}

function tabulated(s: For, mentions: ReadonlyMap<Local, number>, table: (element: ScalarType, values: Float64Array) => Buffer): For {
  const [first, end, trips] = [valueOf(s.from), valueOf(s.to), tripsOf(s) ?? 0];
  if (first === undefined || end === undefined || first < 0 || trips < 2 || end > mostElements) return s;
  const count = headOf(s);
  const head = s.body.slice(0, count);
  const own = mentionsIn(head);
  // The loop itself mentions its counter.
  const locals = [...own.keys()].filter((local) => local !== s.counter && own.get(local) !== mentions.get(local));
  if (count === 0 || locals.length === 0 || locals.length > mostTables || locals.some(({ type }) => type === 'bool')) return s;
  const found = valuesOf(s, head, locals);
  if (found === undefined) return s;
  const sets = locals.map((local, i) => {
    // Unused elements get the value of the first one, so that they do not widen the range of the table.
    const values = new Float64Array(end).fill(required(required(found.get(first))[i]));
    for (const [at, all] of found) values[at] = required(all[i]);
    return set(local, load(table(local.type as ScalarType, values), get(s.counter)));
  });
  return { ...s, body: [...sets, ...s.body.slice(count)] };
}

/**
 * In counted loops with constant bounds: replaces code at the start of the body with table lookups, if it uses loops of its own to compute
 * values from the counter alone.
 */
export function tabulate(program: Program): Program {
  const tables: Buffer[] = [];
  const functions = program.functions.map((f) => {
    const names = Names.of(program, f);
    let found: ReadonlyMap<Local, number> | undefined;
    const table = (element: ScalarType, values: Float64Array): Buffer => {
      const name = names.make(`${f.name}_table${tables.length}`);
      const made: Buffer = { name, element, role: 'constant', length: values.length, initial: values };
      tables.push(made);
      return made;
    };
    const body = mapBody(f.body, { statement: (s) => (s.kind === 'for' && s.body.some(hasLoop)
      ? tabulated(s, found ??= mentionsIn(f.body), table) : s) });
    return body === f.body ? f : { ...f, body };
  });
  return tables.length === 0 ? program : { ...program, buffers: [...program.buffers, ...tables], functions };
}
