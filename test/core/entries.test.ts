// The entries of the package: what each loads, counted in processes of their own, and that the lists of them agree.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as library from '../../lib/index.ts';
import { modulesLoadedBy } from '../support/loaded-modules.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { kPageEntries } = await import(pathToFileURL(join(root, 'scripts/build-browser.mjs')).href) as { kPageEntries: string[] };
const json = (name: string): unknown => JSON.parse(readFileSync(join(root, name), 'utf8'));

/** Folders that an entry may load beside core and its own, and how many modules at most. */
const entries: Readonly<Record<string, { readonly most: number; readonly also?: readonly string[] }>> = {
  core: { most: 38 },
  tridiagonal: { most: 63, also: ['linear'] },
  scan: { most: 41 },
  kernel: { most: 30 },
  stencil: { most: 72, also: ['pictures'] },
  swept: { most: 55, also: ['pictures'] },
  imaging: { most: 73, also: ['files'] },
  scratchpad: { most: 40, also: ['kernel'] },
  stream: { most: 86 },
  files: { most: 48 },
  jobs: { most: 30 },
  server: { most: 40 },
  notebook: { most: 44, also: ['files'] },
  browser: { most: 180, also: ['kernel', 'linear', 'pictures', 'scan', 'stencil', 'swept', 'tridiagonal'] },
};

const folderOf = (module: string): string => /^lib\/([^/]+)\//.exec(module)?.[1] ?? module;

describe('entries of the package', function () {
  this.timeout(60_000);

  it('are one for each folder with public names, in package.json and in the reference', () => {
    const { exports } = json('package.json') as { exports: Record<string, { types: string; default: string } | string> };
    const listed = Object.keys(exports).filter((key) => key !== '.' && key !== './package.json').map((key) => key.slice(2)).sort();
    const folders = readdirSync(join(root, 'lib')).filter((name) => existsSync(join(root, 'lib', name, 'index.ts'))).sort();
    deepStrictEqual(listed, folders);
    deepStrictEqual(listed, Object.keys(entries).sort());
    for (const name of listed) {
      const inPages = name === 'browser' ? {} : { browser: `./dist/browser/${kPageEntries.includes(name) ? `${name}.js` : 'not-in-pages.cjs'}` };
      deepStrictEqual(exports[`./${name}`], { types: `./dist/${name}/index.d.ts`, ...inPages, default: `./dist/${name}/index.js` });
    }
    const { entryPoints } = json('typedoc.json') as { entryPoints: string[] };
    deepStrictEqual([...entryPoints].sort(), ['lib/index.ts', ...listed.map((name) => `lib/${name}/index.ts`)].sort());
  });

  for (const [name, { most, also = [] }] of Object.entries(entries)) {
    it(`warploom/${name} loads core and itself only`, function () {
      const modules = modulesLoadedBy(`lib/${name}/index.ts`);
      ok(modules.includes(`lib/${name}/index.ts`));
      deepStrictEqual([...new Set(modules.map(folderOf))].filter((folder) => !['core', name, ...also].includes(folder)), []);
      ok(modules.length <= most, `${modules.length} modules, at most ${most}`);
      this.test!.title += `: ${modules.length} modules`;
    });
  }

  it('the root loads no other package before it is called', function () {
    const modules = modulesLoadedBy('lib/index.ts');
    deepStrictEqual(modules.filter((module) => !module.startsWith('lib/')), []);
    ok(modules.length <= 248, `${modules.length} modules`);
    this.test!.title += `: ${modules.length} modules`;
  });

  it('know the version of the package', () => {
    strictEqual(library.version, (json('package.json') as { version: string }).version);
  });

  it('hold what the namespaces of the root hold, the very same', async () => {
    for (const name of Object.keys(entries).filter((each) => each !== 'browser')) { // made for pages: test/browser
      const entry = await import(`../../lib/${name}/index.ts`) as Record<string, unknown>;
      const namespace = (name === 'core' || name === 'scan' ? library : library[name as keyof typeof library]) as Record<string, unknown>;
      const known = Object.keys(entry).filter((key) => key in namespace);
      if (name !== 'scan') deepStrictEqual(known, Object.keys(entry), name);
      ok(known.length > 0, name);
      for (const key of known) strictEqual(typeof entry[key], typeof namespace[key], `${name}.${key}`);
    }
  });
});
