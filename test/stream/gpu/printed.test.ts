// Printed programs in the cache: another compilation of the program finds the same text, and runs from it give the same bits.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileForDevice, run } from '../../../lib/stream/index.ts';
import { UnsupportedProgram } from '../../../lib/stream/plan/unsupported.ts';
import { contentOf } from '../../../lib/stream/content.ts';
import { printedAside, printedProgram } from '../../../lib/stream/run/printed.ts';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { eachBackend } from '../../support/backends.ts';
import { graphOf } from '../support.ts';
import { deviceBackends } from './support.ts';

const sources = {
  window: 'float->float filter F { work pop 2 push 1 peek 4 { push(peek(0) * 0.3 + peek(3) * peek(1)); pop(); pop(); } } '
    + 'float->float pipeline Main { add F; add F; }',
  state: 'int->int filter S { int n; init { n = 5; } work pop 1 push 1 { n = n * 3 + pop(); push(n); } } int->int pipeline Main { add S; }',
  counter: 'int->int filter C { int n; work pop 1 push 1 { n = (n + 1) % 7; push(pop() * n); } } int->int pipeline Main { add C; }',
};

describe('printed programs', function () {
  this.timeout(120_000);
  const outer = process.env['XDG_CACHE_HOME'];
  let home = '';
  const setHome = (to: string | undefined): void => {
    if (to === undefined) delete process.env['XDG_CACHE_HOME'];
    else process.env['XDG_CACHE_HOME'] = to;
  };
  beforeEach(() => { setHome(home = mkdtempSync(join(tmpdir(), 'warploom-printed-'))); });
  afterEach(() => {
    setHome(outer);
    rmSync(home, { recursive: true, force: true });
  });
  const entries = (): string[] => readdirSync(join(home, 'warploom', 'stream'))
    .filter((name) => /^[0-9a-f]{40}$/.test(name)).map((name) => join(home, 'warploom', 'stream', name, 'program'));
  /** What is in an entry, with something else in the text, so that it shows who read it. */
  const marked = (text: string): string => JSON.stringify({ ...JSON.parse(text) as object, source: 'marked' });

  for (const [name, source] of Object.entries(sources)) {
    it(`are the same from the cache: ${name}`, async () => {
      for (const options of [{}, { threads: 64, sharedBytes: 9000, width: undefined }]) {
        const expected = fusedProgram(graphOf(source), options);
        const made = await printedProgram(graphOf(source), options), count = entries().length;
        const found = await printedProgram(graphOf(source), options);
        assert.equal(entries().length, count);
        assert.equal(expected.state !== undefined, name !== 'window');
        for (const each of [made, found]) {
          const { plan, state, ...printed } = each, { plan: plan2, state: state2, ...printed2 } = expected;
          assert.deepEqual(printed, printed2);
          assert.deepEqual([plan.groups, plan.rates, plan.storage, plan.externals], [plan2.groups, plan2.rates, plan2.storage, plan2.externals]);
          assert.deepEqual(state?.works.map(({ node }) => node), state2?.works.map(({ node }) => node));
          assert.deepEqual([state?.kernels, state?.carryWords, state?.totalWords], [state2?.kernels, state2?.carryWords, state2?.totalWords]);
        }
      }
      assert.equal(entries().length, 2);
    });
  }

  it('are printed on worker threads as here', async () => {
    const layouts = [{}, { live: 32, groupSize: 80_000, threads: 64, sharedBytes: 9000 }], graph = graphOf(sources.window);
    const found = await Promise.all(layouts.map((options) => printedAside(graph, options, new AbortController().signal)));
    layouts.forEach((options, i) => { assert.equal(found[i]?.source, fusedProgram(graph, options).source); });
    assert.equal(entries().length, 2);
    const printing = 'void->int filter F { work push 1 { push(1); } } int->void filter G { work pop 1 { println(pop()); } } '
      + 'void->void pipeline Main { add F; add G; }';
    await assert.rejects(printedAside(graphOf(printing), {}, new AbortController().signal), UnsupportedProgram);
    await assert.rejects(printedAside(graphOf(sources.counter), {}, AbortSignal.abort(new Error('enough'))), /enough/);
  });

  it('are found by all that they depend on', async () => {
    await printedProgram(graphOf(sources.window));
    await printedProgram(graphOf(sources.window.replace('0.3', '0.4')));
    await printedProgram(graphOf(sources.window), { minBlocks: 1 });
    assert.equal(entries().length, 3);
    await assert.rejects(printedProgram(graphOf(sources.window), { sharedBytes: 4 }), { code: 'ERR_WARPLOOM_UNSUPPORTED' });
    assert.equal(entries().length, 3, 'nothing is kept of a program that cannot be printed');
    // Graphs that are not of the library's own making may change, and are not cached.
    assert.equal((await printedProgram(structuredClone(graphOf(sources.counter)))).source, fusedProgram(graphOf(sources.counter)).source);
    assert.equal(entries().length, 3);
  });

  it('are printed again where an entry is damaged, and where there is no cache', async () => {
    const { source } = await printedProgram(graphOf(sources.window));
    const [path] = entries() as [string], kept = readFileSync(path, 'utf8');
    for (const text of ['', kept.slice(1), marked(kept)]) {
      writeFileSync(path, text);
      assert.equal((await printedProgram(graphOf(sources.window))).source, source);
      assert.equal(readFileSync(path, 'utf8'), kept);
    }
    const file = join(home, 'file');
    writeFileSync(file, '');
    setHome(file);
    assert.equal((await printedProgram(graphOf(sources.window))).source, source);
  });

  it('have keys in which whatever differs shows', () => {
    const shared = [1];
    const values: unknown[] = [
      0, -0, 1, NaN, Infinity, '1', '', true, false, undefined, null, [], {}, [undefined], [[]], [1, 2], ['1,2'], [[1], 2], { a: 1 }, { a: '1' },
      { b: 1 }, { a: 1, b: 2 }, { a: undefined }, new Map(), new Map([[1, 2]]), new Map([[1, [2]]]), [[1], [1]], [shared, shared], { a: shared, b: [1] },
      { a: shared, b: shared }, new Float32Array(1), new Int32Array(1), new Float64Array(1), Float32Array.of(-0), new Float32Array(2), [0],
    ];
    const keys = values.map(contentOf);
    assert.ok(keys.every((key) => key !== undefined));
    keys.forEach((key, i) => { assert.equal(keys.indexOf(key), i, `${String(key)} stands for two values`); });
    assert.deepEqual(values.map((value) => contentOf(structuredClone(value))), keys);
    for (const value of [() => 1, Symbol('a'), 1n, new Date(), new Set(), new Uint8Array(1), [{ a: () => 1 }]]) {
      assert.equal(contentOf(value), undefined);
    }
    let deep: unknown[] = [];
    for (let i = 0; i < 1e5; ++i) deep = [deep];
    assert.equal(contentOf(deep), undefined);
  });

  eachBackend((_, opened) => {
    it('run as others do, with state and without', async () => {
      const device = await opened();
      for (const source of Object.values(sources)) {
        const input = Int32Array.from({ length: 20_011 }, (__, i) => i % 1000);
        const expected = Array.from((await run(graphOf(source), { input, backend: 'wasm' })).output);
        for (let time = 0; time < 2; ++time) {
          using program = await compileForDevice(graphOf(source), { device });
          for (const given of [input, input.subarray(0, 3), input.subarray(0, 0)]) {
            const { output } = await run(graphOf(source), { input: given, backend: 'wasm' });
            assert.deepEqual((await program.run(given)).output, output);
          }
          assert.deepEqual(Array.from((await program.run(input, { items: 9001 })).output), expected.slice(0, 9001));
        }
      }
    });
  }, { backends: deviceBackends, cases: 1 });
});
