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
import { randomFunction } from './random-function.ts';

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

  it('refuse what is outside of the subset, with place and hint', () => {
    const cases: readonly (readonly [text: string, what: RegExp, line?: number, column?: number])[] = [
      ['(x) => { while (x > 1) x = 2; return x; }', /while cannot be compiled/, 1, 10],
      ['(x) => {\n  const y = constructor;\n  return y;\n}', /constructor is not known here/, 2, 13],
      ['(x) => x.constructor', /no such member/], ['(x) => ({ a: x }).b', /has no b/], ['(x) => ({ a: x }).__proto__', /name of a field/],
      ['(x) => ({ get a() { return 1; } })', /a getter/], ['(x) => ({ __proto__: x })', /name of a field/],
      ['(x) => Math.random()', /Math.random cannot be compiled; there are E/], ['(x) => Math["sin"](x)', /Math\[…\]/],
      ['(x) => x & 1', /& cannot be compiled/], ['(x) => x == 1', /write ===/], ['(x) => x + true', /a truth value in place of a number/],
      ['(x) => (x ? 1 : 2)', /in place of a condition/], ['(x) => "a"', /neither a number/], ['(x) => { if (x > 0) return 1; }', /not every way/],
      ['(x) => { let y; return y; }', /without a value/], ['(x) => { x = 1; return x; }', /cannot be assigned here/],
      ['(x) => { for (let i = 0; i < x; ++i) {} return x; }', /without constant bounds/], ['(x) => { for (;;) {} }', /without constant bounds/],
      ['(x) => { for (let i = 0; i < 1; i += 0) {} return x; }', /more than 1000000 trips/],
      ['(x) => { const f = (y) => f(y); return f(x); }', /f is not known|nested more than/],
      ['(x) => { function f(y) { return f(y); } return f(x); }', /nested more than 64/],
      ['(x) => { const a = [1, 2]; return a[x]; }', /depends on data/], ['(x) => { const a = [1, 2]; return a[2]; }', /index 2 of an array of 2/],
      ['async (x) => x', /async/], ['function* (x) { return x; }', /generator/], ['(x = 1) => x', /default/], ['(...x) => x', /rest/],
      ['(x) => x, 1', /not one function/], ['(x) =>', /unexpected token/], ['x: number => x', /./], ['', /./], ['1', /not one function/],
      ['(x) => { let s = 0; const f = () => { s = 1; return 1; }; return s + f(); }', /cannot be assigned here/],
      ['(x) => { const a = [0]; const f = (b) => { b[0] = 1; return 1; }; return a[0] + f(a); }', /cannot be assigned here/],
      ['(x) => { throw x; }', /throw/], ['(x) => { try { return x; } finally {} }', /try/], ['(x) => new Date(x)', /new cannot/], ['(x) => this.a', /this cannot/],
      ['(x) => x?.a', /\?\./], ['(x) => [...x]', /spread/], ['(x) => { var y = 1; return y; }', /var/], ['(x) => eval("1")', /eval is not known/],
      ['(x) => { const r = x > 0 ? [1] : [1, 2]; return r; }', /an array of 2 here/], [`(x) => ${'('.repeat(20_000)}x${')'.repeat(20_000)}`, /nested too deeply|x/],
    ];
    for (const [text, what, line, column] of cases) {
      assert.throws(() => compile(text, 1), (error: unknown) => {
        assert.ok(error instanceof FunctionError, `${text.slice(0, 80)}: ${String(error)}`);
        assert.equal(error.code, 'ERR_WARPLOOM_INVALID_PROGRAM');
        assert.match(error.message, what, text.slice(0, 80));
        assert.ok(error.hint.length > 0 && error.message.includes(error.hint));
        if (line !== undefined) assert.deepEqual([error.line, error.column], [line, column]);
        return true;
      }, text.slice(0, 80));
    }
    for (const given of [Math.sin, ((x: number) => x).bind(null), 7, null, undefined, {}]) {
      assert.throws(() => compile(given as Numbers, 1), (error: unknown) => error instanceof FunctionError);
    }
  });

  it('compute what JavaScript computes: 500 random functions', () => {
    fc.assert(fc.property(fc.infiniteStream(fc.nat(0xffff)), (stream) => {
      const text = randomFunction(() => stream.next().value);
      const given = new Function(`return ${text}`)() as Numbers;
      try {
        agrees(given, [[1, 2], [-0.5, 3], [0, -0], [7, 0.1], [NaN, 1], [-4, Infinity]], text);
      } catch (error) {
        throw new Error(text, { cause: error });
      }
    }), { numRuns: 500 });
  }).timeout(60_000);
});
