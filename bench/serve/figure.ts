// The picture of `bench -- serve`: requests per second with and without batching, and what their latency is.
import { writeFile } from 'node:fs/promises';
import { plotSvg } from '../../lib/pictures/plot.ts';
import type { Report, Row } from '../report.ts';

interface Mark {
  readonly what: string;
  readonly kind: string;
  readonly rate: number;
  /** Milliseconds. */
  readonly p99: number | undefined;
}

const kinds: Readonly<Record<string, string>> = {
  batched: 'batched', workers: 'batched, with workers', unbatched: 'one call a launch', http: 'HTTP alone',
  'in-process': 'batched, without HTTP',
};

/** One mark for each row. */
export function serveMarks(rows: readonly Row[]): Mark[] {
  return rows.flatMap(({ id, value, figures }) => {
    const [, name = '', connections = '', kind = ''] = id.split('/');
    const shown = kinds[kind];
    const p99 = figures?.['p99'];
    return shown === undefined ? []
      : [{ what: `${name}, ${connections} connections`, kind: shown, rate: value, p99: p99 === undefined ? undefined : 1000 * p99 }];
  });
}

/** Writes `path` (SVG); false where there is nothing to draw or vega is not installed. */
export async function writeServeFigure(path: string, report: Report): Promise<boolean> {
  const marks = serveMarks(report.rows);
  if (marks.length === 0) return false;
  const panel = (field: string, title: string, values: readonly Mark[]) => ({
    width: 300, height: { step: 20 }, data: { values },
    mark: { type: 'point', filled: true, size: 70, opacity: 1 },
    encoding: {
      y: { field: 'what', type: 'nominal', title: null, sort: null, axis: { labelLimit: 300, grid: true, gridOpacity: 0.4 } },
      x: { field, type: 'quantitative', title, scale: { type: 'log' } },
      color: {
        field: 'kind', type: 'nominal', title: null,
        scale: { domain: Object.values(kinds), range: ['#d95f02', '#7a4fa3', '#1b6ca8', '#8a8a8a', '#5b8c5a'] } },
      shape: { field: 'kind', type: 'nominal', title: null, scale: { domain: Object.values(kinds) } },
    },
  });
  const svg = await plotSvg({
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    title: {
      text: `The server on one ${report.deviceName}`, anchor: 'start',
      subtitle: 'requests on loopback from a client on the same machine, each connection with one at a time; all in one run',
    },
    hconcat: [panel('rate', 'requests per second', marks),
      panel('p99', '99th percentile of the latency, ms', marks.filter(({ p99 }) => p99 !== undefined))],
  });
  if (svg === undefined) return false;
  await writeFile(path, svg);
  return true;
}
