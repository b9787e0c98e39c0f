// Diagnostics of a source file as text, one a line, for the golden tests; run as a script it writes the expected files.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { check } from '../../../lib/stream/front/check.ts';
import { parse } from '../../../lib/stream/front/parser.ts';
import type { Diagnostic } from '../../../lib/stream/diagnostics.ts';

/** Folder of the sources and the expected texts. */
export const folder = fileURLToPath(new URL('diagnostics/', import.meta.url));

/** Names of the sources, without extension. */
export const goldenNames = (): string[] => readdirSync(folder).filter((name) => name.endsWith('.str')).map((name) => name.slice(0, -4)).sort();

/** Diagnostics of parsing and, if there is no error of syntax, of checking. */
export function diagnose(name: string, text: string): readonly Diagnostic[] {
  const { program, diagnostics } = parse([{ name, text }]);
  if (diagnostics.some(({ severity }) => severity === 'error')) return diagnostics;
  return [...diagnostics, ...check(program).diagnostics];
}

/** One line for each diagnostic: place, end, severity, code, message and hint. */
export function goldenText(name: string): string {
  const found = diagnose(`${name}.str`, readFileSync(`${folder}${name}.str`, 'utf8'));
  return found.map(({ line, column, endLine, endColumn, severity, code, message, hint }) =>
    `${line}:${column}-${endLine === line ? '' : `${endLine}:`}${endColumn} ${severity} ${code}: ${message}${hint === '' ? '' : ` | ${hint}`}\n`).join('');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const name of goldenNames()) writeFileSync(`${folder}${name}.txt`, goldenText(name));
}
