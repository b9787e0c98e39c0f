// swept.measure: sums and bounds of a state, computed where it is.
import type { DeviceArray } from '../core/device.ts';
import { requireCount, requireNumber, whole } from '../core/checks.ts';
import { normally, optionsOf, type ChecksOf } from '../core/options.ts';
import type { Reports } from '../core/operations.gen.ts';
import type { Norms, Setup } from './types.ts';

/** Sums over the points of a row, and bounds. A NaN in the row makes all of them NaN. */
export interface RowFigures {
  readonly sum: number;
  /** With half weights at both ends. */
  readonly trapezoid: number;
  readonly absoluteSum: number;
  readonly squareSum: number;
  readonly least: number;
  readonly most: number;
}

/** A component of a problem; both default to 0. */
export interface Place {
  readonly problem?: number;
  /** With euler: 0 density, 1 momentum, 2 energy. */
  readonly component?: number;
}

/** Components of a state. */
export function componentsOf({ equation }: Setup): number {
  return equation === 'euler' ? 3 : 1;
}

const placeOptions = optionsOf('a place', {
  problem: normally(whole(0), 0), component: normally(whole(0), 0),
} satisfies ChecksOf<Place>);

/** Row of a state that holds a component of a problem. */
export function rowOf(where: Place, batch: number, components: number): number {
  const { problem, component } = placeOptions.read(where);
  requireCount(problem, 'problem', 0, batch - 1);
  requireCount(component, 'component', 0, components - 1);
  return problem * components + component;
}

/** Sums and bounds of every row of a state: row = problem × components + component. */
export class Figures {
  readonly n: number;
  readonly batch: number;
  readonly components: number;
  readonly #rows: Reports['swept.measure']['rows'];

  /** @internal */
  constructor(rows: Reports['swept.measure']['rows'], { n, batch }: Setup, components: number) {
    this.#rows = rows;
    this.n = n;
    this.batch = batch;
    this.components = components;
  }

  /** Number of a component of a problem; both default to 0. */
  row(where: Place = {}): number {
    return rowOf(where, this.batch, this.components);
  }

  /**
   * Sums and bounds of a row.
   * @throws ArgumentError for a row that does not exist
   */
  at(row: number): RowFigures {
    return this.#rows.at(row);
  }

  /** The first problem with a value that is not finite; -1 when there is none. */
  firstBadProblem(): number {
    const rows = this.batch * this.components;
    for (let row = 0; row < rows; row += 1) {
      const { least, most } = this.at(row);
      if (!(least > -Infinity && most < Infinity)) return Math.floor(row / this.components);
    }
    return -1;
  }

  /** Norms of a row with the weight dx. */
  norms(row: number, dx: number): Norms {
    requireNumber(dx, 'dx', { above: 0 });
    const { absoluteSum, squareSum, least, most } = this.at(row);
    return {
      l1: dx * absoluteSum, l2: Math.sqrt(dx * squareSum), maximum: Math.max(Math.abs(least), Math.abs(most)),
      rms: Math.sqrt(squareSum / this.n), least, most,
    };
  }
}

/** Measures a state on its device. */
export async function measure(state: DeviceArray, setup: Setup, signal: AbortSignal | undefined): Promise<Figures> {
  const components = componentsOf(setup);
  const rows = setup.batch * components;
  const { report } = await state.device.run('swept.measure', {
    type: setup.type, n: setup.n, rows, state: { data: state },
  }, { signal });
  return new Figures(report.rows, setup, components);
}
