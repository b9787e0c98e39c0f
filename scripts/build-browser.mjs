// node scripts/build-browser.mjs: dist/browser/, the part of the library that runs in pages, as modules that import nothing but each other.
// It is the library's own code; lib/browser has what stands there for Node's modules and globals, and for the loader of the addon.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { root } from './list-sources.mjs';

const own = (name) => join(root, 'lib/browser', name);
const substitutes = {
  name: 'browser',
  setup({ onLoad, onResolve }) {
    // Only binding.ts finds a file in a page; bundlers would look for what the others name.
    onLoad({ filter: /\blib\/.*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      return { loader: 'ts', contents: path === own('binding.ts') ? text : text.replaceAll('import.meta.url', 'globalThis.location.href') };
    });
    onResolve({ filter: /^(node:|module$)/ }, () => ({ path: own('node.ts') }));
    onResolve({ filter: /\/binding\.ts$/ }, () => ({ path: own('binding.ts') }));
  },
};

/** Entries of the package that run in pages, besides the main one. */
export const kPageEntries = ['core', 'kernel', 'scan', 'stencil', 'swept', 'tridiagonal'];

/** What bundlers find for the other entries: CommonJS, of which they do not ask whether it has what is imported. */
const absent = `throw new Error("this entry of warploom needs Node; in a page, import 'warploom/browser'"
  + ' (docs/browser.md says what it has)');
`;

/** Builds them; resolves to the main one's path. */
export async function buildBrowser() {
  const folder = join(root, 'dist/browser');
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) if (!name.endsWith('.d.ts')) rmSync(join(folder, name)); // what tsc made of its parts
  const entries = kPageEntries.map((name) => [name, join(root, 'lib', name, 'index.ts')]);
  await build({
    entryPoints: { ...Object.fromEntries(entries), index: own('index.ts') }, outdir: folder, chunkNames: 'chunk-[hash]', splitting: true,
    plugins: [substitutes], inject: [own('globals.ts')], bundle: true, platform: 'browser', format: 'esm', target: 'es2022',
    minifyWhitespace: true, legalComments: 'inline', logLevel: 'warning',
  });
  writeFileSync(join(folder, 'not-in-pages.cjs'), absent);
  return join(folder, 'index.js');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await buildBrowser());
