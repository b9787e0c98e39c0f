// Programs as WebAssembly modules.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../../lib/core/binding.ts';
import { verify } from '../../../lib/kernel/verify.ts';
import { elaborate } from '../../../lib/stream/compile.ts';
import { programText } from '../../../lib/kernel/text.ts';
import { planProgram } from '../../../lib/stream/plan/plan.ts';
import { UnsupportedProgram } from '../../../lib/stream/plan/unsupported.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import { lowerForWasm, wasmModule } from '../../../lib/stream/targets/wasm.ts';
import { graphOf } from '../support.ts';

const { WebAssembly: engine } = globalThis as unknown as { WebAssembly: { validate(bytes: Uint8Array): boolean } };

describe('programs as WebAssembly', function () {
  this.timeout(60_000);

  it('are valid for the programs of the examples, for one thread and several', async () => {
    const folder = join(packageRoot(), 'examples/stream');
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.str'))) {
      const { graph } = await elaborate(readFileSync(join(folder, file), 'utf8'));
      for (const placed of [false, true]) {
        const plan = planProgram(graph);
        const lowered = lowerForWasm(plan, { placed, nodes: plan.graph.nodes.map(({ id }) => id) });
        verify(lowered.program);
        assert.ok(engine.validate(wasmModule(lowered, placed).bytes), file);
      }
    }
  });

  it('compute four firings with long sums as vectors', () => {
    const graph = graphOf(`float->float filter Fir { float[32] h; init { for (int i = 0; i < 32; i++) h[i] = i; }
      work pop 1 push 1 peek 32 { float s = 0; for (int i = 0; i < 32; i++) s += h[i] * peek(i); push(s); pop(); } }`);
    assert.match(programText(lowerForWasm(planProgram(graph)).program), /= add\(v\d+\w*, mul\(splat\(k0f\[i\d+\]\), x0f\.f32x4\[/);
  });

  it('have functions for nodes alone when they are asked for, and once', () => {
    const lowered = lowerForWasm(planProgram(graphOf('int->int pipeline P { add Identity<int>; add int->int filter { work pop 1 push 1 { push(pop() + 1); } }; }')));
    const names = ({ program }: typeof lowered): string[] => program.functions.map(({ name }) => name);
    assert.deepEqual(names(lowered), ['group_0', 'settle', 'steady']);
    const more = lowered.including([1]);
    assert.deepEqual(names(more), ['fire_1', 'group_0', 'settle', 'steady']);
    assert.equal(more.including([1]), more);
    assert.deepEqual(names(more.including([0])), ['fire_1', 'fire_0', 'group_0', 'settle', 'steady']);
  });

  it('have no more locals in a function than engines take', () => {
    const graph = graphOf(`struct P { float[64] v; } float->float filter Look { P[4] t; int n; init { t[1].v[3] = 2; }
      work pop 1 push 1 { n++; t[n & 3].v[5] = n; P p = t[n * 5 & 3]; push(pop() + p.v[3]); } }
      float->float filter Last { work pop 64 push 1 { push(peek(63)); for (int i = 0; i < 64; i++) pop(); } }
      float->float pipeline Main { for (int i = 0; i < 20; i++) add Look; add Last; }`);
    const input = Float32Array.from({ length: 64 * 3 }, (_, i) => i);
    const expected = interpretSync(graph, { input }).output;
    for (const plan of [{}, { groupSize: 1e6 }]) assert.deepEqual([...compileWasm(graph, plan).run(input).output], expected);
  });

  it('hold large arrays of zeros without lists of them, and say where a memory would not do', () => {
    const delays = (count: number): string => `int->int filter D { int[16000000] kept; int at; work pop 1 push 1 {
        push(kept[at]); kept[at] = pop(); at = (at + 1) % 3; } }
      int->int pipeline P { for (int i = 0; i < ${count}; i++) add D; }`;
    assert.deepEqual([...compileWasm(graphOf(delays(2))).run([1, 2, 3, 4, 5, 6, 7]).output], [0, 0, 0, 0, 0, 0, 1]);
    assert.throws(() => compileWasm(graphOf(delays(60))).run([1]), UnsupportedProgram);
  });
});
