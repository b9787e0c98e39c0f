// Per-system outcomes: one word per (system, right-hand side), decoded when asked for.
import { requireCount } from '../core/checks.ts';
import { WarploomError } from '../core/errors.ts';

/** Outcome of one system and right-hand side. */
export type SystemState = 'ok' | 'zero-pivot' | 'non-finite' | 'inaccurate';

const states: readonly SystemState[] = ['ok', 'zero-pivot', 'non-finite', 'inaccurate'];
const resolvedByPivoting = 0x100;

/** One decoded outcome. */
export interface SystemOutcome {
  readonly system: number;
  readonly rhs: number;
  readonly state: SystemState;
  /** First row with a zero pivot or a non-finite input, else -1. */
  readonly row: number;
  /** The answer comes from the pivoting re-solve of `check`. */
  readonly resolvedByPivoting: boolean;
}

/**
 * State of a raw status word.
 * @throws ArgumentError for what is no such word
 */
export function stateOf(word: number): SystemState {
  if (typeof word !== 'number' || (word | 0) !== word) requireCount(word, 'word', -(2 ** 31), 2 ** 31 - 1);
  return states[word & 0xff] ?? 'inaccurate';
}

/** Whether a raw status word says that `check` solved the system again by pivoting. */
export function wasResolvedByPivoting(word: number): boolean {
  if (typeof word !== 'number' || (word | 0) !== word) requireCount(word, 'word', -(2 ** 31), 2 ** 31 - 1);
  return (word & resolvedByPivoting) !== 0;
}

/**
 * The outcomes of a call. Holds the raw words and makes objects only when asked; a batch of a million
 * systems costs one pass to know that all are `ok`.
 */
export class SystemStatuses implements Iterable<SystemOutcome> {
  /** `batch * rhsCount` words, system-major. */
  readonly words: Int32Array;
  /** Same shape: first offending row, else -1. */
  readonly rows: Int32Array;
  readonly rhsCount: number;

  constructor(words: Int32Array, rows: Int32Array, rhsCount: number) {
    this.words = words;
    this.rows = rows;
    this.rhsCount = rhsCount;
  }

  /** Number of outcomes: batch * rhsCount. */
  get length(): number {
    return this.words.length;
  }

  /** True when every state is `ok` (answers of a pivoting re-solve count as ok). */
  get allOk(): boolean {
    return this.words.every((word) => (word & 0xff) === 0);
  }

  /** Outcome of `system` (0-based) and right-hand side `rhs`. Throws RangeError outside the batch. */
  at(system: number, rhs = 0): SystemOutcome {
    const index = system * this.rhsCount + rhs;
    if (!Number.isInteger(index) || rhs < 0 || rhs >= this.rhsCount || index < 0 || index >= this.length) {
      throw new RangeError(`no system ${system}, right-hand side ${rhs} in a batch of ${this.length / this.rhsCount}`);
    }
    return this.#outcome(index);
  }

  /** How many outcomes have each state. */
  counts(): Record<SystemState, number> & { resolvedByPivoting: number } {
    const counts = { 'ok': 0, 'zero-pivot': 0, 'non-finite': 0, 'inaccurate': 0, 'resolvedByPivoting': 0 };
    for (const word of this.words) {
      counts[stateOf(word)] += 1;
      if (wasResolvedByPivoting(word)) counts.resolvedByPivoting += 1;
    }
    return counts;
  }

  /** The outcomes that are not `ok`. */
  *failures(): Generator<SystemOutcome> {
    for (let index = 0; index < this.length; index += 1) {
      if ((this.words[index]! & 0xff) !== 0) yield this.#outcome(index);
    }
  }

  *[Symbol.iterator](): Generator<SystemOutcome> {
    for (let index = 0; index < this.length; index += 1) yield this.#outcome(index);
  }

  /** Throws `ERR_WARPLOOM_SYSTEM_FAILED`, naming the first failed system, unless every state is `ok`. */
  throwIfFailed(): void {
    for (const failure of this.failures()) {
      const { 'ok': ok } = this.counts();
      const where = failure.row >= 0 ? ` at row ${failure.row}` : '';
      throw new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED',
        `${this.length - ok} of ${this.length} systems failed; system ${failure.system}, right-hand side ` +
        `${failure.rhs}: ${failure.state}${where}. Use stable: true or check: true for systems that need pivoting.`);
    }
  }

  #outcome(index: number): SystemOutcome {
    const word = this.words[index]!;
    return {
      system: Math.floor(index / this.rhsCount),
      rhs: index % this.rhsCount,
      state: stateOf(word),
      row: this.rows[index] ?? -1,
      resolvedByPivoting: wasResolvedByPivoting(word),
    };
  }
}
