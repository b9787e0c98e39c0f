// The report of a benchmark run: bench/results/<device>/<domain>.json.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';

const rowSchema = z.strictObject({
  /** Path from coarse to fine, e.g. `batch/65536x512/float32/cold/auto`. */
  id: z.string().regex(/^[\w.x^-]+(\/[\w.x^-]+)+$/),
  /** The figure, in `unit`; for times the median of the repeats. */
  value: z.number(),
  unit: z.string().min(1),
  /** The physical limit in the same unit: for times the least time the bytes need at the copy rate. */
  limit: z.number().positive().optional(),
  /** Share of the limit that was reached: limit / value. */
  fraction: z.number().nonnegative().optional(),
  /** The same work by others in the same unit, in the same run but for `constants`. */
  peers: z.record(z.string(), z.number()).optional(),
  /** Those of the peers that are constants of another run, on another machine of the kind perhaps: not measured beside this row. */
  constants: z.array(z.string()).optional(),
  /** Interquartile range of the repeats over their median. */
  spread: z.number().nonnegative(),
  /** What else was measured of the row, in seconds where the name does not say otherwise. */
  figures: z.record(z.string(), z.number()).optional(),
  note: z.string().optional(),
  /** Where the whole row was measured, when not in this run: a constant. */
  elsewhere: z.string().optional(),
});

const reportSchema = z.strictObject({
  schema: z.literal(1),
  domain: z.string(),
  /** Folder under bench/results: `h200`, `cpu`. */
  device: z.string(),
  /** What the device calls itself. */
  deviceName: z.string(),
  driver: z.string(),
  versions: z.record(z.string(), z.string()),
  commit: z.string(),
  /** SHA-256 over cuda/ and native/ (stream: those of provenance.ts): shows whether the figures belong to the present sources. */
  sourceHash: z.string().regex(/^[0-9a-f]{64}$/),
  date: z.iso.datetime(),
  rows: z.array(rowSchema),
});

/** One figure of a report. */
export type Row = z.infer<typeof rowSchema>;
/** A whole report. */
export type Report = z.infer<typeof reportSchema>;

/** Checks a report's shape and that no id occurs twice. */
export function parseReport(value: unknown): Report {
  const report = reportSchema.parse(value);
  const seen = new Set<string>();
  for (const { id } of report.rows) {
    if (seen.has(id)) throw new Error(`row ${id} occurs twice`);
    seen.add(id);
  }
  return report;
}

export async function readReport(path: string): Promise<Report> {
  return parseReport(JSON.parse(await readFile(path, 'utf8')));
}

/** Writes it whole or not at all, and at once, so that nothing is written while the next row is measured. */
export function writeReport(path: string, report: Report): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.tmp`, `${JSON.stringify(parseReport(report), null, 1)}\n`);
  renameSync(`${path}.tmp`, path);
}

/**
 * `next` with the rows of `previous` that a filtered run did not measure again. Rows of other sources or
 * of another device are dropped: one report never mixes builds.
 */
export function mergeReports(previous: Report | undefined, next: Report): Report {
  if (previous === undefined || previous.sourceHash !== next.sourceHash || previous.deviceName !== next.deviceName) {
    return next;
  }
  const fresh = new Set(next.rows.map(({ id }) => id));
  return { ...next, rows: [...previous.rows.filter(({ id }) => !fresh.has(id)), ...next.rows] };
}

/** 4 significant digits with an SI prefix for seconds; other units plainly. */
export function formatValue(value: number, unit: string): string {
  if (unit !== 's') return `${Number(value.toPrecision(4))} ${unit}`;
  for (const [scale, prefix] of [[1, 's'], [1e-3, 'ms'], [1e-6, 'us']] as const) {
    if (value >= scale) return `${(value / scale).toPrecision(4)} ${prefix}`;
  }
  return `${(value * 1e9).toPrecision(4)} ns`;
}

/** How many times as good as a peer's figure a row's is: times should be short, rates (units that end in `/s`) high. */
export function timesAsFast({ value, unit }: Pick<Row, 'value' | 'unit'>, peer: number): number {
  return unit.endsWith('/s') ? value / peer : peer / value;
}

/** The unit of a figure: seconds, unless its name says otherwise. SWPn and its persistent form are rates, as their row is. */
function figureUnit(name: string, unit: string): string {
  if (/^(n\d+|persistent|planned(16|By(Heuristic|Ilp))?|one|(de)?shuffle\d+)$/.test(name)) return unit;
  return { megabytes: 'MB', bufferBytes: 'bytes', aboveBound: 'ratio', calls: 'a launch' }[name] ?? 's';
}

/** One line for people; a star marks figures that were not measured in this run. */
export function formatRow(row: Row): string {
  const parts = [`${row.id}${row.elsewhere === undefined ? '' : '*'}`.padEnd(52), formatValue(row.value, row.unit).padStart(12)];
  if (row.fraction !== undefined) parts.push(`${(100 * row.fraction).toFixed(1).padStart(6)} %`);
  for (const [name, value] of Object.entries(row.peers ?? {})) {
    const isSpeed = row.unit === 's' || row.unit.endsWith('/s');
    const mark = row.constants?.includes(name) === true ? '*' : '';
    parts.push(`${name}${mark} ${formatValue(value, row.unit)}${isSpeed ? ` (${timesAsFast(row, value).toFixed(2)}x)` : ''}`);
  }
  for (const [name, value] of Object.entries(row.figures ?? {})) {
    parts.push(`${name} ${formatValue(value, figureUnit(name, row.unit))}`);
  }
  parts.push(`±${(100 * row.spread).toFixed(1)} %`);
  if (row.note !== undefined) parts.push(`[${row.note}]`);
  return parts.join('  ');
}
