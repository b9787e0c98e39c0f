// Pictures of values in notebooks: charts as Vega-Lite, images as PNG, tables as HTML.
import { describeValue, isReal } from '../core/arrays.ts';
import { choice, requireList, requireText, type Check } from '../core/checks.ts';
import { displayed, htmlTable, type MimeBundle } from '../core/display.ts';
import { DeviceArray } from '../core/device.ts';
import { refusal, UnavailableError } from '../core/errors.ts';
import { normally, optionsOf, type ChecksOf } from '../core/options.ts';
import { snapshot } from '../core/snapshot.ts';
import { checkImage, imageBundle, imageText, type Image } from '../files/image.ts';

/** Something that a notebook shows as the last value of a cell. */
export interface Shown {
  /** What it shows, by MIME type. */
  bundle(): Promise<MimeBundle>;
}

/** A chart of a notebook. */
export interface Chart extends Shown {
  /** The Vega-Lite specification. */
  readonly specification: Readonly<Record<string, unknown>>;
  /**
   * The chart as SVG, for files.
   * @throws UnavailableError where the optional packages vega and vega-lite are not installed
   */
  svg(): Promise<string>;
}

/** How values are drawn. */
export type PlotMark = 'line' | 'point' | 'bar';

/** One line of a chart: values over their index, or over places of their own; `mark`: drawn otherwise than the others. */
export type PlotSeries = ArrayLike<number> | {
  readonly x: ArrayLike<number>;
  readonly y: ArrayLike<number>;
  readonly mark?: PlotMark;
};

/** Options of {@link plot}. */
export interface PlotOptions {
  readonly title?: string;
  /** Titles of the axes, with their units. Default 'index', 'value'. */
  readonly x?: string;
  readonly y?: string;
  /** Default 'line'. */
  readonly mark?: PlotMark;
  /** Whether the axis of values is logarithmic. Default false. */
  readonly log?: boolean;
}

/** Options of {@link show}. */
export interface ShowOptions {
  /** Intensities of black and white. Default: the smallest and the largest. */
  readonly range?: readonly [number, number];
}

/** Points that a chart carries at most; of longer series, every so many-th is drawn. */
const mostPoints = 5000;

const textCheck: Check<string> = (value, name) => { requireText(value, name); };
const flag: Check<boolean> = (value, name) => {
  if (typeof value !== 'boolean') throw refusal(name, 'true or false', describeValue(value));
};
const looks: Readonly<Record<PlotMark, object>> = {
  line: { type: 'line', clip: true }, point: { type: 'point', filled: true, size: 40, opacity: 1 }, bar: { type: 'bar' },
};
const markCheck = choice(['line', 'point', 'bar'] as const);
const plotOptions = optionsOf('plot', {
  title: textCheck, x: normally(textCheck, 'index'), y: normally(textCheck, 'value'),
  mark: normally(markCheck, 'line'), log: normally(flag, false),
} satisfies ChecksOf<PlotOptions>);

const rangeCheck: Check<readonly [number, number]> = (value, name) => {
  requireList(value, name);
  const [low, high] = value as readonly unknown[];
  const isRange = value.length === 2 && typeof low === 'number' && typeof high === 'number' && low < high;
  if (!isRange) throw refusal(name, 'two numbers, the smaller one first', describeValue(value));
};
const showOptions = optionsOf('show', { range: rangeCheck } satisfies ChecksOf<ShowOptions>);

const isNumbers = (value: unknown): value is ArrayLike<number> => isReal(value) || value instanceof Int32Array
  || value instanceof Uint8Array || (Array.isArray(value) && value.every((each) => typeof each === 'number'));

interface Series {
  readonly name: string;
  readonly x?: ArrayLike<number>;
  readonly y: ArrayLike<number>;
  readonly mark: PlotMark;
}

/** The series; a lone one has the name ''. */
function seriesOf(data: unknown, usual: PlotMark): readonly Series[] {
  const one = (value: unknown, name: string): Series => {
    if (isNumbers(value)) return { name, y: value, mark: usual };
    const place = name === '' ? 'data' : `data.${name}`;
    const given = typeof value === 'object' && value !== null ? value : {};
    const { x, y, mark = usual } = given as { x?: unknown; y?: unknown; mark?: PlotMark };
    markCheck(mark, `${place}.mark`);
    if (isNumbers(x) && isNumbers(y) && x.length === y.length) return { name, x, y, mark };
    throw refusal(place, 'numbers, or { x, y } of equally many numbers', describeValue(value));
  };
  const isOne = isNumbers(data) || typeof data !== 'object' || data === null || ('x' in data && 'y' in data) || data instanceof DeviceArray;
  if (isOne) return [one(data, '')];
  return Object.entries(data).map(([name, value]) => one(value, name));
}

/** Bars that are labelled one by one, and names of series below each other, at most. */
const mostBars = 40, seriesPerColumn = 12;

/** The points of all series; those that a logarithmic axis does not have are gaps. */
function valuesOf(series: readonly Series[], log: boolean): { x: number | undefined; y: number | null | undefined; series: string }[] {
  return series.flatMap(({ name, x: places, y: numbers }) => {
    const step = Math.max(1, Math.ceil(numbers.length / mostPoints));
    return Array.from({ length: Math.ceil(numbers.length / step) }, (_, i) => {
      const y = numbers[i * step];
      return { x: places === undefined ? i * step : places[i * step], y: log && !(Number(y) > 0) ? null : y, series: name };
    });
  });
}

const showing = <T extends object>(value: T, text: string, bundle: () => Promise<MimeBundle>): T & Shown =>
  Object.freeze(displayed({ ...value, bundle }, { text: () => text, bundle }));

async function svgOf(specification: object): Promise<string> {
  const svg = await (await import('../pictures/plot.ts')).plotSvg(specification);
  if (svg === undefined) throw new UnavailableError('charts as SVG need optional packages: npm install vega vega-lite');
  return svg;
}

/**
 * A chart of numbers, as a Vega-Lite specification that the notebook draws.
 * @param data numbers over their index, `{ x, y }`, or several of these by name: `{ measured: [..], model: { x, y } }`; `{ x, y, mark }`
 *   draws one otherwise than the others. Series of more than
 *   5000 numbers are thinned out.
 * @throws ArgumentError naming the series or the option
 * @example plot({ sine: xs.map(Math.sin), cosine: xs.map(Math.cos) }, { x: 'angle (rad)', y: 'amplitude' })
 */
export function plot(data: PlotSeries | Readonly<Record<string, PlotSeries>>, options: PlotOptions = {}): Chart {
  const { title, x, y, mark, log } = plotOptions.read(options);
  const series = seriesOf(data, mark).map((one) => (one.mark === 'line' && one.y.length === 1 ? { ...one, mark: 'point' as const } : one));
  const values = valuesOf(series, log);
  const marks = [...new Set(series.map((one) => one.mark))];
  const ofMark = (own: PlotMark): object => {
    const names = series.filter((one) => one.mark === own).map(({ name }) => name);
    return { mark: looks[own], transform: [{ filter: { field: 'series', oneOf: names } }] };
  };
  const scale = log ? { type: 'log' } : { zero: mark === 'bar' };
  // A few bars stand at their numbers, beside each other; more are an axis of numbers.
  const inGroups = marks.join() === 'bar' && new Set(values.map((one) => one.x)).size <= mostBars;
  const ofSeries = { title: null, sort: null, scale: { scheme: series.length > 10 ? 'tableau20' : 'tableau10' },
    legend: { columns: Math.ceil(series.length / seriesPerColumn) } };
  const specification = {
    $schema: 'https://vega.github.io/schema/vega-lite/v5.json', ...(title === undefined ? {} : { title }), width: 460, height: 240,
    data: { values }, ...(marks.length > 1 ? { layer: marks.map(ofMark) } : { mark: looks[marks[0] ?? mark] }),
    encoding: {
      x: inGroups ? { field: 'x', type: 'ordinal', title: x, axis: { labelAngle: 0 } } : { field: 'x', type: 'quantitative', title: x },
      y: { field: 'y', type: 'quantitative', title: y, scale },
      ...(series.length > 1 ? { color: { field: 'series', type: 'nominal', ...ofSeries } } : {}),
      ...(series.length > 1 && inGroups ? { xOffset: { field: 'series', sort: null } } : {}),
    },
  };
  const text = `Chart { ${series.map(({ name, y: numbers }) => `${name === '' ? '' : `${name}: `}${numbers.length} points`).join(', ')} }`;
  return showing({ specification, svg: () => svgOf(specification) }, text, async () =>
    (await import('../pictures/shown.ts')).chartBundle(specification));
}

/**
 * A picture of an image or of a volume, whose slices a slider chooses. Images that functions of this library return show themselves
 * without it; this is for images that you made, and for a range of your own.
 * @throws ArgumentError naming the field or the option
 */
export function show(image: Image, options: ShowOptions = {}): Shown {
  const { range } = showOptions.read(snapshot(options));
  const checked = checkImage(image, 'image');
  return showing({}, imageText(checked), () => imageBundle(checked, range));
}

/**
 * A table of rows, such as those of a benchmark's report; numbers have at most six digits.
 * @throws ArgumentError unless `rows` is a list of objects
 */
export function table(rows: readonly Readonly<Record<string, unknown>>[]): Shown {
  if (!Array.isArray(rows)) throw refusal('rows', 'a list of objects', describeValue(rows));
  for (const [i, row] of (rows as readonly unknown[]).entries()) {
    if (typeof row !== 'object' || row === null) throw refusal(`rows[${i}]`, 'an object', describeValue(row));
  }
  const html = htmlTable(rows);
  return showing({}, `Table { ${rows.length} rows }`, () => Promise.resolve({ 'text/html': html }));
}
