// Equal nodes behind one duplicating splitter become one; what differs in code, constants, input or effects stays.
import assert from 'node:assert/strict';
import { benchmarkPrograms, randomFloats } from '../../../examples/stream/programs.ts';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { StreamRunError } from '../../../lib/stream/interpret/error.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { planProgram } from '../../../lib/stream/plan/plan.ts';
import { requireProgramGraph } from '../../../lib/stream/require.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import { nodeTimes } from '../../../lib/stream/run/threads.ts';
import { mergeEqual } from '../../../lib/stream/savings/merge.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';

const input = randomFloats(400);
const filters = `
float->float filter Fir(float a) { work pop 1 push 1 peek 3 { push(peek(0) + a * peek(2)); pop(); } }
float->float filter State(float a) { float y; work pop 1 push 1 { y = a * y + pop(); push(y); } }
float->float filter First(float a) { prework push 2 { push(a); push(a); } work pop 1 push 1 { push(pop() + a); } }
float->float filter Number { work pop 1 push 1 { push(pop() + iter()); } }
float->float filter Draw { work pop 1 push 1 { push(pop() + random(5)); } }
float->float filter Say { work pop 1 push 1 { println(peek(0)); push(pop()); } }
float->float filter Index { float[4] t; work pop 1 push 1 { float x = pop(); t[(int) x] = x; push(t[0]); } }
float->float filter Pair { work pop 2 push 1 { push(pop() - pop()); } }`;

/** The graph of branches between a duplicating splitter and a joiner. */
const between = (...branches: string[]): StreamGraph =>
  graphOf(`${filters} float->float splitjoin Main { split duplicate; ${branches.map((branch) => `add ${branch};`).join(' ')} join roundrobin; }`);
const filtersIn = ({ nodes }: StreamGraph): number => nodes.filter(({ kind }) => kind === 'filter').length;

/** Filters that are merged away; the merged graph is whole, and gives what the interpreter makes of the one that was written. */
function merged(graph: StreamGraph): number {
  const made = mergeEqual(graph);
  requireProgramGraph({ ...made.graph });
  assert.equal(made.origins.length, made.graph.nodes.length);
  for (const [id, origin] of made.origins.entries()) {
    if (origin !== undefined) assert.equal(made.graph.nodes[id]!.name, graph.nodes[origin]!.name);
  }
  const expected = interpretSync(graph, { input });
  const found = compileWasm(graph).run(input);
  assert.deepEqual([[...found.output], found.printed], [expected.output, expected.printed]);
  assert.deepEqual(found.firings, compileWasm(graph, { savings: false }).run(input).firings);
  return filtersIn(graph) - filtersIn(made.graph);
}

describe('merging of equal nodes', () => {
  it('merges nine low-pass filters of FMRadio, and delays of Filterbank', () => {
    const expected: Readonly<Record<string, number>> = { 'fm-radio': 9, filterbank: 7 };
    for (const { name } of benchmarkPrograms) {
      const graph = program(name);
      const made = mergeEqual(graph);
      assert.equal(filtersIn(graph) - filtersIn(made.graph), expected[name] ?? 0, name);
      if (expected[name] === undefined) assert.equal(made.graph, graph);
    }
  });

  it('merges filters of equal code and constants, with state, prework and numbers of firings, and what follows them', () => {
    assert.equal(merged(between('Fir(1)', 'Fir(1)', 'Fir(1)')), 2);
    assert.equal(merged(between('State(0.5)', 'State(0.5)')), 1);
    assert.equal(merged(between('First(1)', 'First(1)', 'First(2)')), 1);
    assert.equal(merged(between('Number', 'Number')), 1);
    assert.equal(merged(between('pipeline { add Fir(1); add State(2); }', 'pipeline { add Fir(1); add State(2); add Fir(1); }')), 2);
    assert.equal(merged(between('pipeline { add Identity<float>; add Fir(1); }', 'Fir(1)')), 1);
    const pair = 'pipeline { add splitjoin { split duplicate; add Fir(1); add Fir(2); join roundrobin; }; add Pair; }';
    assert.equal(merged(between(pair, pair)), 3);
    assert.equal(merged(between('pipeline { add splitjoin { split roundrobin(1, 2); add Fir(1); add Fir(1); join roundrobin(1, 2); }; }',
      'pipeline { add splitjoin { split roundrobin(1, 2); add Fir(1); add Fir(3); join roundrobin(1, 2); }; }')), 1);
  });

  it('keeps apart what differs in constants, input, order of printing and random numbers', () => {
    assert.equal(merged(between('Fir(1)', 'Fir(2)')), 0);
    assert.equal(merged(between('Fir(0.0)', 'Fir(-0.0)')), 0);
    assert.equal(merged(between('pipeline { add Fir(1); add Fir(2); }', 'pipeline { add Fir(3); add Fir(2); }')), 0);
    assert.equal(merged(between('Say', 'Fir(1)', 'Fir(1)')), 1);
    assert.equal(merged(between('Say', 'Say', 'Fir(1)', 'Fir(1)')), 0);
    assert.equal(merged(between('Draw', 'Draw', 'Fir(1)', 'Fir(1)')), 0);
    const apart = graphOf(`${filters} float->float splitjoin Main { split roundrobin; add Fir(1); add Fir(1); join roundrobin; }`);
    assert.equal(merged(apart), 0);
  });

  it('keeps loops, sources and files', () => {
    const loop = 'feedbackloop { join roundrobin; body Pair; loop Fir(0); split duplicate; enqueue 1; enqueue 2; enqueue 3; }';
    assert.equal(merged(between(loop, loop)), 0);
    assert.equal(merged(graphOf(`${filters} float->float pipeline Main { add Fir(1); add ${loop}; }`)), 0);
    const sources = graphOf(`void->float filter S { float x; work push 1 { push(x); x = x + 1; } }
      void->float splitjoin Main { split roundrobin(0); add S; add S; join roundrobin(1, 2); }`);
    assert.equal(mergeEqual(sources).graph, sources);
    const files = graphOf(`void->void pipeline Main { add splitjoin { split roundrobin(0); add FileReader<float>("a"); add FileReader<float>("a");
      join roundrobin; }; add FileWriter<float>("b"); }`);
    assert.equal(mergeEqual(files).graph, files);
  });

  it('gives items enqueued behind equal nodes to those who were given them', () => {
    // The items of a loop stand behind a node that is equal to one outside.
    const text = (enqueued: string): string => `${filters} float->float splitjoin Main { split duplicate; add Fir(1); add pipeline { add Fir(1);
      add feedbackloop { join roundrobin; body Pair; loop Identity<float>; split duplicate; ${enqueued} }; }; join roundrobin(2, 1); }`;
    const graph = graphOf(text('enqueue 5;').replace('add Fir(1); add pipeline', 'add splitjoin { split duplicate; add Fir(1); add Fir(1); join roundrobin; }; add pipeline'));
    assert.equal(merged(graph), 2);
  });

  it('names the node and the line of a fault', () => {
    const graph = between('Index', 'Index');
    const faulty = [0, 1, 2, 9, 1];
    const error = (run: () => unknown): string => {
      try {
        run();
      } catch (thrown) {
        assert.ok(thrown instanceof StreamRunError);
        return thrown.message;
      }
      return '';
    };
    assert.equal(mergeEqual(graph).graph.nodes.length, 4);
    const found = error(() => compileWasm(graph).run(faulty));
    assert.match(found, /index 9 is outside an array of 4/);
    assert.equal(found, error(() => interpretSync(graph, { input: faulty })).replace(/, firing \d+/, ''));
  });

  it('takes times by nodes of the program as it was written', () => {
    const graph = program('fm-radio');
    const plan = planProgram(graph);
    const times = nodeTimes(plan, graph.nodes.map(({ id }) => id), 'cpp');
    for (const [id, origin] of plan.origins.entries()) if (origin !== undefined) assert.equal(times[id], origin);
    assert.equal(plan.whole().graph, graph);
    assert.equal(planProgram(graph, { savings: false }).graph, graph);
  });

  it('counts the operations of a plan once', () => {
    const graph = program('fm-radio'), plan = planProgram(graph);
    let reads = 0;
    for (const node of plan.graph.nodes) {
      if (node.kind !== 'filter') continue;
      const { body } = node.code.work;
      Object.defineProperty(node.code.work, 'body', { get: () => { reads += 1; return body; } });
    }
    const first = nodeTimes(plan, undefined, 'wasm'), counted = reads;
    assert.ok(counted > 0);
    assert.deepEqual(nodeTimes(plan, undefined, 'wasm'), first);
    nodeTimes(plan, graph.nodes.map(() => 1), 'cpp');
    assert.equal(reads, counted);
  });
});
