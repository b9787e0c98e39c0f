// Runs: errors with their places, files, printing, limits, determinism.
import assert from 'node:assert/strict';
import { encodeFile, interpretSync, StreamRunError, type InterpretOptions } from '../../../lib/stream/interpret/index.ts';
import { interpret } from '../../../lib/stream/interpret/interpret.ts';
import { run } from '../../../lib/stream/run/index.ts';
import { build, graphOf, hasCompiler } from '../support.ts';

function failure(source: string, options: InterpretOptions = {}): StreamRunError {
  try {
    interpretSync(graphOf(source), { input: [1, 2, 3, 4], ...options });
  } catch (error) {
    assert.ok(error instanceof StreamRunError, String(error));
    return error;
  }
  throw new Error('nothing was thrown');
}

const bytesOf = (array: Float32Array | Int32Array): Uint8Array => new Uint8Array(array.buffer);

describe('errors at run time', () => {
  const cases: readonly [name: string, body: string, code: string, line: number, column: number][] = [
    ['division by zero', 'int x = pop();\npush(5 / (x - 3));', 'S5002', 2, 6],
    ['remainder by zero', 'int x = pop();\npush(5 % (x - 3));', 'S5002', 2, 6],
    ['an index beyond an array', 'int x = pop(); int[3] a;\npush(a[x]);', 'S5001', 2, 6],
    ['a negative index', 'int x = pop(); int[3] a;\na[1 - x] = 1; push(a[0]);', 'S5001', 2, 1],
    ['too many pushes', 'int x = pop(); push(1);\nif (x == 3) push(2);', 'S5004', 2, 13],
    ['too many pops', 'int x = pop(); push(1);\nif (x == 2) pop();', 'S5004', 2, 13],
    ['a peek beyond the declared rate', 'int x = peek(0);\npush(peek(x - 1)); pop();', 'S5005', 2, 6],
    ['a loop that does not end', 'int x = pop(); push(1);\nwhile (x > 0) x = 1;', 'S4101', 2, 1],
  ];
  for (const [name, body, code, line, column] of cases) {
    it(name, () => {
      const error = failure(`int->int filter F { work pop 1 push 1 {\n${body} } }`, { limits: { steps: 1e6 } });
      assert.deepEqual([error.diagnostic.code, error.diagnostic.line, error.diagnostic.column], [code, line + 1, column]);
      assert.equal(error.node, 'F');
      assert.match(error.message, /test\.str:\d+:\d+: error S\d+/);
    });
  }

  it('too few pushes', () => {
    const error = failure('int->int filter F { work pop 1 push 1 { int x = pop(); if (x != 2) push(x); } }');
    assert.equal(error.diagnostic.code, 'S5004');
    assert.equal(error.firing, 2);
  });

  it('limits of firings and memory', () => {
    const source = 'int->int filter F { work pop 1 push 1 { push(pop()); } }';
    assert.equal(failure(source, { limits: { firings: 3 } }).diagnostic.code, 'S5007');
    const growing = 'int->int splitjoin P { split roundrobin(1, 1); add Identity<int>; add int->int filter { work pop 1 push 2 {' +
      ' push(0); push(pop()); } }; join roundrobin(1, 1); }';
    assert.equal(failure(growing, { input: Array.from({ length: 2000 }, (_, i) => i), limits: { bytes: 5000 } }).diagnostic.code, 'S5006');
  });

  it('arguments', () => {
    const closed = graphOf('void->int filter F { work push 1 { push(1); } }');
    assert.throws(() => interpretSync(closed), /say when to stop/);
    assert.throws(() => interpretSync(closed, { items: -1 }), /^ArgumentError: items: /);
    assert.throws(() => interpretSync(closed, { items: 1, iterations: 1 }), /received both/);
    assert.throws(() => interpretSync(graphOf('int->int filter F { work pop 1 push 1 { push(pop()); } }')), /^ArgumentError: input: /);
  });
});

describe('files and printing', () => {
  it('reads floats over and over and writes them', () => {
    const graph = graphOf('void->void pipeline P { add FileReader<float>("in.bin"); add float->float filter { work pop 2 push 1 { push(pop() + pop()); } };' +
      ' add FileWriter<float>("out.bin"); }');
    const { files } = interpretSync(graph, { items: 4, files: { 'in.bin': bytesOf(Float32Array.of(1, 2.5, 4)) } });
    assert.deepEqual(new Float32Array(files['out.bin']!.buffer), Float32Array.of(3.5, 5, 6.5, 3.5));
  });

  it('packs bits, lowest first', () => {
    const graph = graphOf('void->void pipeline P { add FileReader<bit>("in"); add FileWriter<bit>("out"); }');
    const words = Int32Array.of(0x12345678, -1);
    const { files } = interpretSync(graph, { items: 64 + 5, files: { in: bytesOf(words) } });
    assert.deepEqual([...new Int32Array(files['out']!.buffer)], [0x12345678, -1, 0x12345678 & 31]);
    assert.deepEqual(encodeFile([1, 0, 1], { kind: 'scalar', name: 'bit' }), Uint8Array.of(5, 0, 0, 0));
  });

  it('misses files by name', () => {
    const graph = graphOf('void->void pipeline P { add FileReader<int>("in"); add FileWriter<int>("out"); }');
    assert.throws(() => interpretSync(graph, { items: 1 }), (error: StreamRunError) => error.diagnostic.code === 'S5011');
    assert.throws(() => interpretSync(graph, { items: 1, files: { in: new Uint8Array(3) } }), (error: StreamRunError) => error.diagnostic.code === 'S5010');
  });

  it('prints', () => {
    const graph = graphOf('void->void pipeline P { add void->int filter { int n; work push 1 { push(n++); } };' +
      ' add int->void filter { work pop 1 { int x = pop(); print("x = " + x); print(\' \'); print(x * 0.1); println(x > 0); } }; }');
    assert.equal(interpretSync(graph, { items: 3 }).printed, 'x = 0 0false\nx = 1 0.1true\nx = 2 0.2true\n');
  });

  it('reads arrays during elaboration', () => {
    const source = 'float->float pipeline P { float[3] w = init_array_1D_float("taps", 3); add float->float filter { work pop 1 push 1 { push(pop() * w[0] + w[2]); } }; }';
    for (const taps of [bytesOf(Float32Array.of(2, 0, 0.5)), new TextEncoder().encode('2 0\n0.5')]) {
      assert.deepEqual(interpretSync(graphOf(source, { files: { taps } }), { input: [1, 2] }).output, [2.5, 4.5]);
    }
  });
});

describe('runs', () => {
  const radio = 'float->float splitjoin P { split duplicate; for (int i = 0; i < 5; i++) add float->float filter { work pop 1 push 1 peek 3 {' +
    ' push(peek(0) - peek(2) * i); pop(); } }; join roundrobin; }';

  it('count iterations in steady states', () => {
    const dealt = 'int->int splitjoin P { split roundrobin(2, 1); add Identity<int>; add Identity<int>; join roundrobin(2, 1); }';
    const found = interpretSync(graphOf(dealt), { input: Array.from({ length: 20 }, (_, i) => i), iterations: 4 });
    assert.equal(found.output.length, 12);
    assert.equal(found.exhausted, false);
  });

  it('give the same with interpret and interpretSync, and again', async () => {
    const input = Array.from({ length: 200 }, (_, i) => Math.fround(Math.sin(i)));
    const graph = graphOf(radio);
    const first = interpretSync(graph, { input });
    assert.deepEqual(await interpret(graph, { input }), first);
    assert.equal(first.output.length, 5 * 198);
  });

  it('stop by a signal', async () => {
    const graph = graphOf('void->void pipeline P { add void->int filter { int n; work push 1 { push(n++); } }; add int->void filter { work pop 1 { pop(); } }; }');
    await assert.rejects(interpret(graph, { iterations: 1e9, signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' });
  });

  it('draw random numbers by seed, one sequence for each filter', () => {
    const graph = graphOf('void->float splitjoin P { split roundrobin(0); add void->float filter { work push 1 { push(random()); } };' +
      ' add void->float filter { work push 1 { push(random()); } }; join roundrobin; }');
    const { output } = interpretSync(graph, { items: 200, seed: 7 });
    assert.deepEqual(interpretSync(graph, { items: 200, seed: 7 }).output, output);
    assert.notDeepEqual(interpretSync(graph, { items: 200, seed: 8 }).output, output);
    assert.equal(new Set(output).size, 200);
    assert.ok(output.every((x) => x >= 0 && x < 1));
  });

  it('name the cycle where nodes wait for each other', async () => {
    const loop = (work: string) => `int->int feedbackloop P { join roundrobin(1, 1); body int->int filter Sum { work ${work} push 1 { push(pop() + pop()); } };
      loop Identity<int>; split duplicate; }`.replace('filter Sum', 'filter');
    const waits = /deadlock: (?=.*_filter waits for 2 items of P_join and has 0)(?=.*P_join waits for 1 item of Identity and has 0)(?=.*Identity waits for 1 item of P_split)/;
    const { graph, diagnostics } = build(loop('pop 2'));
    assert.equal(graph, undefined);
    const [error] = diagnostics.filter(({ severity }) => severity === 'error');
    assert.equal(error!.code, 'S4056');
    assert.match(error!.message, waits);
    // Known only when it fires; and graphs that no elaboration has seen.
    const dynamic = graphOf(loop('pop [2, 3]'));
    await assert.rejects(run(dynamic, { input: [1, 2, 3] }), (e) => e instanceof StreamRunError && e.diagnostic.code === 'S5015' && waits.test(e.message));
    const alive = graphOf(loop('pop 2').replace('split duplicate;', 'split duplicate; enqueue 1;'));
    const dead = { ...alive, channels: alive.channels.map((channel) => ({ ...channel, initial: [] })) };
    assert.throws(() => interpretSync(dead, { input: [1, 2, 3] }), (e) => e instanceof StreamRunError && waits.test(e.message));
    for (const backend of ['wasm', 'auto', 'interpret', ...(hasCompiler() ? ['cpp' as const] : [])] as const) {
      await assert.rejects(run(dead, { input: [1, 2, 3], backend }), /deadlock: .*P_split waits for 1 item of/);
    }
  });

  it('count steady states alike where no node is a sink', async () => {
    const source = `int->int filter D { work pop 1 push 1 { int x = pop(); println("D" + x); push(x + 1); } }
      int->int filter E { work pop 1 push 1 { int x = pop(); println("E" + x); push(x * 2); } }
      void->void pipeline M { add void->void feedbackloop { join roundrobin(0, 1); body D; loop E; split roundrobin(0, 1); enqueue 1; }; }`;
    for (const backend of ['interpret', 'wasm', ...(hasCompiler() ? ['cpp' as const] : [])] as const) {
      assert.equal((await run(graphOf(source), { iterations: 3, backend })).printed, 'D1\nE2\nD4\nE5\nD10\nE11\n', backend);
    }
  });

  it('take iterations with dynamic rates: firings of each sink', async () => {
    const graph = graphOf(`void->int filter S { int k; work push [0, 2] { if (k % 2 == 0) push(k); k++; } }
      int->void filter P { work pop 1 { println(pop()); } } void->void pipeline M { add S; add P; }`);
    assert.equal((await run(graph, { iterations: 3 })).printed, '0\n2\n4\n');
  });
});
