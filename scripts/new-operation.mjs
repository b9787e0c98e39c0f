// npm run new-operation -- DOMAIN OPERATION [--root FOLDER]: creates all files of a new operation from templates.
//
// DOMAIN and OPERATION are in snake_case. Writes parameter struct, check, policy, agent, launch, CPU backend, TypeScript function and test
// of a working example (result = factor * values), to be replaced piece by piece, and adds the operation to the registry: one line in
// operations.inc, one include in native/core/parameters.h and one in test/device/support/operations.h. A new domain also gets
// lib/<domain>/index.ts, its line in lib/index.ts and its entry point in the package. Existing files are never overwritten.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { root as checkout } from './list-sources.mjs';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { root: { type: 'string' } } });
const [domain, operation] = positionals;
const snake = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;
if (!snake.test(domain ?? '') || !snake.test(operation ?? '') || domain === 'core') {
  console.error('usage: npm run new-operation -- DOMAIN OPERATION (snake_case)');
  process.exit(2);
}
const root = values.root ?? checkout;
const pascal = operation.replace(/(^|_)([a-z0-9])/g, (_, _bar, letter) => letter.toUpperCase());
const kebab = operation.replaceAll('_', '-');
const names = {
  domain, operation, kebab, Operation: pascal, Camel: pascal, camel: pascal[0].toLowerCase() + pascal.slice(1),
};
const fill = (text) => text.replace(/@(\w+)@/g, (_, name) => names[name]);

/** Template → path. */
const files = {
  'operation.h': `cuda/${domain}/${operation}.h`,
  'operation.cpp': `cuda/${domain}/${operation}.cpp`,
  'operation_policy.h': `cuda/${domain}/${operation}_policy.h`,
  'operation_agent.cuh': `cuda/${domain}/${operation}_agent.cuh`,
  'operation.cu': `cuda/${domain}/${operation}.cu`,
  'native.cpp': `native/${domain}/${operation}.cpp`,
  'lib.ts': `lib/${domain}/${kebab}.ts`,
  'test.ts': `test/${domain}/${kebab}.test.ts`,
};
const taken = Object.values(files).filter((path) => existsSync(join(root, path)));
if (taken.length > 0) {
  console.error(`these files exist already: ${taken.join(', ')}`);
  process.exit(1);
}

function write(path, text) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
  console.log(`new      ${path}`);
}

function edit(path, change) {
  const text = readFileSync(join(root, path), 'utf8');
  writeFileSync(join(root, path), change(text));
  console.log(`changed  ${path}`);
}

for (const [template, path] of Object.entries(files)) {
  write(path, fill(readFileSync(join(checkout, 'scripts/templates/operation', template), 'utf8')));
}
edit('cuda/core/operations.inc', (text) => `${text.trimEnd()}\nWARPLOOM_OPERATION(${domain}, ${operation}, ${pascal}Parameters)\n`);
for (const table of ['native/core/parameters.h', 'test/device/support/operations.h']) {
  edit(table, (text) => {
    const include = `#include "cuda/${domain}/${operation}.h"`;
    const lines = text.split('\n');
    const others = lines.flatMap((line, index) => (/^#include "cuda\/(?!core\/)/.test(line) ? [index] : []));
    const before = others.find((index) => lines[index] > include) ?? others.at(-1) + 1;
    lines.splice(before, 0, include);
    return lines.join('\n');
  });
}
const index = `lib/${domain}/index.ts`;
const exports = fill("export { @camel@ } from './@kebab@.ts';\nexport type { @Camel@Options } from './@kebab@.ts';\n");
if (existsSync(join(root, index))) edit(index, (text) => text + exports);
else {
  write(index, `// The namespace \`${domain}\` of the package.\n${exports}`);
  edit('lib/index.ts', (text) => `${text.trimEnd()}\nexport * as ${domain} from './${domain}/index.ts';\n`);
  edit('package.json', (text) => {
    const manifest = JSON.parse(text);
    const { './package.json': last, ...entries } = manifest.exports;
    entries[`./${domain}`] = { types: `./dist/${domain}/index.d.ts`, default: `./dist/${domain}/index.js` };
    manifest.exports = { ...entries, './package.json': last };
    return `${JSON.stringify(manifest, null, 2)}\n`;
  });
  edit('typedoc.json', (text) => text.replace('"lib/index.ts",', `"lib/index.ts",\n    "lib/${domain}/index.ts",`));
}
console.log(`Next: npm run build:native && npx mocha test/${domain}/${kebab}.test.ts`);
console.log('Then replace the formula, file by file, and add its calls to the lists of tests (docs/adding-an-operation.md).');
