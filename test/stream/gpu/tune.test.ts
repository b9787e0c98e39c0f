// The search for the fastest layout of a kernel: what it tries, what it keeps, and that a kept layout changes no bit.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { keepText } from '../../../lib/core/compile/cache.ts';
import type { Device } from '../../../lib/core/device.ts';
import { compileForDevice, run } from '../../../lib/stream/index.ts';
import { compileFused } from '../../../lib/stream/run/fused.ts';
import { CompiledGpu } from '../../../lib/stream/run/gpu.ts';
import { keepLayouts, knownLayouts } from '../../../lib/stream/run/kept-layout.ts';
import { byDefault, firstCandidates, furtherCandidates, LayoutSearch, mostCandidates } from '../../../lib/stream/run/layouts.ts';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { eachBackend } from '../../support/backends.ts';
import { graphOf } from '../support.ts';
import { deviceBackends } from './support.ts';

const graph = graphOf('float->float filter F { work pop 2 push 1 peek 4 { push(peek(0) * 0.3 + peek(3) * peek(1)); pop(); pop(); } } '
  + 'float->float pipeline Main { add F; add F; }');
const input = Float32Array.from({ length: 30_001 }, (_, i) => Math.sin(i));

describe('layouts of kernels', function () {
  this.timeout(120_000);
  const outer = process.env['XDG_CACHE_HOME'];
  let folder = '';
  beforeEach(() => { process.env['XDG_CACHE_HOME'] = folder = mkdtempSync(join(tmpdir(), 'warploom-tune-')); });
  afterEach(() => {
    if (outer === undefined) delete process.env['XDG_CACHE_HOME'];
    else process.env['XDG_CACHE_HOME'] = outer;
    rmSync(folder, { recursive: true, force: true });
  });

  it('have names of their own, and none that cannot be', () => {
    const further = furtherCandidates(firstCandidates.slice(0, 2));
    const all = [...firstCandidates, ...further];
    assert.equal(all.length, mostCandidates);
    for (const stage of [firstCandidates, further]) assert.equal(new Set(stage.map(({ name }) => name)).size, stage.length);
    for (const { options: { threads = 0, sharedBytes = 0, minBlocks = 0 } } of all) {
      assert.ok(threads % 32 === 0 && threads * minBlocks <= 2048 && sharedBytes * minBlocks <= 227_000 * 1.01, `${threads} ${sharedBytes}`);
    }
  });

  eachBackend((_, opened) => {
    let device: Device;
    before(async () => { device = await opened(); });

    it('are timed until the time is over, and the fastest is kept', async () => {
      const expected = (await run(graph, { input, backend: 'wasm' })).output;
      const steps: [number, number][] = [];
      using program = await compileForDevice(graph, {
        device, tune: { input: input.subarray(0, 1000), seconds: 4, onProgress: (done, total) => steps.push([done, total]) },
      });
      // However many that are: a slow machine compiles none in this time.
      const { layouts, skipped } = program.tuned!;
      assert.ok(layouts.some(({ name }) => name === 'default'));
      layouts.reduce((a, b) => (assert.ok(a.itemsPerSecond >= b.itemsPerSecond && b.itemsPerSecond > 0), b));
      assert.ok(skipped.every(({ name, reason }) => name !== '' && reason !== ''));
      steps.forEach(([done, total], i) => { assert.ok(done === i + 1 && total === mostCandidates && done <= total); });
      assert.equal(steps.length, layouts.length - 1 + skipped.length);
      assert.deepEqual((await program.run(input)).output, expected);
      const kept = await knownLayouts(fusedProgram(graph), device);
      assert.ok(kept?.isWhole === true);
      const { program: plain } = await compileFused(graph, device);
      assert.equal(plain.source, fusedProgram(graph, kept.layout).source);
      assert.equal(program.kernel.maxThreads, plain.threads);
    });

    it('are timed one after the other as they are compiled, and none when the time is over', async () => {
      const over = new AbortController();
      const timed: number[] = [];
      let busy = 0, tried = 0;
      using search = new LayoutSearch(graph, device, {
        over: over.signal, atOnce: 2, tried: () => { ++tried; },
        time: async (_, { program: { threads } }) => {
          assert.equal(++busy, 1);
          await after(20);
          --busy;
          if (timed.push(threads) === 3) over.abort();
          return threads;
        },
      });
      const threads = [32, 96, 64, 160, 128];
      await search.tries(threads.map((each) => ({ name: `t${each}`, options: { threads: each, sharedBytes: 5000 } })));
      assert.deepEqual([timed.length, tried], [3, 3]);
      const best = Math.max(...timed);
      assert.deepEqual(search.ranking.map(({ rate }) => rate), [...timed].sort((a, b) => b - a));
      using fastest = search.take();
      assert.equal(fastest!.program.threads, best);
      assert.deepEqual((await fastest!.run(input, {})).output, (await run(graph, { input, backend: 'wasm' })).output);
      assert.equal(search.take(), undefined);
    });

    it('that are kept are used by later runs, with the same bits', async () => {
      const expected = (await run(graph, { input, backend: 'wasm' })).output;
      const byDefault = fusedProgram(graph);
      const layout = { threads: 96, sharedBytes: 9000, minBlocks: 3, groupSize: 4000, width: 1, readsAhead: true };
      await keepLayouts(byDefault, device, { layout, rates: {}, isWhole: true });
      {
        using found = await compileFused(graph, device);
        assert.equal(found.program.threads, 96);
        assert.match(found.program.source, /kReadsAhead = true/);
        assert.deepEqual((await found.run(input, {})).output, expected);
        using given = await CompiledGpu.compileDefault(graph, device, { threads: 64 });
        assert.equal(given.program.threads, 64, 'a layout that is asked for comes first');
      }
      // One that does not fit, and files that are none of ours, are as if nothing were kept.
      await keepLayouts(byDefault, device, { layout: { ...layout, sharedBytes: 4 }, rates: {}, isWhole: true });
      using unfit = await compileFused(graph, device);
      assert.equal(unfit.program.threads, byDefault.threads);
      const caches = join(folder, 'warploom', 'stream');
      const textIn = (entry: string): string => readFileSync(join(caches, entry, 'program'), 'utf8');
      const entry = readdirSync(caches).find((name) => /^[0-9a-f]{40}$/.test(name) && textIn(name).startsWith('{"version":2'))!;
      const good = textIn(entry);
      const wrong = ['', '{}', good.replace('"threads":96', '"threads":97'), good.replace('"version":2', '"version":1'),
        good.replace('"rates":{}', '"rates":{"t32":-1}')];
      for (const text of wrong) {
        await keepText(caches, entry, text);
        assert.equal(await knownLayouts(byDefault, device), undefined, text);
      }
      await keepText(caches, entry, good);
      assert.equal((await knownLayouts(byDefault, device))?.layout?.threads, 96);
      writeFileSync(join(caches, entry, 'program'), good.replace('"threads":96', '"threads":64'));
      assert.equal(await knownLayouts(byDefault, device), undefined, 'changed since it was stored');
      const rates = { t96: 1.5, t64: 0 };
      await keepLayouts(byDefault, device, { layout: undefined, rates, isWhole: false });
      assert.deepEqual(await knownLayouts(byDefault, device), { layout: undefined, rates, isWhole: false });
    });

    it('with the same text are timed once, and those that fail are left out', async () => {
      const skipped: string[] = [];
      const timed: string[] = [];
      using search = new LayoutSearch(graph, device, {
        time: ({ name }) => {
          timed.push(name);
          return name.startsWith('t64') ? Promise.reject(new Error('broken')) : Promise.resolve(timed.length);
        },
        skip: ({ name }, reason) => { skipped.push(`${name}: ${reason}`); },
      });
      const options = { threads: 32, sharedBytes: 5000 };
      await search.tries([{ name: 'a', options }, { name: 'b', options }, { name: 't64', options: { threads: 64 } }, { name: 'c', options: { sharedBytes: 4 } }]);
      // Candidates are printed by several threads: the first of those with the same text is timed.
      const [kept, other] = timed.includes('a') ? ['a', 'b'] : ['b', 'a'];
      assert.deepEqual(timed.sort(), [kept, 't64']);
      assert.deepEqual(skipped.map((each) => each.split(':')[0]).sort(), [other, 'c', 't64'].sort());
      assert.deepEqual(search.ranking.map(({ candidate: { name } }) => name), [kept]);
      assert.equal(search.failures.length, 1);
    });

    it('are left out where their text is far longer than that of the default layout', async () => {
      const skipped: string[] = [], program = fusedProgram(graph);
      using search = new LayoutSearch(graph, device, {
        longText: 100, skip: (_, reason, isUseless) => { skipped.push(`${reason} ${isUseless}`); }, time: () => assert.fail('compiled'),
      });
      search.knows(byDefault, { ...program, source: program.source.slice(0, 200) });
      await search.tries([{ name: 'long', options: { threads: 64, sharedBytes: 5000 } }]);
      assert.match(skipped.join(), /^its text has \d+ characters, far more than the default layout's true$/);
    });

    it('are not searched for with wrong options, and a search can be stopped', async () => {
      const wrong = (argument: string) => ({ code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
      const tune = (given: unknown) => compileForDevice(graph, { device, tune: given as boolean });
      await assert.rejects(tune(3), wrong('tune'));
      await assert.rejects(tune({ seconds: 0 }), wrong('tune.seconds'));
      await assert.rejects(tune({ second: 1 }), wrong('tune.second'));
      await assert.rejects(tune({ input: 'abc' }), wrong('tune.input'));
      await assert.rejects(tune({ input: [] }), wrong('input'));
      const faulty = graphOf('int->int filter D { work pop 2 push 1 { push(pop() / pop()); } } int->int pipeline Main { add D; }');
      await assert.rejects(compileForDevice(faulty, { device, tune: { input: [1, 0] } }), wrong('input'));
      const stop = new AbortController();
      const reason = new Error('enough');
      await assert.rejects(compileForDevice(graph, {
        device, signal: stop.signal, tune: { onProgress: (done) => { if (done === 2) stop.abort(reason); } },
      }), reason);
      assert.equal(await knownLayouts(fusedProgram(graph), device), undefined);
    });
  }, { backends: deviceBackends, cases: 5 });
});
