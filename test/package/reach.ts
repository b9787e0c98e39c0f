// The package in other runtimes and through bundlers, of which test/reach installs some: it works, or says in one sentence what to do.
import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium, openPage, type Served } from '../support/browser.ts';

const root = fileURLToPath(new URL('../..', import.meta.url)), installed = join(root, 'test/reach/node_modules');

const programs = {
  solve: `import { solve } from 'warploom/tridiagonal';
const { solution } = await solve({ lower: -1, diagonal: 2, upper: -1, rhs: Float64Array.of(1, 0, 1) });
export const result = [...solution].map((x) => Math.round(x * 1e9) / 1e9);
console.log(JSON.stringify(result));`,
  streams: `import { elaborate, run } from 'warploom/stream';
import { plan } from 'warploom/scratchpad';
const { graph } = await elaborate('int->int filter F { work pop 1 push 1 { push(2 * pop()); } } int->int pipeline P { add F; }');
const { output } = await run(graph, { input: Int32Array.of(1, 2, 3) });
console.log(JSON.stringify([[...output], typeof plan]));`,
  all: `import { devices, stream, tridiagonal } from 'warploom';
const { solution } = await tridiagonal.solve({ lower: -1, diagonal: 2, upper: -1, rhs: Float64Array.of(1, 0, 1) });
console.log(JSON.stringify([devices().some(({ available }) => available), Math.round(solution[1]), typeof stream.run]));`,
};

type Bundler = (entry: string, out: string, target: 'node' | 'web') => Promise<void>;
const installedModule = (name: string): Promise<any> =>
  import(pathToFileURL(createRequire(join(root, 'test/reach/package.json')).resolve(name)).href) as Promise<any>;
const bundlers: Readonly<Record<string, Bundler>> = {
  esbuild: async (entry, out, target) => {
    const { build } = await installedModule('esbuild');
    await build({ entryPoints: [entry], bundle: true, format: 'esm', outfile: join(out, 'main.mjs'), logLevel: 'silent',
      platform: target === 'node' ? 'node' : 'browser' });
  },
  webpack: async (entry, out, target) => {
    const { default: webpack } = await installedModule('webpack');
    const stats = await new Promise<any>((resolve, reject) => {
      webpack({ mode: 'development', devtool: false, entry, target: target === 'node' ? 'node20' : 'web', experiments: { outputModule: true },
        output: { path: out, filename: 'main.mjs', module: true, publicPath: 'auto', library: { type: 'module' } } },
      (error: unknown, made: any) => { if (error) reject(error as Error); else resolve(made); });
    });
    deepStrictEqual(stats.compilation.errors.map(({ message }: Error) => message), []);
  },
  vite: async (entry, out, target) => {
    const { build } = await import(pathToFileURL(join(installed, 'vite/dist/node/index.js')).href) as { build(options: object): Promise<void> };
    const options = target === 'node' ? { build: { ssr: entry, outDir: out }, ssr: { noExternal: true } }
      : { build: { outDir: out, lib: { entry, formats: ['es'], fileName: () => 'main.mjs' } } };
    await build({ root: join(entry, '..'), configFile: false, logLevel: 'silent', ...options });
  },
};

describe('elsewhere', function () {
  this.timeout(300_000);
  const folder = mkdtempSync(join(tmpdir(), 'warploom-reach-'));
  before(() => {
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(root, join(folder, 'node_modules/warploom'));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module", "dependencies": { "warploom": "*" } }');
    for (const [name, text] of Object.entries(programs)) writeFileSync(join(folder, `${name}.mjs`), text);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));
  const run = (command: string, ...args: string[]): { out: string; err: string } => {
    const { stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } });
    return { out: stdout.trim(), err: stderr };
  };

  describe('runtimes', () => {
    const runtimes: Readonly<Record<string, readonly string[]>> = {
      'Node 22': ['node22/bin/node'], 'Node 24': ['node24/bin/node'], 'Bun': ['bun/bin/bun'], 'Deno': ['.bin/deno', 'run', '-A'],
    };
    for (const [name, [command = '', ...args]] of Object.entries(runtimes)) {
      it(`${name} solves`, function () {
        if (!existsSync(join(installed, command))) return this.skip();
        const { out, err } = run(join(installed, command), ...args, 'all.mjs');
        strictEqual(out, '[true,1,"function"]', err);
      });
    }
  });

  describe('bundles for Node', () => {
    const external = /UnavailableError: no backend: a bundler has taken the code of warploom away from its files: name warploom as external/;
    for (const [name, bundle] of Object.entries(bundlers)) {
      it(`of ${name}`, async function () {
        if (!existsSync(join(installed, name))) return this.skip();
        // webpack takes ten seconds for the compiler of streams; it keeps the place of files, so that solves work.
        for (const program of name === 'webpack' ? ['solve'] as const : ['solve', 'streams'] as const) {
          const out = join(folder, `${name}-${program}`);
          await bundle(join(folder, `${program}.mjs`), out, 'node');
          const main = readdirSync(out).find((file) => /^(main|solve|streams)\.m?js$/.test(file));
          const done = run(process.execPath, join(out, main ?? ''));
          if (program === 'streams') strictEqual(done.out, '[[2,4,6],"function"]', done.err);
          else if (done.out === '') match(done.err, external);
          else strictEqual(done.out, '[1,1,1]', done.err);
        }
      });
    }
  });

  describe('bundles for pages', function () {
    const module = join(root, 'prebuilds/wasm32/warploom.wasm');
    let served: Served | undefined;
    before(async function () {
      if (chromium === undefined || !existsSync(module)) return this.skip();
      served = await openPage(folder);
    });
    after(() => served?.close());

    for (const [name, bundle] of Object.entries(bundlers)) {
      it(`of ${name} solve`, async function () {
        if (!existsSync(join(installed, name))) return this.skip();
        const out = join(folder, `${name}-page`);
        await bundle(join(folder, 'solve.mjs'), out, 'web');
        const found = await served!.page.evaluate(`import('/${name}-page/main.mjs').then(({ result }) => result, ({ message }) => message)`);
        if (name === 'esbuild') match(String(found), /warploom\.wasm could not be loaded \(404[^]*load\(\{ url \}\)/);
        else deepStrictEqual(found, [1, 1, 1]);
      });
    }

    it('say that streams need Node', async function () {
      if (!existsSync(join(installed, 'esbuild'))) return this.skip();
      const out = join(folder, 'streams-page');
      await bundlers.esbuild!(join(folder, 'streams.mjs'), out, 'web');
      const said = await served!.page.evaluate(`import('/streams-page/main.mjs').then(() => '', ({ message }) => message)`);
      match(String(said), /^this entry of warploom needs Node; in a page, import 'warploom\/browser'/);
    });
  });
});
