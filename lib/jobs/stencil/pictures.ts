// Pictures of a run: profiles and space-time diagrams in one dimension, maps in two, slices in three, and films.
import { join } from 'node:path';
import { writeFileAtomic } from '../../core/files.ts';
import { elementAt, lastOf } from '../../core/known.ts';
import { FieldSeries } from '../../files/zarr.ts';
import type { RealArray } from '../../stencil/index.ts';
import { filmPng } from '../../pictures/apng.ts';
import { drawText, glyphHeight } from '../../pictures/digits.ts';
import { finiteRange, levelColours, levelsOf, whiteLevel } from '../../pictures/grid.ts';
import { mapPlot, type MapAxis, type MapPanel, type Plane } from '../../pictures/map.ts';
import { planeOf } from '../../pictures/plane.ts';
import { plotSvg, type PlotSpecification } from '../../pictures/plot.ts';
import { atTime, rounded, titled } from '../../pictures/units.ts';
import type { ColourRange, ColourRanges, ItemContext } from '../kind.ts';
import { profilePlot } from '../simulate/pictures.ts';
import { spaceTimePlot } from '../space-time.ts';
import { planOf, type Plan } from './plan.ts';
import type { StencilJob } from './schema.ts';
import { centres } from './values.ts';

/** The longest side of a picture in pixels, of a film, and the shortest that a film's longest side is. */
const mostPixels = 1024, mostFilmPixels = 400, leastFilmPixels = 200;
/** How long a film is, and how many frames a second it has at most. */
const filmSeconds = 6, mostFrameRate = 25;

const axisNames = ['x', 'y', 'z'] as const;

/** Names of the files. */
const names = { spaceTime: 'space-time.svg', profile: 'profile.svg', fields: 'fields.svg', film: 'film.svg' } as const;

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
function statePlot(
  plan: Plan, state: Readonly<Record<string, RealArray>>, ranges: Readonly<Record<string, ColourRange>>, title: string,
): PlotSpecification {
  const dimensions = plan.shape.length as 2 | 3;
  const rows = Object.entries(state).map(([name, values]) => {
    const shown = planes[dimensions].map((axes) => ({ axes, picture: planeOf(values, plan.shape, axes, mostPixels) }));
    return shown.map(({ axes: [a, b], picture }, i): MapPanel => {
      const other = [0, 1, 2].find((axis) => axis !== a && axis !== b) ?? 2;
      const at = dimensions === 3 ? ` at ${elementAt(axisNames, other)} = ${middleOf(plan, other)}` : '';
      return {
        x: axisOf(plan, a), y: axisOf(plan, b), picture, shown: { title: titled(name, plan.units), range: ranges[name] },
        bar: i === shown.length - 1,
        title: `${name}${at}`,
      };
    });
  });
  // Two fields of a plane stand side by side.
  const arranged = dimensions === 2 && rows.length <= 3 ? [rows.flat()] : rows;
  return mapPlot(title, arranged);
}

/** A film of one field: a bar above the map shows the time. */
async function filmOf(
  plan: Plan, series: FieldSeries, field: string, times: readonly number[], given?: ColourRange,
): Promise<{ readonly png: Uint8Array; readonly panel: MapPanel; readonly range: ColourRange }> {
  const most = Math.round(filmSeconds * mostFrameRate);
  const count = Math.min(times.length, most);
  const taken = Array.from({ length: count }, (_, k) => (count === 1 ? 0 : Math.round((k * (times.length - 1)) / (count - 1))));
  const shown: Plane[] = [];
  for (const index of taken) shown.push(planeOf(await series.read(field, index), plan.shape, [0, 1], mostFilmPixels));
  const range = given ?? shown.map(({ values }) => finiteRange(values))
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
  return { png, range, panel: {
    title: `${field}${at}${unit === undefined ? '' : `, t in ${unit}`}`, x: axisOf(plan, 0), y: axisOf(plan, 1),
    picture: { png, above: above / height }, shown: { title: titled(field, plan.units), range },
  } };
}

/** What maps are made of. */
export interface Maps {
  readonly plan: Plan;
  readonly title: string;
  readonly series: FieldSeries;
  readonly times: readonly number[];
  readonly final: Readonly<Record<string, RealArray>>;
  /** Ranges of colours; default: those of what is shown. */
  readonly colours?: ColourRanges;
}

/** What all pictures are made of. */
export interface Drawn extends Maps {
  readonly initial: Readonly<Record<string, RealArray>>;
  readonly exact: Readonly<Record<string, RealArray>> | undefined;
}

/** Pictures by file name; those of Vega are missing where it is not installed. */
interface Pictures {
  readonly files: Record<string, string | Uint8Array>;
  /** Ranges of the colours of maps. */
  readonly colours: ColourRanges;
}

async function svgOf(files: Pictures['files'], name: string, plot: PlotSpecification): Promise<void> {
  const svg = await plotSvg(plot);
  if (svg !== undefined) files[name] = svg;
}

/** The maps and films. */
async function mapsOf({ plan, title, series, times, final, colours: given }: Maps): Promise<Pictures> {
  const files: Pictures['files'] = {};
  const colours: Record<string, Record<string, ColourRange>> = {};
  if (plan.shape.length === 1) {
    const { equation: { fields }, units } = plan;
    const spaceTime = await spaceTimePlot({
      title, series, fields, points: elementAt(plan.shape, 0), x: axisOf(plan, 0), times, units, colours: given?.[names.spaceTime],
    });
    colours[names.spaceTime] = spaceTime.colours;
    await svgOf(files, names.spaceTime, spaceTime.plot);
  } else {
    const ranges = Object.entries(final).map(([name, values]) => [name, given?.[names.fields]?.[name] ?? finiteRange(values)] as const);
    colours[names.fields] = Object.fromEntries(ranges);
    await svgOf(files, names.fields, statePlot(plan, final, Object.fromEntries(ranges), `${title}, ${atTime(lastOf(times), plan.units)}`));
  }
  const { film } = plan;
  if (film !== undefined) {
    const { png, panel, range } = await filmOf(plan, series, film, times, given?.[names.film]?.[film]);
    colours[names.film] = { [film]: range };
    files['film.png'] = png;
    await svgOf(files, names.film, mapPlot(title, [[panel]]));
  }
  return { files, colours };
}

/** All pictures. */
export async function picturesOf(drawn: Drawn): Promise<Pictures> {
  const { plan, title, times, initial, final, exact } = drawn;
  const { files, colours } = await mapsOf(drawn);
  if (plan.shape.length === 1) {
    const profile = { title, x: centres(plan, 0), initial, final, exact, time: lastOf(times), units: plan.units };
    await svgOf(files, names.profile, profilePlot(profile));
  }
  return { files, colours };
}

/** Draws the maps of a finished item again, with other ranges of colours. */
export async function redrawMaps(
  job: StencilJob, { input, folder }: Pick<ItemContext, 'input' | 'folder'>, colours: ColourRanges,
): Promise<void> {
  const plan = await planOf(job, input);
  const { series, times } = await FieldSeries.open(join(folder, 'result.zarr'));
  const last = times.length - 1;
  const final = await Promise.all(plan.equation.fields.map(async (name) => [name, await series.read(name, last)] as const));
  const { files } = await mapsOf({
    plan, title: job.description ?? job.name, series, times: Array.from(times), final: Object.fromEntries(final), colours,
  });
  for (const [name, content] of Object.entries(files)) await writeFileAtomic(join(folder, name), content);
}
