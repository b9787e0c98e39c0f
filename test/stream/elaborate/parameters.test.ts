// Values from outside for the parameters of the stream that a program begins with.
import assert from 'node:assert/strict';
import { elaborate, interpret, type ParameterValues, type ProgramError } from '../../../lib/stream/index.ts';

const source = `int->float pipeline Main(int n, float gain, boolean negate, float[n] table, string label) {
    for (int i = 0; i < n; i++) add Step(i, n, table); add Last(gain, negate); }
  int->int filter Step(int i, int n, float[n] table) { work pop 1 push 1 { push(pop() + (int) table[i]); } }
  int->float filter Last(float g, boolean not) { work pop 1 push 1 { push(not ? -g * pop() : g * pop()); } }`;
const values = { n: 2, gain: 1.5, negate: true, table: [10, 100], label: 'x' };

async function outputOf(parameters: ParameterValues, text = source): Promise<readonly number[]> {
  const { graph } = await elaborate(text, { parameters });
  return [...(await interpret(graph, { input: [1, 2] })).output];
}

describe('parameters of a program', () => {
  it('take numbers, truth values, texts and arrays', async () => {
    assert.deepEqual(await outputOf(values), [-166.5, -168]);
    assert.deepEqual(await outputOf({ ...values, negate: false, table: Float32Array.of(1, 2) }), [6, 7.5]);
    assert.deepEqual(await outputOf({ n: 0, gain: 2, negate: false, table: [], label: '' }), [2, 4]);
  });

  it('give arrays of arrays, complex numbers and open lengths', async () => {
    const text = `float->float filter Main(int[2][2] m, complex c, int[] w) { work pop 1 push 1 { push(pop() * m[1][0] + c.imag + w[2]); } }`;
    assert.deepEqual(await outputOf({ m: [[1, 2], [3, 4]], c: [5, 6], w: [7, 8, 9] }, text), [18, 21]);
  });

  it('choose among programs those whose parameters all have values', async () => {
    const two = `void->void pipeline A(int n) { add S(n); add K; } void->void pipeline B(int k, int n) { add S(n + k); add K; }
      void->int filter S(int n) { work push 1 { push(n); } } int->void filter K { work pop 1 { println(pop()); } }`;
    const printed = async (parameters: ParameterValues) => (await interpret((await elaborate(two, { parameters })).graph, { items: 1 })).printed;
    assert.equal(await printed({ n: 5 }), '5\n');
    assert.equal(await printed({ n: 5, k: 1 }), '6\n');
  });

  it('say by name what is missing or does not fit', async () => {
    await assert.rejects(elaborate('void->void pipeline Main(int n) { add void->void filter { work { println(n); } }; }'),
      (error) => (error as ProgramError).diagnostics[0]!.code === 'S0516' && /--param n=/.test((error as Error).message));
    await assert.rejects(elaborate(source, { parameters: { n: 2 } }), (error) => (error as ProgramError).diagnostics[0]!.code === 'S4053'
      && /parameters: \{ gain: … \}/.test((error as Error).message));
    const wrong: readonly [object, string][] = [
      [{ n: 1.5 }, 'n'], [{ n: '2' }, 'n'], [{ n: 2 ** 31 }, 'n'], [{ n: null }, 'n'], [{ gain: NaN }, 'gain'], [{ negate: 1 }, 'negate'], [{ table: [1] }, 'table'],
      [{ table: 3 }, 'table'], [{ table: [1, 'a'] }, 'table[1]'], [{ label: 3 }, 'label'], [{ other: 1 }, 'other'],
    ];
    for (const [one, name] of wrong) {
      await assert.rejects(elaborate(source, { parameters: { ...values, ...one } }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: `parameters.${name}` }, name);
    }
    await assert.rejects(elaborate('int->int filter F(int[] w) { work pop 1 push 1 { push(pop() + w[0]); } }', { parameters: { w: null as never } }),
      { argument: 'parameters.w' });
  });
});
