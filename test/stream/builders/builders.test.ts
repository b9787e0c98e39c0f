// Graphs made in TypeScript, run by the interpreter.
import assert from 'node:assert/strict';
import { duplicate, feedbackLoop, filter, fromSource, pipeline, roundRobin, splitJoin, type AnyStream } from '../../../lib/stream/builders/index.ts';
import { toProgram } from '../../../lib/stream/builders/program.ts';
import { formatDiagnostic } from '../../../lib/stream/diagnostics.ts';
import { elaborate } from '../../../lib/stream/elaborate/index.ts';
import { check } from '../../../lib/stream/front/check.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';

function outputOf(stream: AnyStream, input: readonly number[]): readonly number[] {
  const { program, diagnostics } = toProgram(stream);
  const checked = check(program);
  const { graph, diagnostics: more } = elaborate(checked.checked);
  const errors = [...diagnostics, ...checked.diagnostics, ...more].filter(({ severity }) => severity === 'error');
  assert.deepEqual(errors.map((each) => formatDiagnostic(each, program)), []);
  return interpretSync(graph!, { input }).output;
}

const scale = (k: number) => filter({ name: 'Scale', input: 'int', output: 'int', constants: { k }, code: 'work pop 1 push 1 { push(pop() * k); }' });
const numbers = Array.from({ length: 12 }, (_, i) => i - 3);

describe('builders', () => {
  it('a filter alone', () => {
    assert.deepEqual(outputOf(scale(-3), numbers), numbers.map((x) => (x === 0 ? 0 : -3 * x)));
  });

  it('pipelines with arrays as constants', () => {
    const taps = Float32Array.of(0.5, 0.25, 0.125);
    const fir = filter({
      name: 'Fir', input: 'float', output: 'float', constants: { taps },
      code: 'work pop 1 push 1 peek 3 { float s = 0; for (int i = 0; i < 3; i++) s += taps[i] * peek(i); push(s); pop(); }',
    });
    const toFloat = filter({ name: 'ToFloat', input: 'int', output: 'float', code: 'work pop 1 push 1 { push(pop()); }' });
    const expected = numbers.slice(0, -2).map((_, i) => numbers[i]! * 0.5 + numbers[i + 1]! * 0.25 + numbers[i + 2]! * 0.125);
    assert.deepEqual(outputOf(pipeline(toFloat, fir), numbers), expected);
  });

  it('split-joins and the same stream in several places', () => {
    const twice = scale(2);
    const both = splitJoin({ split: duplicate, branches: [twice, pipeline(twice, twice)], join: roundRobin() });
    assert.deepEqual(outputOf(both, [1, 2, 3]), [2, 4, 4, 8, 6, 12]);
    const dealt = splitJoin({ split: roundRobin(1, 2), branches: [twice, scale(10)], join: roundRobin(1, 2) });
    assert.deepEqual(outputOf(dealt, [1, 2, 3, 4, 5, 6]), [2, 20, 30, 8, 50, 60]);
  });

  it('feedback loops', () => {
    const add = filter({ name: 'Add', input: 'int', output: 'int', code: 'work pop 2 push 1 { push(pop() + pop()); }' });
    assert.deepEqual(outputOf(feedbackLoop({ join: roundRobin(1, 1), body: add, split: duplicate, enqueue: [7] }), [1, 2, 3]), [8, 10, 13]);
  });

  it('streams from StreamIt text', () => {
    const source = 'int->int pipeline Add(int n, int[2] t) { for (int i = 0; i < n; i++) add int->int filter { work pop 1 push 1 { push(pop() + t[i]); } }; }';
    const add = fromSource({ source, stream: 'Add', input: 'int', output: 'int', args: [2, [10, 200]] });
    assert.deepEqual(outputOf(pipeline(scale(2), add), [1, 2]), [212, 214]);
  });

  it('refuses what does not fit', () => {
    const toFloat = filter({ input: 'int', output: 'float', code: 'work pop 1 push 1 { push(pop()); }' });
    // @ts-expect-error the types of the ends differ
    assert.throws(() => pipeline(toFloat, scale(2)), /expected a stream that takes float/);
    assert.throws(() => toProgram(filter({ input: 'int', output: 'int', code: 'work pop 1 push 1 { push(pop()); } } int->int filter X { work pop 1 push 1 { push(pop()); }' })),
      /the inside of the filter/);
    assert.throws(() => filter({ input: 'int', output: 'int', code: '', name: 'a b' }), /letters/);
    assert.throws(() => roundRobin(-1), /weights\[0\]/);
    assert.throws(() => filter({ input: 'int', output: 'int', code: '', constants: { k: [[1, 2], [3]] } }), /equal rows/);
  });

  it('points into the text of a filter', () => {
    const wrong = filter({ name: 'Wrong', input: 'int', output: 'int', code: 'work pop 1 push 1 {\n  push(pop() + y);\n}' });
    const { program } = toProgram(wrong);
    const [error] = check(program).diagnostics.filter(({ severity }) => severity === 'error');
    assert.deepEqual([error!.file, error!.line, error!.column], ['Wrong', 3, 16]);
  });
});
