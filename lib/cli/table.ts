// Plain text tables for the terminal.
import { elementAt } from '../core/known.ts';

/** The narrowest that a column of text becomes. */
const narrowest = 12;

/** Widths with which a row has at most `width` characters: the widest columns of text give way, down to {@link narrowest}. */
function fittedWidths(widths: readonly number[], numeric: readonly boolean[], width: number): number[] {
  const fitted = [...widths];
  const whole = () => fitted.reduce((sum, each) => sum + each, 0) + 2 * (fitted.length - 1);
  while (whole() > width) {
    const widest = fitted.reduce((best, each, i) =>
      (numeric[i] !== true && each > narrowest && each > (fitted[best] ?? 0) ? i : best), -1);
    if (widest < 0) break;
    fitted[widest] = elementAt(fitted, widest) - 1;
  }
  return fitted;
}

/** Text without the codes of its colour, and what stands before and after each of its lines. */
function uncoloured(cell: string): { text: string; before: string; after: string } {
  // eslint-disable-next-line no-control-regex -- that is what colours are
  const [, before = '', text = cell, after = ''] = /^((?:\u001b\[[\d;]*m)+)(.*?)((?:\u001b\[[\d;]*m)+)$/s.exec(cell) ?? [];
  return { text, before, after };
}

/** Text in lines of at most `width` characters, broken between words, and within those that are longer. */
export function wrapText(text: string, width: number): string[] {
  if (text.length <= width) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    let rest = word;
    if (line !== '' && line.length + 1 + rest.length > width) {
      lines.push(line);
      line = '';
    }
    for (; rest.length > width; rest = rest.slice(width)) lines.push(rest.slice(0, width));
    line = line === '' ? rest : `${line} ${rest}`;
  }
  return [...lines, line];
}

/**
 * Rows of cells under headings; numbers should be formatted already. Right-aligns cells that look numeric. Text that does not fit into
 * `width` characters goes on in further lines of its column.
 */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[], width = Infinity): string {
  const cells = rows.map((row) => row.map(uncoloured));
  const natural = headings.map((heading, i) =>
    Math.max(heading.length, ...cells.map((row) => row[i]?.text.length ?? 0)));
  const numeric = headings.map((_, i) =>
    rows.length > 0 && cells.every((row) => /^[-+]?[\d.]|^$|^[–∞]/.test(row[i]?.text ?? '')));
  const widths = fittedWidths(natural, numeric, width);
  const lines = (row: readonly ReturnType<typeof uncoloured>[]): string[] => {
    const parts = headings.map((_, i) => wrapText(row[i]?.text ?? '', elementAt(widths, i)));
    const padded = (text: string, i: number): string => {
      const width = elementAt(widths, i);
      const [before, after] = [row[i]?.before ?? '', row[i]?.after ?? ''];
      return before + (numeric[i] === true ? text.padStart(width) : text.padEnd(width)) + after;
    };
    return Array.from({ length: Math.max(...parts.map(({ length }) => length)) },
      (_, at) => parts.map((part, i) => padded(part[at] ?? '', i)).join('  ').trimEnd());
  };
  const rule = widths.map((each) => '─'.repeat(each)).join('  ');
  return [...lines(headings.map(uncoloured)), rule, ...cells.flatMap(lines)].join('\n');
}

/** Seconds with a fitting unit: 12.3 µs, 4.56 ms, 7.89 s. */
export function formatSeconds(seconds: number): string {
  const units: [number, string][] = [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs']];
  const [scale, unit] = units.find(([size]) => seconds >= size) ?? [1e-9, 'ns'];
  return `${(seconds / scale).toPrecision(3)} ${unit}`;
}

/** Bytes with a binary unit. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`;
}
