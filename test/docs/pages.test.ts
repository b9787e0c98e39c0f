// What the pages claim to list completely is compared with the sources; links lead somewhere.
import { deepStrictEqual, ok } from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'examples/images/README.md',
  ...readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];

/** All files below a folder whose names end so. */
function filesBelow(folder: string, ...ends: readonly string[]): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ends.some((end) => name.endsWith(end))).map((name) => join(folder, name));
}

/** The anchor that GitHub and typedoc make of a heading. */
const anchorOf = (heading: string): string => heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').trim().replace(/\s/g, '-');
const anchorsOf = (text: string): string[] => [...text.matchAll(/^#+ (.*)$/gm)].map(({ 1: heading = '' }) => anchorOf(heading));
/** Text without code, in which brackets are no links. */
const prose = (text: string): string => text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');

describe('documents', () => {
  it('have no dead link to files, pictures or headings', () => {
    const dead: string[] = [];
    let links = 0;
    for (const page of pages) {
      for (const [, target = ''] of prose(read(page)).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target)) continue;
        links += 1;
        const [path = '', anchor] = target.split('#');
        const file = path === '' ? page : relative(root, join(root, dirname(page), path));
        if (!existsSync(join(root, file))) dead.push(`${page}: ${target}`);
        else if (anchor !== undefined && file.endsWith('.md') && !anchorsOf(read(file)).includes(anchor)) dead.push(`${page}: ${target}`);
      }
    }
    deepStrictEqual(dead, []);
    ok(links > 50, `${links} links`);
  });

  it('are all reachable from the README', () => {
    const seen = new Set<string>(), waiting = ['README.md'];
    for (let page = waiting.pop(); page !== undefined; page = waiting.pop()) {
      if (seen.has(page) || !page.endsWith('.md') || !existsSync(join(root, page))) continue;
      seen.add(page);
      for (const [, target = ''] of read(page).matchAll(/\]\(([^)\s#]+)/g)) {
        if (!/^[a-z]+:/.test(target)) waiting.push(relative(root, join(root, dirname(page), target)));
      }
    }
    deepStrictEqual(pages.filter((page) => page.startsWith('docs/') && !seen.has(page)), []);
  });

  it('name every error code', () => {
    const codes = [...new Set([...read('lib/core/errors.ts').matchAll(/'(ERR_WARPLOOM_[A-Z_]+)'/g)].map(([, code]) => code))].sort();
    const listed = [...read('docs/errors.md').matchAll(/^\| `(ERR_WARPLOOM_[A-Z_]+)` \|/gm)].map(([, code]) => code).sort();
    deepStrictEqual(listed, codes);
  });

  it('name every environment variable that the library reads', () => {
    const sources = [...filesBelow('lib', '.ts'), ...filesBelow('native', '.cpp', '.h')].map(read).join('\n');
    const found = [...sources.matchAll(/(?:getenv\("|process\.env\.|process\.env\[')(WARPLOOM_[A-Z_]+)/g)].map(([, name = '']) => name);
    ok(found.length > 5);
    const page = read('docs/environment.md');
    deepStrictEqual([...new Set(found)].filter((name) => !page.includes(`\`${name}`)), []);
  });
});
