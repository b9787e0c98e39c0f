// Plain text tables for the terminal.
import { elementAt } from '../core/known.ts';

/** Rows of cells under headings; numbers should be formatted already. Right-aligns cells that look numeric. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, i) =>
    Math.max(heading.length, ...rows.map((row) => (row[i] ?? '').length)));
  const numeric = headings.map((_, i) =>
    rows.length > 0 && rows.every((row) => /^[-+]?[\d.]|^$|^[–∞]/.test(row[i] ?? '')));
  const line = (cells: readonly string[]) => cells
    .map((cell, i) => (numeric[i] ? cell.padStart(elementAt(widths, i)) : cell.padEnd(elementAt(widths, i))))
    .join('  ').trimEnd();
  const rule = widths.map((width) => '─'.repeat(width)).join('  ');
  return [line(headings), rule, ...rows.map((row) => line(row))].join('\n');
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
