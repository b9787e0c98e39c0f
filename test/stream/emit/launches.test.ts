// Runs in launches on several cores: plans hold under an independent check, and the output is that of one thread, bit for bit.
import assert from 'node:assert/strict';
import { Worker } from 'node:worker_threads';
import { WarploomError } from '../../../lib/core/errors.ts';
import { benchmarkPrograms, randomFloats, randomInput as benchmarkInput } from '../../../examples/stream/programs.ts';
import { groupGraph, planLaunches } from '../../../lib/stream/plan/launches.ts';
import { planProgram } from '../../../lib/stream/plan/plan.ts';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { StreamRunError } from '../../../lib/stream/interpret/error.ts';
import { placesOf } from '../../../lib/stream/partition/cores.ts';
import { validatePipeline } from '../../../lib/stream/partition/index.ts';
import { estimateCosts } from '../../../lib/stream/profile/estimate.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import type { ThreadOptions } from '../../../lib/stream/run/prepare.ts';
import { arithmeticCases, filterCases, graphCases, statementCases } from '../interpret/cases.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';
import { casesOf } from '../../support/thorough.ts';
import { randomInput, randomProgram } from './random-programs.ts';
import { twoFaults, twoFaultsInput } from './two-faults.ts';

const cases = [...arithmeticCases, ...filterCases, ...graphCases, ...statementCases].filter(({ name }) => name !== 'dynamic rates');
const short: ThreadOptions = { pieces: false, launchMicroseconds: 0 };
const steadyStates: Readonly<Record<string, number>> = { 'channel-vocoder': 40, 'fm-radio': 300, filterbank: 60, 'mpeg2-subset': 12, tde: 3, dct: 8, des: 9 };

/** Costs by which a core has several tasks in a launch, which others may take. */
const slow = (graph: StreamGraph): number[] => graph.nodes.map(({ id }) => 1000 + 100 * (id % 7));

async function agrees(graph: StreamGraph, input: ArrayLike<number> | undefined, threads: number, options: ThreadOptions = {}, what = ''): Promise<void> {
  const expected = compileWasm(graph).run(input, options);
  const compiled = compileWasm(graph);
  const found = await compiled.runAside(input, { ...short, ...(threads === 3 ? { costs: slow(graph) } : {}), ...options, threads });
  assert.deepEqual([found.output, found.printed, found.files, found.firings, found.exhausted],
    [expected.output, expected.printed, expected.files, expected.firings, expected.exhausted], `${what}, ${threads} threads`);
}

/** A filter with state, a window and prework, one after the other, so that there are stages, cut slices and whole ones. */
const mixed = graphOf(`
  float->float filter Sum { float s; work pop 1 push 1 { s = 0.5 * s + pop(); push(s); } }
  float->float filter Fir(int n) { work pop 1 push 1 peek n { float s = 0; for (int i = 0; i < n; i++) s += peek(i) * (i + 0.5); push(s); pop(); } }
  float->float filter Late { prework push 3 { push(1); push(2); push(3); } work pop 1 push 1 { push(pop()); } }
  float->float filter Half { work pop 2 push 1 { push(pop() - pop()); } }
  float->float pipeline P { add Fir(40); add Sum; add splitjoin { split duplicate; add Fir(9); add Sum; join roundrobin; } add Half; add Late; add Sum; add Fir(3); }`);
const wave = Float32Array.from({ length: 3001 }, (_, i) => Math.sin(i) * 10);

describe('launches on several cores', function () {
  this.timeout(180_000);

  it('are plans that keep every item, by the independent check', () => {
    const randoms = Array.from({ length: casesOf(24, 60) }, (_, seed) => graphOf(randomProgram(3000 + seed).source));
    let most = 0;
    const graphs = [mixed, ...randoms, ...['iir', 'echo', 'fm-stereo', 'fm-radio'].map((name) => program(name))];
    for (const [at, graph] of graphs.entries()) {
      const plan = planProgram(graph, { forCores: 2 + at % 3, ...(at % 2 === 0 ? { groupSize: 200, blockBytes: 64 } : {}) });
      const { sdf, steady } = groupGraph(plan);
      for (const cores of [1, 2, 3, 5]) {
        const costs = at % 3 === 0 ? slow(graph) : estimateCosts(graph);
        const made = planLaunches(plan, { cores, costs, states: 40, launchMicroseconds: 0 });
        // Every core looks at each task that it may take once, at its own first, and fixed ones stay with their cores.
        for (const [core, order] of made.orders.entries()) {
          const may = made.tasks.flatMap((task, id) => (task.core === core || !task.isFixed ? [id] : []));
          assert.deepEqual([...order].sort((a, b) => a - b), may);
          assert.equal(order.findIndex((id) => made.tasks[id]!.core !== core) + 1 || order.length + 1,
            made.tasks.filter((task) => task.core === core).length + 1);
        }
        for (const { isFixed, slices } of made.tasks) assert.equal(isFixed, slices.some(({ actor }) => sdf.actors[actor]!.stateful));
        most = Math.max(most, made.tasks.length / made.orders.length);
        const buffers = sdf.channels.map(({ id }) => {
          const ring = made.rings[groupGraph(plan).channels[id]!]!;
          // What a core makes and takes part by part is seen to by the outputs.
          return ring.slots === 0 ? plan.rates[groupGraph(plan).channels[id]!]! * made.multiplier : ring.items * ring.slots;
        });
        const whole = { ...made, programs: made.tasks.map(({ slices }) => slices), buffers, load: [], interval: 0, bound: 0 };
        assert.deepEqual(validatePipeline(sdf, { places: placesOf(sdf, whole), tokens: steady.residual, buffers }), [], `graph ${at}, ${cores} cores`);
      }
    }
    assert.ok(most > 4, `a core has up to ${most} tasks`);
  });

  it('give every feature its output', async () => {
    for (const [i, { name, source, input, items }] of cases.entries()) {
      await agrees(graphOf(source), input, [2, 3, 5][i % 3]!, items === undefined ? {} : { items }, name);
    }
  });

  it('give random programs their output', async () => {
    for (let seed = 4000; seed < 4000 + casesOf(12, 30); ++seed) {
      const { source, type } = randomProgram(seed);
      await agrees(graphOf(source), randomInput(seed, type, 500), [2, 3, 5][seed % 3]!, {}, source);
    }
  });

  for (const { name, inputItems, ...rest } of benchmarkPrograms) {
    it(`give ${name} its output`, async () => {
      await agrees(program(name), benchmarkInput({ name, inputItems, ...rest }, (steadyStates[name] ?? 30) * inputItems, 5), 3);
    });
  }

  it('give programs with state, loops and windows their output, whatever the end', async () => {
    for (const threads of [1, 2, 3, 5]) {
      await agrees(mixed, wave, threads);
      await agrees(mixed, wave, threads, { items: 777 });
      await agrees(mixed, wave, threads, { iterations: 321 });
    }
    for (const launchMicroseconds of [1, 10, 50]) {
      await agrees(mixed, wave, 2, { launchMicroseconds });
      for (const name of ['filterbank', 'fm-radio']) await agrees(program(name), randomFloats(9000), 2, { launchMicroseconds });
      for (const name of ['dct', 'bitonic']) {
        const input = benchmarkInput(benchmarkPrograms.find((each) => each.name === name)!, 14_000 - 14_000 % 256);
        await agrees(program(name), input, 3, { launchMicroseconds: launchMicroseconds / 10 });
      }
    }
    await agrees(program('iir'), randomFloats(5000), 2);
    await agrees(program('echo'), randomFloats(9000), 3);
    await agrees(program('fm-stereo'), randomFloats(30_000), 3);
  });
});

describe('faults and ends of launches', function () {
  this.timeout(60_000);
  const faulty = (at: number, other: number) => graphOf(`
    int->int filter A { int n; work pop 1 push 1 { n++; int x = pop(); push(n == ${at} ? x / (n - ${at}) : x); } }
    int->int filter B { int n; int[4] t; work pop 1 push 1 { n++; t[n == ${other} ? n : 0] = 1; push(pop()); } }
    int->int pipeline P { add A; add B; add A; }`);
  const ones = new Int32Array(4000).fill(1);

  it('report the fault that comes first in the order of the program', async () => {
    for (const [at, other, code] of [[1000, 2000, 'S5002'], [2000, 1000, 'S5001'], [1500, 1499, 'S5001'], [1500, 1501, 'S5002']] as const) {
      for (const threads of [2, 3]) {
        await assert.rejects(compileWasm(faulty(at, other)).runAside(ones, { ...short, threads }), (error) => error instanceof StreamRunError
          && error.diagnostic.code === code, `${at}, ${other}, ${threads} threads`);
      }
    }
    const prework = graphOf('int->int filter F { int n; prework push 1 { push(1 / n); } work pop 1 push 1 { n += pop(); push(n); } } int->int pipeline P { add F; add F; }');
    await assert.rejects(compileWasm(prework).runAside(ones, { ...short, threads: 2 }), StreamRunError);
  });

  it('go on with earlier iterations after a fault, in the same task too', async () => {
    const compiled = compileWasm(twoFaults);
    for (let behind = 64; behind < 160; behind += casesOf(5, 1)) {
      for (const threads of [2, 3]) {
        await assert.rejects(compiled.runAside(twoFaultsInput(behind), { ...short, costs: slow(twoFaults), threads }),
          (error) => error instanceof StreamRunError && error.diagnostic.code === 'S5001', `${behind} items behind, ${threads} threads`);
      }
    }
  });

  it('are ended from outside in mid-run, two at a time', async () => {
    const endless = graphOf(`int->int filter F { int s; work pop 1 push 1 { int x = pop(); while (x != 0) x = x | 1; s += x; push(s); } }
      int->int filter G { int s; work pop 1 push 1 { s += pop(); push(s); } } int->int pipeline P { add G; add F; add G; }`);
    const late = Int32Array.from({ length: 4000 }, (_, i) => (i === 2500 ? 1 : 0));
    const compiled = compileWasm(endless);
    const options: ThreadOptions = { ...short, threads: 3, maxTurns: 1e15 };
    const controller = new AbortController();
    setTimeout(() => { controller.abort(new Error('enough')); }, 250);
    await Promise.all([
      assert.rejects(compiled.runAside(late, { ...options, timeout: 300 }), (error) => error instanceof WarploomError && /300 ms/.test(error.message)),
      assert.rejects(compiled.runAside(late, { ...options, signal: controller.signal }), /enough/),
      assert.rejects(compiled.runAside(late, { ...options, maxTurns: 1e5 }), (error) => error instanceof StreamRunError && error.diagnostic.code === 'S4101'),
    ]);
    const [a, b] = await Promise.all([new Int32Array(4000), new Int32Array(3000)].map((input) => compiled.runAside(input, { ...options })));
    assert.deepEqual([a!.output.length, b!.output.length], [4000, 3000]);
  });

  it('print in order by one node; several that print run on one thread', async () => {
    const one = graphOf(`int->int filter G { int s; work pop 1 push 1 { s += pop(); push(s); } }
      int->void filter W { work pop 1 { println(pop()); } } int->void pipeline P { add G; add G; add W; }`);
    await agrees(one, ones.subarray(0, 200), 3);
    const two = graphOf(`int->int filter G { int s; work pop 1 push 1 { s += pop(); println(s); push(s); } }
      int->int pipeline P { add G; add G; add G; }`);
    await agrees(two, ones.subarray(0, 200), 3);
  });

  it('begin anew in workers that are kept, after a fault too', async () => {
    const compiled = compileWasm(faulty(1000, 9000));
    const some = ones.subarray(0, 900);
    const expected = compileWasm(faulty(1000, 9000)).run(some).output;
    const mixedExpected = compileWasm(mixed).run(wave).output, mixedCompiled = compileWasm(mixed);
    for (let turn = 0; turn < 3; ++turn) {
      assert.deepEqual((await compiled.runAside(some, { ...short, threads: 2 })).output, expected);
      await assert.rejects(compiled.runAside(ones, { ...short, threads: 2 }), StreamRunError);
      for (const threads of [1, 3, 2]) assert.deepEqual((await mixedCompiled.runAside(wave, { ...short, threads })).output, mixedExpected);
    }
    const both = await Promise.all([3, 3, 2].map((threads) => mixedCompiled.runAside(wave, { ...short, threads })));
    for (const { output } of both) assert.deepEqual(output, mixedExpected);
  });

  it('fail where a worker dies, and no other waits for it', async () => {
    const { postMessage } = Worker.prototype;
    Worker.prototype.postMessage = function die(this: Worker, part: { number: number }) {
      if (part.number === 0) postMessage.call(this, part);
      else void this.terminate();
    };
    try {
      await assert.rejects(compileWasm(mixed).runAside(wave, { ...short, threads: 2 }), (error) => error instanceof WarploomError
        && error.code === 'ERR_WARPLOOM_SYSTEM_FAILED' && /ended with \d+ before/.test(error.message));
    } finally {
      Worker.prototype.postMessage = postMessage;
    }
  });
});
