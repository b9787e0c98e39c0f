// The text of one function while it is written: names, lines, nesting, and memory of its own.
import type { Dialect } from './dialect.ts';
import { kinds, type Counts, type Kind } from '../plan/layout.ts';
import type { Ex, Place, Val } from './value.ts';
import { isPlace } from './value.ts';

/** What the code was made under did not hold: note `key` and make it again. */
export class Retry extends Error {
  readonly key: object | number;
  readonly reason: 'memory' | 'label' | 'size' | 'raises';

  constructor(reason: Retry['reason'], key: object | number) {
    super(`make again: ${reason}`);
    this.reason = reason;
    this.key = key;
  }
}

/** An array that a function needs while it runs. */
export interface LocalArray {
  readonly name: string;
  readonly kind: Kind;
  readonly length: number;
}

export class Writer {
  readonly dialect: Dialect;
  readonly lines: string[] = [];
  readonly locals: LocalArray[] = [];
  /** Nesting of blocks. */
  depth = 0;
  readonly #limit: number;
  #next = 0;

  /** @param limit most lines; a {@link Retry} (`size`) beyond */
  constructor(dialect: Dialect, limit: number) {
    this.dialect = dialect;
    this.#limit = limit;
  }

  emit(line: string): void {
    if (this.lines.length >= this.#limit) throw new Retry('size', this);
    this.lines.push('  '.repeat(this.depth + 1) + line);
  }

  name(prefix: string): string {
    return `${prefix}${++this.#next}`;
  }

  open(line: string): void {
    this.emit(line);
    ++this.depth;
  }

  close(line = '}'): void {
    --this.depth;
    this.emit(line);
  }

  literal(kind: Kind, x: number): Ex {
    return { text: this.dialect.literal(kind, x), kind, known: x, stable: true };
  }

  int(x: number): Ex {
    return this.literal('i', x);
  }

  /** The value under a name that is set once. */
  stable(ex: Ex): Ex {
    if (ex.stable) return ex;
    const name = this.name('t');
    this.emit(this.dialect.constant(ex.kind, name, ex.text));
    return { text: name, kind: ex.kind, stable: true };
  }

  /** An index moved by a constant. */
  plus(ex: Ex, add: number): Ex {
    if (add === 0) return ex;
    if (ex.known !== undefined) return this.int(ex.known + add);
    const sum = { base: ex.sum?.base ?? ex.text, add: (ex.sum?.add ?? 0) + add };
    if (sum.add === 0) return { text: sum.base, kind: 'i', stable: ex.stable };
    const text = sum.add < 0 ? `(${sum.base} - ${-sum.add})` : this.dialect.offset(sum.base, String(sum.add));
    return { text, kind: 'i', stable: ex.stable, sum };
  }

  /** Sum of two indices. */
  sum(a: Ex, b: Ex): Ex {
    if (b.known !== undefined) return this.plus(a, b.known);
    if (a.known !== undefined) return this.plus(b, a.known);
    const text = this.dialect.offset(a.sum?.base ?? a.text, b.text);
    const sum: Ex = { text, kind: 'i', stable: a.stable && b.stable };
    return a.sum === undefined ? sum : this.plus(sum, a.sum.add);
  }

  /** An index times a constant. */
  times(ex: Ex, factor: number): Ex {
    if (ex.known !== undefined) return this.int(ex.known * factor);
    if (factor === 1) return ex;
    if (factor === 0) return this.int(0);
    return { text: this.dialect.exact('*', ex.text, String(factor)), kind: 'i', stable: ex.stable };
  }

  load(array: string, kind: Kind, at: Ex): Ex {
    return { text: `${array}[${at.text}]`, kind, stable: false };
  }

  store(array: string, at: Ex, value: Ex): void {
    this.emit(`${array}[${at.text}] = ${value.text};`);
  }

  /** New arrays of the function for a value. */
  local(counts: Counts): Place {
    const arrays = { i: '', f: '', d: '' };
    for (const kind of kinds) {
      if (counts[kind] === 0) continue;
      arrays[kind] = this.name('a');
      this.locals.push({ name: arrays[kind], kind, length: counts[kind] });
    }
    return { arrays, at: { i: this.int(0), f: this.int(0), d: this.int(0) }, isPlace: true };
  }

  /** The place with indices under names, so that what they were computed from may change. */
  stablePlace(place: Place): Place {
    if (kinds.every((kind) => place.at[kind].stable)) return place;
    return { ...place, at: { i: this.stable(place.at.i), f: this.stable(place.at.f), d: this.stable(place.at.d) } };
  }

  stableValue(value: Val): Val {
    return isPlace(value) ? this.stablePlace(value) : value.map((ex) => this.stable(ex));
  }
}
