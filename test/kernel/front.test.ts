// Users' functions, compiled: against the functions themselves in JavaScript, in the interpreter and in WebAssembly.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { FunctionError } from '../../lib/core/errors.ts';
import { engine } from '../../lib/core/wasm-engine.ts';
import { FunctionSource, pointFunction } from '../../lib/kernel/front/index.ts';
import { Machine } from '../../lib/kernel/interpret.ts';
import { optimise } from '../../lib/kernel/passes/index.ts';
import { printers } from '../../lib/kernel/print/index.ts';
import { verify } from '../../lib/kernel/verify.ts';
import type { Program } from '../../lib/kernel/ir.ts';

type Numbers = (...values: number[]) => unknown;

/** The numbers in a result, in order. */
function numbersIn(value: unknown): number[] {
  if (Array.isArray(value)) return value.flatMap(numbersIn);
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(numbersIn);
  return [Number(value)];
}

function compile(given: Numbers | string, count: number, precision: 'f32' | 'f64' = 'f64'): Program {
  const { f } = pointFunction('f', new FunctionSource('f', given), { precision, count });
  const program: Program = { buffers: [], imports: [], functions: [f] };
  verify(program);
  return program;
}

/** Compares the compiled forms with what JavaScript gives. */
function agrees(given: Numbers, samples: readonly (readonly number[])[], text: Numbers | string = given): void {
  const program = compile(text, samples[0]!.length);
  const better = optimise(program);
  verify(better);
  const { exports } = new engine.Instance(new engine.Module(printers.wasm(better) as Uint8Array<ArrayBuffer>),
    { host: { memory: new engine.Memory({ initial: 1, maximum: 1 }), own: 0, mod: (a: number, b: number) => a % b, trap: () => assert.fail() } });
  for (const sample of samples) {
    const expected = numbersIn(given(...sample));
    assert.deepEqual(new Machine(program).call('f', sample), expected, `${sample.join()}`);
    const made = (exports['f'] as unknown as Numbers)(...sample);
    assert.deepEqual(numbersIn(made), expected, `wasm ${sample.join()}`);
  }
}

const values = [0, -0, 1, -1, 0.5, -0.5, 2.5, -2.5, 3, 1e-300, 7.25, -1e9, 0.49999999999999994, Infinity, -Infinity, NaN];
const singles = values.map((x) => [x]);
const pairs = values.flatMap((x) => values.map((y) => [x, y]));

describe('users\' functions', () => {
  it('compute what JavaScript computes: arithmetic, conditions, Math', () => {
    agrees((x, y) => x! * 2 + y! / 3 - -x! % 2.5, pairs);
    agrees((x, y) => (x! > y! ? x! : y! <= 1 && !(x! === 2) ? -y! : 0.1), pairs);
    agrees((x) => [Math.round(x!), Math.trunc(x!), Math.sign(x!), Math.fround(x!), Math.floor(x!), Math.ceil(x!), Math.abs(x!)], singles);
    agrees((x, y) => [Math.min(x!, y!, 1), Math.max(x!, y!), Math.max(), Math.sqrt(x!), x! ** 2, x! ** 1, Math.PI, Number.EPSILON], pairs);
  });

  it('compute what JavaScript computes: variables, loops, arrays, objects, functions', () => {
    agrees((x, y) => {
      let sum = 0;
      const weights = [1, -2, 1];
      for (let i = 0; i < weights.length; ++i) sum += weights[i]! * (x! + i);
      for (const w of weights) { if (w < 0) continue; sum -= w * y!; }
      return { sum, first: weights[0] };
    }, pairs);
    agrees((x, y) => {
      if (x! < 0) return [x!, 1];
      for (let k = 0; k < 10; k += 2) {
        if (k > y!) break;
        if (k + x! > 5) return [k, y!];
      }
      const { a, b: [c] } = { a: x! + 1, b: [y!, 2] };
      return [a, c!];
    }, pairs);
    agrees((x, y) => {
      const square = (t: number): number => t * t;
      function pick(a: number, b: number): number { if (a > b) { return a - b; } return square(b); }
      const a = [x!, y!, 0];
      a[2] = pick(a[0]!, a[1]!);
      a[0] = a[0]! + a[2]!;
      let s = 0;
      for (let i = 2; i >= 0; i--) s = s / 2 + a[i]!;
      return x! === 3 ? pick(s, square(y!)) : s;
    }, pairs);
    agrees((x) => {
      let s = x!;
      for (let i = 0; i < 5000; i += 5) { if (s > 100) break; if (i % 10 === 5) continue; s = s * 0.5 + i; }
      return s;
    }, singles);
  });
});

void fc; void FunctionError;
