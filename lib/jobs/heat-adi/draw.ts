// The maps of a `heat-adi` item: one for each snapshot, all with one range of colours.
import { join } from 'node:path';
import { isThere, writeFileAtomic } from '../../core/files.ts';
import { elementAt } from '../../core/known.ts';
import { FieldSeries } from '../../files/zarr.ts';
import { mapFrames } from '../../pictures/map-frames.ts';
import { planeOf } from '../../pictures/plane.ts';
import { atTime, titled } from '../../pictures/units.ts';
import type { FrameState } from '../frame.ts';
import type { ColourRange, ColourRanges } from '../kind.ts';
import type { HeatAdiJob } from './schema.ts';

/** The extents of a grid. */
export interface Extents {
  readonly width: number;
  readonly height: number;
}

/** The places of the edges: left and right, and bottom and top, where the first row is. */
function extentOf({ dx, dy = dx, extent }: HeatAdiJob, { width, height }: Extents): NonNullable<HeatAdiJob['extent']> {
  return extent ?? { x: [0, width * dx], y: [height * dy, 0] };
}

/** The centres of the cells. */
export function axesOf(job: HeatAdiJob, grid: Extents): FrameState['axes'] {
  const { x: [left, right], y: [bottom, top] } = extentOf(job, grid);
  const centres = (cells: number, from: number, to: number) =>
    Array.from({ length: cells }, (_, i) => from + ((i + 0.5) / cells) * (to - from));
  return [['y', centres(grid.height, top, bottom)], ['x', centres(grid.width, left, right)]];
}

/** The most pixels along a side of a picture. */
const mostPixels = 1024;

/** Writes the map of a state. */
type Draw = (index: number, step: number, state: ArrayLike<number>) => Promise<void>;

/** The name by which a range of colours is that of all maps of an item. */
const mapsName = 'heat';

/** The file of a map. */
export const pictureName = (index: number): string => `${mapsName}-${String(index).padStart(3, '0')}.svg`;

/** An item's range of colours. */
export const coloursOf = (range: ColourRange): ColourRanges => ({ [mapsName]: { u: range } });

/** What draws the maps of a run with one range of colours; nothing where vega is not installed. */
export async function drawing(job: HeatAdiJob, grid: Extents, range: ColourRange, folder: string): Promise<Draw> {
  const { description, name, dt, steps, units: known = {} } = job;
  const { x, y } = extentOf(job, grid);
  const title = (step: number): string => `${description ?? name}, ${atTime(step * dt, known)}`;
  const frame = await mapFrames({
    x: { title: titled('x', known), range: x }, y: { title: titled('y', known), range: y }, shown: { title: titled('u', known), range },
  }, title(steps));
  return async (index, step, state) => {
    if (frame === undefined) return;
    const plane = planeOf(state, [grid.height, grid.width], [1, 0], mostPixels, { isDown: true });
    await writeFileAtomic(join(folder, pictureName(index)), frame(title(step), plane));
  };
}

/** Draws the maps of a finished item again, with another range of colours. */
export async function redrawMaps(job: HeatAdiJob, folder: string, colours: ColourRanges): Promise<void> {
  const range = colours[mapsName]?.['u'];
  if (range === undefined) return;
  const { series, axes, steps = [] } = await FieldSeries.open(join(folder, 'result.zarr'));
  const [height = 0, width = 0] = axes.map(([, places]) => places.length);
  const draw = await drawing(job, { width, height }, range, folder);
  for (const index of steps.keys()) {
    if (isThere(join(folder, pictureName(index)))) await draw(index, elementAt(steps, index), await series.read('u', index));
  }
}
