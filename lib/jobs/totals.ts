// Totals of a simulation's state over its domain: what its equation conserves or dissipates, such as mass and energy.
import { elementAt } from '../core/known.ts';
import type { FrameState } from './frame.ts';

/** Totals of a state by name; totals of densities per volume are integrals over the grid's cells. */
export type Totals = Readonly<Record<string, number>>;

/** Distances of neighbouring points along each axis; 1 along an axis of one point. */
function spacingOf({ axes }: FrameState): number[] {
  return axes.map(([, places]) =>
    (places.length < 2 ? 1 : Math.abs(elementAt(places, places.length - 1) - elementAt(places, 0)) / (places.length - 1)));
}

/** The integral over the domain of what `density` gives for each cell. */
export function integral(state: FrameState, density: (cell: number) => number): number {
  const cells = state.axes.reduce((product, [, places]) => product * places.length, 1);
  let sum = 0;
  for (let cell = 0; cell < cells; cell += 1) sum += density(cell);
  return sum * spacingOf(state).reduce((product, distance) => product * distance, 1);
}

/** The name of the total of a field: totalOfU. */
const totalOf = (field: string): string => `totalOf${field.charAt(0).toUpperCase()}${field.slice(1)}`;

/** The total of every field; none where there are more than `most`. */
export function fieldTotals(state: FrameState, most = 6): Totals {
  const fields = Object.entries(state.fields);
  if (fields.length > most) return {};
  return Object.fromEntries(fields.map(([name, values]) => [totalOf(name), integral(state, (cell) => elementAt(values, cell))]));
}

/**
 * The integral of the squared gradient of a field, by the differences of neighbours, as central differences of second order conserve it;
 * `periodic`: the last cell has the first one as a neighbour.
 */
export function squaredGradient(state: FrameState, values: ArrayLike<number>, periodic: boolean): number {
  const extents = state.axes.map(([, places]) => places.length), spacing = spacingOf(state);
  const strides = extents.map((_, axis) => extents.slice(axis + 1).reduce((product, extent) => product * extent, 1));
  return integral(state, (cell) => extents.reduce((sum, extent, axis) => {
    const stride = elementAt(strides, axis), at = Math.floor(cell / stride) % extent;
    if (at + 1 === extent && !periodic) return sum;
    const next = at + 1 === extent ? cell - at * stride : cell + stride;
    return sum + ((elementAt(values, next) - elementAt(values, cell)) / elementAt(spacing, axis)) ** 2;
  }, 0));
}
