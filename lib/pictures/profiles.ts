// States of simulations as charts: profiles of one dimension, maps of two, the middle plane of three.
import type { PlotSpecification } from './plot.ts';
import { mapPlot, type MapPanel } from './map.ts';
import { planeOf } from './plane.ts';

/** A state on a grid: for each field the cells of one member, the last axis varying fastest. */
export interface GridState {
  readonly title: string;
  readonly shape: readonly number[];
  readonly spacing: readonly number[];
  readonly fields: Readonly<Record<string, ArrayLike<number>>>;
}

/** Cells along a side of a map at most. */
const mostCells = 512;
/** Points of a line at most; of longer profiles, every so many-th is drawn. */
const mostPoints = 2000;

function profiles({ title, fields, spacing: [dx = 1], shape: [n = 0] }: GridState): PlotSpecification {
  const step = Math.max(1, Math.ceil(n / mostPoints));
  const values = Object.entries(fields).flatMap(([field, cells]) =>
    Array.from({ length: Math.ceil(n / step) }, (_, i) => ({ x: i * step * dx, value: cells[i * step], field })));
  return {
    title, data: { values }, width: 420, height: 160, mark: { type: 'line', clip: true },
    encoding: {
      x: { field: 'x', type: 'quantitative', title: 'x', axis: { tickCount: 6 } },
      y: { field: 'value', type: 'quantitative', title: null, scale: { zero: false } },
      row: { field: 'field', type: 'nominal', title: null },
    },
    resolve: { scale: { y: 'independent' } },
  };
}

/** A chart of a state; of volumes, the middle plane across z. */
export function statePlot(state: GridState): PlotSpecification {
  const { title, shape, spacing, fields } = state;
  if (shape.length === 1) return profiles(state);
  const end = (axis: number): number => (shape[axis] ?? 1) * (spacing[axis] ?? 1);
  const panels = Object.entries(fields).map(([field, cells]): MapPanel => ({
    title: field, x: { title: 'x', range: [0, end(0)] }, y: { title: 'y', range: [0, end(1)] },
    picture: planeOf(cells, shape, [0, 1], mostCells), shown: { title: field },
  }));
  return mapPlot(shape.length === 3 ? `${title}, middle plane` : title, [panels]);
}
