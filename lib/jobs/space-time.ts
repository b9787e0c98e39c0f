// Space-time diagrams of one dimension: space to the right, time upwards.
import { elementAt, lastOf } from '../core/known.ts';
import type { FieldSeries } from '../files/zarr.ts';
import { mapPlot, type MapAxis, type MapPanel } from '../pictures/map.ts';
import type { PlotSpecification } from '../pictures/plot.ts';
import { titled, type Units } from '../pictures/units.ts';

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
}

/** One field: for each row of pixels the nearest snapshot. */
async function panelOf({ series, points, x, times, units }: SpaceTime, field: string): Promise<MapPanel> {
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
    shown: { title: titled(field, units) },
  };
}

/** The diagram of every field, side by side. */
export async function spaceTimePlot(drawn: SpaceTime): Promise<PlotSpecification> {
  const panels: MapPanel[] = [];
  for (const field of drawn.fields) panels.push(await panelOf(drawn, field));
  return mapPlot(drawn.title, [panels], { isPlace: false });
}
