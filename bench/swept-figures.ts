// The paper's Figs. 7 to 10 from a report of `swept`: time per step and speed-up over the classic variant.
import { writeFile } from 'node:fs/promises';
import { plotSvg } from '../lib/pictures/plot.ts';
import type { Report } from './report.ts';

/** A point of a figure. */
export interface Point {
  readonly equation: string;
  readonly precision: string;
  readonly n: number;
  readonly variant: string;
  readonly microseconds: number;
  /** Over `classic`, on the cpu backend over `cpu-classic`. */
  readonly speedup: number;
}

/** Points of the rows `<equation>/<precision>/<n>/<variant>`. */
export function pointsOf({ rows }: Report): Point[] {
  return rows.map(({ id, value, peers = {} }) => {
    const [equation = '', precision = '', n = '', variant = ''] = id.split('/');
    const classic = peers['classic'] ?? peers['cpu-classic'] ?? value;
    return { equation, precision, n: Number(n), variant, microseconds: value * 1e6, speedup: classic / value };
  });
}

interface Figure {
  readonly title: string;
  readonly equation: string;
  readonly takes: (variant: string) => boolean;
}

const onGpu = (variant: string): boolean => !variant.startsWith('cpu-');
const figures: readonly Figure[] = [
  { title: 'Fig. 7, heat', equation: 'heat', takes: onGpu },
  { title: 'Fig. 8, Kuramoto–Sivashinsky', equation: 'ks', takes: onGpu },
  { title: 'Fig. 9, Euler', equation: 'euler', takes: onGpu },
  { title: 'Fig. 9, Euler as the paper has it: Sod between held ends', equation: 'sod', takes: onGpu },
  { title: 'Euler, default limiter', equation: 'euler-default', takes: onGpu },
  { title: 'Sod as a user runs it', equation: 'sod-default', takes: onGpu },
  {
    title: 'Fig. 10, Kuramoto–Sivashinsky on CPU and GPU', equation: 'ks',
    takes: (variant) => !onGpu(variant) || variant === 'classic' || variant === 'shared' || variant === 'tiled',
  },
];

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];

/** 2^k for powers of two. */
export function sizeName(n: number): string {
  const exponent = Math.log2(n);
  return Number.isInteger(exponent) ? `2^${exponent}` : String(n);
}

function table(points: readonly Point[], cell: (point: Point) => string): string[] {
  const variants = unique(points.map(({ variant }) => variant));
  const sizes = unique(points.map(({ n }) => n)).sort((a, b) => a - b);
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(['n', ...variants]), line(['---', ...variants.map(() => '---')]),
    ...sizes.map((n) => line([sizeName(n), ...variants.map((variant) => {
      const point = points.find((each) => each.n === n && each.variant === variant);
      return point === undefined ? '' : cell(point);
    })])),
  ];
}

/** Both tables of each figure and precision, in Markdown. A CPU's report has its own variants in Figs. 7 to 9 and no Fig. 10. */
export function figureTables(report: Report): string {
  const all = pointsOf(report);
  const gpu = all.some(({ variant }) => onGpu(variant) && !variant.startsWith('auto'));
  const lines: string[] = [];
  for (const { title, equation, takes } of gpu ? figures : figures.filter(({ title }) => !title.startsWith('Fig. 10'))) {
    for (const precision of unique(all.map((point) => point.precision))) {
      const points = all.filter((point) =>
        point.equation === equation && point.precision === precision && (!gpu || takes(point.variant)));
      // Fig. 10 is nothing without rows of a CPU.
      if (points.length === 0 || (title.startsWith('Fig. 10') && points.every(({ variant }) => onGpu(variant)))) continue;
      const times = table(points, ({ microseconds }) => String(Number(microseconds.toPrecision(4))));
      const speedups = table(points, ({ speedup }) => speedup.toFixed(2));
      lines.push(`${title}, ${precision}: microseconds per time step`, '', ...times, '');
      lines.push(`${title}, ${precision}: speed-up over the classic variant`, '', ...speedups, '');
    }
  }
  return lines.join('\n').trimEnd();
}

/** Writes `path` (SVG): time per step and speed-up, both axes logarithmic; false where vega is not installed. */
export async function writeFigures(path: string, report: Report): Promise<boolean> {
  const points = pointsOf(report);
  if (points.length === 0) return false;
  const panel = (precision: string, field: keyof Point, title: string, values: readonly Point[]) => ({
    title: `${precision}: ${title}`,
    data: { values },
    facet: { column: { field: 'equation', type: 'nominal', title: null, sort: ['heat', 'ks', 'euler'] } },
    resolve: { scale: { y: 'independent' } },
    spec: {
      width: 300, height: 260, mark: { type: 'line', point: true },
      encoding: {
        x: { field: 'n', type: 'quantitative', title: 'points', scale: { type: 'log', base: 2 } },
        y: { field, type: 'quantitative', title, scale: { type: 'log' } },
        color: { field: 'variant', type: 'nominal', sort: null, title: null, scale: { scheme: 'tableau10' } },
      },
    },
  });
  const svg = await plotSvg({
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    title: `${report.domain} on ${report.deviceName}`,
    vconcat: unique(points.map(({ precision }) => precision)).flatMap((precision) => {
      const values = points.filter((point) => point.precision === precision);
      return [panel(precision, 'microseconds', 'µs per time step', values), panel(precision, 'speedup', 'speed-up over classic', values)];
    }),
  });
  if (svg === undefined) return false;
  await writeFile(path, svg);
  return true;
}
