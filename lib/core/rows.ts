// Tables of numbers with named columns, as operations report them.
import { describeValue } from './arrays.ts';
import { refusal } from './errors.ts';

/** Rows of named numbers, as written by an operation: row objects are created on access. */
export class Rows<Row extends Readonly<Record<string, number>>> implements Iterable<Row> {
  readonly #numbers: Float64Array;
  readonly #columns: readonly string[];

  /** @internal */
  constructor(numbers: Float64Array, columns: readonly string[]) {
    this.#numbers = numbers;
    this.#columns = columns;
  }

  get length(): number {
    return this.#numbers.length / this.#columns.length;
  }

  /**
   * A row; the first is 0.
   * @throws ArgumentError for a row that does not exist
   */
  at(index: number): Row {
    if (Number.isInteger(index) && index >= 0 && index < this.length) return this.#row(index);
    throw refusal('row', `a whole number from 0 to ${this.length - 1}`, describeValue(index));
  }

  /** The numbers of one column. */
  column(name: keyof Row & string): Float64Array {
    const { length } = this;
    const place = this.#columns.indexOf(name);
    const column = new Float64Array(length);
    for (let row = 0; row < length; row += 1) column[row] = this.#numbers[row * this.#columns.length + place] ?? NaN;
    return column;
  }

  /** The rows in order. */
  *[Symbol.iterator](): Generator<Row, void, undefined> {
    for (let row = 0; row < this.length; row += 1) yield this.#row(row);
  }

  #row(index: number): Row {
    return namedNumbers(this.#columns, this.#numbers, index * this.#columns.length) as Row;
  }
}

/** The numbers starting at position `from`, as fields with these names. */
export function namedNumbers(names: readonly string[], numbers: Float64Array, from: number): Record<string, number> {
  const named: Record<string, number> = {};
  for (const [place, name] of names.entries()) named[name] = numbers[from + place] ?? NaN;
  return named;
}
