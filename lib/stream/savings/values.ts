// The dataflow of one firing: every value, its operands, and the loop iteration that computed it. Iterations that compute nothing the
// output depends on can be left out.
import { elementAt } from '../../core/known.ts';

/** A value, by number. */
export type Value = number;
/** An iteration of a loop, by number; 0: the firing itself. */
export type Turn = number;

/** What is known about a value besides its operands. */
export interface Facts {
  /** Its number, if that does not depend on the input. */
  readonly constant?: number | undefined;
  /** Whether it is known not to be −0. */
  readonly isNoNegativeZero?: boolean;
  /** For an item of the input: its offset from the first item of the firing. */
  readonly item?: number;
}

/** How many more values, operands and iterations may be recorded. */
export interface Budget { left: number }

/** The budget is used up. */
export class TooLong extends Error {}

const none: readonly Value[] = [];

export class Values {
  /** The iteration being executed. */
  turn: Turn = 0;
  readonly #parts: (readonly Value[])[] = [];
  readonly #facts: Facts[] = [];
  readonly #turns: Turn[] = [];
  /** Constants all of whose operands are computed in the same iteration or an enclosing one, so that no dependence needs recording. */
  readonly #isSettled: boolean[] = [];
  /** By iteration: the enclosing one, and the values that decide what happens in it. */
  readonly #outer: Turn[] = [-1];
  readonly #controls: Value[][] = [[]];
  /** Side effects: the iteration, and the values needed. */
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

  /** Whether an iteration is the current one or encloses it. */
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

  /** Whether two values are known to be equal, to the bit. */
  isSame(a: Value, b: Value): boolean {
    const x = this.constantOf(a);
    return a === b || (x !== undefined && Object.is(x, this.constantOf(b)));
  }

  /** The value of a variable after an assignment: the previous value if the assignment does not change it. */
  assigned(before: Value | undefined, value: Value, because: readonly Value[] = none): Value {
    if (before !== undefined && this.isSame(before, value)) return this.kept(before, value);
    return this.make([value, ...because], { constant: this.constantOf(value), isNoNegativeZero: this.isNoNegativeZero(value) });
  }

  /** A value that an operation with others leaves as it is, as long as the others are computed. */
  kept(value: Value, other: Value): Value {
    if (other !== value) this.control(other);
    return value;
  }

  /** A value whose selection depends on others (an index, a condition). */
  because(value: Value, others: readonly Value[]): Value {
    return others.every((other) => this.#isAtHand(other)) ? value
      : this.make([value, ...others], { constant: this.constantOf(value), isNoNegativeZero: this.isNoNegativeZero(value) });
  }

  /** Enters an iteration of a loop. */
  enter(): Turn {
    this.#spend(1);
    this.#controls.push([]);
    return (this.turn = this.#outer.push(this.turn) - 1);
  }

  leave(turn: Turn): void {
    this.turn = elementAt(this.#outer, turn);
  }

  /** Records that the value decides what the current iteration does: if the iteration is live, so is the value. */
  control(value: Value): void {
    if (!this.#isAtHand(value)) elementAt(this.#controls, this.turn).push(value);
  }

  /** Records a side effect of the current iteration that needs these values. */
  need(values: readonly Value[] = none): void {
    this.#needed.push({ turn: this.turn, values });
  }

  /** Marks everything that the side effects and some more iterations depend on. */
  findLive(turns: readonly Turn[] = []): void {
    const stack: Value[] = [];
    const reach = (turn: Turn): void => {
      for (let at = turn; at >= 0 && this.#liveTurns[at] !== true; at = elementAt(this.#outer, at)) {
        this.#liveTurns[at] = true;
        for (const value of elementAt(this.#controls, at)) stack.push(value);
      }
    };
    reach(0);
    turns.forEach(reach);
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

  /** Offsets of the items that a value is computed from. */
  itemsOf(value: Value): number[] {
    const found: number[] = [], stack = [value], seen = new Set(stack);
    for (let each = stack.pop(); each !== undefined; each = stack.pop()) {
      const { item } = elementAt(this.#facts, each);
      if (item !== undefined) found.push(item);
      for (const part of elementAt(this.#parts, each)) {
        if (seen.has(part)) continue;
        seen.add(part);
        stack.push(part);
      }
    }
    return found;
  }

  isLiveTurn(turn: Turn): boolean {
    return this.#liveTurns[turn] === true;
  }

  /** Offsets of the items that side effects depend on, after {@link findLive}. */
  get liveItems(): ReadonlySet<number> {
    return this.#liveItems;
  }
}
