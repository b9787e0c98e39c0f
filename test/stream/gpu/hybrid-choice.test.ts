// Where synergistic runs take place, and what of a run's input and output cores see.
import assert from 'node:assert/strict';
import { setTimeout as after } from 'node:timers/promises';
import { benchmarkPrograms, randomInput } from '../../../examples/stream/programs.ts';
import { DeviceMemory } from '../../../lib/core/device-memory.ts';
import { openDevice, type Device } from '../../../lib/core/device.ts';
import { DeviceModule } from '../../../lib/core/module.ts';
import { compileForDevice, run } from '../../../lib/stream/index.ts';
import type { HybridMode } from '../../../lib/stream/run/backends.ts';
import { Choice } from '../../../lib/stream/run/hybrid-choice.ts';
import type { PlacedIn } from '../../../lib/stream/run/hybrid-costs.ts';
import { HybridStreams } from '../../../lib/stream/run/hybrid-streams.ts';
import { HybridGpu, planHybridFor } from '../../../lib/stream/run/hybrid.ts';
import { prepareRun } from '../../../lib/stream/run/prepare.ts';
import { returnShared, sharedCopy } from '../../../lib/stream/run/shared-copies.ts';
import { compiledWasm } from '../../../lib/stream/run/wasm.ts';
import { hybridLaunches } from '../../../lib/stream/plan/hybrid.ts';
import { eachBackend } from '../../support/backends.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';
import { isThorough } from '../../support/thorough.ts';
import { hybridOf, inputFor, partitions, small } from './hybrid.ts';
import { deviceBackends } from './support.ts';

/** As of a large GPU. Tests of plans give all costs: measured ones depend on what else the machine does. */
const link = { latency: 12, toGpu: 7000, toCpu: 7000, shuffle: 15_000, deshuffle: 15_000 };
/** Over which nothing is worth its way that cores do for nothing. */
const slowLink = { ...link, toGpu: 1000, toCpu: 1000 };
const machine = { link, cores: 16, processors: 132 };

const scaled = graphOf('float->float filter F { work pop 2 push 1 { push(pop() * 3 + pop()); } } float->float filter G { work pop 1 push 1 { push(pop() + 7); } } '
  + 'float->float pipeline Main { add F; add G; }');
const slow = graphOf('int->int filter F { work pop 2 push 1 { int x = pop(); for (int i = 0; i < 400; i++) x = x * 3 + i; push(x + pop()); } } '
  + 'int->int filter G { work pop 1 push 1 { push(pop() + 7); } } int->int pipeline Main { add F; add G; }');
const early = graphOf('int->int filter P { prework push 3 pop 5 { for (int i = 0; i < 5; i++) pop(); push(1); push(2); push(3); } '
  + 'work pop 2 push 1 peek 4 { push(peek(3) * 7 + pop()); pop(); } } int->int filter Q { work pop 1 push 2 { int x = pop(); push(x); push(x * x); } } '
  + 'int->int pipeline Main { add P; add Q; }');

describe('where synergistic runs take place', function () {
  this.timeout(120_000);

  it('takes the better one by estimate, then by the runs that were made: two of each, more where they are close', () => {
    const estimates: readonly (readonly [PlacedIn, number])[] = [['both', 1], ['device', 1.5], ['cores', 9]];
    const choice = new Choice(new Map(estimates));
    const taken = [...Array(7).keys()].map(() => {
      const { next } = choice;
      choice.note(next, 1e6, { both: 5000, device: 2500, fused: 0, cores: 100 }[next]); // µs a state: 5, 2.5, 0.1
      return next;
    });
    // The cores' estimate is more than twice what the device takes.
    assert.deepEqual(taken, ['both', 'both', 'device', 'device', 'device', 'device', 'device']);
    assert.ok(choice.isSettled && choice.best === 'device');
    const close = new Choice(new Map(estimates));
    const tried = [...Array(7).keys()].map(() => {
      const { next } = close;
      close.note(next, 1e6, { both: 1100, device: 1600, fused: 0, cores: 100 }[next]);
      return next;
    });
    assert.deepEqual(tried, ['both', 'both', 'device', 'device', 'both', 'both', 'both']);
    assert.equal(close.isSettled, true);
    const closer = new Choice(new Map(estimates));
    let runs = 0;
    const found = [...Array(12).keys()].map(() => {
      const { next, isSettled } = closer;
      // The device's fifth run is the first one that nothing else delays.
      if (next === 'device') runs += 1;
      closer.note(next, 1e6, next === 'both' ? 1100 : runs < 5 ? 1300 : 900);
      return isSettled ? `settled ${next}` : next;
    });
    assert.deepEqual(found, ['both', 'both', 'device', 'device', 'both', 'device', 'both', 'device', 'both', 'device',
      'settled device', 'settled device']);
    const only = new Choice(new Map<PlacedIn, number>([['device', 4]]));
    assert.deepEqual([only.best, only.next, only.isSettled], ['device', 'device', false]);
    only.note('device', 100, 1); // too short to tell
    assert.equal(only.isSettled, false);
  });

  it('copies of inputs are reused after they were given back, and only then', () => {
    const array = new Int32Array(300_000).fill(7);
    const [first, second] = [sharedCopy(array), sharedCopy(array)];
    assert.notEqual(first.buffer, second.buffer);
    returnShared(first);
    const floats = new Float32Array(290_000).fill(0.5);
    const third = sharedCopy(floats);
    assert.deepEqual([third.buffer === first.buffer, third], [true, floats]);
    assert.notEqual(sharedCopy(array).buffer, first.buffer);
    assert.equal(sharedCopy(third), third);
  });

  eachBackend((backend, opened) => {
    let device: Device;
    before(async () => { device = await opened(); });

    it('no plan of the programs is worse by estimate than the device or the cores alone; ends fire on no core', async () => {
      const where = new Map<PlacedIn, number>();
      for (const { name } of benchmarkPrograms.filter((_, i) => isThorough || i % 3 === 1)) {
        const planned = async (mode: HybridMode) => planHybridFor(program(name), device, { ...machine, mode });
        const [both, gpu, cpu] = await Promise.all([planned('synergistic'), planned('gpu'), planned('cpu')]);
        const least = (estimates: ReadonlyMap<PlacedIn, number>): number => Math.min(...estimates.values());
        const best = new Choice(both.estimates).best;
        assert.equal(both.estimates.get(best), least(both.estimates));
        for (const other of [gpu, cpu]) assert.ok(least(both.estimates) <= least(other.estimates) * (1 + 1e-9), `${name} ${other.mode}`);
        assert.deepEqual([...cpu.estimates.keys()], ['cores'], name);
        assert.deepEqual([...gpu.estimates.keys()], ['device'], name);
        where.set(best, (where.get(best) ?? 0) + 1);
        for (const { plan } of [both, gpu]) {
          const { tasks } = hybridLaunches(both.program, plan);
          const { length } = both.program.plan.groups;
          assert.ok(tasks.every(({ slices }) => slices.every(({ actor }) => actor < length)), name);
          assert.deepEqual(both.problem.cpu.slice(length), [0, 0]);
        }
      }
      assert.ok(where.size > 1, 'programs differ');
    });

    it('costs of the caller place filters, in stream.run too', async () => {
      const input = randomInput(benchmarkPrograms[0]!, backend === 'simt' ? 100_000 : 600_000); // a large device's iterations are long
      const expected = (await run(slow, { input, backend: 'wasm' })).output;
      for (const [cost, placed] of [[1000, backend], [0, 'wasm']] as const) {
        const costs = slow.nodes.map(() => cost);
        const found = await run(slow, { input, backend: backend as 'simt', device, mode: 'synergistic', costs });
        if (cost > 0) assert.equal(found.backend, placed, found.note);
        assert.deepEqual(found.output, expected);
        using made = await compileForDevice(slow, { device, mode: 'synergistic', costs, link: slowLink, cores: 2 });
        assert.equal(made.schedule!.placed, placed === 'wasm' ? 'cores' : 'fused');
        using planned = await HybridGpu.compileFor(slow, device, { mode: 'synergistic', costs, link: slowLink, cores: 2, fused: false });
        assert.equal(planned.figures.placed, placed === 'wasm' ? 'cores' : 'device');
      }
      const measured = await run(slow, { input, backend: backend as 'simt', device, mode: 'gpu', costs: 'measured', threads: 2 });
      assert.deepEqual(measured.output, expected);
      const dynamic = graphOf('int->int filter D { work pop 1 push [0, *] { int x = pop(); if (x % 2 == 0) push(x); } } int->int filter E '
        + '{ work pop 1 push 1 { push(pop() + 1); } } int->int pipeline Main { add D; add E; }');
      const found = await run(dynamic, { input: [1, 2, 4, 5], backend: backend as 'simt', device, mode: 'gpu', costs: 'measured' });
      assert.deepEqual([found.backend, [...found.output as number[]]], ['interpret', [3, 5]]);
    });

    it('the one kernel takes what plans take, and says what it cannot run', async () => {
      const input = Int32Array.from({ length: 100_001 }, (_, i) => i % 91);
      const costs = early.nodes.map(() => 1000);
      using made = await HybridGpu.compileFor(early, device, { mode: 'synergistic', costs, link, cores: 2 });
      assert.equal(made.figures.placed, 'fused');
      for (const options of [{}, { items: 5000 }, { iterations: 777 }, { items: 0 }]) {
        const expected = compiledWasm(early).run(input, options);
        const found = await made.run(input, options);
        assert.deepEqual([found.output, found.firings, found.exhausted], [expected.output, expected.firings, expected.exhausted]);
      }
      const expected = compiledWasm(early).run(input).output;
      for (const out of [new Int32Array(expected.length + 3), new Float64Array(expected.length)]) {
        const found = await made.run(input, {}, out);
        assert.equal(found.output.buffer, out.buffer);
        assert.deepEqual([...found.output], [...expected]);
      }
      for (const short of [0, 1, 9, 31]) {
        assert.deepEqual((await made.run(input.subarray(0, short), {})).output, compiledWasm(early).run(input.subarray(0, short)).output);
      }
      const stop = new AbortController();
      using again = await HybridGpu.compileFor(early, device, { mode: 'synergistic', costs, link, cores: 2 });
      assert.equal(again.choice.next, 'fused');
      const stopped = again.run(input, { signal: stop.signal });
      stop.abort(new Error('enough'));
      await assert.rejects(stopped, /^Error: enough$/);
      const [first, second] = await Promise.all([again.run(input, {}), again.run(input.subarray(0, 50_000), {})]);
      assert.deepEqual([first.output, second.output], [expected, compiledWasm(early).run(input.subarray(0, 50_000)).output]);
      // Sums of floats depend on their order: no kernel of a device finds them.
      const sums = graphOf('float->float filter S { float s; work pop 1 push 1 { s = s * 0.5 + pop(); push(s); } } float->float filter G '
        + '{ work pop 1 push 1 { push(pop() * 3); } } float->float pipeline Main { add S; add G; }');
      using planned = await HybridGpu.compileFor(sums, device, { mode: 'synergistic', costs: sums.nodes.map(() => 1000), link, cores: 2 });
      assert.equal(planned.choice.estimates.has('fused'), false);
      const floats = Float32Array.from(input);
      assert.deepEqual((await planned.run(floats, {})).output, compiledWasm(sums).run(floats).output);
    });

    it('cores get only what stands before and behind the iterations, where the device runs the ends', async () => {
      using made = await hybridOf(device, early, { ...small, onDevice: partitions['all on the device']!(0) });
      const length = inputFor(made, 40) + 3;
      const input = Int32Array.from({ length }, (_, i) => i % 91);
      const given = prepareRun(made.parts.program.plan, input, {});
      const streams = new HybridStreams(made.parts, given, device);
      assert.deepEqual(streams.gaps.map(({ items }) => items > length / 2), [true, true]);
      const scalars = [...streams.forMachines.values()].map(({ i }) => i!.length);
      assert.ok(scalars.every((count) => count < length / 2), String(scalars));
      assert.equal([...streams.whole.values()][0]!.i, input);
      for (const short of [length, inputFor(made, 1), inputFor(made, 2) - 1, 9, 0]) {
        const found = await made.run(input.subarray(0, short), {});
        assert.deepEqual(found.output, compiledWasm(early).run(input.subarray(0, short)).output);
      }
    });

    it('the output may be the array of the caller, and input and output pinned', async () => {
      using made = await HybridGpu.compileFor(scaled, device, { ...small, mode: 'gpu' });
      const length = inputFor(made, 30) + 1;
      const pinned = async (count: number) => await device.pinned('float32', count) as Float32Array;
      const input = await pinned(length), out = await pinned(Math.ceil(length / 2));
      input.forEach((_, i) => { input[i] = Math.fround(Math.sin(i)); });
      const expected = compiledWasm(scaled).run(input).output;
      const found = await made.run(input, {}, out);
      assert.deepEqual([found.note, found.output], [undefined, expected]);
      assert.equal(found.output.buffer, out.buffer);
      // Of another type, it gets the same numbers.
      const wide = new Float64Array(expected.length + 1).fill(9);
      assert.deepEqual([...(await made.run(input, {}, wide)).output], [...expected]);
      assert.equal(wide.at(-1), 9);
    });

    it('with everything on the device, launches do not wait for each other', async () => {
      await using own = await openDevice({ backend });
      using made = await hybridOf(own, scaled, { ...small, onDevice: partitions['all on the device']!(0) },
        (parts) => ({ ...parts, leastBytes: undefined }));
      const iterations = 24;
      const input = Float32Array.from({ length: inputFor(made, iterations) }, (_, i) => i % 17);
      const calls = { write: 0, read: 0 };
      const { read, write } = DeviceMemory.prototype, { launchAll } = DeviceModule.prototype;
      let pending = 0, most = 0;
      DeviceMemory.prototype.write = function (...given: Parameters<typeof write>) {
        ++calls.write;
        return write.apply(this, given);
      };
      DeviceMemory.prototype.read = function (...given: Parameters<typeof read>) {
        ++calls.read;
        return read.apply(this, given);
      };
      DeviceModule.prototype.launchAll = async function (...given: Parameters<typeof launchAll>) {
        most = Math.max(most, ++pending);
        const made = await launchAll.apply(this, given);
        await after(2);
        --pending;
        return made;
      };
      const expected = compiledWasm(scaled).run(input).output;
      try {
        assert.deepEqual((await made.run(input, {})).output, expected);
      } finally {
        Object.assign(DeviceMemory.prototype, { read, write });
        DeviceModule.prototype.launchAll = launchAll;
      }
      // The ends cross the link in eight batches.
      assert.equal(calls.write, 8 + 1); // and what the rings hold at the start
      // One look at faults in four launches, and one at the end.
      assert.equal(calls.read, 8 + Math.floor((iterations + made.parts.launches.lastStage) / 4) + 1);
      assert.ok(most >= 6 && most <= 7, `${most} launches under way`);
    });
  }, { backends: deviceBackends, cases: 5 });
});
