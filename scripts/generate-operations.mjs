// lib/core/operations.gen.ts from the addon's own metadata (visit() of the parameter structs), so that no name of a choice is
// typed twice.
//
//   node scripts/generate-operations.mjs           writes it
//   node scripts/generate-operations.mjs --check   says whether it is stale (test/core/operations.test.ts does the same)
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from './list-sources.mjs';

export const kGenerated = join(root, 'lib/core/operations.gen.ts');
const kColumns = 120;

const kHead = `// Made by scripts/generate-operations.mjs from the addon's metadata (visit() of cuda/**/*.h): change it there.

/** What parameters choose from, in the order of the C++ enumerations: reports name them by number. */
`;

const quoted = (text) => `'${text}'`;

/** One line where it fits, else as many as it takes. */
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

/** The file's text for what `operations()` of the addon says. */
export function textOf(operations) {
  const entries = Object.entries(operations).map(([name, { fields }]) => {
    const lists = fields.filter(({ kind }) => kind === 'choice').map((field) => listOf('    ', field.name, field.choices));
    return lists.length === 0 ? `  '${name}': {},` : `  '${name}': {\n${lists.join('\n')}\n  },`;
  });
  return `${kHead}export const choices = {\n${entries.join('\n')}\n} as const;

/** Name of an operation, \`domain.operation\` as in cuda/core/operations.inc. */
export type OperationName = keyof typeof choices;
`;
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
