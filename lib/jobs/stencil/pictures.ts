// Pictures of a run: profiles and space-time diagrams in one dimension, maps in two, slices in three, and films.
import { elementAt, lastOf, required } from '../../core/known.ts';
import type { FieldSeries } from '../../files/zarr.ts';
import type { RealArray } from '../../stencil/index.ts';
import { filmPng } from '../../pictures/apng.ts';
import { drawText, glyphHeight } from '../../pictures/digits.ts';
import { finiteRange, levelColours, levelsOf, whiteLevel } from '../../pictures/grid.ts';
import { mapPlot, type MapAxis, type MapPanel, type Plane } from '../../pictures/map.ts';
import { planeOf } from '../../pictures/plane.ts';
import { plotSvg, type PlotSpecification } from '../../pictures/plot.ts';
import { atTime, rounded, titled } from '../../pictures/units.ts';
import { profilePlot } from '../simulate/pictures.ts';
import { spaceTimePlot } from '../space-time.ts';
import type { Plan } from './plan.ts';
import { centres } from './values.ts';

/** The longest side of a picture in pixels, of a film, and the shortest that a film's longest side is. */
const mostPixels = 1024, mostFilmPixels = 400, leastFilmPixels = 200;
/** How long a film is, and how many frames a second it has at most. */
const filmSeconds = 6, mostFrameRate = 25;

const axisNames = ['x', 'y', 'z'] as const;

function axisOf(plan: Plan, axis: number): MapAxis {
  const from = elementAt(plan.origin, axis);
  return {
    title: titled(elementAt(axisNames, axis), plan.units),
    range: [from, from + elementAt(plan.shape, axis) * elementAt(plan.spacing, axis)],
  };
}

/** The place of the planes that are shown along the axis across them. */
const middleOf = (plan: Plan, axis: number): string =>
  rounded(elementAt(centres(plan, axis), Math.floor(elementAt(plan.shape, axis) / 2)));

/** The planes that are shown: one of a grid in two dimensions, three of one in three. */
const planes = { 2: [[0, 1]], 3: [[0, 1], [0, 2], [1, 2]] } as const;

/** The state at the end: a row of maps for each field. */
export function statePlot(plan: Plan, state: Readonly<Record<string, RealArray>>, time: number, title: string): PlotSpecification {
  const dimensions = plan.shape.length as 2 | 3;
  const rows = Object.entries(state).map(([name, values]) => {
    const range = finiteRange(values);
    const shown = planes[dimensions].map((axes) => ({ axes, picture: planeOf(values, plan.shape, axes, mostPixels) }));
    return shown.map(({ axes: [a, b], picture }, i): MapPanel => {
      const other = [0, 1, 2].find((axis) => axis !== a && axis !== b) ?? 2;
      const at = dimensions === 3 ? ` at ${elementAt(axisNames, other)} = ${middleOf(plan, other)}` : '';
      return {
        x: axisOf(plan, a), y: axisOf(plan, b), picture, shown: { title: titled(name, plan.units), range }, bar: i === shown.length - 1,
        title: `${name}${at}`,
      };
    });
  });
  // Two fields of a plane stand side by side.
  const arranged = dimensions === 2 && rows.length <= 3 ? [rows.flat()] : rows;
  return mapPlot(`${title}, ${atTime(time, plan.units)}`, arranged);
}

/** A film of one field: a bar above the map shows the time. */
async function filmOf(
  plan: Plan, series: FieldSeries, field: string, times: readonly number[],
): Promise<{ readonly png: Uint8Array; readonly panel: MapPanel }> {
  const most = Math.round(filmSeconds * mostFrameRate);
  const count = Math.min(times.length, most);
  const taken = Array.from({ length: count }, (_, k) => (count === 1 ? 0 : Math.round((k * (times.length - 1)) / (count - 1))));
  const shown: Plane[] = [];
  for (const index of taken) shown.push(planeOf(await series.read(field, index), plan.shape, [0, 1], mostFilmPixels));
  const range = shown.map(({ values }) => finiteRange(values))
    .reduce(([low, high], [from, to]) => [Math.min(low, from), Math.max(high, to)]);
  const { width: w, height: h } = elementAt(shown, 0);
  const zoom = Math.max(1, Math.ceil(leastFilmPixels / Math.max(w, h)));
  const size = w * zoom >= 2 * leastFilmPixels ? 2 : 1; // of the digits
  const width = w * zoom, bar = 2 * size, above = bar + (glyphHeight + 4) * size, height = h * zoom + above;
  const frames = shown.map((plane, k) => {
    const levels = levelsOf(plane.values, range);
    const frame = new Uint8Array(width * height).fill(whiteLevel);
    const done = Math.round((width * elementAt(times, elementAt(taken, k))) / lastOf(times));
    for (let y = 0; y < bar; y += 1) frame.fill(0, y * width, y * width + done);
    const text = `t = ${rounded(elementAt(times, elementAt(taken, k)))}`;
    drawText(frame, width, text, { left: 2 * size, top: bar + 2 * size, zoom: size, level: 2 });
    for (let y = 0; y < h * zoom; y += 1) {
      for (let x = 0; x < width; x += 1) {
        frame[(above + y) * width + x] = elementAt(levels, Math.floor(y / zoom) * w + Math.floor(x / zoom));
      }
    }
    return frame;
  });
  const milliseconds = Math.max(1000 / mostFrameRate, (filmSeconds * 1000) / count);
  const png = filmPng({ width, height, palette: levelColours, frames, milliseconds });
  const unit = plan.units['t'];
  const at = plan.shape.length === 3 ? ` at z = ${middleOf(plan, 2)}` : '';
  return { png, panel: {
    title: `${field}${at}${unit === undefined ? '' : `, t in ${unit}`}`, x: axisOf(plan, 0), y: axisOf(plan, 1),
    picture: { png, above: above / height }, shown: { title: titled(field, plan.units), range },
  } };
}

/** What pictures are made of. */
export interface Drawn {
  readonly plan: Plan;
  readonly title: string;
  readonly series: FieldSeries;
  readonly times: readonly number[];
  readonly initial: Readonly<Record<string, RealArray>>;
  readonly final: Readonly<Record<string, RealArray>>;
  readonly exact: Readonly<Record<string, RealArray>> | undefined;
}

/** All pictures by file name; those of Vega are missing where it is not installed. */
export async function picturesOf(drawn: Drawn): Promise<Record<string, string | Uint8Array>> {
  const { plan, title, series, times, initial, final, exact } = drawn;
  const files: Record<string, string | Uint8Array> = {};
  const draw = async (name: string, plot: PlotSpecification): Promise<void> => {
    const svg = await plotSvg(plot);
    if (svg !== undefined) files[name] = svg;
  };
  if (plan.shape.length === 1) {
    const { equation: { fields }, units } = plan;
    await draw('space-time.svg', await spaceTimePlot({
      title, series, fields, points: elementAt(plan.shape, 0), x: axisOf(plan, 0), times, units,
    }));
    await draw('profile.svg', profilePlot({ title, x: centres(plan, 0), initial, final, exact, time: lastOf(times), units }));
  } else await draw('fields.svg', statePlot(plan, final, lastOf(times), title));
  if (plan.film !== undefined) {
    const { png, panel } = await filmOf(plan, series, required(plan.film), times);
    files['film.png'] = png;
    await draw('film.svg', mapPlot(title, [[panel]]));
  }
  return files;
}
