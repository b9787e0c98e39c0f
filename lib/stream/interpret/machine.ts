// The state of a computation: frames of variables, fields, channel ends, and the counters that keep it within its limits.
import type { Span } from '../ast.ts';
import type { IrStatement, Variable } from '../ir.ts';
import { nextRandom } from './arithmetic.ts';
import { Fault } from './fault.ts';
import { limitHint } from './limits.ts';
import { zero, type Value } from './values.ts';

/** The target of `pop`, `peek` and `push`. */
export interface Tape {
  pop(span: Span | undefined): Value;
  /** `index` counts from the next item to be popped. */
  peek(index: number, span: Span | undefined): Value;
  push(value: Value, span: Span | undefined): void;
}

/** A budget; `steps` are evaluated expressions and statements, and a copied scalar counts as an eighth. */
export interface Budget {
  steps: number;
  /** Called when no steps are left; returns true if there are more. */
  readonly more?: () => boolean;
  /** Makes it whole again. */
  readonly renew?: () => void;
  /** Bytes alive in frames. */
  bytes: number;
  depth: number;
}

/** Steps between two calls of `watch`. */
const watchedSteps = 50_000;

/** A budget of at most `steps` that calls `watch` every few milliseconds of computation; `watch` may throw. */
export function watchedBudget(most: Pick<Budget, 'steps' | 'bytes' | 'depth'>, watch?: () => void): Budget {
  let left = most.steps;
  const budget: Budget = {
    ...most, steps: 0, renew: () => {
      left = most.steps;
      budget.steps = 0;
    },
    more: () => {
      watch?.();
      const more = Math.min(left, Math.max(watchedSteps, -budget.steps));
      left -= more;
      budget.steps += more;
      return budget.steps >= 0;
    },
  };
  return budget;
}

/** Takes steps from a budget. */
export function spend(budget: Budget, steps: number, span: Span | undefined): void {
  budget.steps -= steps;
  if (budget.steps >= 0 || budget.more?.() === true) return;
  throw new Fault('S4101', 'the program takes more steps than the limit allows', span,
    { hint: `is there an infinite loop? ${limitHint('steps')}`, fatal: true });
}

/** Sends a message whose arguments have been evaluated. */
export type SendMessage = (statement: Extract<IrStatement, { kind: 'message' }>, args: Value[]) => void;

export type Evaluate = (machine: Machine) => Value;
export type Execute = (machine: Machine) => Flow;

/** A function that is ready to be called. */
export interface Callable {
  readonly slots: readonly number[];
  frameSize: number;
  frameBytes: number;
  body: Execute;
}

/** Resolves the variables, fields and functions of the code being compiled. */
export interface Places {
  readonly machine: Machine;
  /** The slot of a variable in the frame. */
  slot(variable: Variable): number;
  /** A function with a frame of its own. */
  callable(name: string): Callable;
}

/** How a statement ended. */
export const Flow = { normal: 0, break: 1, continue: 2, return: 3 } as const;
export type Flow = (typeof Flow)[keyof typeof Flow];

/** Runs compiled code: one machine for each filter of a graph, and for each stream being elaborated. */
export class Machine {
  frame: Value[] = [];
  /** Fields, indexed by {@link fieldSlot}. */
  readonly fields: Value[] = [];
  tape: Tape | undefined;
  iteration = 0;
  returned: Value = 0;
  random = 0;
  readonly budget: Budget;
  print: (text: string) => void = () => undefined;
  send: SendMessage = () => undefined;
  readonly #fieldSlots = new Map<string, number>();

  constructor(budget: Budget) {
    this.budget = budget;
  }

  /** Takes steps from the budget. */
  charge(steps: number, span: Span | undefined): void {
    spend(this.budget, steps, span);
  }

  /** Enters a function that needs `bytes` for its variables. */
  enter(bytes: number, span: Span | undefined): void {
    if (--this.budget.depth < 0) throw new Fault('S4102', 'functions call each other too deeply', span,
      { hint: `does the recursion end? ${limitHint('nesting')}`, fatal: true });
    this.take(bytes, span);
  }

  leave(bytes: number): void {
    ++this.budget.depth;
    this.budget.bytes += bytes;
  }

  take(bytes: number, span: Span | undefined): void {
    this.budget.bytes -= bytes;
    if (this.budget.bytes < 0) throw new Fault('S4103', 'the program takes more memory than the limit allows', span,
      { hint: limitHint('bytes'), fatal: true });
  }

  /** The fixed index of the field in {@link fields}; a new field starts with zeros. */
  fieldSlot(field: Variable): number {
    let slot = this.#fieldSlots.get(field.name);
    if (slot === undefined) {
      this.#fieldSlots.set(field.name, slot = this.fields.length);
      this.fields.push(zero(field.type));
    }
    return slot;
  }

  nextRandom(): number {
    const { state, bits } = nextRandom(this.random);
    this.random = state;
    return bits;
  }
}
