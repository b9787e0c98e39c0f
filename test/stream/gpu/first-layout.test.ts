// The short search at the first compilation: it is made once, its result is kept, and nothing that goes wrong with it fails a compilation.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openDevice, type Device } from '../../../lib/core/device.ts';
import { WarploomError } from '../../../lib/core/errors.ts';
import { compileForDevice, run } from '../../../lib/stream/index.ts';
import { compileFused, type ShortSearch } from '../../../lib/stream/run/fused.ts';
import { CompiledGpu } from '../../../lib/stream/run/gpu.ts';
import { knownLayouts } from '../../../lib/stream/run/kept-layout.ts';
import { LayoutSearch, mostCandidates, shortList, type Candidate } from '../../../lib/stream/run/layouts.ts';
import { Trial } from '../../../lib/stream/run/trial.ts';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { eachBackend } from '../../support/backends.ts';
import { graphOf } from '../support.ts';
import { deviceBackends } from './support.ts';

const text = 'float->float filter F { work pop 2 push 1 peek 4 { push(peek(0) * 0.3 + peek(3) * peek(1)); pop(); pop(); } } '
  + 'float->float pipeline Main { add F; add F; }';
const graph = graphOf(text);
const input = Float32Array.from({ length: 30_001 }, (_, i) => Math.sin(i));
const root = new URL('../../..', import.meta.url).pathname;

const layoutOf = (threads: number, sharedBytes = 9000): Candidate => ({
  name: `t${threads}`, options: { threads, sharedBytes, minBlocks: 1, groupSize: 4000, width: 1, readsAhead: false },
});
const candidates = [layoutOf(96), layoutOf(64), layoutOf(160)];
/** Rates by threads, so that 64 are the best. */
const time = async (each: Candidate): Promise<number> => ({ default: 100, t96: 120, t64: 200 })[each.name] ?? 50;
/** Where nothing but the number of candidates ends a search. */
const search: ShortSearch = { candidates, seconds: 100, time };

describe('the first compilation for a device', function () {
  this.timeout(120_000);
  const outer = process.env['XDG_CACHE_HOME'];
  let folder = '';
  beforeEach(() => { process.env['XDG_CACHE_HOME'] = folder = mkdtempSync(join(tmpdir(), 'warploom-first-')); });
  afterEach(() => {
    if (outer === undefined) delete process.env['XDG_CACHE_HOME'];
    else process.env['XDG_CACHE_HOME'] = outer;
    rmSync(folder, { recursive: true, force: true });
  });
  const keptFiles = (): number => {
    const caches = join(folder, 'warploom', 'stream');
    try {
      return readdirSync(caches).filter((name) => /^[0-9a-f]{40}$/.test(name)
        && readFileSync(join(caches, name, 'program'), 'utf8').startsWith('{"version":2')).length;
    } catch {
      return 0;
    }
  };

  it('tries few layouts', () => {
    assert.ok(shortList.length >= 3 && shortList.length <= 14 && shortList.length <= mostCandidates / 4);
    assert.equal(new Set(shortList.map(({ name }) => name)).size, shortList.length);
  });

  eachBackend((backend, opened) => {
    let device: Device;
    let expected: ArrayLike<number>;
    before(async () => {
      device = await opened();
      expected = (await run(graph, { input, backend: 'wasm' })).output;
    });

    /** Does `work`, and counts the modules that the device compiles meanwhile; `fails`: those of a text that it does not. */
    async function counting(work: () => Promise<void>, fails: (source: string) => Error | undefined = () => undefined): Promise<number> {
      let count = 0;
      const original = device.module.bind(device);
      Object.defineProperty(device, 'module', { configurable: true, value: (options: { source: string }) => {
        ++count;
        const error = fails(options.source);
        return error === undefined ? original(options as never) : Promise.reject(error);
      } });
      try {
        await work();
      } finally {
        delete (device as { module?: unknown }).module;
      }
      return count;
    }

    it('keeps the fastest layout, which later compilations take without a search, in any process', async () => {
      const timed: string[] = [];
      const own: ShortSearch = { ...search, time: (each) => (timed.push(each.name), time(each)) };
      for (const _ of [1, 2]) {
        using found = await compileFused(graph, device, { search: own });
        assert.equal(found.program.threads, 64);
        assert.deepEqual((await found.run(input, {})).output, expected);
      }
      assert.deepEqual(timed.sort(), ['default', 't160', 't64', 't96']);
      using program = await compileForDevice(graph, { device, tune: false });
      assert.equal(program.kernel.maxThreads, 64);
      assert.deepEqual((await program.run(input)).output, expected);
      const code = `import('${root}/lib/core/device.ts').then(async ({ openDevice }) => {
        const { compileFused } = await import('${root}/lib/stream/run/fused.ts');
        const { graphOf } = await import('${root}/test/stream/support.ts');
        const device = await openDevice({ backend: '${backend}' });
        const time = () => { throw new Error('searched again'); };
        const found = await compileFused(graphOf(${JSON.stringify(text)}), device, { search: { time } });
        console.log(found.program.threads);
        found.dispose();
        await device.close();
      });`;
      const { stdout } = await promisify(execFile)(process.execPath, ['--import=tsx', '-e', code], { cwd: root });
      assert.equal(stdout.trim(), '64');
    });

    it('keeps the default layout where no candidate is faster', async () => {
      const byDefault = fusedProgram(graph);
      const modules = await counting(async () => {
        const slow: ShortSearch = { ...search, time: async ({ name }) => (name === 'default' ? 100 : 101) };
        for (const _ of [1, 2]) {
          using found = await compileFused(graph, device, { search: slow });
          assert.equal(found.program.source, byDefault.source);
        }
      });
      assert.equal(modules, 1 + candidates.length + 1);
      assert.deepEqual(await knownLayouts(byDefault, device), { layout: undefined, rates: { t96: 1.01, t64: 1.01, t160: 1.01 }, isWhole: true });
    });

    it('times by launches, and compares the bits', async () => {
      for (const source of [
        text, 'int->int filter F { int k; work pop 1 push 1 { k = k + 3; push(pop() + k); } } int->int pipeline Main { add F; }',
      ]) {
        const some = graphOf(source);
        using found = await compileFused(some, device, { search: { candidates, seconds: 100 } });
        const items = Float64Array.from({ length: 20_001 }, (_, i) => i % 100);
        assert.deepEqual((await found.run(items, {})).output, (await run(some, { input: items, backend: 'wasm' })).output);
        const kept = await knownLayouts(fusedProgram(some), device);
        assert.ok(kept?.isWhole === true, 'the search came to its end');
        assert.equal(found.program.source, fusedProgram(some, kept.layout).source);
      }
    });

    it('times programs that fault on large items on bits, but not on items that were given', async () => {
      const some = graphOf('int->int filter F { int[2] t; init { t[1] = 7; } work pop 1 push 1 { push(t[pop()]); } }'
        + ' int->int pipeline Main { add F; }');
      using compiled = await CompiledGpu.compileDefault(some, device);
      using trial = new Trial(compiled, undefined, true);
      assert.ok(await trial.timeDefault(compiled, undefined) > 0);
      assert.ok(await trial.time(compiled, undefined) > 0);
      using given = new Trial(compiled, Int32Array.of(0, 1, 2), true);
      await assert.rejects(given.timeDefault(compiled, undefined), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    });

    it('is one search for calls at the same time, which a call that is aborted leaves to the others', async () => {
      const timed: string[] = [];
      const stop = new AbortController();
      const own: ShortSearch = { ...search, time: async (each) => {
        timed.push(each.name);
        await after(50);
        return time(each);
      } };
      const first = compileFused(graph, device, { search: own, signal: stop.signal });
      const others = [1, 2, 3].map(() => compileFused(graphOf(text), device, { search: own }));
      stop.abort(new Error('enough'));
      await assert.rejects(first, /enough/);
      const made = await Promise.all(others);
      assert.deepEqual(timed.sort(), ['default', 't160', 't64', 't96']);
      for (const each of made) {
        assert.equal(each.program.threads, 64);
        assert.deepEqual((await each.run(input, {})).output, expected);
        each.dispose();
      }
    });

    it('can be aborted while layouts are timed', async () => {
      const stop = new AbortController();
      const reason = new Error('enough');
      const own: ShortSearch = { ...search, time: async (each) => {
        if (each.name !== 'default') stop.abort(reason);
        return time(each);
      } };
      await assert.rejects(compileFused(graph, device, { search: own, signal: stop.signal }), reason);
      assert.equal(keptFiles(), 0);
      await assert.rejects(compileFused(graph, device, { search: own, signal: AbortSignal.abort(reason) }), reason);
      using found = await compileFused(graph, device, { search });
      assert.equal(found.program.threads, 64);
    });

    it('takes no candidates that are not there in time', async () => {
      const times: string[] = [];
      const own: ShortSearch = { ...search, seconds: 0.05, time: async (each) => {
        times.push(each.name);
        if (each.name === 'default') await after(200);
        return time(each);
      } };
      using found = await compileFused(graph, device, { search: own });
      assert.equal(found.program.source, fusedProgram(graph).source);
      assert.deepEqual(times, ['default']);
      assert.deepEqual((await found.run(input, {})).output, expected);
    });

    it('begins no candidates that would come too late', async () => {
      let isOver = false;
      using search = new LayoutSearch(graph, await opened(), {
        time: async (each) => {
          isOver = true;
          return time(each);
        }, atOnce: 1, lastStart: () => (isOver ? 0 : Infinity),
      });
      await search.tries(candidates);
      assert.deepEqual(search.ranking.map(({ candidate: { name } }) => name), ['t96']);
    });

    it('goes on without candidates that fail, and without a search that does', async () => {
      const broken = fusedProgram(graph, layoutOf(64).options).source;
      const modules = await counting(async () => {
        using found = await compileFused(graph, device, { search: { ...search, candidates: [layoutOf(32, 4), ...candidates, layoutOf(96)] } });
        assert.equal(found.program.threads, 96, 'the fastest of those that compile');
      }, (source) => (source === broken ? new WarploomError('ERR_WARPLOOM_INVALID_PROGRAM', 'does not compile') : undefined));
      assert.equal(modules, 1 + candidates.length, 'one that does not fit and one with the same text are not compiled');
      rmSync(folder, { recursive: true, force: true });
      // What a device fails at may succeed another time; a program that faults on the input of the search does so always.
      const errors: [Error, number][] = [[new WarploomError('ERR_WARPLOOM_OUT_OF_MEMORY', 'no memory'), 0], [new Error('lost'), 0]];
      for (const [error, kept] of errors) {
        for (const failing of ['default', 't64']) {
          using found = await compileFused(graph, device, { search: {
            ...search, candidates: [layoutOf(64)], time: (each) => (each.name === failing ? Promise.reject(error) : time(each)),
          } });
          assert.equal(found.program.source, fusedProgram(graph).source);
          assert.deepEqual((await found.run(input, {})).output, expected);
          if (failing === 'default') assert.equal(keptFiles(), kept);
        }
        rmSync(folder, { recursive: true, force: true });
      }
      const faulty = graphOf('int->int filter D { work pop 2 push 1 { push(pop() / (pop() & 1)); } } int->int pipeline Main { add D; }');
      using found = await compileFused(faulty, device, { search: { candidates } });
      assert.deepEqual(await knownLayouts(fusedProgram(faulty), device), { layout: undefined, rates: {}, isWhole: true });
      assert.deepEqual([...(await found.run([6, 1, 8, 3], {})).output], [6, 8]);
      await assert.rejects(counting(async () => { await compileFused(graph, device, { search }); },
        () => new WarploomError('ERR_WARPLOOM_INVALID_PROGRAM', 'does not compile')), /does not compile/);
    });

    it('takes no memory of devices that may use little', async () => {
      await using small = await openDevice({ backend, memoryLimit: 2 ** 20 });
      using found = await compileFused(graph, small, { search: { candidates, time: () => assert.fail('a search') } });
      assert.deepEqual((await found.run(input, {})).output, expected);
      assert.equal(keptFiles(), 0);
    });

    it(backend === 'cuda' ? 'is searched by default, and not with tune: false' : 'is not searched by default', async () => {
      using plain = await compileForDevice(graph, { device, tune: false });
      assert.equal(plain.tuned, undefined);
      assert.equal(keptFiles(), 0);
      process.env['WARPLOOM_TUNE'] = '0';
      using unsearched = await compileForDevice(graph, { device });
      assert.deepEqual((await unsearched.run(input)).output, expected);
      assert.equal(keptFiles(), 0);
      delete process.env['WARPLOOM_TUNE'];
      using usual = await compileForDevice(graph, { device });
      assert.deepEqual((await usual.run(input)).output, expected);
      assert.deepEqual((await run(graph, { device, input })).output, expected);
      assert.equal(keptFiles(), backend === 'cuda' && availableParallelism() >= 4 ? 1 : 0);
    });
  }, { backends: deviceBackends, cases: 10 });
});
