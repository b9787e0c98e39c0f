// Steps of varying length: how long the next one is, from the largest rate of all cells. cuda/stencil/adaptive.cuh has the same arithmetic.

/** What bounds the steps of a span. */
export interface StepLimits {
  /** Where the span begins and where it ends at the latest. */
  readonly time: number;
  readonly until: number;
  /** The longest step. */
  readonly most: number;
  /** 1 / the CFL number, 1 / the diffusion number. */
  readonly h: number;
  readonly g: number;
}

/** Where a span of such steps has come to. */
export interface StepClock {
  readonly time: number;
  /** The length of the last step. */
  readonly dt: number;
  /** The largest rate of the last step that was chosen, or could not be. */
  readonly rate: number;
  /** Whether no further step is possible. */
  readonly isStuck: boolean;
}

/** Rounding that a last step may exceed its limit by. */
const slack = 1 + 2 ** -40;

/** The next step of a clock that has not reached `until`. `rate`: 1 / the longest step that all cells allow. */
export function nextStep({ until, most }: StepLimits, { time, dt }: StepClock, rate: number): StepClock {
  const wanted = Math.min(1 / rate, most);
  const left = until - time;
  if (left <= wanted * slack && Number.isFinite(left)) return { time: until, dt: left, rate, isStuck: false };
  const next = time + wanted;
  if (!(next > time && Number.isFinite(next))) return { time, dt, rate, isStuck: true };
  return { time: next, dt: wanted, rate, isStuck: false };
}

/** The clock at the beginning of a span. */
export const clockAt = ({ time }: StepLimits): StepClock => ({ time, dt: NaN, rate: 0, isStuck: false });
