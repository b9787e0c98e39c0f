// What a checkpoint of a simulation holds, and what is held against it before any of it is used.
import { z } from 'zod';
import type { Checkpoint, CheckpointFormat, Refuse } from '../core/checkpoint.ts';
import { admitted } from './grid.ts';
import { mostSteps, type ClockState } from './clock.ts';
import { limiters, type EquationName, type RealArray, type Setup } from './types.ts';

/** Kind of the checkpoints; another one when what they hold changes. */
export const checkpointKind = 'swept-2';

/** Name of the state's array, so that a state is never taken for that of another equation. */
export const stateNames: Readonly<Record<EquationName, string>> = {
  heat: 'temperature', 'kuramoto-sivashinsky': 'wave', euler: 'conserved',
};

const components: Readonly<Record<EquationName, number>> = { heat: 1, 'kuramoto-sivashinsky': 1, euler: 3 };

/** Numbers in one typed array of V8. */
const mostNumbers = 2 ** 32 - 1;

const positive = z.number().positive();

/** A setup of one equation, with the values that the options of the others would have. */
function setupOf<Name extends EquationName, Own extends z.ZodRawShape>(equation: Name, leastPoints: number, own: Own) {
  const end = z.enum(admitted[equation]);
  return z.strictObject({
    equation: z.literal(equation), type: z.enum(['float32', 'float64']),
    n: z.int().min(leastPoints).max(mostNumbers), batch: z.int().min(1).max(mostNumbers),
    dx: z.number().gt(1e-60).lt(1e60), dt: positive, left: end, right: end, ...own,
  });
}

const setupSchema = z.discriminatedUnion('equation', [
  setupOf('heat', 3, { diffusivity: positive, gamma: z.literal(1.4), limiter: z.literal('van-leer') }),
  setupOf('kuramoto-sivashinsky', 5, { diffusivity: z.literal(1), gamma: z.literal(1.4), limiter: z.literal('van-leer') }),
  setupOf('euler', 5, {
    diffusivity: z.literal(1), gamma: z.number().gt(1), limiter: z.enum(limiters),
  }),
]);

const parametersSchema = z.strictObject({
  setup: setupSchema, tag: z.string(),
  clock: z.strictObject({ step: z.int().min(0).max(mostSteps), originStep: z.int().min(0).max(mostSteps), originTime: z.number() }),
});

/** Everything a checkpoint says beside the state. */
export interface CheckpointParameters {
  readonly setup: Setup;
  /** As given to `save`. */
  readonly tag: string;
  readonly clock: ClockState;
}

/** Steps, times and ends that no run leads to. */
function checkParameters({ parameters: { setup, clock }, step }: Checkpoint<CheckpointParameters>, refuse: Refuse): void {
  if ((setup.left === 'periodic') !== (setup.right === 'periodic')) {
    refuse('parameters.setup.right', "'periodic' at both ends or at none", `'${setup.right}'`);
  }
  if (step !== clock.step) refuse('step', `the clock's, ${clock.step}`, String(step));
  if (clock.originStep > clock.step) refuse('parameters.clock.originStep', `at most ${clock.step}`, String(clock.originStep));
  // No step is longer than dt; times that were asked for count as met within rounding.
  const latest = (clock.originStep + 1) * setup.dt;
  if (!(clock.originTime >= -setup.dt && clock.originTime <= latest)) {
    refuse('parameters.clock.originTime', `a time from 0 to ${latest}`, String(clock.originTime));
  }
}

/** Densities that are not positive, and pressures that are negative beyond rounding. */
function checkGas({ parameters: { setup }, arrays }: Checkpoint<CheckpointParameters>, refuse: Refuse): void {
  const { n, batch, type } = setup;
  const state = arrays[stateNames.euler] as RealArray;
  const rounding = type === 'float32' ? 1e-5 : 1e-13;
  for (let b = 0; b < batch; b += 1) {
    for (let i = 3 * b * n; i < (3 * b + 1) * n; i += 1) {
      const [density, momentum, energy] = [state[i]!, state[i + n]!, state[i + 2 * n]!];
      const inner = energy - (0.5 * momentum * momentum) / density;
      if (density > 0 && energy > 0 && inner >= -rounding * energy) continue;
      const pressure = (setup.gamma - 1) * inner;
      refuse('arrays.conserved', 'positive density and pressure everywhere', `density ${density}, pressure ${pressure} at point ${i % n}`);
    }
  }
}

/** What `swept.restore` takes. */
export const checkpointFormat: CheckpointFormat<CheckpointParameters> = {
  kind: checkpointKind,
  parameters: parametersSchema,
  arrays: ({ setup: { equation, type, n, batch } }) => ({
    [stateNames[equation]]: { type: type === 'float32' ? 'Float32Array' : 'Float64Array', length: n * batch * components[equation] },
  }),
  check(checkpoint, refuse) {
    checkParameters(checkpoint, refuse);
    if (checkpoint.parameters.setup.equation === 'euler') checkGas(checkpoint, refuse);
  },
};
