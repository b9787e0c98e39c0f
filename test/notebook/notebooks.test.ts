// The notebooks of examples/notebooks run from a clean state in Deno's kernel, and show what their committed outputs show. Needs Deno and
// Python's jupyter_client (Debian: python3-jupyter-client).
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'examples/notebooks');
const notebooks = readdirSync(folder).filter((name) => name.endsWith('.ipynb')).sort();

interface Output {
  readonly output_type: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly evalue?: string;
}

interface Cell {
  readonly cell_type: string;
  readonly source: string | readonly string[];
  readonly outputs?: readonly Output[];
}

/** Python with jupyter_client, which may be another one than that on PATH. */
const python = ['python3', '/usr/bin/python3'].find((name) => spawnSync(name, ['-c', 'import jupyter_client']).status === 0);
const deno = [join(root, 'test/reach/node_modules/.bin'), ...(process.env.PATH ?? '').split(delimiter)].map((path) => join(path, 'deno'))
  .find((path) => existsSync(path));

const cellsOf = (name: string): readonly Cell[] =>
  (JSON.parse(readFileSync(join(folder, name), 'utf8')) as { cells: readonly Cell[] }).cells.filter(({ cell_type: kind }) => kind === 'code');
/** MIME types of each output. */
const kindsOf = (outputs: readonly Output[]): readonly string[][] => outputs.map(({ data = {} }) => Object.keys(data).sort());

describe('notebooks', function () {
  this.timeout(600_000);
  let home = '';

  before(() => {
    home = mkdtempSync(join(tmpdir(), 'warploom-notebooks-'));
    mkdirSync(join(home, 'node_modules'));
    symlinkSync(root, join(home, 'node_modules/warploom'));
    writeFileSync(join(home, 'package.json'), '{ "type": "module", "dependencies": { "warploom": "*" } }');
    writeFileSync(join(home, 'deno.json'), '{ "nodeModulesDir": "manual" }');
    mkdirSync(join(home, 'share/kernels/deno'), { recursive: true });
    writeFileSync(join(home, 'share/kernels/deno/kernel.json'), JSON.stringify({
      argv: [deno, 'jupyter', '--kernel', '--conn', '{connection_file}'], display_name: 'Deno', language: 'typescript',
    }));
  });
  after(() => { rmSync(home, { recursive: true, force: true }); });

  it('are four, with the outputs of each', () => {
    ok(notebooks.length >= 4, notebooks.join(' '));
    for (const name of notebooks) {
      const outputs = cellsOf(name).flatMap((cell) => cell.outputs ?? []);
      ok(outputs.some(({ data = {} }) => Object.keys(data).some((kind) => kind !== 'text/plain')), `${name} shows pictures`);
      ok(outputs.every(({ output_type: kind }) => kind !== 'error'), name);
    }
  });

  for (const name of notebooks) {
    it(`${name} runs`, async function () {
      this.retries(2); // of another process's kernel
      if (deno === undefined || python === undefined) return this.skip();
      const env = { ...process.env, JUPYTER_PATH: join(home, 'share'), NO_COLOR: '1' };
      const { stdout } = await promisify(execFile)(python, [join(root, 'test/notebook/execute.py'), home, join(folder, name)],
        { env, maxBuffer: 2 ** 27 });
      const { cells } = JSON.parse(stdout) as { cells: readonly (readonly Output[])[] };
      const committed = cellsOf(name);
      strictEqual(cells.length, committed.length);
      for (const [i, outputs] of cells.entries()) {
        const failure = outputs.find(({ output_type: kind }) => kind === 'error');
        strictEqual(failure?.evalue, undefined, `cell ${i}`);
        const before = committed[i]?.outputs ?? [];
        deepStrictEqual(kindsOf(outputs), kindsOf(before), `cell ${i}`);
        deepStrictEqual(outputs.map(({ data }) => data?.['text/plain']), before.map(({ data }) => data?.['text/plain']), `cell ${i}`);
      }
    });
  }
});
