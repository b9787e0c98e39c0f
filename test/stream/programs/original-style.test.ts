// Programs in the style of most StreamIt (whole arrays in and out, loops over peek(i)) give in every back end what other means give.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stylePrograms, styleText } from '../../../bench/stream-styles.ts';
import { elaborate, run } from '../../../lib/stream/index.ts';
import { compileCppTogether } from '../../../lib/stream/run/cpp.ts';
import { hasCompiler } from '../support.ts';

const graphOf = async ({ name }: { readonly name: string }) => {
  const { graph, diagnostics } = await elaborate(await styleText(name));
  assert.deepEqual(diagnostics, []);
  return graph;
};
let made: ReturnType<typeof graphOf>[] | undefined;
const graphs = () => Promise.all(made ??= stylePrograms.map(graphOf));

describe('programs in the original style', function () {
  this.timeout(120_000);
  for (const [at, { name, inputItems, outputItems, input, expected, tolerance }] of stylePrograms.entries()) {
    it(`${name}: as by other means, and the same as WebAssembly and step by step`, async () => {
      const graph = (await graphs())[at]!;
      const given = input(2 * inputItems);
      const wanted = expected(given);
      assert.equal(wanted.length, 2 * outputItems);
      const [stepwise, compiled] = await Promise.all((['interpret', 'wasm'] as const).map(async (backend) => Array.from((await run(graph, { backend, input: given })).output)));
      assert.deepEqual(compiled, stepwise);
      const scale = Math.max(...wanted.map(Math.abs));
      assert.equal(stepwise!.length, wanted.length);
      const worst = Math.max(...wanted.map((x, i) => Math.abs(x - stepwise![i]!) / scale));
      assert.ok(worst <= tolerance, String(worst));
    });
  }

  it('the same as C++', async function () {
    if (!hasCompiler()) this.skip();
    const folder = mkdtempSync(join(tmpdir(), 'warploom-test-'));
    try {
      const all = await graphs();
      const compiled = await compileCppTogether(all, { cacheFolder: folder, effort: 1 });
      for (const [at, { name, inputItems, input }] of stylePrograms.entries()) {
        const given = input(2 * inputItems);
        const wanted = await run(all[at]!, { backend: 'wasm', input: given });
        assert.deepEqual(Array.from((await compiled[at]!.run(given)).output), Array.from(wanted.output), name);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
