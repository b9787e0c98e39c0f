// WebAssembly made of generated JavaScript does what that JavaScript does.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { packageRoot } from '../../../lib/core/binding.ts';
import { elaborate } from '../../../lib/stream/compile.ts';
import { jsDialect } from '../../../lib/stream/emit/dialect-js.ts';
import { emitJs } from '../../../lib/stream/emit/emit-js.ts';
import type { Kind } from '../../../lib/stream/emit/layout.ts';
import { planProgram } from '../../../lib/stream/emit/plan.ts';
import { moduleBytes } from '../../../lib/stream/emit/wasm/binary.ts';
import { emptyBytes } from '../../../lib/stream/emit/wasm/elements.ts';
import { UnsupportedProgram } from '../../../lib/stream/emit/unsupported.ts';
import { toWasm } from '../../../lib/stream/emit/wasm/module.ts';
import { translate, type FunctionSource } from '../../../lib/stream/emit/wasm/translate.ts';
import type { Names } from '../../../lib/stream/emit/wasm/types.ts';
import { compileJs } from '../../../lib/stream/run/js.ts';
import { graphOf } from '../support.ts';
import type { IrBinary, MathName, ScalarName } from '../../../lib/stream/ir.ts';

const { WebAssembly: engine } = globalThis as unknown as { WebAssembly: {
  validate(bytes: Uint8Array): boolean;
  Module: new (bytes: Uint8Array) => object;
  Memory: new (options: { initial: number; maximum: number }) => { buffer: ArrayBuffer };
  Instance: new (module: object, imports: object) => { exports: Record<string, (...args: number[]) => number> };
} };

/** Arrays of each kind, after the bytes that are kept empty and a little more. */
const arrays = { ai: 64, af: 1024, ad: 2048 };
const elements = 8;
const names: Names = {
  array: (name) => (name in arrays ? { kind: name[1] as Kind, at: emptyBytes + arrays[name as 'ai'], isOwn: false } : undefined),
  external: () => undefined,
  callee: (name) => ({ mod: { index: 0, signature: { params: ['d', 'd'], result: 'd' } },
    wl_fail: { index: 1, signature: { params: ['i', 'd'], result: undefined } } } as const)[name],
};
const imports = [
  { name: 'mod', signature: { params: ['d', 'd'], result: 'd' } }, { name: 'wl_fail', signature: { params: ['i', 'd'], result: undefined } },
] as const;

class Failed extends Error {}
const fail = (site: number, value: number): never => { throw new Failed(`${site} ${value}`); };

/** A function both ways, and memory: the arrays that both see. */
function both(source: FunctionSource) {
  const made = translate(source, names);
  const bytes = moduleBytes({ imports, functions: [made], exports: new Set([source.name]), pages: 2, isShared: false });
  const memory = new engine.Memory({ initial: 2, maximum: 65536 });
  const { exports } = new engine.Instance(new engine.Module(bytes), {
    host: { memory, own: 0, mod: (a: number, b: number) => a % b, wl_fail: fail },
  });
  const views = { ai: new Int32Array(memory.buffer, emptyBytes + arrays.ai, elements),
    af: new Float32Array(memory.buffer, emptyBytes + arrays.af, elements), ad: new Float64Array(memory.buffer, emptyBytes + arrays.ad, elements) };
  const own = { ai: new Int32Array(elements), af: new Float32Array(elements), ad: new Float64Array(elements) };
  const helpers = {
    imul: Math.imul, fround: Math.fround, wl_fail: fail, ...own, wl_rint: (x: number) => rint(x),
    wl_int: (x: number) => (x >= 2147483647 ? 2147483647 : x <= -2147483648 ? -2147483648 : x | 0),
    wl_at: (i: number, n: number, site: number) => (i < 0 || i >= n ? fail(site, i) : i),
  };
  const plain = new Function(...Object.keys(helpers), `${source.text}; return ${source.name};`) as (...given: unknown[]) => (...args: number[]) => number;
  return { wasm: exports[source.name]!, js: plain(...Object.values(helpers)), views, own };
}

function rint(x: number): number {
  const low = Math.floor(x), rest = x - low;
  const whole = rest < 0.5 ? low : rest > 0.5 ? low + 1 : low % 2 === 0 ? low : low + 1;
  return whole === 0 ? x * 0 : whole;
}

interface Typed { readonly text: string; readonly kind: Kind }
const kindNames: Readonly<Record<Kind, ScalarName>> = { i: 'int', f: 'float', d: 'double' };
const nasty: Readonly<Record<Kind, readonly number[]>> = {
  i: [0, 1, -1, 2147483647, -2147483648, 7, -13, 65536], f: [0, -0, 0.5, -0.3, 1e-45, 3.4e38, NaN, Infinity, 33554433, 2.5].map(Math.fround),
  d: [0, -0, 0.1, -2.5, 1e-320, 1.7e308, NaN, -Infinity, 1234567.5, 2147483648],
};
const kind = fc.constantFrom<Kind>('i', 'f', 'd');

/** Expressions as the emitter writes them. */
const expression = fc.letrec<{ any: Typed }>((tie) => {
  const of = (k: Kind) => tie('any').map((e): string => (e.kind === k ? e.text : jsDialect.convert(kindNames[e.kind], kindNames[k], e.text)));
  const literal = kind.chain((k) => fc.constantFrom(...nasty[k]).map((x): Typed => ({ text: jsDialect.literal(k, x), kind: k })));
  const variable = kind.chain((k) => fc.constantFrom('1', '2').map((n): Typed => ({ text: `${k}${n}`, kind: k })));
  const element = kind.chain((k) => fc.nat(elements - 1).map((n): Typed => ({ text: `a${k}[${n}]`, kind: k })));
  const at = kind.chain((k) => of('i').map((e): Typed => ({ text: `a${k}[(${e} & 7)]`, kind: k })));
  const sum = kind.chain((k) => of('i').map((e): Typed => ({ text: `a${k}[(((${e} & 3) - 3) + 3)]`, kind: k })));
  const binary = kind.chain((k) => fc.tuple(fc.constantFrom<IrBinary>('+', '-', '*'), of(k), of(k))
    .map(([operator, a, b]): Typed => ({ text: jsDialect.binary(operator, k, a, b, undefined), kind: k })));
  const quotient = fc.constantFrom<Kind>('f', 'd').chain((k) => fc.tuple(fc.constantFrom<IrBinary>('/', '%'), of(k), of(k))
    .map(([operator, a, b]): Typed => ({ text: jsDialect.binary(operator, k, a, b, undefined), kind: k })));
  const division = fc.tuple(fc.constantFrom<IrBinary>('/', '%'), of('i'), fc.constantFrom(-1, 1, 3, -7))
    .map(([operator, a, b]): Typed => ({ text: jsDialect.binary(operator, 'i', a, jsDialect.literal('i', b), undefined), kind: 'i' }));
  const bits = fc.tuple(fc.constantFrom<IrBinary>('&', '|', '^', '<<', '>>'), of('i'), of('i'))
    .map(([operator, a, b]): Typed => ({ text: jsDialect.binary(operator, 'i', a, b, undefined), kind: 'i' }));
  const compared = kind.chain((k) => fc.tuple(fc.constantFrom<IrBinary>('<', '<=', '>', '>=', '==', '!='), of(k), of(k))
    .map(([operator, a, b]): Typed => ({ text: jsDialect.fromCondition(jsDialect.compare(operator, a, b)), kind: 'i' })));
  const chosen = kind.chain((k) => fc.tuple(of('i'), of(k), of(k))
    .map(([c, a, b]): Typed => ({ text: `((${c} !== 0) ? ${a} : ${b})`, kind: k })));
  const logical = fc.tuple(of('i'), of('i'), fc.constantFrom('&&', '||'))
    .map(([a, b, operator]): Typed => ({ text: `(((${a} !== 0) ${operator} !(${b} < 3)) ? 1 : 0)`, kind: 'i' }));
  const single = fc.constantFrom<Kind>('f', 'd').chain((k) => fc.tuple(fc.constantFrom<MathName>('sqrt', 'abs', 'floor', 'ceil', 'rint', 'round'), of(k))
    .map(([name, a]): Typed => ({ text: jsDialect.math(name, k, [a]), kind: k })));
  const least = kind.chain((k) => fc.tuple(fc.constantFrom<MathName>('min', 'max'), of(k), of(k))
    .map(([name, a, b]): Typed => ({ text: jsDialect.math(name, k, [a, b]), kind: k })));
  const whole = of('i').map((a): Typed => ({ text: jsDialect.math('abs', 'i', [a]), kind: 'i' }));
  const negated = kind.chain((k) => of(k).map((a): Typed => ({ text: jsDialect.negate(k, a), kind: k })));
  const checked = of('i').map((a): Typed => ({ text: jsDialect.within(a, '8', 3), kind: 'i' }));
  return { any: fc.oneof({ maxDepth: 5, withCrossShrink: true }, literal, variable, element, at, sum, binary, binary, quotient, division, bits, compared, chosen, logical,
    single, least, whole, negated, checked) };
}).any;

const params = ['i1', 'i2', 'f1', 'f2', 'd1', 'd2'] as const;
const types = params.map((name) => name[0] as Kind);

function outcome(run: () => number): number | string {
  try {
    return run();
  } catch (error) {
    if (error instanceof Failed) return error.message;
    throw error;
  }
}

describe('generated JavaScript as WebAssembly', function () {
  this.timeout(60_000);

  it('gives the same values in every expression', () => {
    const values = fc.tuple(...types.map((k) => fc.constantFrom(...nasty[k])));
    fc.assert(fc.property(expression, fc.array(values, { minLength: 3, maxLength: 3 }), (e, cases) => {
      const text = `function f(${params.join(', ')}) { const t = ${e.text}; return t; }`;
      const { wasm, js, views, own } = both({ name: 'f', text, params: types, result: e.kind });
      for (const k of ['i', 'f', 'd'] as const) for (const list of [views, own]) list[`a${k}`].set(nasty[k].slice(0, elements));
      for (const args of cases) assert.deepEqual(outcome(() => wasm(...args)), outcome(() => js(...args)), text);
    }), { numRuns: 4000 });
  });

  it('keeps the course of loops, branches and labels, and moves arrays', () => {
    const text = `function f(i1, i2, f1, f2, d1, d2) {
  let v1 = 0;
  let v2 = fround(0.0);
  for (let wl_n = 0; wl_n < 5; ++wl_n) {
    let v3 = 0;
    for (;;) {
      if (!(v3 < i1)) break;
      L1: {
        if ((v3 === 3)) break L1;
        if ((v3 > 6)) {
          break;
        } else {
          v2 = fround(v2 + af[(v3 + 1)]);
        }
        v1 = (v1 + 10 | 0);
      }
      v3 = (v3 + 1 | 0);
    }
    for (; v1 < i2; v1 += 3) ad[2] = (ad[2] + (+v2));
  }
  ai.fill(0, 1, 1 + 2);
  ad.copyWithin(0, 2, 2 + 3);
  for (let z = 0, x = 4, y = 1; z < 3; ++z) ai[x + z] = ai[y + z];
  if (--ad[3] < 0.0) return v1;
  return (v1 - 1 | 0);
}`;
    const { wasm, js, views, own } = both({ name: 'f', text, params: types, result: 'i' });
    for (const [a, b] of [[0, 0], [3, 100], [6, 7], [20, 1000], [-1, 5]] as const) {
      for (const list of [views, own]) {
        list.ai.set([1, 2, 3, 4, 5, 6, 7, 8]);
        list.af.set([0.1, 0.2, 0.3, 0.7, 1e10, -3, 1e-30, 5]);
        list.ad.set([1, 2, 3, 0.5, 7, 1.5, 9, 2]);
      }
      assert.equal(wasm(a, b, 0, 0, 0, 0), js(a, b, 0, 0, 0, 0));
      for (const k of ['ai', 'af', 'ad'] as const) assert.deepEqual([...views[k]], [...own[k]], `${k} of ${a}, ${b}`);
    }
  });

  /** A loop of such lines over the turns `v0`, with four copies of each; `#` is the lane. */
  const loopOf = (lines: readonly string[], before = ''): string => {
    const copies = lines.flatMap((line) => [0, 1, 2, 3].map((lane) => line.split('\n').map((each) => each.replaceAll('#', String(lane))).join('\n')));
    return `function f(i1, i2, f1, f2, d1, d2) {
  ${[0, 1, 2, 3].map((lane) => `let v1${lane} = fround(${lane}.5); let v2${lane} = f1;`).join(' ')} ${before}
  let v0 = 0;
  for (;;) {
    if (!(v0 < i1)) break;
    ${copies.join('\n    ')}
    v0 = (v0 + 1 | 0);
  }
  ${[0, 1, 2, 3].map((lane) => `af[${lane}] = v1${lane}; af[${lane + 4}] = v2${lane};`).join(' ')}
  return v0;
}`;
  };
  const isVector = (text: string): boolean => {
    const { code } = translate({ name: 'f', text, params: types, result: 'i' }, names);
    return code.list.some((byte, i) => byte === 0xfd && code.list[i + 1] === 19);
  };
  const sameBits = (text: string): void => {
    const { wasm, js, views, own } = both({ name: 'f', text, params: types, result: 'i' });
    for (const turns of [0, 1, 5, 8]) {
      for (const list of [views, own]) list.af.set([0.1, -0.2, 3e8, 0.7, 1e-40, -3, 1e30, 5]);
      assert.equal(wasm(turns, 2, 0.375, -7.25, 0, 0), js(turns, 2, 0.375, -7.25, 0, 0));
      assert.deepEqual([...views.af], [...own.af], text);
    }
  };

  it('computes four firings as vectors, to the same bits', () => {
    for (const lines of [
      ['v1# = fround(v1# + fround(af[v0] * f2));'], ['v1# = fround(v1# + fround(af[(v0 & 3)] * af[((v0 & 3) + #)]));'],
      ['v1# = fround(v1# - fround(af[((v0 & 1) + # )] / fround(3.0)));', 'v2# = fround(v2# * v1#);'],
      ['const t1# = imul(v0, 1);\n v1# = fround(v1# + af[(t1# & 7)]);'], ['const t2# = fround(v1# * fround(#.5));\n v1# = (-t2#);'],
      ['v1# = fround(Math.sqrt(Math.abs(fround(v1# + af[imul((v0 & 1), 2)]))));'],
      ['v2# = fround(v2# + af[(imul((v0 & 1), 2) + imul(#, 1))]);', 'v1# = fround(v1# + v2#);'],
    ]) {
      const text = loopOf(lines);
      assert.ok(isVector(text), text);
      sameBits(text);
    }
  });

  it('leaves alone what four lanes do not do alike', () => {
    for (const lines of [
      ['v1# = fround(v1# + v10);'], ['v1# = fround(v10 + af[#]);'], ['v1# = fround(v1# + v2#);\n v0 = (v0 + 0 | 0);'], ['v1# = fround(Math.floor(v1# + 0.5));'],
      ['v1# = ((v1# > fround(1.0)) ? fround(v1# - f2) : v1#);'], ['af[#] = fround(af[#] + v1#);'], ['v1# = fround(v1# + fround(v0 + #));'],
    ]) {
      const text = loopOf(lines);
      assert.ok(!isVector(text), text);
      sameBits(text);
    }
    sameBits(loopOf(['v1# = fround(v1# + af[(v0 & 7)]);', 'v10 = fround(v10 + f2);']));
  });

  it('is valid for the programs of the examples, for one thread and several', async () => {
    const folder = join(packageRoot(), 'examples/stream');
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.str'))) {
      const { graph } = await elaborate(readFileSync(join(folder, file), 'utf8'));
      for (const placed of [false, true]) assert.ok(engine.validate(toWasm(emitJs(planProgram(graph), { placed }), placed).bytes), file);
    }
  });

  it('holds large arrays of zeros without lists of them, and says where a memory would not do', function () {
    const delays = (count: number): string => `int->int filter D { int[16000000] kept; int at; work pop 1 push 1 { push(kept[at]); kept[at] = pop(); at = (at + 1) % 3; } }
      int->int pipeline P { for (int i = 0; i < ${count}; i++) add D; }`;
    assert.deepEqual([...compileJs(graphOf(delays(2))).run([1, 2, 3, 4, 5, 6, 7]).output], [0, 0, 0, 0, 0, 0, 1]);
    assert.throws(() => compileJs(graphOf(delays(60))).run([1]), UnsupportedProgram);
  });

  it('refuses text that the emitter does not write', () => {
    for (const body of ['while (1) {}', 'const t = i1 ** 2;', 'g(1);', 'const t = q;', 'f1 = d1;', 'i1 = f1;', 'const { t } = i1;']) {
      assert.throws(() => translate({ name: 'f', text: `function f(i1, f1, d1) { ${body} }`, params: ['i', 'f', 'd'] }, names), /generated code holds/, body);
    }
  });
});
