// Inserts gaps into buffers in banked memory. If neighbouring threads access elements a power of two apart, gaps spread the accesses over
// the banks.
import {
  binary, branch, compare, exact, forLoop, get, i32, load, set, store, valueOf, type Body, type Buffer, type Expression,
  type KernelFunction,
  type Label, type Local, type Program, type Statement, type StatementOf,
} from '../ir.ts';
import { mapBody, mapFunctions, Names } from '../visit.ts';

/** By buffer: the exponent s, if a gap of one element follows every 2^s elements. */
export type Gaps = ReadonlyMap<Buffer, number>;

/** The position of element `index` in a buffer with a gap of one element after every 2^`shift` elements. */
export function paddedIndex(index: number, shift: number): number {
  return index + Math.floor(index / 2 ** shift);
}

function paddedAt(index: Expression, offset: number, shift: number): Expression {
  const known = valueOf(index);
  if (known !== undefined) return i32(paddedIndex(known + offset, shift));
  const place = offset === 0 ? index : exact('add', index, i32(offset));
  return exact('add', place, binary('shr', place, i32(shift)));
}

/** Changes all accesses to buffers with gaps. The caller makes the buffers larger; they must not contain vectors. */
export function padBuffers(program: Program, gaps: Gaps): Program {
  return mapFunctions(program, (f) => {
    const body = new Padding(gaps, Names.of(program, f)).body(f);
    return body === f.body ? f : { ...f, body };
  });
}

class Padding {
  readonly #gaps: Gaps;
  readonly #names: Names;

  constructor(gaps: Gaps, names: Names) {
    this.#gaps = gaps;
    this.#names = names;
  }

  body({ body }: KernelFunction): Body {
    return mapBody(body, {
      expression: (e) => {
        const shift = e.kind === 'load' ? this.#gaps.get(e.buffer) : undefined;
        return e.kind !== 'load' || shift === undefined ? e : { ...e, index: paddedAt(e.index, e.offset, shift), offset: 0 };
      },
      statement: (s) => this.#statement(s),
    });
  }

  #statement(s: Statement): Statement | Body {
    switch (s.kind) {
      case 'store': return this.#gaps.has(s.buffer) ? this.#store(s.buffer, s.index, s.offset, s.value) : s;
      case 'fill': return this.#gaps.has(s.buffer) ? this.#fill(s) : s;
      case 'copy': return this.#gaps.has(s.from) || this.#gaps.has(s.to) ? this.#copy(s) : s;
      default: return s;
    }
  }

  #load(buffer: Buffer, index: Expression): Expression {
    const shift = this.#gaps.get(buffer);
    return load(buffer, shift === undefined ? index : paddedAt(index, 0, shift));
  }

  #store(buffer: Buffer, index: Expression, offset: number, value: Expression): Statement {
    const shift = this.#gaps.get(buffer);
    return shift === undefined ? store(buffer, index, value, offset) : store(buffer, paddedAt(index, offset, shift), value);
  }

  #each(count: Expression, write: (i: Expression) => Statement): Statement {
    const counter: Local = { name: this.#names.make('p'), type: 'i32' };
    const label: Label = { name: this.#names.make('pad') };
    return forLoop(label, counter, { from: i32(0), to: count }, [write(get(counter))]);
  }

  #fill({ buffer, index, count }: StatementOf<'fill'>): Body {
    const before: Statement[] = [];
    const from = this.#once(index, before);
    const zero: Expression = { kind: 'constant', type: buffer.element, value: 0 };
    return [...before, this.#each(count, (i) => this.#store(buffer, exact('add', from, i), 0, zero))];
  }

  /** Evaluates a value once, so that it can be used several times. */
  #once(value: Expression, before: Statement[]): Expression {
    if (valueOf(value) !== undefined) return value;
    const local: Local = { name: this.#names.make('p'), type: 'i32' };
    before.push(set(local, value));
    return get(local);
  }

  #copy(s: StatementOf<'copy'>): Body {
    const { to, from } = s;
    const before: Statement[] = [];
    const [toIndex, fromIndex, count] = [s.toIndex, s.fromIndex, s.count].map((each) => this.#once(each, before)) as [
      Expression, Expression, Expression];
    const move = (i: Expression): Statement =>
      this.#store(to, exact('add', toIndex, i), 0, this.#load(from, exact('add', fromIndex, i)));
    const forward = this.#each(count, move);
    if (to !== from) return [...before, forward];
    const last = exact('sub', count, i32(1));
    const backward = this.#each(count, (i) => move(exact('sub', last, i)));
    return [...before, branch(compare('le', toIndex, fromIndex), [forward], [backward])];
  }
}
