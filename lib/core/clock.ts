// Steps and time: exact at requested times.
import { refusal } from './errors.ts';

/** Maximum number of steps; far beyond any run. */
export const mostSteps = 2 ** 52;

/** What a {@link Clock} is made from and saved as. */
export interface ClockState {
  readonly step: number;
  readonly originStep: number;
  readonly originTime: number;
}

/** Whole steps, then one shortened to `rest` if that is above 0, and the time this leads to, if one was requested. */
export interface Plan {
  readonly whole: number;
  readonly rest: number;
  readonly target?: number;
}

/**
 * Time = originTime + (step - originStep) dt, computed each time instead of summed, so that it does not drift; the origin moves to
 * every time that was requested.
 */
export class Clock {
  step: number;
  #originStep: number;
  #originTime: number;
  #dt: number;

  constructor(dt: number, { step, originStep, originTime }: ClockState = { step: 0, originStep: 0, originTime: 0 }) {
    this.#dt = dt;
    this.step = step;
    this.#originStep = originStep;
    this.#originTime = originTime;
  }

  get time(): number {
    return this.#originTime + (this.step - this.#originStep) * this.#dt;
  }

  save(): ClockState {
    return { step: this.step, originStep: this.#originStep, originTime: this.#originTime };
  }

  /** Whole steps and a shortened one that lead to `time`. */
  plan(time: number): Plan {
    const present = this.time;
    const way = (time - present) / this.#dt;
    // Rounding of both times, in steps.
    const slack = 2 ** -48 * (1 + Math.max(Math.abs(time), Math.abs(present)) / this.#dt);
    if (way < -slack) throw refusal('time', `a time from the present, ${present}, on`, String(time));
    if (way > mostSteps) throw refusal('time', `a time at most ${mostSteps} steps from the present`, String(time));
    const nearest = Math.max(0, Math.round(way));
    if (Math.abs(way - nearest) <= slack) return { whole: nearest, rest: 0, target: time };
    const whole = Math.floor(way);
    return { whole, target: time, rest: time - (this.#originTime + (this.step + whole - this.#originStep) * this.#dt) };
  }

  /** Whole steps to `step`. */
  planStep(step: number): Plan {
    if (step < this.step) throw refusal('steps', `a step from the present, ${this.step}, on`, String(step));
    return { whole: step - this.step, rest: 0 };
  }

  /** The present is `time` to the bit. */
  arrived(time: number): void {
    this.#originTime = time;
    this.#originStep = this.step;
  }
}
