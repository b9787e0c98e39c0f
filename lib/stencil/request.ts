// What `simulate` and `inspect` hand to the code that they load, and get from it.
import type { Device } from '../core/device.ts';
import type { Goal } from '../core/goals.ts';
import type { Adaptive } from './adaptive.ts';
import type { Rules } from './boundary.ts';
import type { Places } from './content.ts';
import type { Equation, RealArray, StencilBackend, StencilVariant } from './types.ts';

/** @internal The options of a run, read and copied. */
export interface Request {
  readonly equation: Equation;
  readonly places: Places;
  readonly rules: Rules;
  readonly members: number;
  readonly parameters: Float64Array;
  readonly initial: RealArray;
  readonly coefficients: RealArray;
  readonly precision: 'float32' | 'float64';
  /** The length of all steps; NaN if they vary. */
  readonly dt: number;
  readonly adaptive: Adaptive | undefined;
  readonly end: Goal | undefined;
  readonly device: Device | undefined;
  readonly backend: StencilBackend;
  readonly variant: StencilVariant;
  readonly depth: number | undefined;
  readonly points: number | undefined;
  readonly tune: boolean;
  readonly threads: number | undefined;
  readonly resume: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly fingerprint: string;
}

/** What `stencil.inspect` finds. */
export interface Inspection {
  /** Largest offset that the equation reads, along each axis. */
  readonly reach: readonly number[];
  readonly stages: number;
  /** By stage: fields and coefficients with the offsets that it reads. */
  readonly reads: readonly (readonly { readonly name: string; readonly offset: readonly number[] }[])[];
  /** Cells that each axis must have for the boundary conditions. */
  readonly leastShape: readonly number[];
  /** The program in readable form. */
  readonly program: string;
}
