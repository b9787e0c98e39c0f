// The report of imaging drawn and tabulated: times by size beside those of others.
import { writeFile } from 'node:fs/promises';
import { plotSvg } from '../lib/pictures/plot.ts';
import type { Report, Row } from './report.ts';

/** One bar: a method or a peer at one size. */
export interface Bar {
  readonly figure: string;
  readonly size: string;
  readonly method: string;
  readonly microseconds: number;
}

const isSize = (part: string): boolean => /^\d+(\^\d)?$/.test(part);

/** Bars of the rows that are times; a row's method is what follows its size. */
export function imagingBars(rows: readonly Row[]): Bar[] {
  const bars = new Map<string, Bar>();
  for (const { id, value, unit, peers = {} } of rows) {
    if (unit !== 's') continue;
    const parts = id.split('/');
    const at = parts.findIndex(isSize);
    if (at < 0) continue;
    const named = parts.length - 1 > at && !['hot', 'cold', 'float32', 'float64'].includes(parts.at(-1)!);
    const method = named ? parts.at(-1)! : 'warploom';
    const figure = parts.filter((_, i) => i !== at && !(named && i === parts.length - 1)).join(' ');
    const size = parts[at]!;
    for (const [name, seconds] of [[method, value], ...Object.entries(peers)] as [string, number][]) {
      bars.set(`${figure} ${size} ${name}`, { figure, size, method: name, microseconds: seconds * 1e6 });
    }
  }
  return [...bars.values()];
}

/** The rows as Markdown: one table of times with the best peer, one of quality. */
export function imagingTables({ rows }: Report): string {
  const times = rows.filter(({ unit }) => unit === 's');
  const micro = (seconds: number) => `${Number((seconds * 1e6).toPrecision(4))}`;
  const mark = (name: string, constants: readonly string[] = []) => (constants.includes(name) ? `${name}*` : name);
  const lines = times.map(({ id, value, limit, fraction, peers = {}, constants }) => {
    const beaten = Object.entries(peers).filter(([name]) => name !== 'copy').sort(([, a], [, b]) => a - b)[0];
    const beside = beaten === undefined ? ['', '']
      : [`${mark(beaten[0], constants)} ${micro(beaten[1])}`, `${(beaten[1] / value).toFixed(2)}`];
    const share = fraction === undefined ? '' : `${(100 * fraction).toFixed(0)} %`;
    return `| ${[id, micro(value), limit === undefined ? '' : micro(limit), share, ...beside].join(' | ')} |`;
  });
  const quality = rows.filter(({ id }) => id.startsWith('quality/')).map(({ id, value, unit, peers = {}, constants }) => {
    const beside = Object.entries(peers).map(([name, other]) => `${mark(name, constants)} ${other}`).join(', ');
    return `| ${id.slice(8)} | ${Number(value.toPrecision(5))} ${unit === '1' ? '' : unit} | ${beside} |`;
  });
  return [
    ...(lines.length > 0 ? [`| row | µs | limit µs | of it | quickest other, µs | times as fast |\n|${' --- |'.repeat(6)}`, ...lines] : []),
    ...(rows.some(({ constants }) => constants !== undefined)
      ? ['', '\\* a constant of another run (bench/imaging-data.ts), not measured in this one'] : []),
    ...(quality.length > 0 ? ['', '| quality | | others |', '| --- | --- | --- |', ...quality] : []),
  ].join('\n');
}

/** Writes `path` (SVG); false where there is nothing to draw or vega is not installed. */
export async function writeImagingFigures(path: string, report: Report): Promise<boolean> {
  const bars = imagingBars(report.rows);
  if (bars.length === 0) return false;
  const marks = bars.map((bar) => ({ ...bar, what: `${bar.figure}, ${bar.size}` }));
  const svg = await plotSvg({
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    title: {
      text: `${report.domain} on ${report.deviceName}`, anchor: 'start',
      subtitle: 'by voxels along a side (size^2: of a picture, size^3: of a volume)',
    },
    data: { values: marks }, width: 520, height: { step: 15 }, mark: { type: 'point', filled: true, size: 55, opacity: 1 },
    encoding: {
      y: { field: 'what', type: 'nominal', title: null, sort: null, axis: { labelLimit: 340, grid: true, gridOpacity: 0.4 } },
      x: {
        field: 'microseconds', type: 'quantitative', title: 'time (µs)', scale: { type: 'log' },
        axis: { orient: 'bottom', values: Array.from({ length: 10 }, (_, i) => 10 ** (i - 2)), format: '~r' },
      },
      color: { field: 'method', type: 'nominal', sort: null, title: null, scale: { scheme: 'tableau20' }, legend: { symbolLimit: 0 } },
      shape: { field: 'method', type: 'nominal', sort: null, title: null },
    },
  });
  if (svg === undefined) return false;
  await writeFile(path, svg);
  return true;
}
