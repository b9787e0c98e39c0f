// What a checkpoint of a run holds.
import { writeCheckpoint, type CheckpointFormat } from '../core/checkpoint.ts';
import { choice, number, text, whole } from '../core/checks.ts';
import { mostSteps, type ClockState } from '../core/clock.ts';
import { list, record } from '../core/shapes.ts';
import type { RealArray } from './types.ts';

/** Everything that a checkpoint holds besides the state. */
export interface CheckpointParameters {
  /** Hash of all that the results depend on besides the state: equation, boundary, parameters, coefficients, grid, time step. */
  readonly fingerprint: string;
  readonly fields: readonly string[];
  readonly shape: readonly number[];
  readonly members: number;
  readonly precision: 'float32' | 'float64';
  readonly clock: ClockState;
}

const step = whole(0, mostSteps);

/** The checkpoints of this domain. */
export const checkpointFormat: CheckpointFormat<CheckpointParameters> = {
  kind: 'stencil-1',
  parameters: record({
    fingerprint: text(/^[0-9a-f]{64}$/), fields: list(text(), { least: 1 }), shape: list(whole(1), { least: 1 }), members: whole(1),
    precision: choice(['float32', 'float64']), clock: record({ step, originStep: step, originTime: number() }),
  }),
  arrays: ({ fields, shape, members, precision }) => ({
    state: {
      type: precision === 'float32' ? 'Float32Array' : 'Float64Array', length: members * fields.length * shape.reduce((a, b) => a * b),
    },
  }),
  check({ parameters: { clock }, step: at }, refuse) {
    if (at !== clock.step) refuse('step', `the clock's, ${clock.step}`, String(at));
    if (clock.originStep > clock.step) refuse('parameters.clock.originStep', `at most ${clock.step}`, String(clock.originStep));
  },
};

/** Writes a checkpoint. */
export const saveState = (path: string, parameters: CheckpointParameters, state: RealArray): Promise<void> =>
  writeCheckpoint(path, { kind: checkpointFormat.kind, parameters, step: parameters.clock.step, arrays: { state } });
