// Writes docs/stream-diagnostics.md from the rules of the front end; keeps what stands behind its last table.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Rule } from '../../../lib/stream/diagnostics.ts';
import { checkRules } from '../../../lib/stream/front/check-rules.ts';
import { syntaxRules } from '../../../lib/stream/front/syntax-rules.ts';

const path = fileURLToPath(new URL('../../../docs/stream-diagnostics.md', import.meta.url));
const titles: Readonly<Record<string, string>> = {
  S01: 'Syntax', S02: 'Names', S03: 'Types', S04: 'Rates and channels', S05: 'Streams', S06: 'Functions', S07: 'Messages', S08: 'Warnings',
};
const rules: Rule[] = [...Object.values(syntaxRules), ...Object.values(checkRules)].sort((a, b) => (a.code < b.code ? -1 : 1));
const row = ({ code, severity, message, hint }: Rule) =>
  `| ${code} | ${severity} | ${message} | ${hint === '{hint}' ? '(depends)' : hint} |`;
const tables = Object.entries(titles).map(([prefix, title]) =>
  [`## ${title}`, '', '| code | severity | message | hint |', '| --- | --- | --- | --- |',
    ...rules.filter(({ code }) => code.startsWith(prefix)).map(row), ''].join('\n'));
const marker = '<!-- end of the front end -->';
const old = existsSync(path) ? readFileSync(path, 'utf8') : '';
const rest = old.includes(marker) ? old.slice(old.indexOf(marker) + marker.length) : '\n';
writeFileSync(path, `# Diagnostics of stream programs

Each diagnostic has a stable code, a severity, a message, the place in the source and mostly a hint. \`{…}\` stands for what is found in the
program. A program with an error is not elaborated; warnings do not stop it. At most 50 errors of syntax are reported for a file and 100
errors in all (S0100 says that there are more). A misspelt name gets the nearest known one as its hint.

Codes S01 to S08 are those of the front end (\`parse\` and \`check\`). The tables are written by \`node --import tsx
test/stream/front/write-docs.ts\`.

${tables.join('\n')}
${marker}${rest}`);
