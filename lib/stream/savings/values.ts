// The values of one firing, each with what it was made of and the turn of a loop in which it was made: what the output does not lead back
// to need not be worked out.
import { elementAt } from '../../core/known.ts';

/** A value, by number. */
export type Value = number;
/** A turn of a loop, by number; 0: the firing itself. */
export type Turn = number;

/** What is known of a value beside what it was made of. */
export interface Facts {
  /** It is this, whatever the input. */
  readonly constant?: number | undefined;
  /** It is not −0. */
  readonly isNoNegativeZero?: boolean;
  /** It is the item so far behind the first of the firing. */
  readonly item?: number;
}

/** How many more values, parts of values and turns there may be. */
export interface Budget { left: number }

/** The firing takes too many steps to be followed. */
export class TooLong extends Error {}

const none: readonly Value[] = [];

export class Values {
  /** Turn in which the next values are made. */
  turn: Turn = 0;
  readonly #parts: (readonly Value[])[] = [];
  readonly #facts: Facts[] = [];
  readonly #turns: Turn[] = [];
  /** Constants that were made of constants, each in the turn that used them or around it: they are there wherever they are needed. */
  readonly #isSettled: boolean[] = [];
  /** By turn: the one around it, and what decides about what happens in it. */
  readonly #outer: Turn[] = [-1];
  readonly #controls: Value[][] = [[]];
  /** What has to happen: in which turn, and with which values. */
  readonly #needed: { readonly turn: Turn; readonly values: readonly Value[] }[] = [];
  readonly #live: boolean[] = [];
  readonly #liveTurns: boolean[] = [];
  readonly #liveItems = new Set<number>();
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  make(parts: readonly Value[], facts: Facts = {}): Value {
    this.#spend(1 + parts.length);
    const needed = parts.length === 0 || parts.every((part) => this.#isAtHand(part)) ? none : parts;
    const value = this.#parts.push(needed) - 1;
    this.#facts.push(facts);
    this.#turns.push(this.turn);
    this.#isSettled.push(needed.length === 0 && facts.constant !== undefined);
    return value;
  }

  #spend(steps: number): void {
    this.#budget.left -= steps;
    if (this.#budget.left < 0) throw new TooLong();
  }

  #isAtHand(value: Value): boolean {
    return this.#isSettled[value] === true && this.#isAround(elementAt(this.#turns, value));
  }

  /** Whether a turn is the current one or around it. */
  #isAround(turn: Turn): boolean {
    let at = this.turn;
    while (at > turn) at = elementAt(this.#outer, at);
    return at === turn;
  }

  constant(constant: number): Value {
    return this.make(none, { constant, isNoNegativeZero: !Object.is(constant, -0) });
  }

  constantOf(value: Value): number | undefined {
    return elementAt(this.#facts, value).constant;
  }

  isNoNegativeZero(value: Value): boolean {
    return elementAt(this.#facts, value).isNoNegativeZero === true;
  }

  /** Whether two values are certainly the same, to the bit. */
  isSame(a: Value, b: Value): boolean {
    const x = this.constantOf(a);
    return a === b || (x !== undefined && Object.is(x, this.constantOf(b)));
  }

  /** What a place holds after an assignment: what it held before, if that is the same. */
  assigned(before: Value | undefined, value: Value, because: readonly Value[] = none): Value {
    if (before !== undefined && this.isSame(before, value)) return before;
    return this.make([value, ...because], { constant: this.constantOf(value), isNoNegativeZero: this.isNoNegativeZero(value) });
  }

  /** A value that is found by others. */
  because(value: Value, others: readonly Value[]): Value {
    return others.every((other) => this.#isAtHand(other)) ? value
      : this.make([value, ...others], { constant: this.constantOf(value), isNoNegativeZero: this.isNoNegativeZero(value) });
  }

  /** Goes into a turn of a loop. */
  enter(): Turn {
    this.#spend(1);
    this.#controls.push([]);
    return (this.turn = this.#outer.push(this.turn) - 1);
  }

  leave(turn: Turn): void {
    this.turn = elementAt(this.#outer, turn);
  }

  /** What is done in the current turn depends on the value. */
  control(value: Value): void {
    if (!this.#isAtHand(value)) elementAt(this.#controls, this.turn).push(value);
  }

  /** Something that has to happen in the current turn, with these values. */
  need(values: readonly Value[] = none): void {
    this.#needed.push({ turn: this.turn, values });
  }

  /** Finds what all that has to happen leads back to. */
  findLive(): void {
    const stack: Value[] = [];
    const reach = (turn: Turn): void => {
      for (let at = turn; at >= 0 && this.#liveTurns[at] !== true; at = elementAt(this.#outer, at)) {
        this.#liveTurns[at] = true;
        for (const value of elementAt(this.#controls, at)) stack.push(value);
      }
    };
    reach(0);
    for (const { turn, values } of this.#needed) {
      reach(turn);
      for (const value of values) stack.push(value);
    }
    for (let value = stack.pop(); value !== undefined; value = stack.pop()) {
      if (this.#live[value] === true) continue;
      this.#live[value] = true;
      const { item } = elementAt(this.#facts, value);
      if (item !== undefined) this.#liveItems.add(item);
      reach(elementAt(this.#turns, value));
      for (const part of elementAt(this.#parts, value)) stack.push(part);
    }
  }

  isLiveTurn(turn: Turn): boolean {
    return this.#liveTurns[turn] === true;
  }

  /** Items that matter, after {@link findLive}. */
  get liveItems(): ReadonlySet<number> {
    return this.#liveItems;
  }
}
