// The programs in the documents run as they stand, in one process, on the cpu backend.
import { ok } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const documents = ['docs/concepts.md', 'docs/cookbook.md', 'docs/errors.md'];

/** The TypeScript blocks of a document, those that only show a call (without imports) left out. */
function programsOf(document: string): { readonly line: number; readonly text: string }[] {
  const text = readFileSync(join(root, document), 'utf8');
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```/gm)]
    .map(({ 1: program = '', index }) => ({ line: text.slice(0, index).split('\n').length + 1, text: program }))
    .filter((program) => program.text.includes('import '));
}

describe('programs in the documents', function () {
  this.timeout(240_000);

  it('run', function () {
    const folder = mkdtempSync(join(root, 'build', 'snippets-'));
    try {
      mkdirSync(join(folder, 'programs'));
      const names = documents.flatMap((document) => programsOf(document).map(({ line, text }) => {
        const name = `${document.replace(/\W/g, '-')}-${line}.ts`;
        writeFileSync(join(folder, 'programs', name), text);
        return name;
      }));
      ok(names.length >= 15, `${names.length} programs`);
      this.test!.title += `: ${names.length}`;
      const loads = names.map((name) => `console.log('== ${name}'); await import('./programs/${name}');`);
      writeFileSync(join(folder, 'all.mts'), `${loads.join('\n')}\nconsole.log('== end');\n`);
      const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', join(folder, 'all.mts')],
        { cwd: root, encoding: 'utf8', timeout: 200_000, env: { ...process.env, TSX_TSCONFIG_PATH: join(root, 'tsconfig.all.json') } });
      ok(status === 0 && stdout.trimEnd().endsWith('== end'), `${stdout.slice(-2000)}\n${stderr.slice(-2000)}`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
