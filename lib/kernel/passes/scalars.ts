// Local arrays: those with only constant indices become locals, and zero fills that are never read are removed.
import {
  constant, get, i32, isVector, lanesOf, load, set, store, valueOf, type Body, type Buffer, type Expression, type KernelFunction,
  type Local, type Program, type Statement, type StatementOf,
} from '../ir.ts';
import {
  assignedIn, bodiesOf, endsEarly, expressionsOf, labelsLeft, mapBodies, mapBody, mapFunctions, mapProgram, Names, walkBody, walkExpression,
} from '../visit.ts';
import { required } from '../../core/known.ts';
import { linearOf, type Linear } from './linear.ts';

/** Buffers of the function that are accessed only at constant indices. */
function replaceable({ buffers, body }: KernelFunction, most: number): Set<Buffer> {
  const found = new Set(buffers.filter(({ length }) => required(length) <= most));
  const need = (buffer: Buffer, index: Expression, count: Expression | undefined, size = 1): void => {
    const [at, n] = [valueOf(index), count === undefined ? size : valueOf(count)];
    if (at === undefined || n === undefined || at < 0 || at + n > (buffer.length ?? 0)) found.delete(buffer);
  };
  walkBody(body, {
    expression: (e) => { if (e.kind === 'load') need(e.buffer, plus(e.index, e.offset), undefined, lanesOf[e.type]); },
    statement: (s) => {
      if (s.kind === 'store') need(s.buffer, plus(s.index, s.offset), undefined, lanesOf[s.value.type]);
      else if (s.kind === 'fill') need(s.buffer, s.index, s.count);
      else if (s.kind === 'copy') {
        need(s.to, s.toIndex, s.count);
        // Copies of arrays that become locals are made element by element.
        if (found.has(s.from)) need(s.from, s.fromIndex, s.count);
        if ((valueOf(s.count) ?? Infinity) > most) {
          found.delete(s.to);
          found.delete(s.from);
        }
      }
    },
  });
  return found;
}

function plus(index: Expression, offset: number): Expression {
  const at = valueOf(index);
  return at === undefined ? index : i32(at + offset);
}

/** Replaces arrays of up to `most` elements by locals if every index is constant. Fold the program first. */
export function replaceArrays(program: Program, most = 64): Program {
  return mapFunctions(program, (f) => {
    const found = replaceable(f, most);
    if (found.size === 0) return f;
    const names = Names.of(program, f);
    const elements = new Map([...found].map((buffer) => [buffer, Array.from({ length: required(buffer.length) }, (_, i): Local =>
      ({ name: names.make(`${buffer.name}_at${i}`), type: buffer.element }))]));
    // The initial contents are unspecified; liveness analysis removes the sets that are not needed.
    const start = [...elements].flatMap(([{ element }, locals]) => locals.map((local) => set(local, constant(element, 0))));
    const body = mapBody(f.body, { expression: (e) => replaceLoad(e, elements), statement: (s) => replaceWrite(s, elements, names) });
    return { ...f, buffers: f.buffers.filter((buffer) => !found.has(buffer)), body: [...start, ...body] };
  });
}

type Elements = ReadonlyMap<Buffer, readonly Local[]>;

function replaceLoad(e: Expression, elements: Elements): Expression {
  const locals = e.kind === 'load' ? elements.get(e.buffer) : undefined;
  if (e.kind !== 'load' || locals === undefined) return e;
  const at = required(valueOf(e.index)) + e.offset;
  if (!isVector(e.type)) return get(required(locals[at]));
  return { kind: 'lanes', type: e.type, parts: Array.from({ length: lanesOf[e.type] }, (_, lane) => get(required(locals[at + lane]))) };
}

function replaceWrite(s: Statement, elements: Elements, names: Names): Statement | Body {
  if (s.kind === 'store') {
    const locals = elements.get(s.buffer);
    return locals === undefined ? s : setElements(s, locals, names);
  }
  if (s.kind === 'fill') {
    const locals = elements.get(s.buffer);
    const at = valueOf(s.index);
    if (locals === undefined) return s;
    return locals.slice(at, required(at) + required(valueOf(s.count))).map((local) => set(local, constant(s.buffer.element, 0)));
  }
  if (s.kind !== 'copy' || (!elements.has(s.to) && !elements.has(s.from))) return s;
  return copyElements(s, elements, names);
}

function setElements({ index, offset, value }: StatementOf<'store'>, locals: readonly Local[], names: Names): Body {
  const at = required(valueOf(index)) + offset;
  if (!isVector(value.type)) return [set(required(locals[at]), value)];
  const whole: Local = { name: names.make('whole'), type: value.type };
  const parts = Array.from({ length: lanesOf[value.type] }, (_, lane) =>
    set(required(locals[at + lane]), { kind: 'extract', type: required(locals[at]).type, vector: get(whole), lane }));
  return [set(whole, value), ...parts];
}

/** Copies element by element; all are read before any is written. */
function copyElements({ to, toIndex, from, fromIndex, count }: StatementOf<'copy'>, elements: Elements, names: Names): Body {
  const temporaries = Array.from({ length: required(valueOf(count)) }, (): Local => ({ name: names.make('copied'), type: to.element }));
  const [target, source] = [elements.get(to), elements.get(from)];
  const read = (i: number): Expression =>
    (source === undefined ? load(from, fromIndex, i) : get(required(source[required(valueOf(fromIndex)) + i])));
  const write = (i: number, value: Expression): Statement =>
    (target === undefined ? store(to, toIndex, value, i) : set(required(target[required(valueOf(toIndex)) + i]), value));
  return [...temporaries.map((local, i) => set(local, read(i))), ...temporaries.map((local, i) => write(i, get(local)))];
}

/** Tracks which elements of a buffer consecutive statements certainly write. */
class Coverage {
  readonly #buffer: Buffer;
  readonly #written: Uint8Array;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
    this.#written = new Uint8Array(required(buffer.length));
  }

  get isWhole(): boolean {
    return !this.#written.includes(0);
  }

  /** Processes a statement; returns false if it may read elements not yet written, or leave. */
  passes(s: Statement): boolean {
    if (expressionsOf(s).some((e) => !this.#isRead(e))) return false;
    switch (s.kind) {
      case 'store':
        if (s.buffer === this.#buffer) this.#write(valueOf(s.index), s.offset, lanesOf[s.value.type]);
        return true;
      case 'fill':
        if (s.buffer === this.#buffer) this.#write(valueOf(s.index), 0, valueOf(s.count) ?? 0);
        return true;
      case 'copy':
        if (s.from === this.#buffer && !this.#holds(valueOf(s.fromIndex), 0, valueOf(s.count) ?? Infinity)) return false;
        if (s.to === this.#buffer) this.#write(valueOf(s.toIndex), 0, valueOf(s.count) ?? 0);
        return true;
      case 'for': return this.#loop(s);
      // The bodies may or may not run: they must not read unwritten elements, and their writes do not count.
      case 'if': case 'while': case 'block': return bodiesOf(s).every((body) => this.#isPlain(body)) && !endsEarly([s]);
      case 'break': case 'continue': case 'return': return false;
      default: return true;
    }
  }

  #write(index: number | undefined, offset: number, count: number): void {
    if (index !== undefined) this.#written.fill(1, index + offset, index + offset + count);
  }

  #holds(index: number | undefined, offset: number, count: number): boolean {
    return index !== undefined && !this.#written.subarray(index + offset, index + offset + count).includes(0)
      && index + offset + count <= this.#written.length;
  }

  #isRead(e: Expression): boolean {
    let found = true;
    walkExpression(e, (part) => {
      if (part.kind === 'load' && part.buffer === this.#buffer) found &&= this.#holds(valueOf(part.index), part.offset, lanesOf[part.type]);
    });
    return found;
  }

  /** Whether a body reads only elements that are already written, and cannot be left. */
  #isPlain(body: Body): boolean {
    let found = labelsLeft(body).size === 0;
    walkBody(body, {
      expression: (e) => {
        if (e.kind === 'load' && e.buffer === this.#buffer) found &&= this.#holds(valueOf(e.index), e.offset, lanesOf[e.type]);
      },
      statement: (s) => { if (s.kind === 'return' || (s.kind === 'copy' && s.from === this.#buffer)) found = false; },
    });
    return found;
  }

  /** Nested counted loops: records what they certainly write. */
  #loop(s: StatementOf<'for'>): boolean {
    if (!this.#isPlain(s.body)) return false;
    if (iterationsIn(s) <= mostIterations) this.#run(s, new Map());
    return true;
  }

  #run({ counter, from, to, step, body }: StatementOf<'for'>, known: Map<Local, number>): void {
    const [first, end] = [valueOf(from), valueOf(to)];
    if (first === undefined || end === undefined) {
      for (const local of assignedIn(body)) known.delete(local);
      return;
    }
    const steps = body.map((s) => this.#step(s, known));
    for (let i = first; i < end; i += step) {
      known.set(counter, i);
      for (const take of steps) take();
    }
    known.delete(counter);
  }

  /** The effect of a statement of a loop on known locals and on the buffer. */
  #step(s: Statement, known: Map<Local, number>): () => void {
    if (s.kind === 'for') return () => { this.#run(s, known); };
    if (s.kind === 'store') {
      if (s.buffer !== this.#buffer) return () => undefined;
      const at = linearOf(s.index);
      return () => { this.#write(valueIn(at, known), s.offset, lanesOf[s.value.type]); };
    }
    if (s.kind !== 'set' || s.local.type !== 'i32') {
      const assigned = assignedIn([s]);
      return () => { for (const local of assigned) known.delete(local); };
    }
    const value = linearOf(s.value);
    return () => {
      const x = valueIn(value, known);
      if (x === undefined) known.delete(s.local);
      else known.set(s.local, x);
    };
  }
}

/** The maximum number of iterations that are simulated to find what is written. */
const mostIterations = 1 << 14;

/** Iterations of the innermost body in nested loops of known length. */
function iterationsIn(s: StatementOf<'for'>): number {
  const [first, end] = [valueOf(s.from), valueOf(s.to)];
  const trips = first === undefined || end === undefined ? Infinity : Math.max(0, Math.ceil((end - first) / s.step));
  return trips * s.body.reduce((sum, each) => sum + (each.kind === 'for' ? iterationsIn(each) : 0), 1);
}

/** The value of an index, if it depends only on known locals. */
function valueIn({ terms, constant: start }: Linear, known: ReadonlyMap<Local, number>): number | undefined {
  let value = start;
  for (const { of, factor } of terms) {
    const x = of.kind === 'get' ? known.get(of.local) : undefined;
    if (x === undefined) return undefined;
    value += factor * x;
  }
  return value;
}

const mostElements = 1 << 16;

/** Whether a local buffer is completely written before any of it is read, and before control can leave. */
export function isWrittenWhole(buffer: Buffer, rest: Body): boolean {
  if (required(buffer.length) > mostElements) return false;
  const coverage = new Coverage(buffer);
  for (const next of rest) {
    if (!coverage.passes(next)) return false;
    if (coverage.isWhole) return true;
  }
  return false;
}

function dropFills(body: Body): Body {
  let isSame = true as boolean;
  const made = body.flatMap((s, i): Body => {
    const inner = mapBodies(s, dropFills);
    if (inner !== s) isSame = false;
    if (s.kind !== 'fill' || s.buffer.role !== 'local' || !isWrittenWhole(s.buffer, body.slice(i + 1))) return [inner];
    isSame = false;
    return [];
  });
  return isSame ? body : made;
}

/** Removes zero fills of local arrays that are completely overwritten before they are read. */
export function dropNeedlessFills(program: Program): Program {
  return mapProgram(program, dropFills);
}
