// Random expressions: folded, elaborated and interpreted as in plain JavaScript.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { graphOf } from '../support.ts';

/** An expression as StreamIt text, and what it is of x and y. */
interface Made {
  readonly text: string;
  readonly of: (x: number, y: number) => number;
}

const binary = (text: string, a: Made, b: Made, of: (p: number, q: number) => number): Made => ({
  text: `(${a.text} ${text} ${b.text})`, of: (x, y) => of(a.of(x, y), b.of(x, y)),
});
const choice = (test: (p: number, q: number) => boolean, text: string) => ([a, b, c, d]: Made[]): Made => ({
  text: `(${a!.text} ${text} ${b!.text} ? ${c!.text} : ${d!.text})`, of: (x, y) => (test(a!.of(x, y), b!.of(x, y)) ? c!.of(x, y) : d!.of(x, y)),
});

const ints = fc.letrec<{ e: Made }>((tie) => {
  const two = fc.tuple(tie('e'), tie('e'));
  const four = fc.tuple(tie('e'), tie('e'), tie('e'), tie('e'));
  return {
    e: fc.oneof({ maxDepth: 5 },
      fc.constantFrom<Made>({ text: 'x', of: (x) => x }, { text: 'y', of: (_, y) => y }, { text: 'K', of: () => 12345 }),
      fc.integer({ min: 0, max: 2147483647 }).map((n): Made => ({ text: String(n), of: () => n })),
      two.map(([a, b]) => binary('+', a, b, (p, q) => (p + q) | 0)), two.map(([a, b]) => binary('-', a, b, (p, q) => (p - q) | 0)),
      two.map(([a, b]) => binary('*', a, b, Math.imul)), two.map(([a, b]) => binary('<<', a, b, (p, q) => p << q)),
      two.map(([a, b]) => binary('>>', a, b, (p, q) => p >> q)), two.map(([a, b]) => binary('&', a, b, (p, q) => p & q)),
      two.map(([a, b]) => binary('|', a, b, (p, q) => p | q)), two.map(([a, b]) => binary('^', a, b, (p, q) => p ^ q)),
      two.map(([a, b]) => binary('/', a, { text: `(${b.text} | 1)`, of: (x, y) => b.of(x, y) | 1 }, (p, q) => (p / q) | 0)),
      two.map(([a, b]) => binary('%', a, { text: `(${b.text} | 1)`, of: (x, y) => b.of(x, y) | 1 }, (p, q) => (p % q) | 0)),
      tie('e').map((a): Made => ({ text: `(~${a.text})`, of: (x, y) => ~a.of(x, y) })),
      tie('e').map((a): Made => ({ text: `(-${a.text})`, of: (x, y) => -a.of(x, y) | 0 })),
      four.map(choice((p, q) => p < q, '<')), four.map(choice((p, q) => p === q, '=='))),
  };
}).e;

const f = Math.fround;
const floats = fc.letrec<{ e: Made }>((tie) => {
  const two = fc.tuple(tie('e'), tie('e'));
  const four = fc.tuple(tie('e'), tie('e'), tie('e'), tie('e'));
  return {
    e: fc.oneof({ maxDepth: 5 },
      fc.constantFrom<Made>({ text: 'x', of: (x) => x }, { text: 'y', of: (_, y) => y }, { text: 'K', of: () => f(0.7) }),
      fc.float({ min: 0, max: 1000, noNaN: true }).map((n): Made => ({ text: n.toFixed(6), of: () => f(Number(n.toFixed(6))) })),
      fc.integer({ min: 0, max: 100 }).map((n): Made => ({ text: `(${n} + x)`, of: (x) => f(n + x) })),
      two.map(([a, b]) => binary('+', a, b, (p, q) => f(p + q))), two.map(([a, b]) => binary('-', a, b, (p, q) => f(p - q))),
      two.map(([a, b]) => binary('*', a, b, (p, q) => f(p * q))), two.map(([a, b]) => binary('/', a, b, (p, q) => f(p / q))),
      tie('e').map((a): Made => ({ text: `sqrt(abs(${a.text}))`, of: (x, y) => f(Math.sqrt(Math.abs(a.of(x, y)))) })),
      tie('e').map((a): Made => ({ text: `sin(${a.text})`, of: (x, y) => f(Math.sin(a.of(x, y))) })),
      four.map(choice((p, q) => p >= q, '>='))),
  };
}).e;

describe('random expressions', () => {
  it('of ints', () => {
    fc.assert(fc.property(ints, fc.array(fc.integer(), { minLength: 4, maxLength: 8 }), (made, input) => {
      const source = `int->int filter F(int K) { work pop 2 push 1 { int x = pop(); int y = pop(); push(${made.text}); } } int->int pipeline P { add F(12345); }`;
      const { output } = interpretSync(graphOf(source), { input });
      assert.deepEqual(output, output.map((_, i) => made.of(input[2 * i]!, input[2 * i + 1]!) | 0));
    }), { numRuns: 150 });
  });

  it('of floats', () => {
    fc.assert(fc.property(floats, fc.array(fc.float({ noNaN: true, min: -1000, max: 1000 }), { minLength: 4, maxLength: 8 }), (made, input) => {
      const source = `float->float filter F(float K) { work pop 2 push 1 { float x = pop(); float y = pop(); push(${made.text}); } }` +
        ' float->float pipeline P { add F(0.7); }';
      const { output } = interpretSync(graphOf(source), { input });
      assert.deepEqual(output, output.map((_, i) => made.of(input[2 * i]!, input[2 * i + 1]!)));
    }), { numRuns: 150 });
  });
});
