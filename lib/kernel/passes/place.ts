// Buffers whose elements stand elsewhere than their indices say: each index is replaced by the place of its element.
import {
  branch, compare, exact, forLoop, get, i32, load, set, store, valueOf, type Body, type Buffer, type Expression, type KernelFunction,
  type Label, type Local, type Program, type Statement, type StatementOf,
} from '../ir.ts';
import { mapBody, mapFunctions, Names } from '../visit.ts';

/** Where the element of an index stands. The index is not negative; it is evaluated as often as the place mentions it. */
export type Placing = (index: Expression) => Expression;

export type Placings = ReadonlyMap<Buffer, Placing>;

/**
 * Functions in which the elements of the buffers stand at their places; buffers must hold no vectors.
 * @param placings the same ones for all functions, or by function
 */
export function placeBuffers(program: Program, placings: Placings | ((f: KernelFunction) => Placings)): Program {
  return mapFunctions(program, (f) => {
    const own = typeof placings === 'function' ? placings(f) : placings;
    if (own.size === 0) return f;
    const body = new Placement(own, Names.of(program, f)).body(f);
    return body === f.body ? f : { ...f, body };
  });
}

class Placement {
  readonly #placings: Placings;
  readonly #names: Names;

  constructor(placings: Placings, names: Names) {
    this.#placings = placings;
    this.#names = names;
  }

  body({ body }: KernelFunction): Body {
    return mapBody(body, {
      expression: (e) => {
        const placing = e.kind === 'load' ? this.#placings.get(e.buffer) : undefined;
        return e.kind !== 'load' || placing === undefined ? e : { ...e, index: placing(whole(e.index, e.offset)), offset: 0 };
      },
      statement: (s) => this.#statement(s),
    });
  }

  #statement(s: Statement): Statement | Body {
    switch (s.kind) {
      case 'store': return this.#placings.has(s.buffer) ? this.#store(s.buffer, s.index, s.offset, s.value) : s;
      case 'fill': return this.#placings.has(s.buffer) ? this.#fill(s) : s;
      case 'copy': return this.#placings.has(s.from) || this.#placings.has(s.to) ? this.#copy(s) : s;
      default: return s;
    }
  }

  #load(buffer: Buffer, index: Expression): Expression {
    return load(buffer, this.#placings.get(buffer)?.(index) ?? index);
  }

  #store(buffer: Buffer, index: Expression, offset: number, value: Expression): Statement {
    const placing = this.#placings.get(buffer);
    return placing === undefined ? store(buffer, index, value, offset) : store(buffer, placing(whole(index, offset)), value);
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

  /** A value that is evaluated once, however often it is read. */
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

function whole(index: Expression, offset: number): Expression {
  const known = valueOf(index);
  if (known !== undefined) return i32(known + offset);
  return offset === 0 ? index : exact('add', index, i32(offset));
}
