// Pictures of a run: profiles and space-time diagrams in one dimension, maps in two, slices in three, and films.
import { elementAt, lastOf, required } from '../../core/known.ts';
import type { FieldSeries } from '../../files/zarr.ts';
import type { RealArray } from '../../stencil/index.ts';
import { filmPng } from '../../pictures/apng.ts';
import { finiteRange, levelColours, levelsOf, whiteLevel } from '../../pictures/grid.ts';
import { mapPlot, type MapAxis, type MapPanel, type Plane } from '../../pictures/map.ts';
import { planeOf } from '../../pictures/plane.ts';
import { plotSvg, type PlotSpecification } from '../../pictures/plot.ts';
import { profilePlot } from '../simulate/pictures.ts';
import type { Plan } from './plan.ts';
import { centres } from './values.ts';

/** The longest side of a picture in pixels, of a film, and the shortest that a film's longest side is. */
const mostPixels = 1024, mostFilmPixels = 400, leastFilmPixels = 200;
/** How long a film is, and how many frames a second it has at most. */
const filmSeconds = 6, mostFrameRate = 25;

const axisNames = ['x', 'y', 'z'] as const;

/** A name with its unit. */
function titled(name: string, { units }: Plan): string {
  const unit = Object.hasOwn(units, name) ? units[name] : undefined;
  return unit === undefined || unit === '' ? name : `${name} (${unit})`;
}

const rounded = (value: number): string => String(Number(value.toPrecision(6)));

function axisOf(plan: Plan, axis: number): MapAxis {
  const from = elementAt(plan.origin, axis);
  return {
    title: titled(elementAt(axisNames, axis), plan), range: [from, from + elementAt(plan.shape, axis) * elementAt(plan.spacing, axis)],
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
        x: axisOf(plan, a), y: axisOf(plan, b), picture, shown: { title: titled(name, plan), range }, bar: i === shown.length - 1,
        title: `${name}${at}`,
      };
    });
  });
  // Two fields of a plane stand side by side.
  const arranged = dimensions === 2 && rows.length <= 3 ? [rows.flat()] : rows;
  return mapPlot(`${title}, t = ${rounded(time)}${plan.units['t'] === undefined ? '' : ` ${plan.units['t']}`}`, arranged);
}

/** Space to the right, time upwards: for each row of pixels the nearest snapshot. */
async function spaceTimePanel(plan: Plan, series: FieldSeries, field: string, times: readonly number[]): Promise<MapPanel> {
  const n = elementAt(plan.shape, 0);
  const width = Math.min(n, mostPixels), height = Math.min(mostPixels, Math.max(times.length, 200));
  const end = lastOf(times);
  const rows: Float64Array[] = [];
  let [known, row] = [-1, new Float64Array(0)];
  for (let y = 0, snapshot = 0; y < height; y += 1) {
    const time = ((y + 0.5) / height) * end;
    while (snapshot + 1 < times.length && Math.abs(elementAt(times, snapshot + 1) - time) <= Math.abs(elementAt(times, snapshot) - time)) {
      snapshot += 1;
    }
    if (snapshot !== known) {
      const values = await series.read(field, snapshot);
      row = Float64Array.from({ length: width }, (_, i) => elementAt(values, Math.floor(((i + 0.5) * n) / width)));
      known = snapshot;
    }
    rows.push(row);
  }
  const values = new Float64Array(width * height);
  rows.forEach((each, y) => { values.set(each, (height - 1 - y) * width); });
  return {
    title: field, x: axisOf(plan, 0), y: { title: titled('t', plan), range: [0, end] }, picture: { width, height, values },
    shown: { title: titled(field, plan) },
  };
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
  const width = w * zoom, above = Math.max(4, Math.round(h * zoom * 0.03)), height = h * zoom + above;
  const bar = Math.ceil(above / 2);
  const frames = shown.map((plane, k) => {
    const levels = levelsOf(plane.values, range);
    const frame = new Uint8Array(width * height).fill(whiteLevel);
    const done = Math.round((width * elementAt(times, elementAt(taken, k))) / lastOf(times));
    for (let y = 0; y < bar; y += 1) frame.fill(0, y * width, y * width + done);
    for (let y = 0; y < h * zoom; y += 1) {
      for (let x = 0; x < width; x += 1) {
        frame[(above + y) * width + x] = elementAt(levels, Math.floor(y / zoom) * w + Math.floor(x / zoom));
      }
    }
    return frame;
  });
  const milliseconds = Math.max(1000 / mostFrameRate, (filmSeconds * 1000) / count);
  const png = filmPng({ width, height, palette: levelColours, frames, milliseconds });
  const unit = plan.units['t'] === undefined ? '' : ` ${plan.units['t']}`;
  const at = plan.shape.length === 3 ? ` at z = ${middleOf(plan, 2)}` : '';
  return { png, panel: {
    title: `${field}${at}; the bar above is the time, t = 0 to ${rounded(lastOf(times))}${unit}`, x: axisOf(plan, 0), y: axisOf(plan, 1),
    picture: { png, above: above / height }, shown: { title: titled(field, plan), range },
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
    const panels: MapPanel[] = [];
    for (const field of plan.equation.fields) panels.push(await spaceTimePanel(plan, series, field, times));
    await draw('space-time.svg', mapPlot(title, [panels], { isPlace: false }));
    await draw('profile.svg', profilePlot({
      title, x: centres(plan, 0), initial, final, exact, time: lastOf(times), label: (name) => titled(name, plan),
    }));
  } else await draw('fields.svg', statePlot(plan, final, lastOf(times), title));
  if (plan.film !== undefined) {
    const { png, panel } = await filmOf(plan, series, required(plan.film), times);
    files['film.png'] = png;
    await draw('film.svg', mapPlot(title, [[panel]]));
  }
  return files;
}
