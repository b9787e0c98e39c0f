// Multi-threaded rates and Algorithm 2: the example of Figures 3.4 and 3.5, definitions, and every choice by enumeration.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import {
  registerLimits, residentBlocks, selectConfiguration, threaded, type GpuProperties, type RuntimeTable,
} from '../../../lib/stream/partition/index.ts';
import { gpuProfileText, keepGpuProfile, keptGpuProfile, readGpuProfile } from '../../../lib/stream/profile/gpu.ts';
import {
  repetitions, ScheduleError, singleAppearanceSchedule, steadyState, stronglyConnected, validateSchedule,
} from '../../../lib/stream/schedule/index.ts';
import type { SdfGraph } from '../../../lib/stream/sdf.ts';
import { figure31, graphOf, randomGraph } from '../schedule/graphs.ts';

/** The thesis's GeForce 8800 GTS 512. */
const geforce: GpuProperties = {
  name: 'GeForce 8800 GTS 512', multiprocessors: 16, registers: 8192, registersPerThread: 128, registerUnit: 128, threads: 768,
  threadsPerBlock: 512, sharedBytes: 16384, sharedBytesPerBlock: 16384, memoryBytes: 2 ** 29,
};
const hopper: GpuProperties = {
  name: 'H100', multiprocessors: 132, registers: 65536, registersPerThread: 255, registerUnit: 256, threads: 2048, threadsPerBlock: 1024,
  sharedBytes: 233_472, sharedBytesPerBlock: 232_448, memoryBytes: 80 * 2 ** 30,
};
const some = (values: readonly number[]): fc.Arbitrary<number[]> => fc.array(fc.constantFrom(...values), { minLength: 8, maxLength: 8 });

/** Whether channels join all actors. */
function isJoined(graph: SdfGraph): boolean {
  const both = [...graph.channels, ...graph.channels.map((channel) => ({ ...channel, from: channel.to, to: channel.from }))];
  return stronglyConnected({ actors: graph.actors, channels: both.map((channel, id) => ({ ...channel, id })) }).components.length <= 1;
}

/** Live graphs with prework, windows, state and loops, and numbers of threads. */
const live = fc.tuple(randomGraph({ actors: 6, prework: true, stateful: true, loops: true }), some([1, 2, 3, 4, 8])).filter(([{ graph }]) => {
  try {
    steadyState(graph);
    return true;
  } catch {
    return false;
  }
});

describe('multi-threaded actors', () => {
  it('have the rates and instances of Figures 3.4 and 3.5', () => {
    const graph = graphOf(['A', 'B', 2, 1]);
    const both = threaded(graph, [128, 128]);
    assert.deepEqual([both.repetitions, both.steadyStates], [[1, 2], 128]);
    assert.deepEqual(both.graph.channels.map(({ push, pop }) => [push, pop]), [[256, 128]]);
    assert.deepEqual(threaded(graph, [256, 128]).repetitions, [1, 4]);
    const window = threaded(graphOf(['A', 'B', 2, 1, { peek: 5 }]), [4, 8]);
    assert.deepEqual([window.graph.channels[0]!.peek, window.tokens], [8 + 5 - 1, [4]]);
  });

  it('move whole groups of items and whole multiples of steady states where asked', () => {
    const graph = graphOf(['A', 'B', 6, 4], ['B', 'C', 1, 3]);
    const made = threaded(graph, [1, 1, 1], { itemsMultiple: 1024, steadyStatesMultiple: 3 });
    const items = made.graph.channels.map(({ from, push }) => made.repetitions[from]! * push);
    assert.deepEqual(items.map((count) => count % 1024), [0, 0]);
    assert.equal(made.steadyStates % 3, 0);
    for (let fewer = 3; fewer < made.steadyStates; fewer += 3) {
      assert.ok(items.some((count) => count / made.steadyStates * fewer % 1024 !== 0), `${fewer} steady states would do`);
    }
  });

  it('balance, are least, and can be fired thread by thread from where the initialisation ends', () => {
    let count = 0;
    fc.assert(fc.property(live, ([{ graph }, given]) => {
      const threads = given.slice(0, graph.actors.length);
      let made;
      try {
        made = threaded(graph, threads);
      } catch (error) {
        assert.ok(error instanceof ScheduleError && error.reason === 'deadlock');
        return;
      }
      ++count;
      if (isJoined(graph)) assert.deepEqual(made.repetitions, repetitions(made.graph));
      const { steps } = singleAppearanceSchedule(made.graph, steadyState(made.graph));
      const expanded = steps.map((step) => ({ actor: step.actor, count: step.count * threads[step.actor]! }));
      assert.deepEqual(validateSchedule(graph, { init: steadyState(graph).init, steps: expanded }), []);
      const base = steadyState(graph).repetitions;
      made.repetitions.forEach((instances, actor) => { assert.equal(instances * threads[actor]!, base[actor]! * made.steadyStates); });
    }), { numRuns: 200 });
    assert.ok(count > 100, `${count}`);
  }).timeout(60000);

  it('refuse loops with too few items, and iterations without end', () => {
    assert.throws(() => threaded(figure31(), [8, 8, 8, 8]), { name: 'ScheduleError', reason: 'deadlock' });
    assert.deepEqual(threaded(figure31(), [4, 4, 4, 4]).repetitions, [1, 1, 1, 1]);
    const line = graphOf(['A', 'B', 1, 1], ['B', 'C', 1, 1]);
    assert.throws(() => threaded(line, [2 ** 29, 2 ** 29 - 1, 2 ** 29 - 3]), { name: 'ScheduleError', reason: 'limit' });
    assert.throws(() => threaded(line, [1, 2]), { argument: 'threads' });
    assert.throws(() => threaded(line, [0, 1, 1]), { argument: 'threads[0]' });
  });
});

/** What Algorithm 2 minimises, by trying every choice of threads below every pair. */
function enumerate(graph: SdfGraph, table: RuntimeTable, perFilter: boolean): number {
  const at = (limit: number, threads: number, actor: number): number => table.microseconds[limit]![threads]![actor]!;
  const limits = table.registers.map((_, limit) => limit), sizes = table.threads.map((_, place) => place);
  const canRun = graph.actors.map(({ id }) => limits.some((limit) => sizes.some((size) => at(limit, size, id) < Infinity)));
  const base = steadyState(graph).repetitions;
  let best = Infinity;
  const tryAll = (allowed: readonly number[], most: number): void => {
    // Time per steady state does not depend on how instances divide it: each firing takes its share of the measured run.
    const times = graph.actors.map(({ id }) => {
      if (!canRun[id]) return 0;
      const each = allowed.flatMap((limit) => sizes.filter((size) => size <= most).map((size) => at(limit, size, id) / table.firings));
      return Math.min(...each) * base[id]!;
    });
    best = Math.min(best, times.reduce((sum, time) => sum + time, 0));
  };
  if (perFilter) tryAll(limits, sizes.length - 1);
  else for (const limit of limits) {
    for (const size of sizes) if (graph.actors.every(({ id }) => !canRun[id] || at(limit, size, id) < Infinity)) tryAll([limit], size);
  }
  return best;
}

describe('Algorithm 2', () => {
  const graph = graphOf(['A', 'B', 2, 1]);

  it('prefers more threads for A as in Figure 3.5, though the interval is longer', () => {
    // 256 firings: A takes 32 by 128 threads and 40 by 256; B 16 by 128, and no less for each firing by 256.
    const table: RuntimeTable = { registers: [16], threads: [128, 256], firings: 256, microseconds: [[[64, 32], [40, 33]]] };
    const found = selectConfiguration(graph, table);
    assert.deepEqual([found.threads, found.delays, found.threaded.repetitions], [[256, 128], [40, 16], [1, 4]]);
    assert.deepEqual(found.candidates.map(({ threads, perSteadyState }) => [threads, perSteadyState]), [[128, 64 / 128], [256, 104 / 256]]);
  });

  it('takes the optimum by enumeration, with one limit on registers and with one for each filter', () => {
    const time = fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 50 }) }, { weight: 1, arbitrary: fc.constant(Infinity) });
    const table = fc.array(fc.array(fc.array(time, { minLength: 6, maxLength: 6 }), { minLength: 3, maxLength: 3 }), { minLength: 2, maxLength: 2 });
    let found = 0;
    fc.assert(fc.property(randomGraph({ actors: 6 }), table, fc.boolean(), ({ graph: random }, times, perFilter) => {
      const microseconds = times.map((byThreads) => byThreads.map((row) => row.slice(0, random.actors.length)));
      const given: RuntimeTable = { registers: [16, 32], threads: [2, 4, 8], firings: 16, microseconds };
      const least = enumerate(random, given, perFilter);
      if (least === Infinity) {
        assert.throws(() => selectConfiguration(random, given, { perFilter }), { name: 'ScheduleError', reason: 'graph' });
        return;
      }
      ++found;
      const chosen = selectConfiguration(random, given, { perFilter });
      assert.ok(Math.abs(chosen.perSteadyState - least) <= 1e-9 * (1 + least), `${chosen.perSteadyState} ${least}`);
      const work = chosen.delays.reduce((sum, delay, id) => sum + (delay < Infinity ? delay * chosen.threaded.repetitions[id]! : 0), 0);
      assert.ok(Math.abs(work / chosen.threaded.steadyStates - least) <= 1e-9 * (1 + least));
      if (!perFilter) assert.equal(new Set(chosen.registers.filter((_, id) => chosen.delays[id]! < Infinity)).size <= 1, true);
      chosen.delays.forEach((delay, id) => {
        const row = given.registers.indexOf(chosen.registers[id]!), column = given.threads.indexOf(chosen.threads[id]!);
        if (delay < Infinity) assert.equal(delay, microseconds[row]![column]![id]! * chosen.threads[id]! / 16);
      });
    }), { numRuns: 300 });
    assert.ok(found > 100, `${found}`);
  });

  it('leaves filters that cannot run to the CPU', () => {
    const table: RuntimeTable = { registers: [16], threads: [128], firings: 128, microseconds: [[[5, Infinity]]] };
    const found = selectConfiguration(graph, table);
    assert.deepEqual([found.threads, found.delays, found.perSteadyState], [[128, 128], [5, Infinity], 5 / 128]);
  });

  it('refuses tables that are none', () => {
    const table: RuntimeTable = { registers: [16], threads: [128], firings: 128, microseconds: [[[5, 1]]] };
    for (const [change, argument] of [
      [{ registers: [] }, 'table.registers'], [{ threads: [256, 128] }, 'table.threads'], [{ firings: 100 }, 'table.firings'],
      [{ microseconds: [[[5]]] }, 'table.microseconds[0][0]'], [{ microseconds: [[[5, -1]]] }, 'table.microseconds[0][0][1]'],
      [{ microseconds: [[]] }, 'table.microseconds[0]'], [{ microseconds: [] }, 'table.microseconds'],
    ] as const) assert.throws(() => selectConfiguration(graph, { ...table, ...change }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
  });
});

describe('occupancy', () => {
  it('gives the limits of Algorithm 1 on the thesis\'s GPU, and those of an H100', () => {
    assert.deepEqual(registerLimits(geforce, [128, 256, 384, 512]), [16, 20, 32, 64]);
    assert.deepEqual(registerLimits(hopper), [64, 80, 128, 168, 255]);
    for (const limit of registerLimits(hopper)) assert.ok(residentBlocks(hopper, { threads: 128, registers: limit, sharedBytes: 0 }) > 0);
  });

  it('is limited by registers, threads and shared memory', () => {
    const on = (device: GpuProperties, threads: number, registers: number, sharedBytes = 0): number =>
      residentBlocks(device, { threads, registers, sharedBytes });
    assert.deepEqual([on(geforce, 256, 32), on(geforce, 384, 32), on(geforce, 384, 20)], [1, 0, 1]);
    assert.deepEqual([on(hopper, 1024, 64), on(hopper, 1024, 65), on(hopper, 1024, 32), on(hopper, 128, 255)], [1, 0, 2, 2]);
    assert.deepEqual([on(hopper, 128, 16, 100_000), on(hopper, 128, 16, 232_449), on(hopper, 1025, 16), on(hopper, 1, 0)], [2, 0, 0, 64]);
  });
});

describe('profiles of a GPU', () => {
  const table: RuntimeTable = { registers: [16, 32], threads: [128], firings: 256, microseconds: [[[5, Infinity]], [[4.25, 1e-3]]] };
  const place = { program: 'x', device: hopper, software: 'driver 1' };

  it('are kept by program, device and software, with what cannot run', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'warploom-gpu-profile-'));
    try {
      const here = { ...place, cacheFolder: folder };
      assert.equal(await keptGpuProfile(here, 2), undefined);
      await keepGpuProfile(here, table);
      assert.deepEqual((await keptGpuProfile(here, 2))!.table, table);
      for (const other of [{ program: 'y' }, { software: 'driver 2' }, { device: geforce }]) {
        assert.equal(await keptGpuProfile({ ...here, ...other }, 2), undefined);
      }
      assert.equal(await keptGpuProfile(here, 3), undefined);
      const [name] = readdirSync(folder);
      writeFileSync(join(folder, name!), '{"version": 1');
      assert.equal(await keptGpuProfile(here, 2), undefined);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('are checked when they are read', () => {
    const text = gpuProfileText({ kind: 'gpu', device: hopper, software: '', table });
    assert.deepEqual(readGpuProfile(text, 2).table, table);
    for (const wrong of [text.replace('"gpu"', '"cpu"'), text.replace('4.25', '-1'), text.replace('"firings":256', '"firings":257')]) {
      assert.throws(() => readGpuProfile(wrong, 2));
    }
  });
});
