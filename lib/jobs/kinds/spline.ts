// The `spline` job: cubic-spline interpolation of measured series, drawn with its knots.
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { csvParse } from 'd3-dsv';
import { z } from 'zod';
import { refusal } from '../../core/errors.ts';
import { readText, writeFileAtomic } from '../../core/files.ts';
import { elementAt, lastOf, leading, required } from '../../core/known.ts';
import { formatNpy } from '../../files/npy.ts';
import { cubicSpline, type CubicSpline } from '../../tridiagonal/cubic-spline.ts';
import { common, path, units } from '../fields.ts';
import type { ItemFunction, JobKind } from '../kind.ts';
import { noPictures, plotSvg } from '../../pictures/plot.ts';
import { titled } from '../../pictures/units.ts';

/** `spline`: cubic-spline interpolation of measured series. */
export const splineJobSchema = z.strictObject({
  ...common,
  kind: z.literal('spline'),
  file: path.describe('.csv with a header line'),
  x: z.string().min(1).describe('column of abscissas: numbers or ISO dates (as years)'),
  y: z.array(z.string().min(1)).min(1).describe('columns to interpolate'),
  boundary: z.enum(['natural', 'clamped', 'periodic']).default('natural'),
  every: z.number().int().min(1).default(1).describe('use every n-th row as a knot; the others test the fit'),
  units: units.describe('units for the picture, by column'),
  samples: z.number().int().min(2).max(1_000_000).default(2000).describe('points of the drawn curve'),
});
export type SplineJob = z.infer<typeof splineJobSchema>;

/** A point of a curve. */
interface Point { readonly x: number; readonly y: number; readonly series: string }

/** A number as written, or an ISO date as a fractional year; times without a zone are UTC on every machine. */
function abscissa(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value)) return value;
  const time = Date.parse(/T[\d:.]+$/.test(text) ? `${text}Z` : text);
  if (Number.isNaN(time)) return NaN;
  const year = new Date(time).getUTCFullYear();
  const start = Date.UTC(year, 0, 1);
  return year + (time - start) / (Date.UTC(year + 1, 0, 1) - start);
}

/** Rows of the file whose abscissa and all ordinates are numbers, ascending and without repeats. */
function readSeries(text: string, job: SplineJob) {
  const table = csvParse(text);
  for (const column of [job.x, ...job.y]) {
    if (!table.columns.includes(column)) {
      throw refusal('file', `a column '${column}'`, `columns ${table.columns.join(', ')}`);
    }
  }
  const rows = table
    .map((row) => [abscissa(required(row[job.x])), ...job.y.map((c) => (required(row[c]).trim() === '' ? NaN : Number(row[c])))])
    .filter((row) => row.every(Number.isFinite))
    .sort((a, b) => elementAt(a, 0) - elementAt(b, 0))
    .filter((row, i, all) => i === 0 || elementAt(row, 0) > elementAt(elementAt(all, i - 1), 0));
  if (rows.length < 3) throw refusal('file', 'at least 3 complete rows', `${rows.length}`);
  const isDate = table.some((row) => Number.isNaN(Number(row[job.x])) && !Number.isNaN(abscissa(required(row[job.x]))));
  return { rows, dropped: table.length - rows.length, isDate };
}

/** The Unix time in milliseconds of a fractional year, as {@link abscissa} makes them of dates. */
function timeOfYear(value: number): number {
  const year = Math.floor(value);
  const [start, end] = [Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1)];
  return Math.round(start + (value - year) * (end - start));
}

/** Curves and knots, over dates where the abscissas are dates. */
function specification(job: SplineJob, isDate: boolean, curve: readonly Point[], knots: readonly Point[]): object {
  const { units: known = {} } = job;
  const [first = '', ...others] = job.y;
  const shared = others.every((name) => known[name] === known[first]) ? known[first] : undefined;
  const heading = job.y.join(', ');
  const placed = ({ x, ...rest }: Point): object => ({ x: isDate ? timeOfYear(x) : x, ...rest });
  const x = isDate ? { type: 'temporal', scale: { type: 'utc' }, axis: { tickCount: 12 } }
    : { type: 'quantitative', scale: { zero: false, nice: false } };
  const layer = (values: readonly Point[], mark: object) => ({ data: { values: values.map(placed) }, mark, encoding: {
    x: { field: 'x', title: titled(job.x, known), ...x },
    y: {
      field: 'y', type: 'quantitative', scale: { zero: false },
      title: shared === undefined ? job.y.map((name) => titled(name, known)).join(', ') : titled(heading, { [heading]: shared }),
    },
    color: { field: 'series', type: 'nominal', title: null, sort: null, legend: { symbolType: 'stroke', symbolStrokeWidth: 3 } },
  } });
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json', title: job.description ?? job.name, width: 820, height: 400,
    layer: [layer(curve, { type: 'line', strokeWidth: 1.2 }), layer(knots, { type: 'point', size: 9, filled: true, opacity: 1 })],
  };
}

/**
 * Largest difference between the slopes of the two cubics that meet at a knot, relative to the largest
 * slope: the residual of the equations that were solved.
 */
function slopeJump({ x, y, curvature }: CubicSpline): number {
  let jump = 0;
  let steepest = Number.MIN_VALUE;
  for (let base = 0; base < y.length; base += x.length) {
    for (let k = 1; k + 1 < x.length; ++k) {
      const i = base + k;
      const [x0, x1, x2] = leading(x.slice(k - 1, k + 2), 3);
      const [y0, y1, y2] = leading(y.slice(i - 1, i + 2), 3);
      const [c0, c1, c2] = leading(curvature.slice(i - 1, i + 2), 3);
      const [before, after] = [x1 - x0, x2 - x1];
      const left = (y1 - y0) / before + (before / 6) * (2 * c1 + c0);
      const right = (y2 - y1) / after - (after / 6) * (2 * c1 + c2);
      jump = Math.max(jump, Math.abs(right - left));
      steepest = Math.max(steepest, Math.abs(left), Math.abs(right));
    }
  }
  return jump / steepest;
}

/** Interpolates and writes curve.npy (x and every series), result figures and curve.svg. */
export const splineItem: ItemFunction<SplineJob> = async (job, { device, input, folder, signal, onProgress }) => {
  const { rows, dropped, isDate } = readSeries(await readText(input(job.file)), job);
  const last = rows.length - 1;
  const knotRows = rows.filter((_, i) => i % job.every === 0 || i === last);
  const heldOut = rows.filter((_, i) => i % job.every !== 0 && i !== last);
  const x = knotRows.map((row) => elementAt(row, 0));
  const y = job.y.flatMap((_, s) => knotRows.map((row) => elementAt(row, s + 1)));
  if (job.boundary === 'periodic') {
    job.y.forEach((_, s) => { y[(s + 1) * x.length - 1] = elementAt(y, s * x.length); });
  }
  const before = performance.now();
  const spline = await cubicSpline(x, y, { boundary: job.boundary, device, signal });
  const solveSeconds = (performance.now() - before) / 1000;
  onProgress(1, 2);

  const at = Float64Array.from({ length: job.samples }, (_, i) =>
    elementAt(x, 0) + ((lastOf(x) - elementAt(x, 0)) * i) / (job.samples - 1));
  const curves = job.y.map((_, series) => spline.evaluate(at, { series }));
  const table = new Float64Array(at.length * (1 + curves.length));
  [at, ...curves].forEach((column, i) => table.set(column, i * at.length));
  await writeFileAtomic(join(folder, 'curve.npy'),
    formatNpy({ type: 'float64', shape: [1 + curves.length, at.length], data: table }));

  let heldOutSquares = 0;
  job.y.forEach((_, series) => {
    spline.evaluate(heldOut.map((row) => elementAt(row, 0)), { series }).forEach((value, k) => {
      heldOutSquares += (value - elementAt(elementAt(heldOut, k), series + 1)) ** 2;
    });
  });
  const heldOutError = heldOut.length === 0 ? NaN : Math.sqrt(heldOutSquares / (heldOut.length * job.y.length));

  const points = (xs: ArrayLike<number>, ys: ArrayLike<number>, series: string) =>
    Array.from(xs, (px, i) => ({ x: px, y: elementAt(ys, i), series }));
  const svg = await plotSvg(specification(job, isDate,
    curves.flatMap((curve, s) => points(at, curve, elementAt(job.y, s))),
    job.y.flatMap((name, s) => points(x, y.slice(s * x.length, (s + 1) * x.length), name))));
  if (svg !== undefined) await writeFileAtomic(join(folder, 'curve.svg'), svg);
  onProgress(2, 2);
  return {
    summary: `${job.boundary} spline, ${x.length} knots × ${job.y.length} series`,
    figures: { knots: x.length, series: job.y.length, solveSeconds, rowsLeftOut: dropped,
      ...(heldOut.length === 0 ? {} : { heldOutRows: heldOut.length, heldOutRootMeanSquareError: heldOutError }) },
    accuracy: { value: slopeJump(spline), meaning: 'largest jump of the slope at a knot, relative' },
    files: ['curve.npy', ...(svg === undefined ? [] : ['curve.svg'])],
    notes: svg === undefined ? [noPictures] : [],
  };
};

/** The kind `spline`. */
export const splineKind: JobKind<'spline', typeof splineJobSchema> = {
  kind: 'spline', schema: splineJobSchema,
  inputs: ({ file }) => ({ file }),
  run: splineItem,
};
