// Steps of varying length: options, and the rate of a cell, which is 1 / the longest step that it allows.
import { describeValue } from '../core/arrays.ts';
import { hasFields, number, positive } from '../core/checks.ts';
import { refusal } from '../core/errors.ts';
import { optionsOf, type ChecksOf } from '../core/options.ts';
import type { Arithmetic } from './boundary.ts';
import type { AdaptiveStep, Equation } from './types.ts';

/** What steps of varying length keep to. */
export interface Adaptive {
  /** 1 / the CFL number and 1 / the diffusion number; 0 where there is none. */
  readonly h: number;
  readonly g: number;
  readonly most: number;
}

const stepOptions = optionsOf('stencil.simulate', {
  cfl: positive, diffusion: positive, most: positive,
} satisfies ChecksOf<AdaptiveStep>);
const finite = number();

/** Reads `dt`: the length of all steps, or numbers that every step keeps to. */
export function readStep(given: unknown, { definition }: Equation): { readonly dt: number; readonly adaptive?: Adaptive } {
  if (!hasFields(given)) {
    if (given !== undefined && typeof given !== 'number') {
      throw refusal('dt', 'a number, or an object such as { cfl: 0.4 }', describeValue(given));
    }
    positive(given, 'dt');
    return { dt: given as number };
  }
  const options = stepOptions.read(given, 'dt');
  const { cfl, diffusion, most } = options as AdaptiveStep;
  for (const [name, value, of] of [['cfl', cfl, 'speed'], ['diffusion', diffusion, 'diffusivity']] as const) {
    const has = definition[of] !== undefined;
    if (has && value === undefined) throw refusal(`dt.${name}`, `a number, because the equation has a ${of}`, 'none');
    if (!has && value !== undefined) throw refusal(`dt.${name}`, `none, because the equation has no ${of}`, describeValue(value));
  }
  if (cfl === undefined && diffusion === undefined) {
    throw refusal('dt', 'a number, because the equation has neither speed nor diffusivity', describeValue(given));
  }
  const inverse = (value: number | undefined, name: string): number => {
    const made = value === undefined ? 0 : 1 / value;
    finite(made, name);
    return made;
  };
  return { dt: NaN, adaptive: { h: inverse(cfl, 'dt.cfl'), g: inverse(diffusion, 'dt.diffusion'), most: most ?? Infinity } };
}

/** Arithmetic with what rates need. */
export interface RateArithmetic<T> extends Arithmetic<T> {
  abs(a: T): T;
  max(a: T, b: T): T;
}

/** The rate of a cell: max(h Σ |speed| / dx, g diffusivity Σ 1 / dx²). */
export function rateOf<T>(
  at: RateArithmetic<T>, spacing: readonly number[],
  { speeds, diffusivity, h, g }: {
    readonly speeds: readonly T[] | undefined; readonly diffusivity: T | undefined; readonly h: () => T; readonly g: () => T;
  },
): T {
  const waves = speeds?.map((speed, axis) => at.mul(at.abs(speed), at.number(1 / (spacing[axis] ?? 1)))).reduce((a, b) => at.add(a, b));
  const squares = spacing.reduce((sum, d) => sum + 1 / (d * d), 0);
  const byWaves = waves === undefined ? undefined : at.mul(h(), waves);
  const byDiffusion = diffusivity === undefined ? undefined : at.mul(g(), at.mul(diffusivity, at.number(squares)));
  if (byWaves === undefined) return byDiffusion ?? at.number(0);
  return byDiffusion === undefined ? byWaves : at.max(byWaves, byDiffusion);
}
