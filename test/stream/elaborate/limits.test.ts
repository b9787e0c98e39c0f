// Programs at the limits: those within them run, those beyond are refused with the way to raise the limit.
import assert from 'node:assert/strict';
import { elaborate, run, toSdf, steadyState } from '../../../lib/stream/index.ts';

const chain = (depth: number): string => 'int->int pipeline R(int n) { add int->int filter { work pop 1 push 1 { push(pop() + 1); } }; '
  + `if (n > 1) add R(n - 1); } int->int pipeline P { add R(${depth}); }`;

describe('limits of elaboration', function () {
  this.timeout(60_000);

  it('streams nest nearly a thousand deep, in the interpreter and compiled', async () => {
    const { graph } = await elaborate(chain(990));
    for (const backend of ['interpret', 'wasm'] as const) {
      assert.deepEqual(Array.from((await run(graph, { backend, input: [1, -2] })).output), [991, 988], backend);
    }
  });

  it('deeper ones are refused with the option that allows them, which does', async () => {
    await assert.rejects(elaborate(chain(1100)), ({ diagnostics }: { diagnostics: { code: string; hint: string }[] }) => {
      assert.equal(diagnostics[0]!.code, 'S4104');
      assert.match(diagnostics[0]!.hint, /limits: \{ nesting: .*--limit nesting=/);
      return true;
    });
    const { graph } = await elaborate(chain(1100), { limits: { nesting: 1200 } });
    assert.equal((await run(graph, { backend: 'interpret', input: [0] })).output[0], 1100);
  });

  it('a firing may take tens of millions of items', async () => {
    const { graph } = await elaborate('int->int filter P { work pop 24600000 push 1 { int s = 0; for (int i = 0; i < 24600000; i++) s += pop(); push(s); } }');
    assert.equal(graph.nodes.length, 1);
    const apart = await elaborate(`int->int pipeline P { add splitjoin { split roundrobin(24600000, 1); add Identity<int>; add Identity<int>;
      join roundrobin(24600000, 1); } }`);
    assert.deepEqual(steadyState(toSdf(apart.graph)).repetitions.filter((count) => count > 1), [24_600_000]);
  });
});
