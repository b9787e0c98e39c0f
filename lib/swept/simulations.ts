// Simulations of the three equations, and restarts from their checkpoints.
import { emitWarning } from 'node:process';
import { describeValue, makeTypedArray } from '../core/arrays.ts';
import { deviceArrays } from '../core/call.ts';
import { loadCheckpoint } from '../core/checkpoint.ts';
import { implicitDevice, type Device } from '../core/device.ts';
import { refusal, type CheckpointError } from '../core/errors.ts';
import { required } from '../core/known.ts';
import type { CallOptions } from '../core/progress.ts';
import { anything, callback, choice, either, fileName, text } from '../core/checks.ts';
import { nested, normally, optionsOf, type ChecksOf } from '../core/options.ts';
import { snapshot } from '../core/snapshot.ts';
import { Clock } from '../core/clock.ts';
import { placementChecks } from './grid.ts';
import { checkpointFormat, stateNames } from './saved.ts';
import { Simulation, type Parts } from './simulation.ts';
import { fastestSignal, instabilityRemedy, signalSpeed } from './stability.ts';
import type { GasFields, GasTotals, Placement, RealArray, Setup, Totals, Variant } from './types.ts';

/** Puts a state on the device, with space for the next one. */
async function place(setup: Setup, placement: Placement, state: RealArray, clock: Clock): Promise<Parts> {
  const [now, next] = await deviceArrays(placement.device, [state, { type: setup.type, length: state.length }]);
  return { setup, placement, state: required(now), next: required(next), clock };
}

/** The heat equation; see {@link heat}. */
export class HeatSimulation extends Simulation<RealArray> {
  /** @internal */
  static async start(setup: Setup, placement: Placement, state: RealArray, clock = new Clock(setup.dt)): Promise<HeatSimulation> {
    return new HeatSimulation(await place(setup, placement, state, clock));
  }

  protected override decode(stored: RealArray): RealArray {
    return stored;
  }

  /** Conserved between boundaries that let no heat through. */
  async totals(problem = 0): Promise<Totals> {
    const row = this.row({ problem });
    const { sum, trapezoid } = (await this.figures()).at(row);
    return { total: this.dx * (this.setup.left === 'periodic' ? sum : trapezoid) };
  }
}

/** The Kuramoto–Sivashinsky equation; see {@link kuramotoSivashinsky}. */
export class WaveSimulation extends Simulation<RealArray> {
  /** @internal */
  static async start(setup: Setup, placement: Placement, state: RealArray, clock = new Clock(setup.dt)): Promise<WaveSimulation> {
    return new WaveSimulation(await place(setup, placement, state, clock));
  }

  protected override decode(stored: RealArray): RealArray {
    return stored;
  }

  /** Conserved when periodic. */
  async totals(problem = 0): Promise<Totals> {
    const row = this.row({ problem });
    return { total: this.dx * (await this.figures()).at(row).sum };
  }
}

/** The Euler equations; see {@link euler}. */
export class GasSimulation extends Simulation<GasFields> {
  /** @internal */
  static async start(setup: Setup, placement: Placement, state: RealArray, clock = new Clock(setup.dt)): Promise<GasSimulation> {
    return new GasSimulation(await place(setup, placement, state, clock));
  }

  protected override readonly mistake = 'a density or pressure that is not positive';

  protected override async remedy(dt: number, before: () => Promise<RealArray>): Promise<string> {
    const { dx, gamma, limiter } = this.setup;
    return instabilityRemedy(limiter, (dt * signalSpeed(await before(), gamma)) / dx);
  }

  protected override decode(conserved: RealArray): GasFields {
    const { n, batch, gamma } = this.setup;
    const field = (): RealArray => makeTypedArray(this.setup.type, n * batch) as RealArray;
    const [density, velocity, pressure, energy] = [field(), field(), field(), field()];
    for (let b = 0; b < batch; b += 1) {
      for (let i = 0; i < n; i += 1) {
        const from = 3 * b * n + i;
        const to = b * n + i;
        const momentum = required(conserved[from + n]);
        density[to] = required(conserved[from]);
        energy[to] = required(conserved[from + 2 * n]);
        velocity[to] = momentum / required(conserved[from]);
        pressure[to] = (gamma - 1) * (required(conserved[from + 2 * n]) - (0.5 * momentum * momentum) / required(conserved[from]));
      }
    }
    return { density, velocity, pressure, energy, conserved };
  }

  /** Conserved except for what passes through the boundaries. */
  async totals(problem = 0): Promise<GasTotals> {
    const row = this.row({ problem });
    const figures = await this.figures();
    const [mass, momentum, energy] = [0, 1, 2].map((component) => this.dx * figures.at(row + component).sum);
    return { mass: required(mass), momentum: required(momentum), energy: required(energy) };
  }

  /**
   * CFL number dt (|u|+c)/dx of the state as it is now; reads the state.
   * @throws ArgumentError for a density or pressure that is not positive
   */
  async cfl(options: CallOptions = {}): Promise<number> {
    const { conserved } = await this.read(options);
    return (this.dt * fastestSignal(conserved, this.setup, 'state')) / this.dx;
  }
}

/** Any simulation of the domain. */
export type AnySimulation = HeatSimulation | WaveSimulation | GasSimulation;

/** Options of {@link restore}. */
export interface RestoreOptions {
  /** Default: the thread's default device; a different device from before gives the same bits. */
  readonly device?: Device;
  readonly variant?: Variant;
  readonly points?: number;
  readonly depth?: number;
  readonly threads?: number;
  /** What the checkpoint must have been written with; anything else is rejected. */
  readonly parameters?: Partial<Setup>;
  /** The tag it must have been saved with. */
  readonly tag?: string;
  /**
   * What happens if a checkpoint is damaged and the one saved before it (`PATH.previous`) is intact: `warn` (default): the older
   * one is used, with a process warning; a function: the older one is used, and the function is called; `refuse`: an error.
   */
  readonly onDamaged?: 'warn' | 'refuse' | ((error: CheckpointError) => void);
}

/** What a checkpoint may be asked for: values are held against those it has. */
const setupChecks = optionsOf('a checkpoint', {
  equation: anything, type: anything, n: anything, batch: anything, dx: anything, dt: anything, left: anything, right: anything,
  diffusivity: anything, gamma: anything, limiter: anything,
} satisfies ChecksOf<Partial<Setup>>);

const restoreOptions = optionsOf('swept.restore', {
  ...placementChecks, parameters: nested(setupChecks), tag: text(),
  onDamaged: normally(either(choice(['warn', 'refuse'] as const), callback), 'warn'),
} satisfies ChecksOf<RestoreOptions>);

function checkParameters(found: Setup, expected: Partial<Setup>): void {
  for (const [key, value] of Object.entries<unknown>(expected)) {
    const stored: unknown = found[key as keyof Setup];
    if (value === undefined || value === stored) continue;
    throw refusal(`parameters.${key}`, `what the checkpoint was written with, ${describeValue(stored)}`, describeValue(value));
  }
}

/**
 * The simulation of a checkpoint, at the step it was saved: it continues bit for bit as if it had never stopped, on any device and
 * with any variant.
 * @example
 * await using sim = await swept.restore('run.checkpoint', { parameters: { equation: 'heat', n: 1001 } });
 *
 * @throws CheckpointError (`ERR_WARPLOOM_DAMAGED_FILE`) for a file that is truncated, altered, or contains what no run can have
 *   written; ArgumentError naming what does not match if it belongs to another kind of run or to other `parameters`; FileError
 */
export async function restore(path: string, given: RestoreOptions = {}): Promise<AnySimulation> {
  fileName(path, 'path');
  const { device, variant, points, depth, threads, tag, onDamaged, ...options } = restoreOptions.read(given);
  const parameters = snapshot(options.parameters ?? {});
  const onOlder = listenerOf(onDamaged);
  const checkpoint = await loadCheckpoint(path, checkpointFormat, onOlder);
  if (checkpoint === undefined) throw refusal('path', 'a checkpoint', `no file at ${path}`);
  const saved = checkpoint.parameters;
  const { setup } = saved;
  checkParameters(setup, parameters);
  if (tag !== undefined && tag !== saved.tag) {
    throw refusal('tag', `the one it was saved with, ${describeValue(saved.tag)}`, describeValue(tag));
  }
  const placement = { device: device ?? implicitDevice(), variant, points, depth, threads };
  const state = checkpoint.arrays[stateNames[setup.equation]] as RealArray;
  const kinds = { heat: HeatSimulation, 'kuramoto-sivashinsky': WaveSimulation, euler: GasSimulation } as const;
  return kinds[setup.equation].start(setup, placement, state, new Clock(setup.dt, saved.clock));
}

/** What is told of a damaged checkpoint; undefined: it is an error. */
function listenerOf(value: NonNullable<RestoreOptions['onDamaged']>): ((error: CheckpointError) => void) | undefined {
  if (typeof value === 'function') return value;
  if (value === 'refuse') return undefined;
  return (error) => emitWarning(`${error.message}. The one saved before it was used instead`, { code: 'WARPLOOM_OLDER_CHECKPOINT' });
}
