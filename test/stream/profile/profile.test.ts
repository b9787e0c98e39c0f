// Measured costs: every node has one, they are kept by content, and what takes longer costs more.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { elaborate } from '../../../lib/stream/compile.ts';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { profile } from '../../../lib/stream/profile/index.ts';
import { planProgram } from '../../../lib/stream/plan/plan.ts';
import { partsOf, sampleInput } from '../../../lib/stream/profile/parts.ts';
import { run } from '../../../lib/stream/run/index.ts';
import { StreamRunError } from '../../../lib/stream/interpret/error.ts';
import { hasCompiler } from '../support.ts';
import { scalar } from '../../../lib/stream/interpret/values.ts';

const graphOf = async (text: string, main = 'Main'): Promise<StreamGraph> => (await elaborate(text, { main })).graph;

const mean = (taps: number) => `
  float->float filter Mean(int n, float gain) {
    work push 1 pop 1 peek n { float sum = 0; for (int i = 0; i < n; i++) sum += gain * peek(i); push(sum); pop(); }
  }
  float->float pipeline Main {
    add splitjoin { split duplicate; add Mean(4, 0.25f); add Mean(${taps}, 0.125f); add Mean(${taps}, 0.5f); join roundrobin; };
  }`;

describe('profile', function () {
  this.timeout(120_000);
  let folder = '';
  before(() => { folder = mkdtempSync(join(tmpdir(), 'warploom-profile-')); });
  after(() => { rmSync(folder, { recursive: true, force: true }); });

  it('measures filters that differ in constants once, with what stood on their channels', async () => {
    const graph = await graphOf(mean(64));
    const parts = await partsOf(planProgram(graph), { input: [1, 2, 3] });
    assert.deepEqual(parts.map(({ worth }) => worth.size), [1, 2, 2]);
    assert.deepEqual([...parts[0]!.input!.slice(0, 3)], [1, 2, 3]);
    assert.deepEqual([...parts[2]!.worth.values()], [3, 3]);
  });

  for (const backend of ['wasm', 'cpp'] as const) {
    it(`${backend}: longer work costs more; a second call finds the profile`, async function () {
      if (backend === 'cpp' && !hasCompiler()) this.skip();
      const graph = await graphOf(mean(512));
      const options = { backend, cacheFolder: folder };
      const first = await profile(graph, options);
      assert.deepEqual([first.cached, first.measured.every(Boolean), first.microseconds.length], [false, true, graph.nodes.length]);
      const cost = (at: number) => first.microseconds[graph.nodes.findIndex(({ name }) => name.startsWith('Mean')) + at]!;
      assert.ok(cost(1) > cost(0) && cost(1) === cost(2), `${first.microseconds}`);
      const second = await profile(await graphOf(mean(512)), options);
      assert.deepEqual([second.cached, second.key, second.microseconds], [true, first.key, first.microseconds]);
      const other = await profile(await graphOf(mean(256)), { ...options, force: true });
      assert.notEqual(other.key, first.key);
    });
  }

  it("takes 'js', the former name of 'wasm', and says so", async () => {
    const graph = await graphOf(mean(512));
    const { note: none, key } = await profile(graph, { cacheFolder: folder });
    const former = await profile(graph, { cacheFolder: folder, backend: 'js' });
    assert.deepEqual([none, former.backend, former.key], [undefined, 'wasm', key]);
    assert.match(former.note ?? '', /'js' is called 'wasm'/);
  });

  it('measures anew where a kept profile is damaged', async () => {
    const own = join(folder, 'damaged');
    const graph = await graphOf('int->int filter Main { work push 1 pop 1 { push(pop() + 1); } }');
    const { key } = await profile(graph, { cacheFolder: own });
    writeFileSync(join(own, `${key}.profile.json`), '{"version": 1, "microseconds": [');
    assert.equal((await profile(graph, { cacheFolder: own })).cached, false);
    assert.equal((await profile(graph, { cacheFolder: own })).cached, true);
    assert.deepEqual(readdirSync(own), [`${key}.profile.json`]);
  });

  it('depends on the input that is given, and counts operations where a node fails on its own', async () => {
    const graph = await graphOf(`
      int->int filter Count { int n; int[64] seen; work push 1 pop 1 { seen[n] = pop(); n = n + 1; push(n); } }
      int->int pipeline Main { add Count; }`);
    const keep = { cacheFolder: folder };
    await assert.rejects(profile(graph, keep), (error: Error & { argument?: string; code?: string }) =>
      error.code === 'ERR_WARPLOOM_INVALID_ARGUMENT' && error.argument === 'input' && error.cause instanceof StreamRunError
      && /made-up ones it faults: index 64 is outside an array of 64/.test(error.message));
    await assert.rejects(profile(graph, { ...keep, input: new Int32Array(100) }), { code: 'ERR_WARPLOOM_INVALID_PROGRAM' });
    const input = Array.from({ length: 20 }, (_, i) => i);
    const { measured, microseconds, key } = await profile(graph, { ...keep, input });
    assert.deepEqual(measured, [false]);
    assert.ok(microseconds[0]! > 0);
    assert.notEqual((await profile(graph, { ...keep, input: [...input, 5] })).key, key);
  });

  it('reads the first items of an input only', async () => {
    const graph = await graphOf('int->int filter Table { int[8] t; work push 1 pop 2 peek 3 { push(t[peek(2)]); pop(); pop(); } } '
      + 'int->int pipeline Main { add Table; }');
    // 20,000 firings are recorded; whatever comes behind their items could not be looked up.
    const read = 40_001;
    const input = Int32Array.from({ length: 100_000 }, (_, i) => (i < read ? i % 8 : 1000));
    const first = await profile(graph, { cacheFolder: folder, input });
    assert.deepEqual([first.cached, first.measured], [false, [true]]);
    const same = await profile(graph, { cacheFolder: folder, input: [...input.subarray(0, read), 7, 7] });
    assert.deepEqual([same.cached, same.key], [true, first.key]);
    const [part] = await partsOf(planProgram(graph), { input });
    assert.deepEqual(part!.input, Float64Array.from(input.subarray(0, read)));
  });

  it('of a run takes the items of the run, and leaves what goes wrong to it', async () => {
    const graph = await graphOf('int->int filter Table { int[8] t = {1, 2, 3, 4, 5, 6, 7, 8}; work push 1 pop 1 { push(t[pop()]); } } '
      + 'int->int pipeline Main { add Table; }');
    const input = Int32Array.from({ length: 5000 }, (_, i) => i % 8);
    const expected = (await run(graph, { input, backend: 'interpret' })).output;
    assert.deepEqual([...(await run(graph, { input, costs: 'measured', backend: 'wasm' })).output as Int32Array], [...expected as number[]]);
    const bad = input.with(4000, 9);
    const few = await run(graph, { input: bad, costs: 'measured', backend: 'wasm', iterations: 100 });
    assert.deepEqual([...few.output as Int32Array], (expected as number[]).slice(0, 100));
    const fault = (error: Error): boolean => error instanceof StreamRunError && /index 9 is outside an array of 8/.test(error.message);
    for (const backend of ['wasm', 'interpret'] as const) await assert.rejects(run(graph, { input: bad, costs: 'measured', backend }), fault);
    await assert.rejects(run(graph, { costs: 'measured', backend: 'wasm' }), { argument: 'input' });
  });

  it('refuses wrong options and stops', async () => {
    const graph = await graphOf(mean(4));
    await assert.rejects(profile(graph, { backend: 'gpu' as 'wasm' }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'backend' });
    await assert.rejects(profile(graph, { seconds: 0 }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'seconds' });
    const stop = new AbortController();
    const work = profile(graph, { cacheFolder: folder, force: true, signal: stop.signal, onProgress: () => { stop.abort(new Error('enough')); } });
    await assert.rejects(work, /enough/);
  });

  it('makes up items that fit their types', () => {
    const numbers = sampleInput({ kind: 'struct', name: 'S', fields: [{ name: 'a', type: scalar('int') }, { name: 'b', type: scalar('float') }] }, 100, 7);
    assert.equal(numbers.length, 100);
    numbers.forEach((x, i) => { assert.ok(i % 2 === 0 ? Number.isInteger(x) && x >= 0 && x < 256 : Math.abs(x) <= 1 && Math.fround(x) === x); });
  });
});
