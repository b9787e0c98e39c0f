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

  it('agree with JavaScript in the styles of other people and of minifiers', () => {
    const pairs: [number, number][] = [[-4.25, 0.5], [-1, 1], [-0.25, 3.5], [0.75, 4], [0, 0], [3, 7.25], [NaN, 2], [Infinity, 1], [1, -0]];
    const texts = [
      '(x, y) => { let k = 0; while (k < 4) { x += k; k++; } return x + k * y; }', '(x, y) => { let s = x, k = 10; while (k > 0) { s += k * y; k -= 3; } return s + k; }',
      '(x, y) => { let s = x, k = 0; do { s += y; k += 1; } while (k < 3); return s; }', '(x, y) => { let s = x, k = 7; do { s += y; k += 1; } while (k < 3); return s + k; }',
      '(x, y) => { let s = x, k = 0; while (k < 9) { if (s > 20) break; s += y; ++k; } return s * 100 + k; }',
      '(x, y) => { let i = 2; for (; i < 6; i += 2) { if (y > 3) continue; x += i; } return x * i; }', '(x, y) => { let i; for (i = 0; i < 4; i++) x += y; return x + i; }',
      '(x, y) => { let s = 0, i = 0; while (i < 3) { let j = 0; while (j < 2) { s += x * i + j; j++; } i++; } return s + y; }',
      '(x, y) => { let s = x; for (let i = 0; i < 3; i++) { let k = 1; while (k < 20) { s = s / 2 + y; k *= 3; } s -= k; } return s; }',
      '(x, y) => { var s = 0; for (var i = 0; i < 4; i++) s += x * i; return s + y; }', '(x, y) => { let r; if (x < 0) { r = y; } else { r = x; } return r; }',
      '(x, y) => { let a, b; a = b = x; b += 1; return a + b * y; }', '(t,n)=>{let e=t;return e+=n,e*=2,e}', '(t,n)=>(t*=2,n+=1,t*n)', '(t,n)=>{let e=t;return n>3&&(e=n),e}',
      '(x, y) => { let a = 0; x > 0 ? (a = 1, y = 3) : (a = -x); y > 2 || (a = 7); return a * y; }', '(t,n)=>{let e=!0,r=!1;return e?r?1:t:n}',
      '(x, y) => { const g = (a, b = 2 * a, c = b) => a * b + c; return g(x) + g(y, 3) + g(x, y, 1); }', '(x, y = 2) => x * y',
      '(x, y) => { const { a = 3, b, c: [d = x, e = 9] } = { b: y, c: [5] }; return a * b + d * e; }', '(x, y) => { x = Math.abs(x); y += x; return y; }',
      '(x, y) => { const { abs, max, PI } = Math; return max(abs(x), y) * PI; }', '(x, y) => { const M = Math; return M.abs(x) + y; }', '(x, y) => (0, Math.abs)(x) + y',
      '(x, y) => { switch (y - 0.5) { case 0: case 1: return x; case 3: { x = 9; break; } default: x = 2; } return x; }',
      '(x, y) => { switch (x) { case 3: return [1, y][0]; case 1: y = 5; } return y; }', '(x, y) => x == y ? 1 : x != 0 ? 2 : 3',
      '(x, y) => Number.isNaN(x) ? y : isNaN(y) ? 0 : isFinite(x / y) ? x / y : Number.isInteger(x) ? 4 : 5',
      '(x, y) => { const v = { a: x, b: 1 }, w = { ...v, b: y }; return w.a * w["b"] + v.b; }', '(x, y) => { const v = [x, y], w = [...v, 3]; return Math.max(...w) + w.length; }',
      '(x, y) => { var a = 1; if (x > 0) { var a = y; } return a; }', '(x, y) => { if (x > 0) { var a = x; } else { a = y; } var a; return a; }',
      '(x, y) => { for (var i = 0, s = 0; i < 3; i++) { var t = x * i; s += t; } return s + i + t * y; }', 'function (x, y) { var x = x + y, y = 2; return x * y; }',
      '(x, y) => { for (let i = 0, n = 2, s = x; i < n; i++) { s += y; if (s > 3) return s; } return y; }',
      '(x, y) => { let n = 3; for (let i = 0; i < n; i++) x += y; return x; }',
      '(x, y) => { let a = x; const b = (a += y) * 2 - a++; return a * b; }', '(x, y) => { let a = y; return a > 0 && (a = x) < 2 ? a : a * 3 + (a = 1) * a; }',
      '(x, y) => { let v = { a: x, b: [y, 1] }; const w = v; for (let i = 0; i < 3; i++) v = { a: v.b[0], b: [v.a + v.b[1], i] }; return [v, w]; }',
      '(x, y) => { const v = { a: x, b: [y, 1] }; const w = v; v.a += v.b[0]; v.b[1] *= v.a; [v.a, v.b[0]] = [v.b[0], v.a]; return w; }',
      '(x, y) => { let a = x, b = y; [a, b] = [b, a - b]; ({ a, q: b = a } = { a: b }); return [a, b]; }', '(x, y) => { const m = [[x, 1], [2, y]]; m[0][1] = m[1][1]; return m; }',
      '(x, y) => { let ok; if (x > 1) ok = y > 0; return ok === (x > y) ? 1 : +!ok; }', '(x, y) => { let v; if (x > 1) v = [x, y]; else v = [y, 1]; return v; }',
      '(x, y) => { let ok = x > 0; ok &&= y > 0; ok ||= y > 3; return Number(ok); }',
      '(x, y) => { switch (true) { case x > 1: return 1; case y > 1: return x; default: return 3; } }',
      '(h,i)=>{let l=void 0,e=0;for(l=0;l<5;)e+=h,l++;return e+i}', '(a,r)=>{let l=0,t=0;for(let e=0;e<500&&!(l>1e3);e++)l+=Math.abs(a)+e,t=e;return[l,t]}',
      '(h,n)=>{const c=o(s=>s*s,"sq");function t(u){return u*2}return o(t,"t"),c(h)+t(n)}',
      '(x, y) => { const v = Object.assign(Object.assign({}, { a: x }), { b: y }); return v.a - v.b; }',
      '(x, y = 2, [a, b] = [y, 1]) => { y += a; a *= b; b++; return [x, y, a, b]; }',
      '(x, y) => { let s = 0; for (let v of [x, y]) { v *= 2; s += v; } return s; }',
      '(x, y) => Math.hypot() + Math.hypot(-x) + Math.pow(x, 2) + Math.pow(y, -1) + (Number.isSafeInteger(x) ? 1 : 0)',
    ];
    for (const text of texts) agrees((0, eval)(`const o = (f) => f; (${text})`) as Numbers, pairs, text);
  });

  it('refuse what is outside of the subset, with place and hint', () => {
    const cases: readonly (readonly [text: string, what: RegExp, line?: number, column?: number])[] = [
      ['(x) => { while (x > 1) x = 2; return x; }', /without constant bounds/, 1, 10],
      ['(x) => { let k = 0; while (k < 3) { if (x > k) k = 2; k++; } return x; }', /without constant bounds/],
      ['(x) => { let k = 0; while (k < 3) { if (x > k) continue; k++; } return x; }', /continue in a loop/],
      ['(x) => { let s = 0, k = 0; for (let i = 0; i < 5000; i++) { while (k < 3) { s += x; k++; } } return s; }', /without constant bounds/],
      ['(x) => { let k = 1; if (x > 0) k = 2; while (k < 3) k++; return k; }', /without constant bounds/],
      ['(x) => { let k = 0; while (true) { if (x > k) break; k++; } return k; }', /more than 1000000 trips/],
      ['(x) => { const a = [x, 1], b = x > 0 ? a : [2, 3]; a[0] = 7; return b[0]; }', /was chosen by a condition before/, 1, 52],
      ['(x) => { const a = [x], f = () => { if (x > 1) return a; return [2]; }, b = f(); a[0] = 7; return b[0]; }', /was chosen by a condition/],
      ['(x) => { let k = 0; for (let i = 0; i < (k = 2); i++) x += k; return x; }', /without constant bounds/],
      ['(x) => { const g = () => x; return 2 * g; }', /the function g in place of a number; call it: g\(\)/],
      ['(x) => { let a = [x, 1]; a = [1, x]; a[0] = 2; return a; }', /cannot be replaced; a function may either/], ['(x) => { x ?.a; return x; }', /value is not used/],
      ['(x) => { switch (x) { case 1: x = 2; case 2: return 1; } return x; }', /goes on with the next/],
      ['(x) => { switch (x) { default: return 1; case 2: return 2; } }', /default that is not/],
      ['(x) => (0, lib__WEBPACK_IMPORTED_MODULE_0__.f)(x)', /bundler or another tool has rewritten/],
      ['(x) => { cov_1abc().s[0]++; return x; }', /rewritten by a coverage tool/], ['(x) => __spreadArray([x], [1])[0]', /another tool/],
      ['(x) => 2 * (x + 1, x)', /a comma between/], ['(x) => ({ ...x })', /in place of an object/], ['(x) => { const f = (...t) => t[0]; return f(x); }', /rest parameter/],
      ['(x) => {\n  const y = constructor;\n  return y;\n}', /constructor is not known here/, 2, 13],
      ['(x) => x.constructor', /no such member/], ['(x) => ({ a: x }).b', /has no b/], ['(x) => ({ a: x }).__proto__', /name of a field/],
      ['(x) => ({ get a() { return 1; } })', /a getter/], ['(x) => ({ __proto__: x })', /name of a field/],
      ['(x) => Math.random()', /Math.random cannot be compiled; there are E/], ['(x) => Math["sin"](x)', /Math\[…\]/],
      ['(x) => x & 1', /& cannot be compiled/], ['(x) => x + true', /a truth value in place of a number/],
      ['(x) => (x ? 1 : 2)', /in place of a condition/], ['(x) => "a"', /neither a number/], ['(x) => { if (x > 0) return 1; }', /not every way/],
      ['(x) => { const f = () => { x = 1; return 2; }; return f() + x; }', /cannot be assigned here/],
      ['(x) => { for (let i = 0; i < x; ++i) {} return x; }', /without constant bounds/], ['(x) => { for (;;) {} }', /without constant bounds/],
      ['(x) => { for (let i = 0; i < 1; i += 0) {} return x; }', /more than 1000000 trips/],
      ['(x) => { const f = (y) => f(y); return f(x); }', /f is not known|nested more than/],
      ['(x) => { function f(y) { return f(y); } return f(x); }', /nested more than 64/],
      ['(x) => { const a = [1, 2]; return a[x]; }', /depends on data/], ['(x) => { const a = [1, 2]; return a[2]; }', /index 2 of an array of 2/],
      ['async (x) => x', /async/], ['function* (x) { return x; }', /generator/], ['(...x) => x', /rest/],
      ['(x) => x, 1', /not one function/], ['(x) =>', /unexpected token/], ['x: number => x', /./], ['', /./], ['1', /not one function/],
      ['(x) => { let s = 0; const f = () => { s = 1; return 1; }; return s + f(); }', /cannot be assigned here/],
      ['(x) => { const a = [0]; const f = (b) => { b[0] = 1; return 1; }; return a[0] + f(a); }', /cannot be assigned here/],
      ['(x) => { throw x; }', /throw/], ['(x) => { try { return x; } finally {} }', /try/], ['(x) => new Date(x)', /new cannot/], ['(x) => this.a', /this cannot/],
      ['(x) => x?.a', /\?\./], ['(x) => [...x]', /in place of an array/], ['(x) => eval("1")', /eval is not known/],
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
        if (error instanceof FunctionError && /more than 100000 statements/.test(error.message)) return;
        throw new Error(text, { cause: error });
      }
    }), { numRuns: 500 });
  }).timeout(60_000);
});
