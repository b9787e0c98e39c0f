// node scripts/build-browser.mjs: dist/browser/index.js, the part of the library that runs in pages, as one module that imports nothing.
// It is the library's own code; lib/browser has what stands there for Node's modules and globals, and for the loader of the addon.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { root } from './list-sources.mjs';

const own = (name) => join(root, 'lib/browser', name);
const substitutes = {
  name: 'browser',
  setup({ onResolve }) {
    onResolve({ filter: /^(node:|module$)/ }, () => ({ path: own('node.ts') }));
    onResolve({ filter: /\/binding\.ts$/ }, () => ({ path: own('binding.ts') }));
  },
};

/** Builds it; resolves to its path. */
export async function buildBrowser() {
  const folder = join(root, 'dist/browser'), file = join(folder, 'index.js');
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) if (!name.endsWith('.d.ts')) rmSync(join(folder, name)); // what tsc made of its parts
  await build({
    entryPoints: [own('index.ts')], outfile: file, plugins: [substitutes], inject: [own('globals.ts')],
    bundle: true, platform: 'browser', format: 'esm', target: 'es2022', minifyWhitespace: true, legalComments: 'inline',
    logLevel: 'warning', banner: { js: '// Warploom for pages: https://www.npmjs.com/package/warploom' },
  });
  return file;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await buildBrowser());
