// Explicit Runge–Kutta methods as stages that each pass once over the cells. Formulas are written once, for numbers and for code.
//
// A stage reads y (the fields that the stage before has made, with neighbours), and at the cell itself u (the fields at the beginning of
// the
// step) and a (a sum that rk4 collects). Shu and Osher, J. Comput. Phys. 77 (1988), for ssprk2 and ssprk3.
import type { Arithmetic } from './boundary.ts';
import type { Method } from './types.ts';

/** The numbers of one cell. `h` and `g`: the products of dt that the stage has. */
export interface StageValues<T> {
  readonly y: () => T;
  readonly u: () => T;
  readonly a: () => T;
  /** The rate. */
  readonly k: T;
  readonly h: () => T;
  readonly g: () => T;
}

/** A share of the step: dt / divisor, or 0 for divisor 0. */
export type Share = ((dt: number) => number) & { readonly divisor: number };

export interface MethodStage {
  /** The stage's time is t + time · dt. */
  readonly time: number;
  /** h and g, as functions of dt. */
  readonly h: Share;
  readonly g: Share;
  readonly value: <T>(at: Arithmetic<T>, of: StageValues<T>) => T;
  /** The new value of a. */
  readonly sum?: <T>(at: Arithmetic<T>, of: StageValues<T>) => T;
}

const share = (divisor: number): Share => Object.assign((dt: number) => (divisor === 0 ? 0 : dt / divisor), { divisor });
const [none, whole, half, third, sixth] = [share(0), share(1), share(2), share(3), share(6)] as const;

/** y + h k */
const forward = <T>(at: Arithmetic<T>, { y, k, h }: StageValues<T>): T => at.add(y(), at.mul(h(), k));
/** u + h k */
const fromStart = <T>(at: Arithmetic<T>, { u, k, h }: StageValues<T>): T => at.add(u(), at.mul(h(), k));
/** old u + rest (y + h k) */
const blend = (old: number, rest: number) => <T>(at: Arithmetic<T>, of: StageValues<T>): T =>
  at.add(at.mul(at.number(old), of.u()), at.mul(at.number(rest), forward(at, of)));
/** a + g k */
const collect = <T>(at: Arithmetic<T>, { a, k, g }: StageValues<T>): T => at.add(a(), at.mul(g(), k));
/** u + g k */
const begin = <T>(at: Arithmetic<T>, { u, k, g }: StageValues<T>): T => at.add(u(), at.mul(g(), k));

export const methodStages: Readonly<Record<Method, readonly MethodStage[]>> = {
  euler: [{ time: 0, h: whole, g: none, value: forward }],
  midpoint: [{ time: 0, h: half, g: none, value: forward }, { time: 0.5, h: whole, g: none, value: fromStart }],
  ssprk2: [{ time: 0, h: whole, g: none, value: forward }, { time: 1, h: whole, g: none, value: blend(0.5, 0.5) }],
  ssprk3: [
    { time: 0, h: whole, g: none, value: forward }, { time: 1, h: whole, g: none, value: blend(0.75, 0.25) },
    { time: 0.5, h: whole, g: none, value: blend(1 / 3, 2 / 3) },
  ],
  rk4: [
    { time: 0, h: half, g: sixth, value: forward, sum: begin }, { time: 0.5, h: half, g: third, value: fromStart, sum: collect },
    { time: 0.5, h: whole, g: third, value: fromStart, sum: collect }, { time: 1, h: none, g: sixth, value: collect },
  ],
};

/** The stages of a `step`: they take whole steps, all at the time of the beginning. */
export const stepStage: Omit<MethodStage, 'value'> = { time: 0, h: whole, g: none };
