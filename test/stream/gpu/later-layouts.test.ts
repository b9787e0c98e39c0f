// The rest of a search for the fastest layout: it goes on while the device has nothing to do, and gives way to everything else.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openDevice } from '../../../lib/core/device.ts';
import { run } from '../../../lib/stream/index.ts';
import { whileBusy } from '../../../lib/stream/run/activity.ts';
import { compileFused } from '../../../lib/stream/run/fused.ts';
import type { CompiledGpu } from '../../../lib/stream/run/gpu.ts';
import { keepLayouts, knownLayouts } from '../../../lib/stream/run/kept-layout.ts';
import type { LaterSearch, SearchClock } from '../../../lib/stream/run/later-layouts.ts';
import type { Candidate } from '../../../lib/stream/run/layouts.ts';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { eachBackend } from '../../support/backends.ts';
import { graphOf } from '../support.ts';
import { deviceBackends } from './support.ts';

const text = 'float->float filter F { work pop 2 push 1 peek 4 { push(peek(0) * 0.7 + peek(3) * peek(1)); pop(); pop(); } } '
  + 'float->float pipeline Main { add F; add F; }';
const graph = graphOf(text);
const input = Float32Array.from({ length: 3001 }, (_, i) => Math.sin(i));
const root = new URL('../../..', import.meta.url).pathname;

const layoutOf = (threads: number, sharedBytes = 9000): Candidate => ({
  name: `t${threads}`, options: { threads, sharedBytes, minBlocks: 1, groupSize: 4000, width: 1, readsAhead: false },
});

/** A clock that goes on when the test says so. */
class Clock implements SearchClock {
  time = 0;
  #waiting: (() => void)[] = [];

  get waits(): number {
    return this.#waiting.length;
  }

  now(): number {
    return this.time;
  }

  after(_: number, then: () => void): void {
    this.#waiting.push(then);
  }

  /** Waits until somebody waits for the clock, and lets it pass. */
  async pass(): Promise<void> {
    while (this.#waiting.length === 0) await after(1);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const then of waiting) then();
  }

  /** Lets it pass until a promise settles. */
  async passUntil(over: Promise<void>): Promise<void> {
    let isOver = false as boolean;
    over.finally(() => { isOver = true; });
    while (!isOver) {
      for (const then of this.#waiting.splice(0)) then();
      await after(1);
    }
  }
}

/** What a search tells, with a promise for its end. */
function teller(clock: SearchClock): { readonly later: LaterSearch; readonly told: string[]; readonly over: Promise<void> } {
  const told: string[] = [];
  let end = (): void => undefined;
  const over = new Promise<void>((resolve) => { end = resolve; });
  return { told, over, later: { clock, told: (what) => { if (told.push(what) > 0 && what === 'over') end(); } } };
}

describe('the rest of a search for a layout', function () {
  this.timeout(120_000);
  const outer = process.env['XDG_CACHE_HOME'];
  let folder = '';
  beforeEach(() => { process.env['XDG_CACHE_HOME'] = folder = mkdtempSync(join(tmpdir(), 'warploom-later-')); });
  afterEach(() => {
    if (outer === undefined) delete process.env['XDG_CACHE_HOME'];
    else process.env['XDG_CACHE_HOME'] = outer;
    rmSync(folder, { recursive: true, force: true });
  });

  eachBackend((backend) => {
    it('goes on after a run, while nothing is under way, and later compilations take what it finds', async () => {
      await using device = await openDevice({ backend });
      const program = fusedProgram(graph), candidates = [layoutOf(96), layoutOf(32, 4), layoutOf(64), layoutOf(160)];
      await keepLayouts(program, device, { layout: layoutOf(96).options, rates: { t96: 1.2 }, isWhole: false });
      const clock = new Clock(), { later, told, over } = teller(clock);
      const timed: string[] = [], found: CompiledGpu[] = [];
      const time = async ({ name }: Candidate): Promise<number> => {
        timed.push(name);
        // A run that comes while a layout is being timed: that is done once more.
        if (name === 't160' && !timed.slice(0, -1).includes(name)) await whileBusy(device, async () => undefined);
        return ({ default: 100, t64: 200 })[name] ?? 201;
      };
      const search = { candidates, time, later };
      using first = await compileFused(graph, device, { search, better: (compiled) => { found.push(compiled); } });
      assert.equal(first.program.threads, 96, 'the best that is known');
      await after(5);
      assert.equal(clock.waits, 0, 'it begins after a run');
      const expected = (await run(graph, { input, backend: 'wasm' })).output;
      assert.deepEqual((await first.run(input, {})).output, expected);
      await clock.pass(); // t32 does not fit
      await clock.pass(); // t64 is compiled
      while (clock.waits === 0) await after(1);
      let end = (): void => undefined;
      const busy = whileBusy(device, () => new Promise<void>((resolve) => { end = resolve; }));
      await clock.pass();
      await after(5);
      assert.deepEqual([timed, clock.waits], [[], 0], 'a run is under way');
      end();
      await busy;
      await clock.pass();
      while (timed.length < 2) await after(1);
      assert.deepEqual(timed, ['default', 't64']);
      await clock.passUntil(over);
      assert.deepEqual(timed, ['default', 't64', 'default', 't160', 'default', 't160']);
      assert.deepEqual(told, ['t32', 't64', 't160', 'over']);
      assert.deepEqual(found.map((each) => each.program.threads), [64]);
      assert.deepEqual((await found[0]!.run(input, {})).output, expected);
      found[0]!.dispose();
      assert.deepEqual(await knownLayouts(program, device),
        { layout: layoutOf(64).options, rates: { t96: 1.2, t32: 0, t64: 2, t160: 2.01 }, isWhole: true });
      using second = await compileFused(graph, device, { search: { ...search, time: () => assert.fail('timed again') } });
      assert.equal(second.program.threads, 64);
    });

    it('times by launches', async () => {
      await using device = await openDevice({ backend });
      const program = fusedProgram(graph), clock = new Clock(), { later, over } = teller(clock);
      await keepLayouts(program, device, { layout: undefined, rates: {}, isWhole: false });
      using compiled = await compileFused(graph, device, { search: { candidates: [layoutOf(96)], later } });
      await compiled.run(input, {});
      await clock.passUntil(over);
      const known = await knownLayouts(program, device);
      assert.ok(known!.isWhole && known!.rates['t96']! > 0);
    });

    it('ends with its time and with the device', async () => {
      const program = fusedProgram(graph), candidates = [layoutOf(96), layoutOf(64)];
      const clock = new Clock();
      const time = async (): Promise<number> => {
        clock.time += 40_000;
        return 1;
      };
      const device = await openDevice({ backend });
      await keepLayouts(program, device, { layout: undefined, rates: {}, isWhole: false });
      const short = teller(clock);
      using compiled = await compileFused(graph, device, { search: { candidates, time, later: short.later } });
      await compiled.run(input, {});
      for (const _ of [1, 2, 3]) await clock.pass();
      await short.over;
      assert.deepEqual(short.told, ['t96', 'over']);
      assert.deepEqual(await knownLayouts(program, device), { layout: undefined, rates: { t96: 1 }, isWhole: false });
      const closed = teller(clock);
      using _ = await compileFused(graph, device, { search: { candidates, time: () => assert.fail('timed'), later: closed.later } });
      await clock.pass(); // t64 is being compiled
      await device.close();
      await clock.passUntil(closed.over);
      assert.deepEqual(closed.told, ['over']);
    });

    it('keeps no process alive', async function () {
      if (process.platform === 'win32' || backend !== 'simt') return this.skip();
      const fake = join(folder, 'g++');
      writeFileSync(fake, '#!/bin/sh\ncase "$*" in *--version*) echo 1;; *) exec sleep 1000;; esac\n');
      chmodSync(fake, 0o700);
      const code = `import('${root}/lib/core/device.ts').then(async ({ openDevice }) => {
        const { compileFused } = await import('${root}/lib/stream/run/fused.ts');
        const { keepLayouts } = await import('${root}/lib/stream/run/kept-layout.ts');
        const { fusedProgram } = await import('${root}/lib/stream/targets/cuda.ts');
        const { graphOf } = await import('${root}/test/stream/support.ts');
        const device = await openDevice({ backend: 'simt' }), graph = graphOf(${JSON.stringify(text)});
        await keepLayouts(fusedProgram(graph), device, { layout: undefined, rates: {}, isWhole: false });
        let begin;
        const clock = { now: () => 0, after: (_, then) => { begin = then; } };
        const candidates = [{ name: 't96', options: { threads: 96, sharedBytes: 9000 } }];
        const compiled = await compileFused(graph, device, { search: { candidates, later: { clock } } });
        await compiled.run(new Float32Array(3001), {});
        while (begin === undefined) await new Promise(setImmediate);
        process.env.PATH = ${JSON.stringify(folder)} + ':' + process.env.PATH;
        begin();
        for (let i = 0; i < 200; ++i) await new Promise(setImmediate);
        console.log('at its end');
      });`;
      const { stdout } = await promisify(execFile)(process.execPath, ['--import=tsx', '-e', code], { cwd: root, timeout: 100_000 });
      assert.equal(stdout.trim(), 'at its end');
    });
  }, { backends: deviceBackends, cases: 4 });
});
