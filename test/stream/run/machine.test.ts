// What runs compiled programs, by itself in this thread: a machine told what workers are told, and the words of plans that both runtimes read.
import assert from 'node:assert/strict';
import { planLaunches } from '../../../lib/stream/plan/launches.ts';
import { planProgram } from '../../../lib/stream/plan/plan.ts';
import { lowerForWasm } from '../../../lib/stream/targets/wasm.ts';
import type { Answer } from '../../../lib/stream/run/answers.ts';
import { commonData, shared, type MachineRun, type SharedInts } from '../../../lib/stream/run/common.ts';
import { Machine } from '../../../lib/stream/run/machine.ts';
import { splitItems } from '../../../lib/stream/run/prepare.ts';
import { cutRun } from '../../../lib/stream/run/threads.ts';
import { launchWords, pieceWords, readLaunches, readPieces, wayNumbers } from '../../../lib/stream/run/words.ts';
import { countRun } from '../../../lib/stream/plan/counts.ts';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import type { IrType, ScalarName } from '../../../lib/stream/ir.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { intFilter } from '../interpret/cases.ts';
import { graphOf } from '../support.ts';

const smooth = graphOf(`float->float filter Fir(int n) { work pop 1 push 1 peek n { float s = 0; for (int i = 0; i < n; i++) s += peek(i) * (i + 0.5); push(s); pop(); } }
  float->float filter Late { prework push 3 { push(1); push(2); push(3); } work pop 1 push 1 { push(pop()); } }
  float->float pipeline P { add Fir(5); add Late; add Fir(3); }`);
const summing = graphOf(`int->int filter S { int s; work pop 1 push 1 { s += pop(); push(s); } } int->int filter D { work pop 2 push 1 { push(pop() - pop()); } }
  int->int pipeline P { add S; add D; add S; }`);
const wave = Float32Array.from({ length: 3001 }, (_, i) => Math.sin(i) * 10);

/** A run of a whole program, and its output. */
function runOf(graph: StreamGraph, input: Int32Array | Float32Array, forCores = 1) {
  const plan = planProgram(graph, { forCores });
  const counts = countRun(plan, { input: input.length });
  const output = input instanceof Int32Array ? new Int32Array(counts.passed[1]!) : new Float32Array(counts.passed[1]!);
  const run: MachineRun = {
    way: wayNumbers.alone, words: new Int32Array(), claims: shared('i', 0) as SharedInts, lines: Infinity, mostPrinted: 100, streams: [input, output],
    ix: new Int32Array(2 * (graph.channels.length + plan.externals.length)), seed: 1, turns: 1e6, until: Infinity,
    init: counts.init, steadyStates: counts.steadyStates, tail: counts.tail,
  };
  const capacities = counts.peaks;
  return { plan, counts, output, run, program: lowerForWasm(plan, { capacities, nodes: graph.nodes.map(({ id }) => id) }) };
}

const kindOf = ({ kind }: Answer): string => kind;

describe('a machine', () => {
  it('runs a program, and again from the start', () => {
    const { program, run, output } = runOf(smooth, wave);
    const machine = new Machine(commonData(program, 1, false), 0);
    const expected = interpretSync(smooth, { input: wave }).output;
    for (let time = 0; time < 2; ++time) {
      assert.equal(machine.run(run).kind, 'done');
      assert.deepEqual(Array.from(output), expected);
      output.fill(0);
    }
  });

  it('takes the pieces that no other has taken, and leaves what it is not to write', () => {
    const { plan, counts, program, run, output } = runOf(smooth, wave);
    const pieces = cutRun(plan, { input: wave.length }, counts, { threads: 3, most: 5 });
    assert.ok(pieces.length > 2);
    const common = commonData(program, 3, false);
    common.gate[2] = 1;
    const way = { ...run, way: wayNumbers.pieces, words: pieceWords(pieces, 3) };
    output.fill(-1);
    assert.equal(new Machine(common, 0).run(way).kind, 'done');
    const expected = interpretSync(smooth, { input: wave }).output;
    const from = pieces[1]!.outputFrom;
    assert.deepEqual(Array.from(output.subarray(from)), expected.slice(from));
    assert.ok(output.subarray(0, from).every((x) => x === -1), 'the first piece is another machine\'s');
    assert.equal(common.gate[2], pieces.length + 1);
  });

  it('does all launches where it is the only one', () => {
    const input = Int32Array.from({ length: 5003 }, (_, i) => i % 11);
    const { plan, counts, run, output } = runOf(summing, input, 2);
    const made = planLaunches(plan, { cores: 1, costs: [1, 1, 1], states: counts.steadyStates, launchMicroseconds: 5 });
    assert.equal(made.orders.length, 1);
    const program = lowerForWasm(plan, { placed: true, capacities: made.capacities.map((items, i) => Math.max(items, counts.peaks[i]!)),
      nodes: summing.nodes.map(({ id }) => id) });
    const machine = new Machine(commonData(program, 1, true), 0);
    const words = launchWords(made, plan.groups.map(({ iterations }) => iterations));
    const answer = machine.run({ ...run, way: wayNumbers.launches, words, claims: shared('i', made.tasks.length) as SharedInts });
    assert.equal(answer.kind, 'done');
    assert.deepEqual(Array.from(output), interpretSync(summing, { input }).output);
  });

  it('answers faults with their site and place, and works on', () => {
    const input = Int32Array.from({ length: 100 }, (_, i) => (i === 40 ? 0 : 1));
    const { program, run } = runOf(graphOf(intFilter('push(7 / pop());')), input);
    const machine = new Machine(commonData(program, 1, false), 0);
    const answer = machine.run(run);
    assert.ok(answer.kind === 'fault');
    assert.equal(program.sites[answer.site]?.kind, 'divide');
    assert.equal(answer.value, 7);
    assert.deepEqual(answer.order, []);
    assert.equal(machine.run({ ...run, streams: [new Int32Array(100).fill(1), run.streams[1]!] }).kind, 'done');
  });

  it('gives up at its time, at too many turns, and where memory does not do', () => {
    const { program, run } = runOf(graphOf(intFilter('int x = pop(); while (x > 0) x = x - 1; push(x);')), Int32Array.of(1, 5000, 1));
    const machine = new Machine(commonData(program, 1, false), 0);
    assert.equal(kindOf(machine.run({ ...run, until: 0 })), 'late');
    const long = machine.run({ ...run, turns: 1000 });
    assert.ok(long.kind === 'fault' && program.sites[long.site]?.kind === 'steps');
    assert.equal(kindOf(machine.run(run)), 'done');
    assert.equal(kindOf(machine.run({ ...run, streams: [] })), 'failed');
  });

  it('notes what is printed, up to a limit', () => {
    const printing = graphOf('int->void filter W { work pop 1 { print("x"); println(pop()); } } int->void pipeline P { add W; }');
    const plan = planProgram(printing);
    const program = lowerForWasm(plan, { nodes: [0] });
    const { run } = runOf(summing, new Int32Array(8));
    const own = { ...run, ix: new Int32Array(2), streams: [Int32Array.of(3, 4, 5)], init: [], steadyStates: 3, tail: [] };
    const machine = new Machine(commonData(program, 1, false), 0);
    const answer = machine.run(own);
    assert.ok(answer.kind === 'done');
    assert.deepEqual(answer.printed.map(([, values]) => [...values]), [[], [3], [], [4], [], [5]]);
    assert.equal(kindOf(machine.run({ ...own, mostPrinted: 3 })), 'fault');
    const two = machine.run({ ...own, lines: 2 });
    assert.ok(two.kind === 'done' && two.printed.length === 4);
  });
});

describe('words', () => {
  it('of launches say what the plan says', () => {
    const plan = planProgram(summing, { forCores: 3 });
    const made = planLaunches(plan, { cores: 3, costs: [30, 10, 30], states: 4000, launchMicroseconds: 5 });
    const iterations = plan.groups.map((group) => group.iterations);
    const read = readLaunches(launchWords(made, iterations), plan.graph.channels.length, plan.groups.length);
    const none = { items: 0, slots: 0, residual: 0 };
    assert.deepEqual(read, {
      threads: made.orders.length, multiplier: made.multiplier, lastStage: made.lastStage, chunk: made.chunk,
      rings: made.rings.map((ring) => ring ?? none), orders: made.orders,
      groups: made.ends.map((ends, group) => ({ stage: made.stages[group], iterations: iterations[group], ends })),
      tasks: made.tasks.map(({ slices }) => slices.map(({ actor, from, count }) => ({ group: actor, from, count }))),
    });
    assert.ok(read.threads > 1 && read.tasks.length > 1);
  });

  it('splits items of typed arrays as it does those of others', () => {
    const scalar = (name: ScalarName): IrType => ({ kind: 'scalar', name });
    const mixed: IrType = { kind: 'struct', name: 'S', fields: (['int', 'bit', 'boolean'] as const).map((name) => ({ name, type: scalar(name) })) };
    const types = [...(['int', 'float', 'double', 'bit', 'boolean'] as const).map(scalar), mixed, { kind: 'array', element: scalar('float'), length: 3 } as const];
    const numbers = [0, -0, 1.5, -1.5, NaN, Infinity, -Infinity, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1e-46, 3, -3, 0.1];
    for (const type of types) {
      for (const given of [Float64Array.from(numbers), Float32Array.from(numbers), Int32Array.from(numbers)]) {
        const [fast, plain] = [splitItems(given, type), splitItems([...given], type)].map((arrays) => Object.values(arrays)[0]!);
        assert.deepEqual([...fast!.subarray(0, plain!.length)], [...plain!], `${JSON.stringify(type)} of a ${given.constructor.name}`);
      }
    }
  });

  it('of pieces say where they begin and end', () => {
    const { plan, counts } = runOf(smooth, wave);
    const pieces = cutRun(plan, { input: wave.length }, counts, { threads: 2, most: 4 });
    const words = pieceWords(pieces, 2);
    assert.deepEqual([words[0], words[1]], [2, pieces.length]);
    assert.deepEqual(readPieces(words), pieces.map(({ inputFrom, outputFrom, dropped, warmUp, counts: { steadyStates, tail } }) =>
      ({ inputFrom, outputFrom, dropped, warmUp, steadyStates, tail: tail.map(({ actor, count }) => ({ actor, count })) })));
  });
});
