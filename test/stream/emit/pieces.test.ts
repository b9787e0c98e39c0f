// Runs cut into pieces that threads take as they become free: programs with delays and other preworks too, whose pieces begin earlier and
// drop what comes out first.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countRun } from '../../../lib/stream/plan/counts.ts';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { StreamRunError } from '../../../lib/stream/interpret/error.ts';
import { compileCppTogether } from '../../../lib/stream/run/cpp.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import { startMatters } from '../../../lib/stream/plan/start.ts';
import { cutRun } from '../../../lib/stream/run/threads.ts';
import { Random } from '../../support/random.ts';
import { program } from '../programs/support.ts';
import { graphOf, hasCompiler } from '../support.ts';

const filters = `
  float->float filter Delay(int n) { prework push n { for (int i = 0; i < n; i++) push(0.25 * i - 1); } work pop 1 push 1 { push(pop()); } }
  float->float filter Late(int n) { prework pop n + 1 push 1 peek n + 3 { push(peek(n + 2)); for (int i = 0; i <= n; i++) pop(); } work pop 1 push 1 { push(pop()); } }
  float->float filter Fir(int n) { work pop 1 push 1 peek n { float s = 0; for (int i = 0; i < n; i++) s += peek(i) * (i + 0.5); push(s); pop(); } }
  float->float filter Down(int n) { work pop n push 1 { float s = 0; for (int i = 0; i < n; i++) s += pop() * (i - 1); push(s); } }
  float->float filter Up(int n) { work pop 1 push n { float x = pop(); for (int i = 0; i < n; i++) push(x + i); } }
  float->float filter Mix { work pop 2 push 1 { float x = pop(); push(x - 0.5 * pop()); } }
  float->float filter Only(int n) { int k; work pop 1 push 1 { k = n; push(pop() / k); } }`;

/** A pipeline of such filters, with split-joins inside. */
function preworked(random: Random): string {
  const one = (): string => {
    const n = 1 + random.integer(0, 8);
    switch (random.integer(0, 8)) {
      case 0: case 1: return `add Delay(${n});`;
      case 2: return `add Late(${random.integer(0, 3)});`;
      case 3: return `add Fir(${n});`;
      case 4: return `add Down(${1 + n % 4});`;
      case 5: return `add Up(${1 + n % 3});`;
      case 6: return `add Only(${n});`;
      case 7: return `add splitjoin { split duplicate; add pipeline { ${same()} }; add pipeline { ${same()} }; join roundrobin; }; add Mix;`;
      default: return `add splitjoin { split roundrobin(2, 1); add pipeline { ${same()} }; add pipeline { ${same()} }; join roundrobin(2, 1); };`;
    }
  };
  // Filters that take one item and give one.
  const same = (): string => ['Delay', 'Fir', 'Only', 'Late'].filter(() => random.integer(0, 1) === 0).map((name) => `add ${name}(${1 + random.integer(0, 11)});`).join(' ')
    || 'add Delay(3);';
  return Array.from({ length: 2 + random.integer(0, 4) }, one).join('\n');
}

const made = Array.from({ length: 40 }, (_, seed) => graphOf(`${filters}\n float->float pipeline P { ${preworked(new Random(seed))} }`, { main: 'P' }));
const wave = Float32Array.from({ length: 6007 }, (_, i) => Math.sin(i * i) * 10);
const slow = ({ steady }: { steady: { repetitions: readonly number[] } }): number[] => steady.repetitions.map(() => 300);

describe('runs in pieces', function () {
  this.timeout(240_000);

  it('know how long what stood on channels at the start matters', () => {
    const after = (body: string): number | undefined =>
      startMatters(compileWasm(graphOf(`${filters}\n float->float pipeline P { ${body} }`, { main: 'P' })).plan);
    assert.equal(after('add Fir(9);'), -1);
    assert.equal(after('add Delay(1);'), 0);
    assert.equal(after('add Delay(10); add Fir(1);'), 10);
    assert.equal(after('add Delay(10); add Fir(5);'), 10);
    assert.equal(after('add Delay(10); add Down(4);'), 3);
    assert.equal(after('add Delay(7); add Fir(5); add Delay(6); add Fir(3);'), 13);
    assert.equal(startMatters(compileWasm(program('filterbank')).plan) !== undefined, true);
    for (const name of ['iir', 'echo', 'fm-stereo']) assert.equal(startMatters(compileWasm(program(name)).plan), undefined, name);
  });

  it('are cut into no more pieces than are worth it, which give all items', () => {
    for (const graph of made) {
      const { plan } = compileWasm(graph);
      const amount = { input: wave.length };
      const counts = countRun(plan, amount);
      for (const cuts of [{ threads: 1 }, { threads: 3 }, { threads: 2, most: 20, leastStates: 10 }]) {
        const pieces = cutRun(plan, amount, counts, cuts);
        assert.equal(pieces.reduce((sum, { outputItems }) => sum + outputItems, 0), counts.passed[1]);
        assert.ok(pieces.length <= (cuts.most ?? cuts.threads));
        for (const { warmUp, counts: { steadyStates: states } } of pieces.length > 1 ? pieces : []) assert.ok(states >= 16 * warmUp);
      }
    }
  });

  async function agrees(run: (graph: StreamGraph, options: object) => Promise<object>, graphs: readonly StreamGraph[]): Promise<number> {
    let cut = 0;
    for (const [i, graph] of graphs.entries()) {
      const { plan, run: alone } = compileWasm(graph);
      // Long firings make for many pieces.
      const options = { threads: 2 + i % 3, costs: slow(plan.whole()), ...(i % 4 === 3 ? { items: 700 + i } : {}) };
      const { milliseconds: _one, ...expected } = alone(wave, options);
      const { milliseconds: _many, processorMilliseconds: _all, ...found } = await run(graph, options) as Record<string, unknown>;
      assert.deepEqual(found, expected, `program ${i}`);
      if (cutRun(plan, { input: wave.length }, countRun(plan, { input: wave.length }), { threads: 2, most: 30 }).length > 4) ++cut;
    }
    return cut;
  }

  it('give in WebAssembly what one thread gives', async () => {
    const cut = await agrees((graph, options) => compileWasm(graph).runAside(wave, options), [...made, program('filterbank'), program('fm-radio')]);
    assert.ok(cut > 20, `${cut} programs are cut into several pieces`);
  });

  it('give in C++ what one thread gives', async function () {
    if (!hasCompiler()) this.skip();
    const cacheFolder = mkdtempSync(join(tmpdir(), 'warploom-test-'));
    try {
      for (let from = 0; from < 16; from += 8) {
        const graphs = made.slice(from, from + 8);
        const compiled = await compileCppTogether(graphs, { cacheFolder, effort: 1 });
        await agrees((graph, options) => compiled[graphs.indexOf(graph)]!.run(wave, options), graphs);
      }
    } finally {
      rmSync(cacheFolder, { recursive: true, force: true });
    }
  });

  it('report the fault of the first piece that has one', async () => {
    const graph = graphOf(`int->int filter F { work pop 1 push 1 { int x = pop(); push(x == 7 ? x % (x - 7) : 1 / x); } }
      int->int filter Delay { prework push 9 { for (int i = 0; i < 9; i++) push(1); } work pop 1 push 1 { push(pop()); } }
      int->int pipeline P { add Delay; add F; add Delay; add F; }`);
    const compiled = compileWasm(graph);
    const ones = new Int32Array(20_000).fill(1);
    for (const at of [3000, 9000, 15_000]) {
      const input = ones.map((x, i) => (i === at ? 7 : i > at && i % 500 === 0 ? 0 : x));
      for (const threads of [2, 4]) {
        await assert.rejects(compiled.runAside(input, { threads, costs: [500, 500, 500, 500] }),
          (error) => error instanceof StreamRunError && /%/.test(error.message));
      }
    }
    assert.deepEqual((await compiled.runAside(ones, { threads: 2, costs: [500, 500, 500, 500] })).output.length, 20_018);
  });
});
