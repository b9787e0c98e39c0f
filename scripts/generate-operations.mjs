// Generates lib/core/operations.gen.ts from the addon's own metadata (visit() of the parameter and report structs), so that no name of a
// choice, no range, no default and no field of a report is written twice.
//
//   node scripts/generate-operations.mjs           writes it
//   node scripts/generate-operations.mjs --check   checks whether it is up to date (test/core/operations.test.ts does the same)
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from './list-sources.mjs';

export const kGenerated = join(root, 'lib/core/operations.gen.ts');
const kColumns = 120;

const kHead = `// Made by scripts/generate-operations.mjs from the addon's metadata (visit() of cuda/**/*.h): change it there.
import type { Rows } from './rows.ts';

`;

const quoted = (text) => `'${text}'`;

/** A list on one line if it fits, otherwise on several. */
function listOf(indent, name, values) {
  const line = `${indent}${name}: [${values.map(quoted).join(', ')}],`;
  if (line.length <= kColumns) return line;
  const lines = [''];
  for (const value of values.map(quoted)) {
    const last = lines.at(-1);
    if (last !== '' && indent.length + 2 + last.length + value.length + 2 > kColumns) lines.push(`${value},`);
    else lines[lines.length - 1] = last === '' ? `${value},` : `${last} ${value},`;
  }
  return [`${indent}${name}: [`, ...lines.map((each) => `${indent}  ${each}`), `${indent}],`].join('\n');
}

/** A constant with an entry for every operation, consisting of the lines that `linesOf` returns. */
function constant(name, comment, operations, linesOf) {
  const entries = Object.entries(operations).map(([operation, description]) => {
    const lines = linesOf(description);
    return lines.length === 0 ? `  '${operation}': {},` : `  '${operation}': {\n${lines.join('\n')}\n  },`;
  });
  return `/** ${comment} */\nexport const ${name} = {\n${entries.join('\n')}\n} as const;\n`;
}

const choiceLines = ({ fields }) => fields.filter(({ kind }) => kind === 'choice')
  .map((field) => listOf('    ', field.name, field.choices));

function parameterLines({ fields }) {
  return fields.filter((field) => field.default !== undefined).map((field) => {
    const parts = ['default', 'least', 'above', 'most'].filter((key) => field[key] !== undefined)
      .map((key) => `${key}: ${typeof field[key] === 'string' ? quoted(field[key]) : field[key]}`);
    if (field.kind === 'integer') parts.splice(1, 0, 'whole: true');
    return `    ${field.name}: { ${parts.join(', ')} },`;
  });
}

/** By name, the texts that `textOf` returns for fields that occur in at least two operations, identically in all of them. */
function alike(operations, fieldsOf, textOf) {
  const found = new Map();
  for (const description of Object.values(operations)) {
    for (const field of fieldsOf(description)) {
      const text = textOf(field);
      if (text !== undefined) found.set(field.name, [...(found.get(field.name) ?? []), text]);
    }
  }
  return new Map([...found].filter(([, texts]) => texts.length > 1 && new Set(texts).size === 1).map(([name, [text]]) => [name, text]));
}

function vocabularyText(field) {
  if (field.kind === 'choice') return listOf('  ', field.name, field.choices);
  if (field.states === undefined) return undefined;
  return [`  ${field.name}: {`, listOf('    ', 'states', field.states), listOf('    ', 'flags', field.flags), '  },'].join('\n');
}

function common(operations) {
  const texts = alike(operations, ({ fields }) => fields, vocabularyText);
  return `/**
 * The words of fields that several operations have, all of them alike, for what stands below their domains: choices,
 * and arrays with a word for each outcome (its state in the low byte, above it flags, the first the lowest bit).
 */
export const common = {\n${[...texts.values()].join('\n')}\n} as const;\n`;
}

function commonReports(operations) {
  const texts = alike(operations, tablesOf, tableLine);
  return `/** Records, and rows of them, that several operations report, all of them alike. */
export interface CommonReports {\n${[...texts.values()].map((text) => text.replace(/^ {2}/gm, '')).join('\n')}\n}\n`;
}

/** A record, or rows of records. */
function tableLine({ name, kind, columns, optional }) {
  const orNone = optional ? ' | undefined' : '';
  const [open, close] = kind === 'rows' ? ['Rows<{', '}>'] : ['{', '}'];
  const line = `    readonly ${name}: ${open} ${columns.map((column) => `readonly ${column}: number`).join('; ')} ${close}${orNone};`;
  if (kind === 'rows' && line.length <= kColumns) return line;
  const lines = columns.map((column) => `      readonly ${column}: number;`).join('\n');
  return `    readonly ${name}: ${open}\n${lines}\n    ${close}${orNone};`;
}

const tablesOf = ({ report }) => report.filter(({ kind }) => kind === 'record' || kind === 'rows');

function reportLine(field, shared) {
  const { name, kind } = field;
  if (kind === 'choice') {
    const line = `    readonly ${name}: ${field.choices.map(quoted).join(' | ')};`;
    if (line.length <= kColumns) return line;
    const lines = [];
    for (const choice of field.choices.map((each) => `| ${quoted(each)}`)) {
      if (lines.length === 0 || lines.at(-1).length + 2 + choice.length > kColumns) lines.push(`      ${choice}`);
      else lines[lines.length - 1] += ` ${choice}`;
    }
    return `    readonly ${name}:\n${lines.join('\n')};`;
  }
  if (kind === 'boolean') return `    readonly ${name}: boolean;`;
  if (kind !== 'record' && kind !== 'rows') return `    readonly ${name}: number;`;
  return shared.has(name) ? `    readonly ${name}: CommonReports['${name}'];` : tableLine(field);
}

function reports(operations) {
  const shared = alike(operations, tablesOf, tableLine);
  const entries = Object.entries(operations).map(([operation, { report }]) => (report.length === 0
    ? `  '${operation}': Readonly<Record<string, never>>;`
    : `  '${operation}': {\n${report.map((field) => reportLine(field, shared)).join('\n')}\n  };`));
  return `/**
 * What operations report of a call, beside the arrays they write: the report structs in
 * cuda/<domain>/<operation>.h say what each field means.
 */
export interface Reports {
${entries.join('\n')}
}
`;
}

/** The contents of the file for the result of the addon's `operations()`. */
export function textOf(operations) {
  return kHead + [
    constant('choices', 'What parameters choose from, in the order of the C++ enumerations.', operations, choiceLines),
    constant('parameters', 'What parameters are when they are left out, and the numbers that they may be (finite ones in any case).',
      operations, parameterLines),
    common(operations),
    commonReports(operations),
    reports(operations),
    `/** Name of an operation, \`domain.operation\` as in cuda/core/operations.inc. */
export type OperationName = keyof Reports;
`,
  ].join('\n');
}

function addonOperations() {
  const load = createRequire(import.meta.url)('node-gyp-build');
  return load(root).operations();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = textOf(addonOperations());
  if (!process.argv.includes('--check')) writeFileSync(kGenerated, text);
  else if (readFileSync(kGenerated, 'utf8') !== text) {
    console.error('lib/core/operations.gen.ts is stale: node scripts/generate-operations.mjs');
    process.exitCode = 1;
  }
}
