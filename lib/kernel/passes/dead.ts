// Removes dead code: values and arrays that are never read, and unreachable code.
import type { Body, Buffer, Expression, Label, Local, Program, Statement } from '../ir.ts';
import {
  buffersIn, eachChild, eachExpressionOf, loadedIn, localsSetBy, mapBody, mapFunctions, neverEnds, remembering,
  walkBody,
} from '../visit.ts';
import { isLeft } from './clone.ts';
import { elementAt, required } from '../../core/known.ts';

type Live = ReadonlySet<Local>;

/** Walks a function backwards, keeping track of the locals that are live. */
class Liveness {
  readonly #breaks = new Map<Label, Live>();
  readonly #continues = new Map<Label, Live>();

  /** What remains of a body, and the locals that are live at its start. */
  body(body: Body, after: Live): [Body, Live] {
    let live = after;
    /** `live`, while nothing else refers to it: long straight code changes it in place. */
    let own: Set<Local> | undefined;
    const made: Statement[] = [];
    const end = body.findIndex(neverEnds);
    for (let at = end < 0 ? body.length - 1 : end; at >= 0; --at) {
      const s = elementAt(body, at);
      if (s.kind === 'set' && !live.has(s.local)) continue;
      if (isSimple(s)) {
        live = own ??= new Set(live);
        for (const local of localsSetBy(s)) own.delete(local);
        addReads(s, own);
        made.push(s);
        continue;
      }
      const [now, before] = this.#statement(s, live);
      live = before;
      own = undefined;
      if (now !== undefined) made.push(now);
    }
    made.reverse();
    return [made.length === body.length && made.every((s, i) => s === body[i]) ? body : made, live];
  }

  #statement(s: Statement, after: Live): [Statement | undefined, Live] {
    switch (s.kind) {
      case 'if': {
        const [then, a] = this.body(s.then, after);
        const [otherwise, b] = this.body(s.otherwise, after);
        if (then.length === 0 && otherwise.length === 0) return [undefined, after];
        return [then === s.then && otherwise === s.otherwise ? s : { ...s, then, otherwise }, reading(s, union(a, b))];
      }
      case 'for': case 'while': return this.#loop(s, after);
      case 'block': {
        this.#breaks.set(s.label, after);
        const [body, live] = this.body(s.body, after);
        return [body.length === 0 ? undefined : body === s.body ? s : { ...s, body }, live];
      }
      case 'break': return [s, required(this.#breaks.get(s.label))];
      case 'continue': return [s, required(this.#continues.get(s.label))];
      case 'return': case 'trap': return [s, reading(s, new Set())];
      default: return [s, reading(s, after)];
    }
  }

  #loop(s: Extract<Statement, { kind: 'for' | 'while' }>, after: Live): [Statement | undefined, Live] {
    this.#breaks.set(s.label, after);
    let head = reading(s, after);
    for (;;) {
      this.#continues.set(s.label, head);
      const [body, start] = this.body(s.body, head);
      const next = union(head, s.kind === 'for' ? without(start, [s.counter]) : start);
      if (next.size === head.size) {
        if (s.kind === 'for' && body.length === 0) return [undefined, after];
        return [body === s.body ? s : { ...s, body }, next];
      }
      head = next;
    }
  }
}

/** Whether a statement contains no others, and the next one always follows. */
function isSimple({ kind }: Statement): boolean {
  return kind === 'set' || kind === 'call' || kind === 'store' || kind === 'fill' || kind === 'copy' || kind === 'guard';
}

function reading(s: Statement, live: Live): Live {
  const found = new Set(live);
  addReads(s, found);
  return found;
}

/** Adds the locals that a statement's own expressions read. */
function addReads(s: Statement, to: Set<Local>): void {
  const visit = (e: Expression): void => {
    if (e.kind === 'get') to.add(e.local);
    else eachChild(e, visit);
  };
  eachExpressionOf(s, visit);
}

function without(live: Live, locals: readonly Local[]): Live {
  const found = new Set(live);
  for (const local of locals) found.delete(local);
  return found;
}

function union(a: Live, b: Live): Live {
  return new Set([...a, ...b]);
}

/** Removes writes to local buffers that are never loaded, and blocks that nothing leaves. */
function withoutWrites(body: Body): Body {
  const loaded = loadedIn(body);
  const isUnread = (buffer: Buffer): boolean => buffer.role === 'local' && !loaded.has(buffer);
  return mapBody(body, { statement: (s) => {
    if ((s.kind === 'store' || s.kind === 'fill') && isUnread(s.buffer)) return [];
    if (s.kind === 'copy' && isUnread(s.to)) return [];
    return s.kind === 'block' && !isLeft(s.body, s.label) ? s.body : s;
  } });
}

const withoutDead = remembering((body) => withoutWrites(new Liveness().body(body, new Set())[0]));

/** Removes code without effect from each function: unread sets, writes that are never loaded, empty loops. */
export function dropDead(program: Program): Program {
  return mapFunctions(program, (f) => {
    let { body } = f;
    for (let made = withoutDead(body); made !== body; made = withoutDead(body)) body = made;
    if (body === f.body && f.buffers.length === 0) return f;
    const used = buffersIn(body);
    const buffers = f.buffers.filter((buffer) => used.has(buffer));
    return body === f.body && buffers.length === f.buffers.length ? f : { ...f, body, buffers };
  });
}

/** Removes functions that are unreachable from the roots, imports that nothing calls, and unused buffers. */
export function dropUnreached(program: Program, roots: ReadonlySet<string>): Program {
  const called = new Set(roots);
  const functions = program.functions.toReversed().filter(({ name, body }) => {
    if (!called.has(name)) return false;
    walkBody(body, { statement: (s) => { if (s.kind === 'call') called.add(s.callee); } });
    return true;
  }).toReversed();
  const used = new Set(functions.flatMap(({ body }) => [...buffersIn(body)]));
  return {
    functions, imports: program.imports.filter(({ name }) => called.has(name)),
    buffers: program.buffers.filter((buffer) => buffer.role !== 'constant' || used.has(buffer)),
  };
}
