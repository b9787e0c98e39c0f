// Draws what the pass did: live ranges over program points, and bytes on the vertical axis, as declared and in the pool.
import { elementAt, lastOf } from '../core/known.ts';
import { blocksElsewhere } from '../scratchpad/explain.ts';
import { alignUp } from '../kernel/memory/prepared.ts';
import type { ArrayReport, KernelReport } from '../scratchpad/report.ts';

/** The palette of Okabe and Ito, which colour-blind people can distinguish. */
const colours = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b8a800', '#7f7f7f'];
const panelWidth = 420;
const panelHeight = 260;
const left = 70;
const top = 56;
const gap = 60;
const bottom = 56;
const width = left + panelWidth + gap + panelWidth + 30;
const height = top + panelHeight + bottom;

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
const number = (value: number): string => String(Math.round(value * 100) / 100);

function text(x: number, y: number, content: string, attributes = ''): string {
  return `<text x="${number(x)}" y="${number(y)}" ${attributes}>${escaped(content)}</text>`;
}

/** The smallest power of two that gives at most `most` ticks. */
function step(range: number, most: number): number {
  let unit = 1;
  while (range / unit > most) unit *= 2;
  return unit;
}

interface Panel {
  readonly x: number;
  readonly title: string;
  readonly arrays: readonly { readonly array: ArrayReport; readonly offset: number }[];
  /** Whether memory is held for the whole kernel. */
  readonly reserved: boolean;
}

/** The block of an array: strong while it is needed, pale for the whole time if its memory is reserved. */
function blocks({ arrays, reserved, x }: Panel, points: number, bytes: number): string[] {
  const across = (point: number) => x + point / points * panelWidth;
  const up = (offset: number) => top + panelHeight - offset / bytes * panelHeight;
  return arrays.flatMap(({ array, offset }, i) => {
    const colour = elementAt(colours, i % colours.length);
    const box = (begin: number, end: number, style: string) => `<rect x="${number(across(begin))}" y="${number(up(offset + array.bytes))}" `
      + `width="${number(across(end) - across(begin))}" height="${number(Math.max(array.bytes / bytes * panelHeight, 0.5))}" ${style}/>`;
    const ranges = array.live.map((range) => `${range.beginLine} to ${range.endLine}`).join(', ') || 'none';
    const size = `${array.name}: ${array.bytes} bytes at ${offset}, lines ${ranges}`;
    const live = array.live.map((range) => box(range.begin, range.end, `fill="${colour}" stroke="#fff" stroke-width="0.7"`));
    const longest = [...array.live].sort((a, b) => (b.end - b.begin) - (a.end - a.begin))[0];
    const begin = longest?.begin ?? 0;
    const room = longest === undefined ? panelWidth : across(longest.end) - across(begin);
    const fits = array.bytes / bytes * panelHeight >= 11 && room >= 6.5 * array.name.length;
    const style = longest === undefined ? '' : 'fill="#fff"';
    const label = fits ? [text(across(begin) + 4, up(offset + array.bytes / 2) + 4, array.name, style)] : [];
    const held = reserved ? [box(0, points, `fill="${colour}" opacity="0.18"`)] : [];
    return [`<g><title>${escaped(size)}</title>`, ...held, ...live, ...label, '</g>'];
  });
}

function axes({ x, title }: Panel, lines: readonly number[], bytes: number): string[] {
  const points = lines.length;
  const parts = [text(x, top - 12, title, 'font-weight="600"'),
    `<path d="M${x} ${top}V${top + panelHeight}H${x + panelWidth}" fill="none" stroke="currentColor"/>`];
  const unit = step(bytes, 6);
  for (let at = 0; at <= bytes; at += unit) {
    const y = top + panelHeight - at / bytes * panelHeight;
    parts.push(`<path d="M${x - 4} ${number(y)}H${x}" stroke="currentColor"/>`, text(x - 8, y + 4, String(at), 'text-anchor="end"'));
  }
  parts.push(text(0, 0, 'bytes', `text-anchor="middle" transform="translate(${x - 52} ${top + panelHeight / 2}) rotate(-90)"`));
  const every = step(points, 10);
  for (let point = 0; point < points; point += every) {
    const at = x + (point + 0.5) / points * panelWidth;
    parts.push(text(at, top + panelHeight + 16, String(lines[point]), 'text-anchor="middle"'));
  }
  parts.push(text(x + panelWidth / 2, top + panelHeight + 36, 'program points by source line', 'text-anchor="middle"'));
  return parts;
}

function mark(x: number, value: number, bytes: number, content: string): string[] {
  const y = top + panelHeight - value / bytes * panelHeight;
  return [`<path d="M${x} ${number(y)}H${x + panelWidth}" stroke="currentColor" stroke-dasharray="5 4"/>`,
    text(x + panelWidth, y - 4, content, 'text-anchor="end"')];
}

/** The two panels of one kernel, in a box of `width` by `height`. */
function drawKernel(kernel: KernelReport): string[] {
  let end = 0;
  const declared = kernel.arrays.map((array) => {
    const offset = alignUp(end, array.alignment);
    end = offset + array.bytes;
    return { array, offset };
  });
  const pooled = kernel.arrays.map((array) => ({ array, offset: array.offset }));
  const bytes = Math.max(end, kernel.bytesAfter, 1);
  const lines = kernel.points.length > 0 ? kernel.points : [kernel.line];
  const last = Math.max(lines.length, ...kernel.arrays.flatMap((array) => array.live.map((range) => range.end)));
  const points = [...lines, ...new Array<number>(last - lines.length).fill(lastOf(lines))];
  const saved = end === 0 ? 0 : 100 * (1 - kernel.bytesAfter / end);
  const panels: Panel[] = [
    { x: left, title: `as declared: ${end} bytes`, arrays: declared, reserved: true },
    {
      x: left + panelWidth + gap, title: `${kernel.planner}: ${kernel.bytesAfter} bytes, ${saved.toFixed(1)} % saved`,
      arrays: pooled, reserved: false,
    },
  ];
  const kept = kernel.status === 'kept' ? `, kept: ${kernel.reason}` : '';
  const bound = kernel.bytesAfter === kernel.lowerBound ? 'pool = lower bound' : `pool; lower bound ${kernel.lowerBound}`;
  return [
    text(left, 20, `${kernel.kernel} (line ${kernel.line})${kept}`, 'font-size="15" font-weight="700"'),
    ...panels.flatMap((panel) => [...blocks(panel, points.length, bytes), ...axes(panel, points, bytes)]),
    ...mark(elementAt(panels, 1).x, kernel.bytesAfter, bytes, bound),
    ...blocksElsewhere(kernel).map((line) => text(left, height - 6, line)),
  ];
}

/**
 * Draws kernels one below the other: on the left every array as declared, strong while its content is needed and pale while its memory is
 * merely reserved; on the right the pool. The horizontal axis shows program points, the vertical axis bytes; both panels have the same
 * scale.
 * @returns an SVG document
 */
export function planSvg(kernels: readonly KernelReport[]): string {
  const total = Math.max(kernels.length, 1) * height;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${total}" width="${width}" height="${total}" color="#333"`
      + ' fill="currentColor"'
      + ' font-family="system-ui, sans-serif" font-size="11">',
    `<rect width="${width}" height="${total}" fill="#fff"/>`,
    ...kernels.flatMap((kernel, i) => [`<g transform="translate(0 ${i * height})">`, ...drawKernel(kernel), '</g>']),
    ...(kernels.length === 0 ? [text(left, 20, 'no kernels')] : []),
    '</svg>', '',
  ].join('\n');
}
