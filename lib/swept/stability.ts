// Largest stable time steps, and what happens to larger ones.
import { emitWarning } from 'node:process';
import { requireNumber } from '../core/checks.ts';
import { ArgumentError, refusal } from '../core/errors.ts';
import { required } from '../core/known.ts';
import { exactRiemann, soundSpeed } from './exact.ts';
import type { GasState, Limiter, RealArray, StabilityWarning } from './types.ts';

/** Largest Fourier number: beyond it the shortest wave grows. */
export const fourierLimit = 0.5;

/**
 * Largest CFL numbers allowed, by limiter: what `npm run bench -- swept-cfl` found over shock tubes, colliding blasts, steepening waves
 * and random Riemann problems of 101 to 3201 cells (docs/swept.md), less 0.03 and rounded down to a multiple of 0.05. The paper's
 * limiter makes slopes steeper than both differences, at the expense of stability.
 */
export const cflLimits: Readonly<Record<Limiter, number>> = { paper: 0.55, minmod: 0.9, 'van-leer': 0.9, mc: 0.9 };

/**
 * Largest time step of the midpoint rule for the shortest wave; Infinity for a spacing at which the shortest wave is not damped.
 * @throws ArgumentError for a spacing that is not positive and finite
 */
export function kuramotoSivashinskyLimit(dx: number): number {
  requireNumber(dx, 'dx', { above: 0 });
  const rate = (16 - 4 * dx ** 2) / dx ** 4;
  return rate > 0 ? 2 / rate : Infinity;
}

/** Relative jumps below it open into states like their own. */
const jumpLimit = 0.05;

/** What the gas at one end meets beyond it; undefined: nothing new. */
function beyond(kind: string, end: GasState, other: GasState): GasState | undefined {
  if (kind === 'reflective') return { ...end, velocity: -end.velocity };
  return kind === 'periodic' ? other : undefined;
}

/** Largest speed between two neighbours. */
function jumpSpeed(left: GasState, right: GasState, gamma: number): number {
  const sound = Math.min(soundSpeed(left, gamma), soundSpeed(right, gamma));
  const jump = Math.max(Math.abs(left.pressure - right.pressure) / Math.min(left.pressure, right.pressure),
    Math.abs(left.velocity - right.velocity) / sound);
  if (jump < jumpLimit) return 0;
  const vacuum = (2 * (soundSpeed(left, gamma) + soundSpeed(right, gamma))) / (gamma - 1) <= right.velocity - left.velocity;
  if (!vacuum) return exactRiemann(left, right, gamma).fastest;
  const escape = (state: GasState) => Math.abs(state.velocity) + (2 * soundSpeed(state, gamma)) / (gamma - 1);
  return Math.max(escape(left), escape(right));
}

/**
 * Largest |u| + c of a state and of the states that its jumps open into (exact Riemann solutions), over all problems.
 * @throws ArgumentError for a density or pressure that is not positive
 */
export function fastestSignal(
  state: RealArray, { n, batch, gamma, left, right }: { n: number; batch: number; gamma: number; left: string; right: string },
  name = 'initial',
): number {
  let fastest = 0;
  for (let b = 0; b < batch; b += 1) {
    const gas = (i: number): GasState => {
      const at = 3 * b * n + i;
      const density = required(state[at]);
      const velocity = required(state[at + n]) / density;
      const pressure = (gamma - 1) * (required(state[at + 2 * n]) - 0.5 * velocity * required(state[at + n]));
      if (!(density > 0 && pressure > 0)) {
        throw refusal(name, 'positive density and pressure everywhere',
          `density ${density}, pressure ${pressure} in cell ${i}${batch > 1 ? ` of problem ${b}` : ''}`);
      }
      return { density, velocity, pressure };
    };
    const first = gas(0);
    let before = beyond(left, first, gas(n - 1));
    for (let i = 0; i < n; i += 1) {
      const here = i === 0 ? first : gas(i);
      fastest = Math.max(fastest, Math.abs(here.velocity) + soundSpeed(here, gamma));
      if (before !== undefined) fastest = Math.max(fastest, jumpSpeed(before, here, gamma));
      before = here;
    }
    const after = beyond(right, required(before), first);
    if (after !== undefined) fastest = Math.max(fastest, jumpSpeed(required(before), after, gamma));
  }
  return fastest;
}

/** Largest |u| + c of one problem's current state; points without a positive density and pressure do not count. */
export function signalSpeed(state: RealArray, gamma: number): number {
  const n = state.length / 3;
  let fastest = 0;
  for (let i = 0; i < n; i += 1) {
    const density = required(state[i]);
    const velocity = required(state[i + n]) / density;
    const pressure = (gamma - 1) * (required(state[i + 2 * n]) - 0.5 * velocity * required(state[i + n]));
    if (density > 0 && pressure > 0) fastest = Math.max(fastest, Math.abs(velocity) + Math.sqrt((gamma * pressure) / density));
  }
  return fastest;
}

/** What may help if a gas breaks down in a step with CFL number `cfl`. */
export function instabilityRemedy(limiter: Limiter, cfl: number): string {
  const limit = cflLimits[limiter];
  const now = `the CFL number of that state is ${cfl.toPrecision(3)}`;
  if (cfl > 0.6 * limit) {
    return `Take a smaller time step: ${now}, and limiter ${limiter} admits at most ${limit}`;
  }
  if (limiter !== 'minmod') {
    return `A smaller time step will hardly help (${now}): take limiter minmod, the most robust one, or a finer grid`;
  }
  return `Neither a smaller time step (${now}) nor another limiter will help: this scheme does not keep pressures positive where `
    + 'a gas is torn apart or is cold relative to its speed (docs/swept.md, "Time steps")';
}

/** Rejects or reports a time step above `limit`. */
export function requireStable(
  dt: number, limit: number, rule: string, argument: StabilityWarning['argument'], onUnstable: unknown,
): void {
  if (dt <= limit * (1 + 1e-12)) return; // dt may come from a number that stands at the limit
  const message = `the time step ${dt} is unstable: ${rule} requires dt <= ${limit}; take a smaller ${argument} or a larger dx`;
  if (typeof onUnstable === 'function') {
    (onUnstable as (warning: StabilityWarning) => void)({ argument, dt, limit, message });
  } else if (onUnstable === 'warn') {
    emitWarning(`${argument}: ${message}`, { type: 'WarploomWarning', code: 'WARPLOOM_UNSTABLE_STEP' });
  } else {
    throw new ArgumentError(argument, `${message}, or pass onUnstable: 'warn'`, { expected: `dt <= ${limit}`, received: String(dt) });
  }
}
