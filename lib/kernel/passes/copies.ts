// Copy propagation for arrays: removes arrays that are only copies of a buffer that is not written meanwhile, and arrays that are built
// only to be copied elsewhere. The other buffer is then used directly.
import {
  exact, get, i32, set, valueOf, type Body, type Buffer, type Expression, type KernelFunction, type Local, type Program, type Statement,
  type StatementOf,
} from '../ir.ts';
import {
  assignedIn, labelsLeft, mapBodies, mapBody, mapChildren, mapFunctions, Names, readsOf, walkBody, walkExpression, writesIn,
} from '../visit.ts';
import { factorOf, linearOf } from './linear.ts';
import { isWrittenWhole } from './scalars.ts';

type Copy = StatementOf<'copy'>;

/** How many times each buffer is mentioned in a body. */
function usesIn(body: Body): Map<Buffer, number> {
  const found = new Map<Buffer, number>();
  const count = (buffer: Buffer): void => { found.set(buffer, (found.get(buffer) ?? 0) + 1); };
  walkBody(body, {
    statement: (s) => {
      if (s.kind === 'store' || s.kind === 'fill') count(s.buffer);
      else if (s.kind === 'copy') {
        count(s.to);
        count(s.from);
      }
    },
    expression: (e) => { if (e.kind === 'load') count(e.buffer); },
  });
  return found;
}

function isWhole(buffer: Buffer, index: Expression, count: Expression): boolean {
  return buffer.role === 'local' && valueOf(index) === 0 && valueOf(count) === buffer.length;
}

/** Whether an index has the same value throughout a body. */
function isFixed(index: Expression, body: Body): boolean {
  const assigned = assignedIn(body);
  const isUnset = [...readsOf(index)].every((local) => !assigned.has(local));
  return isUnset && !hasLoad(index);
}

/** Whether a body either runs to its end or ends the run. */
function reachesEnd(body: Body): boolean {
  const left = new Set(labelsLeft(body));
  let found = true;
  walkBody(body, { statement: (s) => {
    if (s.kind === 'return') found = false;
    else if (s.kind === 'for' || s.kind === 'while' || s.kind === 'block') left.delete(s.label);
  } });
  return found && left.size === 0;
}

function hasLoad(e: Expression): boolean {
  let found = false;
  walkExpression(e, (part) => { found ||= part.kind === 'load'; });
  return found;
}

function replaceGet(e: Expression, local: Local, by: Expression): Expression {
  return e.kind === 'get' && e.local === local ? by : mapChildren(e, (child) => replaceGet(child, local, by));
}

function plus(index: Expression, offset: number): Expression {
  const at = valueOf(index);
  return offset === 0 ? index : at === undefined ? exact('add', index, i32(offset)) : i32(at + offset);
}

/** A body in which `buffer` is replaced by another buffer from an index on. */
function replaced(body: Body, buffer: Buffer, by: Buffer, start: Expression): Body {
  const moved = (index: Expression): Expression => {
    if (valueOf(index) === 0) return start;
    return valueOf(start) === 0 ? index : exact('add', start, index);
  };
  return mapBody(body, {
    expression: (e) => (e.kind === 'load' && e.buffer === buffer ? { ...e, buffer: by, index: moved(e.index) } : e),
    statement: (s) => {
      if (s.kind === 'store' || s.kind === 'fill') return s.buffer === buffer ? { ...s, buffer: by, index: moved(s.index) } : s;
      if (s.kind !== 'copy') return s;
      const to = s.to === buffer ? { to: by, toIndex: moved(s.toIndex) } : {};
      return s.to === buffer || s.from === buffer
        ? { ...s, ...to, ...(s.from === buffer ? { from: by, fromIndex: moved(s.fromIndex) } : {}) } : s;
    },
  });
}

const names = (s: Statement, buffer: Buffer): boolean => usesIn([s]).has(buffer);

/** Converts a loop that moves consecutive elements from one buffer to another into a copy. */
function asCopy(s: StatementOf<'for'>, isRead: (local: Local) => boolean): Statement {
  const [only, ...others] = s.body;
  const [first, end] = [valueOf(s.from), valueOf(s.to)];
  if (only?.kind !== 'store' || others.length > 0 || s.step !== 1 || first === undefined || end === undefined || first >= end) return s;
  const { buffer, value } = only;
  if (value.kind !== 'load' || value.buffer === buffer || value.type !== buffer.element || isRead(s.counter)) return s;
  const counter = get(s.counter);
  const [to, from] = [linearOf(only.index), linearOf(value.index)];
  if (factorOf(to, counter) !== 1 || factorOf(from, counter) !== 1 || hasLoad(only.index) || hasLoad(value.index)) return s;
  const start = (index: Expression, offset: number): Expression => plus(replaceGet(index, s.counter, s.from), offset);
  const made: Copy = {
    kind: 'copy', to: buffer, toIndex: start(only.index, only.offset), from: value.buffer, fromIndex: start(value.index, value.offset),
    count: i32(end - first),
  };
  // Other copies could not be removed, and compilers handle loops better.
  return isWhole(buffer, made.toIndex, made.count) || isWhole(value.buffer, made.fromIndex, made.count) ? made : s;
}

/** Converts element loops to copies. */
function withCopies(body: Body): Body {
  const reads = new Map<Local, number>();
  walkBody(body, { expression: (e) => { if (e.kind === 'get') reads.set(e.local, (reads.get(e.local) ?? 0) + 1); } });
  // Valid only if the counter is not read after its loop.
  const isReadElsewhere = (s: StatementOf<'for'>) => (local: Local): boolean => {
    let inside = 0;
    walkBody(s.body, { expression: (e) => { if (e.kind === 'get' && e.local === local) ++inside; } });
    return inside !== reads.get(local);
  };
  return mapBody(body, { statement: (s) => (s.kind === 'for' ? asCopy(s, isReadElsewhere(s)) : s) });
}

/** Removes copies from one function. */
class Copies {
  /** Uses of each buffer in the whole function. */
  readonly #uses: Map<Buffer, number>;

  readonly #names: Names;

  constructor(program: Program, f: KernelFunction) {
    this.#uses = usesIn(f.body);
    this.#names = Names.of(program, f);
  }

  body(body: Body): Body {
    let made = body.map((s) => mapBodies(s, (inner) => this.body(inner)));
    if (made.every((s, i) => s === body[i])) made = [...body];
    for (let at = 0; at < made.length; ++at) {
      const s = made[at];
      if (s?.kind !== 'copy' || s.to === s.from) continue;
      const without = this.#withoutRead(made, at, s) ?? this.#withoutWrite(made, at, s);
      if (without === undefined) continue;
      made = without;
      at = -1;
    }
    return made.length === body.length && made.every((s, i) => s === body[i]) ? body : made;
  }

  /** Removes the copy at `at` into an array that is not written afterwards. */
  #withoutRead(body: Body, at: number, { to, toIndex, from, fromIndex, count }: Copy): Statement[] | undefined {
    if (!isWhole(to, toIndex, count)) return undefined;
    const end = body.findLastIndex((s) => names(s, to)) + 1, region = body.slice(at + 1, end);
    const { buffers, calls } = writesIn(region);
    if (!this.#isAllOf(to, region) || buffers.has(to) || buffers.has(from)) return undefined;
    if ((calls && from.role !== 'local') || !isFixed(fromIndex, region)) return undefined;
    return [...body.slice(0, at), ...this.#replaced(region, to, from, fromIndex), ...body.slice(end)];
  }

  /** Removes the copy at `at` from an array that is not used afterwards. */
  #withoutWrite(body: Body, at: number, { to, toIndex, from, fromIndex, count }: Copy): Statement[] | undefined {
    if (!isWhole(from, fromIndex, count)) return undefined;
    const start = body.findIndex((s) => names(s, from)), region = body.slice(start, at);
    if (!this.#isAllOf(from, region) || usesIn(region).has(to)) return undefined;
    if ((writesIn(region).calls && to.role !== 'local') || !isFixed(toIndex, region) || !reachesEnd(region)) return undefined;
    // Values kept from an earlier iteration would be in the wrong place.
    if (!isWrittenWhole(from, region)) return undefined;
    return [...body.slice(0, start), ...this.#replaced(region, from, to, toIndex), ...body.slice(at + 1)];
  }

  /** Whether a buffer is used only in the region and in the copy. */
  #isAllOf(buffer: Buffer, region: Body): boolean {
    return (usesIn(region).get(buffer) ?? 0) + 1 === this.#uses.get(buffer);
  }

  #replaced(region: Body, buffer: Buffer, by: Buffer, start: Expression): Body {
    this.#uses.set(by, (this.#uses.get(by) ?? 0) + (this.#uses.get(buffer) ?? 0) - 2);
    this.#uses.delete(buffer);
    if (start.kind === 'get' || start.kind === 'constant') return replaced(region, buffer, by, start);
    const local: Local = { name: this.#names.make('at'), type: 'i32' };
    return [set(local, start), ...replaced(region, buffer, by, get(local))];
  }
}

/** Removes copies between local arrays and other buffers, including element loops. */
export function dropCopies(program: Program): Program {
  return mapFunctions(program, (f) => {
    if (f.buffers.length === 0) return f;
    const copied = withCopies(f.body);
    const body = new Copies(program, { ...f, body: copied }).body(copied);
    if (body === f.body) return f;
    const used = usesIn(body);
    return { ...f, body, buffers: f.buffers.filter((buffer) => used.has(buffer)) };
  });
}
