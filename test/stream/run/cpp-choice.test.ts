// When `auto` has a program compiled as C++.
import assert from 'node:assert/strict';
import { run } from '../../../lib/stream/index.ts';
import { isForCpp, timesOf } from '../../../lib/stream/run/cpp-choice.ts';
import { findCompiler } from '../../../lib/core/compile/compiler.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';

const light = 'float->float filter Smooth { float y; work pop 1 push 1 { y = 0.9 * y + 0.1 * pop(); push(y); } } float->float pipeline Main { add Smooth; }';
const smooth = light.replace('y = 0.9', 'for (int i = 0; i < 30; i++) y = y * 0.5 + 1 / (y + i); y = 0.9');
const loop = `int->int filter B {
  work pop 2 push 2 { int x = pop(); for (int i = 0; i < 50; i++) x = x * 5 + i; push(x + pop()); push(x); } } int->int feedbackloop L { join roundrobin(1, 1);
  body B; loop Identity<int>; split roundrobin(1, 1); enqueue 1; } int->int pipeline Main { add L; }`;
/** Loops that never turn count as 8 turns each: such a program seems to take long. */
const slow = `int->int filter F { int s; work pop 1 push 1 { int x = pop(); s = s * 3 + x; int i = 0;
  ${'while (i < 0) { i++; '.repeat(9)} i--; ${'}'.repeat(9)}
  push(100 / (s + 7)); } } int->int pipeline Main { add F; }`;

const hasCompiler = (): boolean => {
  try {
    return findCompiler() !== '';
  } catch {
    return false;
  }
};
/** So many items, of which nobody looks at any. */
const items = (length: number): ArrayLike<number> => ({ length });

describe('auto and C++', function () {
  this.timeout(240_000);

  it('are for long runs whose firings follow each other', () => {
    const there = hasCompiler();
    for (const source of [smooth, loop]) {
      const graph = graphOf(source);
      assert.equal(isForCpp(graph, { input: items(1000) }), false);
      assert.equal(isForCpp(graph, { input: items(1e6) }), false, 'less than compiling takes');
      assert.equal(isForCpp(graph, { input: items(1e10) }), there);
      assert.equal(isForCpp(graph, { input: items(1e10), items: 10 }), false);
      assert.equal(isForCpp(graph, { input: items(1e10), iterations: 10 }), false);
      assert.equal(isForCpp(graph, {}), false);
      // In order, threads change nothing.
      assert.ok(timesOf(graph, { input: 1e9 }, 1)!.wasm < 2 * timesOf(graph, { input: 1e9 }, 64)!.wasm);
    }
    assert.equal(isForCpp(graphOf(light), { input: items(1e10) }), false, 'passing items to another process would take longer than is saved');
    assert.equal(isForCpp(program('fm-radio'), { input: items(1e12) }), false, 'what can be cut into pieces is for WebAssembly');
  });

  it('weigh the time that compiling takes by the length of the program', () => {
    const long = graphOf(`int->int filter F(int k) { int s; work pop 1 push 1 { s = s * k + pop(); ${Array.from({ length: 40 }, (_, i) =>
      `s = (s ^ ${i + 2}) * (k + s % ${i + 3});`).join(' ')} push(s); } } int->int pipeline Main { ${Array.from({ length: 30 }, (_, i) => `add F(${i});`).join(' ')} }`);
    const compiling = (graph: ReturnType<typeof graphOf>): number => {
      const { wasm, cpp } = timesOf(graph, { input: 100 }, 1)!;
      return cpp - wasm / 1.5;
    };
    assert.ok(compiling(long) > compiling(graphOf(smooth)) + 1000);
  });

  it('run so, with the same output, faults and limits', async function () {
    if (!hasCompiler()) this.skip();
    const graph = graphOf(slow), input = Int32Array.from({ length: 500 }, (_, i) => (i * i) % 11);
    const [found, expected] = [await run(graph, { input }), await run(graph, { input, backend: 'wasm' })];
    assert.deepEqual([found.backend, found.note], ['cpp', undefined]);
    assert.deepEqual(Array.from(found.output), Array.from(expected.output));
    const faulty = Int32Array.from(input);
    faulty.fill(0).fill(-7, 3, 4);
    const messages = await Promise.all((['auto', 'wasm'] as const).map((backend) =>
      run(graph, { input: faulty, backend }).then(() => assert.fail(), (error: unknown) => (error as Error).message)));
    assert.equal(messages[0], messages[1]);
    await assert.rejects(run(graph, { input, signal: AbortSignal.abort(new Error('enough')) }), /enough/);
    // Where nothing compiles, WebAssembly does.
    const { PATH } = process.env;
    process.env['PATH'] = '';
    try {
      const without = await run(graph, { input });
      assert.equal(without.backend, 'wasm');
      assert.deepEqual(Array.from(without.output), Array.from(expected.output));
    } finally {
      process.env['PATH'] = PATH;
    }
  });
});
