// What a checkpoint of a simulation holds, and how it is validated before any of it is used.
import type { Checkpoint, CheckpointFormat, Refuse } from '../core/checkpoint.ts';
import { choice, number, positive, text, whole, type Check } from '../core/checks.ts';
import { elementAt } from '../core/known.ts';
import { oneOfRecords, record } from '../core/shapes.ts';
import { mostSteps, type ClockState } from '../core/clock.ts';
import { admitted } from './grid.ts';
import { limiters, type EquationName, type RealArray, type Setup } from './types.ts';

/** Kind of the checkpoints; it changes whenever their contents do. */
export const checkpointKind = 'swept-2';

/** Name of the state's array, so that a state is never mistaken for that of another equation. */
export const stateNames: Readonly<Record<EquationName, string>> = {
  heat: 'temperature', 'kuramoto-sivashinsky': 'wave', euler: 'conserved',
};

const components: Readonly<Record<EquationName, number>> = { heat: 1, 'kuramoto-sivashinsky': 1, euler: 3 };

/** Numbers in one typed array of V8. */
const mostNumbers = 2 ** 32 - 1;

/** A setup of one equation, with the values that the options of the others would have. */
function setupOf(equation: EquationName, leastPoints: number, own: Readonly<Record<string, Check>>): Check {
  const end = choice(admitted[equation]);
  return record({
    equation: choice([equation]), type: choice(['float32', 'float64']), n: whole(leastPoints, mostNumbers), batch: whole(1, mostNumbers),
    dx: number({ above: 1e-60, below: 1e60 }), dt: positive, left: end, right: end, ...own,
  });
}

const setups: Readonly<Record<EquationName, Check>> = {
  heat: setupOf('heat', 3, { diffusivity: positive, gamma: choice([1.4]), limiter: choice(['van-leer']) }),
  'kuramoto-sivashinsky': setupOf('kuramoto-sivashinsky', 5, {
    diffusivity: choice([1]), gamma: choice([1.4]), limiter: choice(['van-leer']),
  }),
  euler: setupOf('euler', 5, { diffusivity: choice([1]), gamma: number({ above: 1 }), limiter: choice(limiters) }),
};

const step = whole(0, mostSteps);

/** Everything that a checkpoint holds besides the state. */
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
      const [density, momentum, energy] = [elementAt(state, i), elementAt(state, i + n), elementAt(state, i + 2 * n)];
      const inner = energy - (0.5 * momentum * momentum) / density;
      if (density > 0 && energy > 0 && inner >= -rounding * energy) continue;
      const pressure = (setup.gamma - 1) * inner;
      refuse('arrays.conserved', 'positive density and pressure everywhere', `density ${density}, pressure ${pressure} at point ${i % n}`);
    }
  }
}

/** The checkpoints that `swept.restore` accepts. */
export const checkpointFormat: CheckpointFormat<CheckpointParameters> = {
  kind: checkpointKind,
  parameters: record({
    setup: oneOfRecords('equation', setups), tag: text(),
    clock: record({ step, originStep: step, originTime: number() }),
  }),
  arrays: ({ setup: { equation, type, n, batch } }) => ({
    [stateNames[equation]]: { type: type === 'float32' ? 'Float32Array' : 'Float64Array', length: n * batch * components[equation] },
  }),
  check(checkpoint, refuse) {
    checkParameters(checkpoint, refuse);
    if (checkpoint.parameters.setup.equation === 'euler') checkGas(checkpoint, refuse);
  },
};
