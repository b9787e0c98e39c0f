// The code of one function during generation: statements, new locals, its own buffers.
import {
  branch, constant, convert, forLoop, get, guard, i32, load, set, store, trap, valueOf, type Body, type Buffer,
  type Expression, type Label, type Local, type Statement, type Type,
} from '../../kernel/ir.ts';
import { kinds, type Counts, type Kind } from '../plan/layout.ts';
import {
  operandOf, placeOf, scalarTypes, wholeIndex, type Ex, type Index, type Place, type Val, isPlace,
} from './value.ts';

/** The code of a function has too many statements. */
export class TooLarge extends Error {}

export class Writer {
  readonly buffers: Buffer[] = [];
  readonly #owner: string;
  readonly #limit: number;
  #body: Statement[] = [];
  #count = 0;
  #next = 0;

  /**
   * @param owner name of the function
   * @param limit maximum number of statements
   */
  constructor(owner: string, limit: number) {
    this.#owner = owner;
    this.#limit = limit;
  }

  get body(): Body {
    return this.#body;
  }

  emit(s: Statement): void {
    if (++this.#count > this.#limit) throw new TooLarge();
    this.#body.push(s);
  }

  /** The statements that `make` emits. */
  inside(make: () => void): Statement[] {
    const outer = this.#body;
    const made: Statement[] = this.#body = [];
    make();
    this.#body = outer;
    return made;
  }

  /** Emits existing statements. */
  append(body: Body): void {
    for (const s of body) this.#body.push(s);
  }

  #name(prefix: string): string {
    return `${prefix}${++this.#next}`;
  }

  local(type: Type, prefix = 't', range?: readonly [number, number]): Local {
    return { name: this.#name(prefix), type, ...(range === undefined ? {} : { range }) };
  }

  label(prefix = 'L'): Label {
    return { name: this.#name(prefix) };
  }

  literal(kind: Kind, x: number): Ex {
    return { e: constant(scalarTypes[kind], x), stable: true };
  }

  int(x: number): Ex {
    return this.literal('i', x);
  }

  /** The value, in a local that is set once. */
  stable(ex: Ex): Ex {
    if (ex.stable) return ex;
    const local = this.local(ex.e.type);
    this.emit(set(local, ex.e));
    return { e: get(local), stable: true };
  }

  /** An assignable local. */
  variable(value: Expression, prefix = 'v'): Local {
    const local = this.local(value.type, prefix);
    this.emit(set(local, value));
    return local;
  }

  load(buffer: Buffer, index: Index): Ex {
    return { e: load(buffer, ...operandOf(index)), stable: false };
  }

  store(buffer: Buffer, index: Index, value: Ex): void {
    const [e, offset] = operandOf(index);
    this.emit(store(buffer, e, value.e, offset));
  }

  copy(to: Buffer, toIndex: Index, from: Buffer, fromIndex: Index, count: number): void {
    if (count === 1) this.store(to, toIndex, this.load(from, fromIndex));
    else {
      this.emit({ kind: 'copy', to, toIndex: wholeIndex(toIndex), from, fromIndex: wholeIndex(fromIndex), count: i32(count) });
    }
  }

  fill(buffer: Buffer, index: Index, count: number): void {
    this.emit({ kind: 'fill', buffer, index: wholeIndex(index), count: i32(count) });
  }

  /** Traps at a site unless the condition holds. */
  guard(condition: Expression, site: number, value: Expression): void {
    const x = valueOf(condition);
    if (x === undefined) this.emit(guard(condition, site, asDouble(value)));
    else if (x === 0) this.trap(site, value);
  }

  trap(site: number, value: Expression = i32(0)): void {
    this.emit(trap(site, asDouble(value)));
  }

  /** Emits code that runs only if the condition holds. */
  when(condition: Expression, make: () => void): void {
    this.emit(branch(condition, this.inside(make)));
  }

  /** Emits code that runs for each value of a counter. */
  each(bounds: { readonly from?: Expression; readonly to: Expression; readonly step?: number }, make: (counter: Local) => void): void {
    const label = this.label('n');
    const counter = this.local('i32', 'n');
    const body = this.inside(() => { make(counter); });
    this.emit(forLoop(label, counter, { from: i32(0), ...bounds }, body));
  }

  /** New buffers, owned by the function, for a value. */
  place(counts: Counts): Place {
    const made: Partial<Record<Kind, Buffer>> = {};
    for (const kind of kinds) if (counts[kind] > 0) made[kind] = this.#buffer(kind, counts[kind]);
    return placeOf(made);
  }

  #buffer(kind: Kind, length: number): Buffer {
    const made: Buffer = { name: `${this.#name('a')}_${this.#owner}`, element: scalarTypes[kind], role: 'local', length };
    this.buffers.push(made);
    return made;
  }

  stableIndex(index: Index): Index {
    if (index.stable || index.base === undefined) return index;
    return { ...index, base: this.stable({ e: index.base, stable: false }).e, stable: true };
  }

  /** The place with its indices in locals, so that the variables they were computed from may change. */
  stablePlace(place: Place): Place {
    if (kinds.every((kind) => place.at[kind].stable)) return place;
    return { ...place, at: { i: this.stableIndex(place.at.i), f: this.stableIndex(place.at.f), d: this.stableIndex(place.at.d) } };
  }

  stableValue(value: Val): Val {
    return isPlace(value) ? this.stablePlace(value) : value.map((ex) => this.stable(ex));
  }
}

function asDouble(e: Expression): Expression {
  if (e.type === 'f64') return e;
  const x = valueOf(e);
  return x === undefined ? convert('f64', e) : constant('f64', x);
}
