// Linear filters as matrices, and the matrix of a pipeline or split-join of them.
import { elementAt } from '../../core/known.ts';

/** A sum of multiples of items of the input, by offset from the first item of the firing, and of a number. */
export interface Row {
  /** Offsets in ascending order; their factors are not 0. */
  readonly at: readonly number[];
  readonly by: readonly number[];
  readonly rest: number;
}

/** Types of items that linear filters take and give. Ints wrap, so that their sums are exact in any order. */
export type LinearType = 'int' | 'float' | 'double';

/** A filter each of whose items is such a sum. */
export interface Linear {
  readonly type: LinearType;
  readonly pop: number;
  /** At least `pop`: a firing waits for as many items as those that it stands for. */
  readonly peek: number;
  /** By item that a firing pushes. */
  readonly rows: readonly Row[];
}

/** What may still be spent on multiplying matrices: terms. */
export interface Budget { left: number }

/** Most rows and terms of a matrix, and most items that it spans: beyond them code and tables get too large. */
const mostRows = 1024;
const mostTerms = 16_384;
const mostSpan = 65_536;

/** A sum in the making. */
export class Sum {
  readonly #type: LinearType;
  readonly #terms = new Map<number, number>();
  rest = 0;

  constructor(type: LinearType) {
    this.#type = type;
  }

  get terms(): number {
    return this.#terms.size;
  }

  #plus(a: number, b: number): number {
    return this.#type === 'int' ? (a + b) | 0 : a + b;
  }

  #times(a: number, b: number): number {
    return this.#type === 'int' ? Math.imul(a, b) : a * b;
  }

  /** Adds a multiple of an item, or of 1 without one. */
  add(at: number | undefined, by: number): void {
    if (at === undefined) this.rest = this.#plus(this.rest, by);
    else this.#terms.set(at, this.#plus(this.#terms.get(at) ?? 0, by));
  }

  /** Adds a multiple of a row, whose offsets `place` moves. */
  addRow(row: Row, factor: number, place: (at: number) => number): void {
    row.at.forEach((at, i) => { this.add(place(at), this.#times(elementAt(row.by, i), factor)); });
    this.rest = this.#plus(this.rest, this.#times(row.rest, factor));
  }

  /** Undefined if a factor is no finite number of the type. */
  row(): Row | undefined {
    const terms = [...this.#terms].filter(([, by]) => by !== 0).sort(([a], [b]) => a - b);
    const isFinite = (x: number): boolean => Number.isFinite(this.#type === 'float' ? Math.fround(x) : x);
    if (!terms.every(([, by]) => isFinite(by)) || !isFinite(this.rest)) return undefined;
    return { at: terms.map(([at]) => at), by: terms.map(([, by]) => by), rest: this.rest };
  }
}

/** Whether it fits into code and tables. */
export function fits({ rows, peek }: Linear): boolean {
  return rows.length <= mostRows && peek <= mostSpan && rows.reduce((sum, { at }) => sum + at.length, 0) <= mostTerms;
}

/** Multiplications by other factors than ±1, and additions, of a row. */
export function rowOperations({ by, rest }: Row): number {
  const products = by.reduce((sum, factor) => sum + (Math.abs(factor) === 1 ? 0 : 1), 0);
  return products + Math.max(0, by.length - 1) + (rest !== 0 && by.length > 0 ? 1 : 0);
}

export function operationsOf({ rows }: Linear): number {
  return rows.reduce((sum, row) => sum + rowOperations(row), 0);
}

export function gcd(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}

export const lcm = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : (a / gcd(a, b)) * b);

/** Identity: an item for an item. */
export function identity(type: LinearType): Linear {
  return { type, pop: 1, peek: 1, rows: [{ at: [0], by: [1], rest: 0 }] };
}

/** The row of an item of the output, counted from the first firing, and where its offsets begin. */
function rowOf({ rows, pop }: Linear, item: number): { readonly row: Row; readonly from: number } {
  return { row: elementAt(rows, item % rows.length), from: Math.floor(item / rows.length) * pop };
}

/**
 * The second filter behind the first. A firing makes the fewest firings of the second that use up what whole firings of the first push;
 * what the second peeks at beyond that is computed again by the next firing. Undefined if it is too large.
 */
export function inSequence(first: Linear, second: Linear, budget: Budget): Linear | undefined {
  const [push, { pop }] = [first.rows.length, second];
  if (first.type !== second.type || push === 0 || pop === 0 || first.pop === 0 || second.rows.length === 0) return undefined;
  const passed = lcm(push, pop);
  const firings = passed / pop;
  if (firings * second.rows.length > mostRows) return undefined;
  const peeked = passed + second.peek - pop;
  const rows: Row[] = [];
  for (let firing = 0; firing < firings; ++firing) {
    for (const { at, by, rest } of second.rows) {
      const sum = new Sum(first.type);
      sum.add(undefined, rest);
      for (const [i, offset] of at.entries()) {
        const { row, from } = rowOf(first, firing * pop + offset);
        sum.addRow(row, elementAt(by, i), (place) => from + place);
        if ((budget.left -= 1 + row.at.length) < 0) return undefined;
      }
      const row = sum.row();
      if (row === undefined) return undefined;
      rows.push(row);
    }
  }
  const made = {
    type: first.type, rows, pop: (passed / push) * first.pop, peek: (Math.ceil(peeked / push) - 1) * first.pop + first.peek,
  };
  return fits(made) ? made : undefined;
}

/** A split-join of linear streams; `weights` of the splitter are undefined if it copies. */
export interface Branches {
  readonly children: readonly Linear[];
  readonly split: readonly number[] | undefined;
  readonly join: readonly number[];
}

/** Firings of the branches and of the joiner for the fewest of the splitter that leave nothing between them. */
function firingsOf({ children, split, join }: Branches): { firings: number[]; splits: number; joins: number } | undefined {
  // In fractions of a firing of the joiner: branch i fires join[i] / push times.
  let joins = 1;
  for (const [i, { rows, pop }] of children.entries()) {
    const [weight, given] = [elementAt(join, i), split === undefined ? 1 : elementAt(split, i)];
    if (rows.length === 0 || pop === 0 || weight === 0 || given === 0) return undefined;
    joins = lcm(joins, rows.length / gcd(rows.length, weight));
    const [items, push] = [weight * pop, rows.length * given];
    joins = lcm(joins, push / gcd(push, items));
    if (!(joins <= mostRows)) return undefined;
  }
  const firings = children.map(({ rows }, i) => (joins * elementAt(join, i)) / rows.length);
  const taken = children.map(({ pop }, i) => (elementAt(firings, i) * pop) / (split === undefined ? 1 : elementAt(split, i)));
  const splits = elementAt(taken, 0);
  // Rates that do not balance.
  return taken.every((each) => each === splits) ? { firings, splits, joins } : undefined;
}

/** A split-join as one filter; undefined if it is too large, or its rates do not balance. */
export function sideBySide(branches: Branches, budget: Budget): Linear | undefined {
  const { children, split, join } = branches;
  const [first] = children;
  const counts = firingsOf(branches);
  if (first === undefined || counts === undefined || children.some(({ type }) => type !== first.type)) return undefined;
  const total = split === undefined ? 1 : split.reduce((sum, weight) => sum + weight, 0);
  const before = (branch: number): number => (split ?? []).slice(0, branch).reduce((sum, weight) => sum + weight, 0);
  const starts = children.map((_, branch) => before(branch));
  /** The place of a branch's item among those of the splitter. */
  const place = (branch: number, item: number): number => {
    if (split === undefined) return item;
    const weight = elementAt(split, branch);
    return Math.floor(item / weight) * total + elementAt(starts, branch) + (item % weight);
  };
  if (counts.joins * join.reduce((sum, weight) => sum + weight, 0) > mostRows) return undefined;
  const rows: Row[] = [];
  for (let turn = 0; turn < counts.joins; ++turn) {
    for (const [branch, child] of children.entries()) {
      const weight = elementAt(join, branch);
      for (let i = 0; i < weight; ++i) {
        const { row, from } = rowOf(child, turn * weight + i);
        rows.push({ ...row, at: row.at.map((at) => place(branch, from + at)) });
        if ((budget.left -= 1 + row.at.length) < 0) return undefined;
      }
    }
  }
  const peek = Math.max(counts.splits * total, ...children.map(({ pop, peek: own }, branch) => {
    const needed = (elementAt(counts.firings, branch) - 1) * pop + own;
    // A splitter takes what it gives to all branches at once.
    return split === undefined ? needed : Math.ceil(needed / elementAt(split, branch)) * total;
  }));
  const made = { type: first.type, rows, pop: counts.splits * total, peek };
  return fits(made) ? made : undefined;
}
