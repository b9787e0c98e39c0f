// The picture of `bench -- calls`: what a call takes in other libraries, relative to Warploom's.
import { writeFile } from 'node:fs/promises';
import { plotSvg } from '../lib/pictures/plot.ts';
import type { Report, Row } from './report.ts';

const wayOf: Readonly<Record<string, string>> = {
  device: 'device', queued: '50 queued', plain: 'plain', pinned: 'pinned',
};

interface Mark {
  readonly call: string;
  readonly library: string;
  /** Time divided by Warploom's. */
  readonly times: number;
}

const timeLabel = (seconds: number): string => (seconds >= 1e-3 ? `${Number((seconds * 1e3).toPrecision(3))} ms`
  : `${Number((seconds * 1e6).toPrecision(3))} µs`);

/** Marks of the calls that another library makes as well: peers whose name says that they do something else are left out. */
export function callMarks(rows: readonly Row[]): Mark[] {
  return rows.flatMap(({ id, value, peers = {} }) => {
    const [, operation = '', shape = '', type = '', way = ''] = id.split('/');
    const same = Object.entries(peers).filter(([library]) => !library.includes(','));
    if (same.length === 0 || wayOf[way] === undefined) return [];
    const call = `${operation.replace('tridiagonal.', '')} ${shape.replace('x', ' × ')} ${type}, ${wayOf[way]}: ${timeLabel(value)}`;
    return [['Warploom', value] as const, ...same].map(([library, seconds]) => ({ call, library, times: seconds / value }));
  });
}

/** Writes `path` (SVG); false where there is nothing to draw or vega is not installed. */
export async function writeCallsFigure(path: string, report: Report): Promise<boolean> {
  const marks = callMarks(report.rows);
  if (marks.length === 0) return false;
  const libraries = ['Warploom', ...[...new Set(marks.map(({ library }) => library))].filter((name) => name !== 'Warploom').sort()];
  const y = { field: 'call', type: 'nominal', title: null, sort: null, axis: { labelLimit: 420, grid: true, gridOpacity: 0.4 } };
  const x = { type: 'quantitative', scale: { type: 'log', nice: false } };
  const svg = await plotSvg({
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    title: {
      text: `Calls on one ${report.deviceName}`, anchor: 'start',
      subtitle: 'wall time per call on device arrays (one call, 50 queued) and on plain arrays; all in one run; Warploom\'s on the left',
    },
    data: { values: marks }, width: 420, height: { step: 17 },
    mark: { type: 'point', filled: true, size: 70, opacity: 1 },
    encoding: {
      y, x: { ...x, field: 'times', title: 'times as long as Warploom', axis: { values: [0.5, 1, 2, 5, 10, 20] } },
      color: {
        field: 'library', type: 'nominal', title: null,
        scale: { domain: libraries, range: ['#d95f02', '#1b6ca8', '#5b8c5a', '#8a6bbe'].slice(0, libraries.length) },
      },
      shape: { field: 'library', type: 'nominal', title: null, scale: { domain: libraries } },
    },
  });
  if (svg === undefined) return false;
  await writeFile(path, svg);
  return true;
}
