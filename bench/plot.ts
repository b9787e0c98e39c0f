// Draws a report: share of the floor by shape, one bar per algorithm and peer.
import { writeFile } from 'node:fs/promises';
import { plotSvg } from '../lib/pictures/plot.ts';
import type { Report, Row } from './report.ts';

interface Bar {
  readonly shape: string;
  readonly precision: string;
  readonly method: string;
  readonly percent: number;
}

/** Bars of the rows with a limit: the methods and, from the peers' times, the peers. */
export function barsOf(rows: readonly Row[]): Bar[] {
  const bars = new Map<string, Bar>();
  for (const { id, limit, value, peers = {} } of rows) {
    if (limit === undefined) continue;
    const [, shape = '', precision = '', temperature = '', method = ''] = id.split('/');
    const where = method === '' ? shape : `${shape} ${temperature}`;
    const add = (name: string, seconds: number) => bars.set(`${where}/${precision}/${name}`, {
      shape: where, precision, method: name, percent: (100 * limit) / seconds,
    });
    add(method === '' ? temperature : method, value);
    for (const [peer, seconds] of Object.entries(peers)) if (peer !== 'copy') add(peer, seconds);
  }
  return [...bars.values()];
}

/** What the horizontal axis shows. */
const axes: Readonly<Record<string, string>> = { kernel: 'arrays × elements', scan: 'arrays × elements', stencil: 'equation and cells' };

const isDimensions = (precision: string): boolean => /^[1-3]$/.test(precision);

/** Writes `path` (SVG); false where there is nothing to draw or vega is not installed. */
export async function writePlot(path: string, report: Report): Promise<boolean> {
  const bars = barsOf(report.rows);
  if (bars.length === 0) return false;
  const panels = bars.map((bar) => (isDimensions(bar.precision) ? { ...bar, precision: `${bar.precision}D` } : bar));
  const isStencil = report.domain === 'stencil';
  const most = Math.max(100, ...bars.map(({ percent }) => percent));
  const svg = await plotSvg({
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    title: {
      text: `${report.domain} on ${report.deviceName}: share of the copy floor`,
      ...(isStencil ? { subtitle: '100 %: every step reads and writes all cells like a copy; passes of several steps do so once' } : {}),
    },
    data: { values: panels },
    ...(isStencil ? { resolve: { scale: { x: 'independent', xOffset: 'independent' } } } : {}),
    facet: { row: { field: 'precision', type: 'nominal', title: null } },
    spec: {
      width: 900, height: 220, mark: 'bar',
      encoding: {
        x: {
          field: 'shape', type: 'nominal', title: axes[report.domain] ?? 'systems × unknowns', sort: null,
          axis: { labelAngle: -20, labelLimit: 300 },
        },
        xOffset: { field: 'method', type: 'nominal', sort: null },
        y: { field: 'percent', type: 'quantitative', title: '% of the floor', scale: { domain: [0, most], nice: most > 100 } },
        color: { field: 'method', type: 'nominal', sort: null, title: null, scale: { scheme: 'tableau20' } },
      },
    },
  });
  if (svg === undefined) return false;
  await writeFile(path, svg);
  return true;
}
