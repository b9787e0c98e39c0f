// Outcomes per system: a summary, and the few status words that are not "ok".
import { makeInt32 } from '../core/arrays.ts';
import { requireCount } from '../core/checks.ts';
import { escapedHtml, htmlTable, inspection, jupyterDisplay, type MimeBundle } from '../core/display.ts';
import { refusal, WarploomError } from '../core/errors.ts';
import { elementAt } from '../core/known.ts';
import { common } from '../core/operations.gen.ts';
import { describe } from './views.ts';

/** Outcome of one system and right-hand side. */
export type SystemState = (typeof states)[number];

const { states, flags } = common.status;
/** Failures that JSON and notebooks list. */
const mostShown = 100;
const resolvedFlag = 0x100 << flags.indexOf('resolvedByPivoting');

/** One decoded outcome. */
export interface SystemOutcome {
  readonly system: number;
  readonly rhs: number;
  readonly state: SystemState;
  /** First row with a zero pivot or a non-finite input, else -1. */
  readonly row: number;
  /** Whether the answer comes from the pivoting re-solve of `check`. */
  readonly resolvedByPivoting: boolean;
}

/** How many outcomes have each state, and how many answers come from a pivoting re-solve. */
export type StatusCounts = Readonly<Record<SystemState, number> & { resolvedByPivoting: number }>;

/**
 * State of a raw status word.
 * @throws ArgumentError if it is not a status word
 */
export function stateOf(word: number): SystemState {
  if (typeof word !== 'number' || (word | 0) !== word) requireCount(word, 'word', -(2 ** 31), 2 ** 31 - 1);
  return states[word & 0xff] ?? 'inaccurate';
}

/** Whether a raw status word says that `check` solved the system again by pivoting. */
export function wasResolvedByPivoting(word: number): boolean {
  if (typeof word !== 'number' || (word | 0) !== word) requireCount(word, 'word', -(2 ** 31), 2 ** 31 - 1);
  return (word & resolvedFlag) !== 0;
}

/** Status words that are not zero, in ascending order of position: everything that distinguishes a batch from one without failures. */
export interface NotedWords {
  readonly places: ArrayLike<number>;
  readonly words: ArrayLike<number>;
  readonly rows: ArrayLike<number>;
}

const nothingNoted: NotedWords = { places: [], words: [], rows: [] };

/** The non-zero status words, from two arrays of all words. */
export function notedWords(words: Int32Array, rows: Int32Array): NotedWords {
  const places: number[] = [];
  for (let place = 0; place < words.length; place += 1) if (words[place] !== 0) places.push(place);
  return { places, words: places.map((place) => elementAt(words, place)), rows: places.map((place) => rows[place] ?? -1) };
}

function countNoted(length: number, words: ArrayLike<number>): StatusCounts {
  const counts = { 'ok': length - words.length, 'zero-pivot': 0, 'non-finite': 0, 'inaccurate': 0, 'resolvedByPivoting': 0 };
  for (let i = 0; i < words.length; i += 1) {
    counts[stateOf(elementAt(words, i))] += 1;
    if (wasResolvedByPivoting(elementAt(words, i))) counts.resolvedByPivoting += 1;
  }
  return counts;
}

/**
 * The outcomes of a call, one per (system, right-hand side), system-major. Only those that are not simply `ok` are stored: a batch
 * of a million systems without failures stores nothing.
 */
export class SystemStatuses implements Iterable<SystemOutcome> {
  /** Number of outcomes: batch * rhsCount. */
  readonly length: number;
  readonly rhsCount: number;
  readonly #noted: NotedWords;
  #counts: StatusCounts | undefined;
  #words: Int32Array | undefined;
  #rows: Int32Array | undefined;

  /** All words with their rows, or the length of the batch with the words that are not zero (default: none). */
  constructor(words: Int32Array, rows: Int32Array, rhsCount: number);
  constructor(length: number, noted: NotedWords | undefined, rhsCount: number);
  constructor(words: Int32Array | number, rows: Int32Array | NotedWords | undefined, rhsCount: number) {
    this.rhsCount = rhsCount;
    if (typeof words === 'number') {
      this.length = words;
      this.#noted = (rows as NotedWords | undefined) ?? nothingNoted;
    } else {
      this.length = words.length;
      this.#words = words;
      this.#rows = rows as Int32Array;
      this.#noted = notedWords(words, this.#rows);
    }
  }

  /** All status words, created on first access: state in the low byte, 0x100 for answers of a pivoting re-solve. */
  get words(): Int32Array {
    return (this.#words ??= this.#spread(makeInt32(this.length), this.#noted.words));
  }

  /** All rows, created on first access: first offending row, or -1. */
  get rows(): Int32Array {
    return (this.#rows ??= this.#spread(makeInt32(this.length).fill(-1), this.#noted.rows));
  }

  #spread(array: Int32Array, values: ArrayLike<number>): Int32Array {
    const { places } = this.#noted;
    for (let i = 0; i < places.length; i += 1) array[elementAt(places, i)] = elementAt(values, i);
    return array;
  }

  /** True when every state is `ok` (answers of a pivoting re-solve count as ok). */
  get allOk(): boolean {
    return this.counts().ok === this.length;
  }

  /** Outcome of `system` (0-based) and right-hand side `rhs`. @throws ArgumentError outside the batch */
  at(system: number, rhs = 0): SystemOutcome {
    const batch = this.rhsCount === 0 ? 0 : this.length / this.rhsCount;
    for (const [name, value, end] of [['system', system, batch], ['rhs', rhs, this.rhsCount]] as const) {
      if (Number.isInteger(value) && value >= 0 && value < end) continue;
      throw refusal(name, `an integer from 0 to ${end - 1}`, describe(value));
    }
    return this.#outcome(system * this.rhsCount + rhs);
  }

  /** How many outcomes have each state. */
  counts(): StatusCounts {
    return (this.#counts ??= Object.freeze(countNoted(this.length, this.#noted.words)));
  }

  /** The outcomes that are not `ok`. */
  *failures(): Generator<SystemOutcome> {
    const { words } = this.#noted;
    for (let i = 0; i < words.length; i += 1) if ((elementAt(words, i) & 0xff) !== 0) yield this.#notedOutcome(i);
  }

  /** The outcomes of all systems in order. */
  *[Symbol.iterator](): Generator<SystemOutcome> {
    for (let place = 0; place < this.length; place += 1) yield this.#outcome(place);
  }

  /** Throws `ERR_WARPLOOM_SYSTEM_FAILED`, naming the first failed system, unless every state is `ok`. */
  throwIfFailed(): void {
    for (const failure of this.failures()) {
      const where = failure.row >= 0 ? ` at row ${failure.row}` : '';
      throw new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED',
        `${this.length - this.counts().ok} of ${this.length} systems failed; system ${failure.system}, right-hand side ` +
        `${failure.rhs}: ${failure.state}${where}. Use stable: true or check: true for systems that need pivoting.`);
    }
  }

  /** The counts, and the first hundred outcomes that are not `ok`: for `JSON.stringify`. */
  toJSON(): { readonly length: number; readonly counts: StatusCounts; readonly failures: readonly SystemOutcome[] } {
    const failures: SystemOutcome[] = [];
    for (const each of this.failures()) if (failures.push(each) === mostShown) break;
    return { length: this.length, counts: this.counts(), failures };
  }

  /** @internal One line: '20000 ok', or how many failed in which way. */
  [inspection](): string {
    const { ok, resolvedByPivoting, ...failed } = this.counts();
    const parts = [`${ok} ok`, ...(resolvedByPivoting > 0 ? [`${resolvedByPivoting} of them by pivoting`] : []),
      ...Object.entries(failed).filter(([, count]) => count > 0).map(([state, count]) => `${count} ${state}`)];
    return `SystemStatuses { ${parts.join(', ')} }`;
  }

  /** @internal */
  [jupyterDisplay](): MimeBundle {
    const { failures } = this.toJSON();
    const text = this[inspection]();
    const more = this.length - this.counts().ok - failures.length;
    return {
      'text/plain': text,
      'text/html': `<p>${escapedHtml(text.slice('SystemStatuses { '.length, -2))}</p>${failures.length === 0 ? ''
        : htmlTable(failures.map(({ system, rhs, state, row }) => ({ system, rhs, state, row })))}`
        + (more > 0 ? `<p>and ${more} more</p>` : ''),
    };
  }

  #outcome(place: number): SystemOutcome {
    const { places } = this.#noted;
    let low = 0, high = places.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (elementAt(places, middle) < place) low = middle + 1;
      else high = middle;
    }
    if (places[low] === place) return this.#notedOutcome(low);
    return this.#decode(place, 0, -1);
  }

  #notedOutcome(i: number): SystemOutcome {
    return this.#decode(elementAt(this.#noted.places, i), elementAt(this.#noted.words, i), elementAt(this.#noted.rows, i));
  }

  #decode(place: number, word: number, row: number): SystemOutcome {
    return {
      system: Math.floor(place / this.rhsCount), rhs: place % this.rhsCount, state: stateOf(word), row,
      resolvedByPivoting: wasResolvedByPivoting(word),
    };
  }
}
