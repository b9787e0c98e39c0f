// How results show themselves: in the console by Node's inspection, in notebooks by the display protocol of Jupyter kernels for JavaScript.
import { inspect } from 'node:util';
import type { DeviceDescription } from './binding.ts';

/** What a notebook shows, by MIME type: text, base64 of pictures, or an object for types of JSON. */
export type MimeBundle = Readonly<Record<string, string | object>>;

/** The method by which kernels (Deno's, for example) ask a value for a {@link MimeBundle}. */
export const jupyterDisplay: unique symbol = Symbol.for('Jupyter.display');

/** The method by which `console.log` and `util.inspect` ask a value for its text. */
export const inspection: unique symbol = Symbol.for('nodejs.util.inspect.custom');

/** How a value shows itself. */
export interface Shown {
  /** One line for consoles. */
  readonly text: () => string;
  /** For notebooks, beside the text; made only when asked for. */
  readonly bundle?: () => MimeBundle | Promise<MimeBundle>;
}

/** What JSON writes of a value: typed arrays as arrays, not as objects with a key for each element. */
function plainly(value: unknown): unknown {
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return Array.from(value as unknown as ArrayLike<unknown>);
  if (Array.isArray(value)) return value.map(plainly);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return 'toJSON' in value ? value : fieldsPlainly(value);
}

/** The fields of a result for JSON, with arrays for typed arrays. */
export const fieldsPlainly = (value: object): object =>
  Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plainly(each)]));

/** Gives a plain object these methods, and `toJSON`. They are not enumerable: copies and comparisons do not see them. */
export function displayed<T extends object>(value: T, { text, bundle }: Shown): T {
  const hidden = { enumerable: false, configurable: true, writable: true };
  if (!('toJSON' in value)) Object.defineProperty(value, 'toJSON', { ...hidden, value: () => fieldsPlainly(value) });
  Object.defineProperty(value, inspection, { ...hidden, value: text });
  Object.defineProperty(value, jupyterDisplay, { ...hidden, value: async () => ({ 'text/plain': text(), ...await bundle?.() }) });
  return value;
}

/** How the fields of a result are inspected: arrays by their first values. */
const fieldLook = { depth: 1, breakLength: Infinity, maxArrayLength: 3, maxStringLength: 80 } as const;
/** Characters of a field, and of a result that is one line. */
const longestField = 110, longestLine = 100;

const sixDigits = (digits: string): string => String(Number(Number(digits).toPrecision(6)));

function fieldText(name: string, value: unknown): string {
  const text = `${name}: ${inspect(value, fieldLook).replaceAll(/\s*\n\s*/g, ' ')}`
    .replaceAll(/(?<![\w.])\d+\.\d{6,}(?:e[+-]\d+)?(?![\w.])/g, sixDigits);
  if (text.length <= longestField) return text;
  const cut = text.slice(0, longestField - 3), at = cut.lastIndexOf(', ');
  return at > longestField / 2 ? `${cut.slice(0, at)}, …` : `${cut}…`;
}

/** The text of a result for consoles: one line, or one for each field. */
export function briefText(name: string, value: object): string {
  const fields = Object.entries(value).filter(([, each]) => each !== undefined && typeof each !== 'function')
    .map(([field, each]) => fieldText(field, each));
  const line = `${name} { ${fields.join(', ')} }`;
  return line.length <= longestLine ? line : `${name} {\n${fields.map((field) => `  ${field}`).join(',\n')}\n}`;
}

/** Gives a plain result that text; `name` stands before it. */
export const briefly = <T extends object>(name: string, value: T): T => displayed(value, { text: () => briefText(name, value) });

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Text as HTML. */
export const escapedHtml = (text: string): string => text.replace(/[&<>"]/g, (letter) => entities[letter] ?? letter);

/** A cell's text: numbers with at most six digits. */
function cellText(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : inspect(value, { depth: 2, breakLength: Infinity, maxArrayLength: 8, maxStringLength: 200 });
}

/** Rows as an HTML table, with a column for each key of any row. */
export function htmlTable(rows: readonly Readonly<Record<string, unknown>>[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const head = columns.map((name) => `<th style="text-align:left">${escapedHtml(name)}</th>`).join('');
  const line = (row: Readonly<Record<string, unknown>>): string => columns.map((name) => {
    const align = typeof row[name] === 'number' ? 'right' : 'left';
    return `<td style="text-align:${align}">${escapedHtml(cellText(row[name]))}</td>`;
  }).join('');
  return `<table><thead><tr>${head}</tr></thead><tbody>${rows.map((row) => `<tr>${line(row)}</tr>`).join('')}</tbody></table>`;
}

/** What a notebook shows of a device. */
export function deviceBundle(text: string, { backend, name, memoryBytes, multiprocessors, driver }: DeviceDescription): MimeBundle {
  const rows = { backend, name, 'memory (GiB)': memoryBytes / 2 ** 30, 'processors': multiprocessors, driver };
  return { 'text/plain': text, 'text/html': htmlTable(Object.entries(rows).map(([property, value]) => ({ property, value }))) };
}
