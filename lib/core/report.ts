// What operations report: turns the flat list made by the addon (ReportWriter of native/core/report.h) into named fields, using the
// metadata of the report's C++ visit().
import type { RawOutcome, ReportField } from './binding.ts';
import type { OperationName, Reports } from './operations.gen.ts';
import { namedNumbers, Rows } from './rows.ts';

/** The report of an operation by the operation's name; a general type if the name is known only at run time. */
export type ReportOf<Name extends string> = Name extends OperationName ? Reports[Name] : Readonly<Record<string, unknown>>;

const nothing = Object.freeze({});

function valueOf({ kind, choices = [], columns = [] }: ReportField, raw: number | Float64Array | undefined): unknown {
  switch (kind) {
    case 'choice': return choices[raw as number];
    case 'boolean': return raw === 1;
    case 'record': return raw === undefined ? undefined : namedNumbers(columns, raw as Float64Array, 0);
    case 'rows': return raw === undefined ? undefined : new Rows(raw as Float64Array, columns);
    default: return raw;
  }
}

/** The report of a call; `outcome` is what the addon returned. */
export function reportOf(fields: readonly ReportField[], outcome: RawOutcome): Readonly<Record<string, unknown>> {
  if (typeof outcome === 'number') return nothing;
  const report: Record<string, unknown> = {};
  let place = 1;
  for (const field of fields) {
    report[field.name] = valueOf(field, outcome[place]);
    place += 1;
  }
  return report;
}

/** Device seconds of a call. */
export function secondsOf(outcome: RawOutcome): number {
  return typeof outcome === 'number' ? outcome : outcome[0];
}
