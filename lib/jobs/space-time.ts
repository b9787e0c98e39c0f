// Space-time diagrams of one dimension: space to the right, time upwards.
import { elementAt, lastOf } from '../core/known.ts';
import type { FieldSeries } from '../files/zarr.ts';
import { mapPlot, type MapAxis, type MapPanel } from '../pictures/map.ts';
import { finiteRange } from '../pictures/grid.ts';
import type { PlotSpecification } from '../pictures/plot.ts';
import { titled, type Units } from '../pictures/units.ts';
import type { ColourRange } from './kind.ts';

/** The most pixels along a side, and the fewest of the axis of time. */
const mostPixels = 1024, leastRows = 200;

/** What is drawn. */
export interface SpaceTime {
  readonly title: string;
  readonly series: FieldSeries;
  readonly fields: readonly string[];
  /** Points of the domain, and their axis. */
  readonly points: number;
  readonly x: MapAxis;
  /** Times of the snapshots. */
  readonly times: readonly number[];
  readonly units: Units;
  /** Ranges of colours by field; default: those of the values. */
  readonly colours?: Readonly<Record<string, ColourRange>> | undefined;
}

type Shown = MapPanel & { readonly shown: { readonly range: ColourRange } };

/** One field: for each row of pixels the nearest snapshot. */
async function panelOf({ series, points, x, times, units, colours }: SpaceTime, field: string): Promise<Shown> {
  const width = Math.min(points, mostPixels), height = Math.min(mostPixels, Math.max(times.length, leastRows));
  const end = lastOf(times);
  const values = new Float64Array(width * height);
  let [known, row] = [-1, new Float64Array(0)];
  for (let y = 0, snapshot = 0; y < height; y += 1) {
    const time = ((y + 0.5) / height) * end;
    while (snapshot + 1 < times.length && Math.abs(elementAt(times, snapshot + 1) - time) <= Math.abs(elementAt(times, snapshot) - time)) {
      snapshot += 1;
    }
    if (snapshot !== known) {
      const state = await series.read(field, snapshot);
      row = Float64Array.from({ length: width }, (_, i) => elementAt(state, Math.floor(((i + 0.5) * points) / width)));
      known = snapshot;
    }
    values.set(row, (height - 1 - y) * width);
  }
  return {
    title: field, x, y: { title: titled('t', units), range: [0, end] }, picture: { width, height, values },
    shown: { title: titled(field, units), range: colours?.[field] ?? finiteRange(values) },
  };
}

/** The diagram of every field, side by side, and the ranges of their colours. */
export async function spaceTimePlot(
  drawn: SpaceTime,
): Promise<{ readonly plot: PlotSpecification; readonly colours: Readonly<Record<string, ColourRange>> }> {
  const panels: Shown[] = [];
  for (const field of drawn.fields) panels.push(await panelOf(drawn, field));
  const colours = Object.fromEntries(panels.map(({ shown }, i) => [elementAt(drawn.fields, i), shown.range]));
  return { plot: mapPlot(drawn.title, [panels], { isPlace: false }), colours };
}
