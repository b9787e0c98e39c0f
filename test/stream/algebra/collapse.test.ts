// What is collapsed, what is not, and the option `algebraic` wherever it is taken.
import assert from 'node:assert/strict';
import { openDevice } from '../../../lib/core/device.ts';
import {
  collapseLinear, compileForDevice, elaborate, interpret, open, run, type StreamGraph, type StreamRunOptions,
} from '../../../lib/stream/index.ts';
import { examplePrograms } from './programs.ts';

const fir = `float->float filter Fir(int taps, float shift) {
  work pop 1 push 1 peek taps { float s = 0; for (int i = 0; i < taps; i++) s += sin(i + shift) * peek(i); push(s); pop(); }
}
`;
const twoFirs = `${fir}float->float pipeline Main { add Fir(5, 1); add Fir(7, 2); }`;

async function graphOf(source: string): Promise<StreamGraph> {
  return (await elaborate(source)).graph;
}

/** The names that are replaced, by new filter. */
async function replaced(source: string): Promise<readonly (readonly string[])[]> {
  return (await collapseLinear(await graphOf(source))).filters.map(({ replaces }) => replaces);
}

const samples = Array.from({ length: 500 }, (_, i) => Math.fround(Math.sin(i * i * 0.01)));

describe('linear filters', function () {
  this.timeout(60_000);

  it('are multiplied together along a pipeline', async () => {
    const graph = await graphOf(twoFirs);
    const { graph: made, filters } = await collapseLinear(graph);
    assert.deepEqual(filters, [
      { node: 'Linear', replaces: ['Fir', 'Fir_2'], pop: 1, peek: 11, push: 1, before: 5 + 5 - 1 + 7 + 7 - 1, after: 11 + 10 },
    ]);
    assert.equal(made.nodes.length, 1);
    const { output } = await interpret(made, { input: samples });
    const exact = (n: number): number => {
      let sum = 0;
      for (let j = 0; j < 7; ++j) for (let i = 0; i < 5; ++i) sum += Math.sin(j + 2) * Math.sin(i + 1) * samples[n + i + j]!;
      return sum;
    };
    assert.equal(output.length, 490);
    output.forEach((found, n) => { assert.ok(Math.abs(found - exact(n)) < 13 * 2 ** -24 * 35, `item ${n}: ${found}, not ${exact(n)}`); });
  });

  it('stay where the product takes more operations', async () => {
    // A rank-one matrix in two steps: 8 + 8 products, but 64 as one.
    const source = `float->float pipeline Main {
      add float->float filter { work pop 8 push 1 { float s = 0; for (int i = 1; i <= 8; i++) s += i * 1.5 * pop(); push(s); } };
      add float->float filter { work pop 1 push 8 { float x = pop(); for (int i = 1; i <= 8; i++) push(i * 1.5 * x); } };
    }`;
    assert.deepEqual(await replaced(source), []);
  });

  it('are one filter where branches are added, and those of ints are exact', async () => {
    const source = `int->int pipeline Main {
      add splitjoin {
        split duplicate;
        for (int k = 0; k < 3; k++) add int->int filter { work pop 1 push 1 peek 9 { int s = 0; for (int i = 0; i < 9; i++) s += (k * 700000001 + i) * peek(i); push(s); pop(); } };
        join roundrobin;
      };
      add int->int filter { work pop 3 push 1 { push(pop() - pop() * 5 + (pop() << 3)); } };
    }`;
    const graph = await graphOf(source);
    const { graph: made, filters } = await collapseLinear(graph);
    assert.equal(made.nodes.length, 1);
    assert.equal(filters[0]?.peek, 9);
    const input = samples.map((x) => Math.round(x * 2 ** 31) | 0);
    assert.deepEqual((await interpret(made, { input })).output, (await interpret(graph, { input })).output);
  });

  it('are replaced alone where factors come together', async () => {
    assert.deepEqual(await replaced('float->float filter Main { work pop 1 push 1 { push(pop() * 2 * 3 * 4); } }'), [['Main']]);
  });

  const stays: Record<string, string> = {
    'with state': 'float->float filter Main { float y; work pop 1 push 1 { y = y * 0.5 + pop() * 2 * 3 * 4; push(y); } }',
    'with prework': 'float->float filter Main { prework push 3 { for (int i = 0; i < 3; i++) push(0); } work pop 1 push 1 { push(pop() * 2 * 3 * 4); } }',
    'that print': 'float->float filter Main { work pop 1 push 1 { println(1); push(pop() * 2 * 3 * 4); } }',
    'whose course depends on items': 'float->float filter Main { work pop 1 push 1 { float x = pop() * 2 * 3 * 4; push(x > 0 ? x : -x); } }',
    'with products of items': 'float->float filter Main { work pop 1 push 1 { float x = pop() * 2 * 3; push(x * x); } }',
    'with divisors that are items': 'float->float filter Main { work pop 1 push 1 { push(1 / (pop() * 2 * 3 * 4)); } }',
    'with roots of items': 'float->float filter Main { work pop 1 push 1 { push(sqrt(pop() * 2 * 3 * 4)); } }',
    'that divide by zero': 'float->float filter Main { work pop 1 push 1 { push(pop() * 2 * 3 * 4 / 0.0); } }',
    'that convert items to ints': 'float->float filter Main { work pop 1 push 1 { push((int) (pop() * 2 * 3 * 4)); } }',
    'whose indices depend on items': 'int->int filter Main { int[4] t; init { t[1] = 3; } work pop 1 push 1 { push(t[pop()] * 2 * 3); } }',
    'of ints that divide': 'int->int filter Main { work pop 1 push 1 { push(pop() * 2 * 3 * 4 / 2); } }',
    'whose factors overflow': 'float->float filter Main { work pop 1 push 1 { push(pop() * 1e30 * 1e30 * 0.5); } }',
    'of complex items': 'complex->complex filter Main { work pop 1 push 1 { push(pop() * 2 * 3 * 4); } }',
    'in programs that draw random numbers': `float->float filter Times { work pop 1 push 1 { push(pop() * 2 * 3 * 4); } }
      float->float filter Noise { work pop 1 push 1 { push(pop() + random()); } } float->float pipeline Main { add Times; add Noise; }`,
    'with dynamic rates': 'float->float filter Main { work pop 1 push * { float x = pop(); push(x * 2 * 3 * 4); } }',
  };
  for (const [what, source] of Object.entries(stays)) {
    it(`${what} stay as they are`, async () => {
      const { graph } = await elaborate(source);
      assert.equal((await collapseLinear(graph)).graph, graph);
    });
  }

  it('stay in feedback loops', async () => {
    const graph = await graphOf(`float->float feedbackloop Main {
      join roundrobin(1, 1);
      body float->float filter { work pop 2 push 2 { push(pop() * 2 * 3 * 4); push(pop() * 2 * 3); } };
      loop Identity<float>;
      split roundrobin(1, 1);
      enqueue 0;
    }`);
    assert.equal((await collapseLinear(graph)).graph, graph);
  });

  it('are the same program for equal graphs, and what is given is checked', async () => {
    const graph = await graphOf(twoFirs);
    assert.equal((await collapseLinear(graph)).graph, (await collapseLinear(graph)).graph);
    await assert.rejects(collapseLinear({} as StreamGraph), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
  });

  it('take the place of most of the equaliser of FMRadio', async () => {
    const { graph, input } = await examplePrograms('fm-radio', 3000);
    const { graph: made, filters } = await collapseLinear(graph);
    assert.deepEqual(filters.map(({ replaces, after }) => [replaces.length, after]), [[63, 127]]);
    const [before, after] = [await run(graph, { input, backend: 'wasm' }), await run(made, { input, backend: 'wasm' })];
    assert.equal(after.output.length, before.output.length);
    const worst = Math.max(...Array.from(before.output, (x, i) => Math.abs(x - after.output[i]!)));
    assert.ok(worst > 0 && worst < 2e-6, `${worst}`);
  });
});

describe('the option algebraic', function () {
  this.timeout(60_000);

  it('gives the same bits on every back end, and says what was replaced', async () => {
    const graph = await graphOf(twoFirs);
    const { graph: made, filters } = await collapseLinear(graph);
    const { output } = await interpret(made, { input: samples });
    for (const backend of ['auto', 'wasm', 'interpret', 'simt', 'cpp'] as const) {
      const found = await run(graph, { backend, input: samples, algebraic: true });
      assert.deepEqual(Array.from(found.output), output, backend);
      assert.deepEqual(found.algebraic, filters);
    }
    const strict = await run(graph, { input: samples });
    assert.equal(strict.algebraic, undefined);
    assert.notDeepEqual(Array.from(strict.output), output);
  });

  it('is taken by sessions and programs on a device', async () => {
    const graph = await graphOf(twoFirs);
    const { graph: made, filters } = await collapseLinear(graph);
    const long = Array.from({ length: 20_000 }, (_, i) => samples[i % 500]!);
    const expected = Array.from((await run(made, { backend: 'wasm', input: long })).output);
    await using session = await open<Float32Array>(graph, { algebraic: true });
    assert.deepEqual(session.algebraic, filters);
    assert.deepEqual([...await session.push(long), ...await session.end()], expected);
    const device = await openDevice({ backend: 'simt' });
    try {
      using program = await compileForDevice(graph, { device, algebraic: true });
      assert.deepEqual(program.algebraic, filters);
      const result = await program.run(long);
      assert.deepEqual(Array.from(result.output), expected);
      assert.deepEqual(result.algebraic, filters);
      assert.ok(result.deviceSeconds !== undefined);
    } finally {
      device.close();
    }
  });

  it('says when there was nothing to replace', async () => {
    const graph = await graphOf('float->float filter Main { work pop 1 push 1 { float x = pop(); push(x * x); } }');
    const { output, algebraic } = await run(graph, { input: [1, 2, 3], algebraic: true });
    assert.deepEqual([Array.from(output), algebraic], [[1, 4, 9], []]);
  });

  it('refuses times by node, and what is no boolean', async () => {
    const graph = await graphOf(twoFirs);
    const refused = (options: object, argument: string): Promise<void> =>
      assert.rejects(run(graph, { input: samples, ...options } as StreamRunOptions), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
    await refused({ algebraic: true, costs: [1, 2] }, 'costs');
    await refused({ algebraic: 1 }, 'algebraic');
    await assert.rejects(open(graph, { algebraic: 'yes' as never }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'algebraic' });
    await assert.rejects(compileForDevice(graph, { algebraic: true, mode: 'gpu', costs: [1, 2] }),
      { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'costs' });
  });

  it('stops with its signal, and at the end of the input like the program as written', async () => {
    const graph = await graphOf(twoFirs);
    const reason = new Error('enough');
    await assert.rejects(run(graph, { input: samples, algebraic: true, signal: AbortSignal.abort(reason) }), reason);
    for (const length of [0, 1, 10, 11, 13]) {
      const [strict, changed] = [false, true].map((algebraic) => run(graph, { input: samples.slice(0, length), algebraic }));
      assert.equal((await changed)?.output.length, (await strict)?.output.length);
    }
  });
});
