// A software-pipelined launch as a picture: processors downwards, time to the right, a bar for every piece of work, coloured by its stage.
import { requireCount, requireText } from '../../core/checks.ts';
import { elementAt } from '../../core/known.ts';
import type { SdfGraph } from '../sdf.ts';
import { colours, escaped, rounded, roundTicks, svgDocument, textAt } from './svg.ts';
import { requireFields, requireList, requireRateGraph, requireSizes } from '../require.ts';

/** A piece of work in a launch. Times in microseconds. */
export interface GanttBar {
  readonly processor: number;
  readonly start: number;
  readonly time: number;
  readonly actor: number;
  /** Launches after the first of its iteration. */
  readonly stage: number;
  /** What it does, for those who point at it. */
  readonly what: string;
}

const left = 70;
const top = 60;
const rowHeight = 26;
const plotWidth = 900;

/** Draws one launch of a schedule; `interval` is its length in microseconds. */
export function ganttSvg(graph: SdfGraph, bars: readonly GanttBar[], processors: number, interval: number, title: string): string {
  requireRateGraph(graph);
  requireList('bars', bars, 'bars of firings');
  for (const [i, bar] of bars.entries()) {
    requireFields(`bars[${i}]`, bar, 'a bar');
    requireCount(bar.actor, `bars[${i}].actor`, 0, graph.actors.length - 1);
    requireSizes(`bars[${i}]`, [bar.processor, bar.start, bar.time, bar.stage]);
    requireText(bar.what, `bars[${i}].what`);
  }
  requireCount(processors, 'processors', 0, 4096);
  requireSizes('interval', [interval]);
  requireText(title, 'title');
  const width = left + plotWidth + 30, end = top + processors * rowHeight, height = end + 46;
  const across = (time: number) => left + (interval > 0 ? time / interval : 0) * plotWidth;
  const rows = Array.from({ length: processors }, (_, row) => {
    const y = top + (row + 1) * rowHeight;
    return textAt(left - 8, y - 9, `core ${row}`, 'text-anchor="end"')
      + `<line x1="${left}" x2="${left + plotWidth}" y1="${y}" y2="${y}" stroke="#ddd"/>`;
  });
  const shown = bars.map(({ processor, start, time, actor, stage, what }) => {
    const x = across(start), y = top + processor * rowHeight + 3, wide = Math.max(0.5, across(start + time) - x);
    const name = elementAt(graph.actors, actor).name;
    const label = wide > 7 * name.length ? textAt(x + 4, y + 14, name, 'fill="#fff"') : '';
    const fill = `fill="${colours[stage % colours.length]}" stroke="#fff" stroke-width="0.5"`;
    return `<g><title>${escaped(`${name}, ${what}, stage ${stage}, ${rounded(time)} µs`)}</title><rect x="${rounded(x)}" y="${y}" `
      + `width="${rounded(wide)}" height="${rowHeight - 6}" ${fill}/>${label}</g>`;
  });
  const stages = [...new Set(bars.map(({ stage }) => stage))].sort((a, b) => a - b);
  const keys = stages.slice(0, 10).map((stage, i) => {
    const x = left + 78 * i;
    const box = `<rect x="${x}" y="36" width="10" height="10" fill="${colours[stage % colours.length]}"/>`;
    return `${box}${textAt(x + 14, 45, `stage ${stage}`)}`;
  });
  const ticks = roundTicks(interval).map((time) => {
    const x = rounded(across(time));
    return `<line x1="${x}" x2="${x}" y1="${top}" y2="${end + 4}" stroke="#ddd"/>`
      + textAt(across(time), end + 17, String(time), 'text-anchor="middle"');
  });
  const axis = textAt(left + plotWidth / 2, height - 8, `time (µs); a launch takes ${rounded(interval)} µs`, 'text-anchor="middle"');
  const heading = textAt(left, 22, title, 'font-size="14" font-weight="bold"');
  return svgDocument(width, height, title, [heading, ...keys, ...rows, ...ticks, ...shown, axis]);
}
