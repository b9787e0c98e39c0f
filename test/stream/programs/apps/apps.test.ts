// Applications of medium size in the ways people write them: right in the interpreter, as WebAssembly and in C++.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { interpretSync } from '../../../../lib/stream/interpret/index.ts';
import { compileCppTogether } from '../../../../lib/stream/run/cpp.ts';
import { compileWasm } from '../../../../lib/stream/run/wasm.ts';
import { graphOf, hasCompiler } from '../../support.ts';
import { whole, type App } from './app.ts';
import { report } from './control.ts';
import { histogram } from './images.ts';
import { apps } from './index.ts';

/** Numbers within the tolerance of those expected. */
function assertNear(found: readonly number[], { expected, tolerance = 0, name }: App): void {
  assert.equal(found.length, expected.length, `${name}: number of items`);
  const scale = expected.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  for (const [i, x] of expected.entries()) {
    assert.ok(Math.abs(found[i]! - x) <= tolerance * scale, `${name}: item ${i} is ${found[i]} instead of ${x}`);
  }
}

const limitsOf = ({ input, expected }: App): { items?: number } => (input === undefined ? { items: expected.length } : {});

describe('applications', () => {
  for (const app of apps) {
    it(app.name, () => {
      const graph = graphOf(app.source);
      const { input, interpreted = false } = app;
      const found = interpretSync(graph, { ...(input === undefined ? {} : { input }), ...limitsOf(app) });
      assertNear(graph.output === undefined ? found.printed.trimEnd().split('\n').map(Number) : found.output, app);
      if (interpreted) return;
      const compiled = compileWasm(graph).run(input, limitsOf(app));
      assert.deepEqual([...compiled.output], found.output);
      assert.equal(compiled.printed, found.printed);
    });
  }

  it('a picture of 640 x 480 in one steady state', () => {
    const { source, width, height, expected } = histogram;
    const input = whole(width * height, 256, 51);
    assert.deepEqual([...compileWasm(graphOf(source)).run(input, { iterations: 1 }).output], expected(input));
  });

  it('a report in print and println', () => {
    const graph = graphOf(report.source);
    const { printed } = interpretSync(graph, { items: report.printed.length });
    assert.deepEqual(printed.trimEnd().split('\n'), report.printed);
    assert.equal(compileWasm(graph).run(undefined, { items: report.printed.length }).printed, printed);
  });

  it('give the same in C++', async function () {
    this.timeout(240_000);
    if (!hasCompiler()) this.skip();
    const folder = mkdtempSync(join(tmpdir(), 'warploom-test-'));
    try {
      const some = apps.filter(({ interpreted = false }) => !interpreted);
      const graphs = some.map(({ source }) => graphOf(source));
      const compiled = await compileCppTogether(graphs, { cacheFolder: folder, effort: 1 });
      for (const [i, app] of some.entries()) {
        const { input } = app;
        const expected = interpretSync(graphs[i]!, { ...(input === undefined ? {} : { input }), ...limitsOf(app) });
        const found = await compiled[i]!.run(input, limitsOf(app));
        assert.deepEqual([...found.output], expected.output, app.name);
        assert.equal(found.printed, expected.printed, app.name);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
