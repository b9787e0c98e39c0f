// Reading CUDA: sizes, types, constants, odd layouts of text, damaged and hostile input.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { ArgumentError, optimize as publicOptimize } from './public.ts';
import { optimize } from '../../lib/scratchpad/optimize.ts';
import { evaluate, type Meaning } from '../../lib/scratchpad/constants.ts';
import { kLongestSource, parse, position, withoutComments } from '../../lib/scratchpad/syntax.ts';
import { Random } from '../support/random.ts';
import { head, kernelText, pass } from './pass.ts';

const body = `${head}  a[t] = in[t];\n  __syncthreads();\n  b[t] = a[63 - t];\n  __syncthreads();\n  out[t] = b[t ^ 1];`;

/** Bytes and alignment of one declaration, by what the report says. */
async function sizeOf(declaration: string, before = '', options = {}): Promise<[number, number, readonly number[]]> {
  const { kernel } = await pass(`  ${declaration}\n  out[0] = in[0];`, options, before);
  const [array] = kernel.arrays;
  return [array!.bytes, array!.alignment, array!.dimensions];
}

describe('scratchpad: constant expressions', function () {
  this.timeout(120_000); // on busy machines
  const values: Readonly<Record<string, number>> = { N: 18, M: 3 };
  const meaning: Meaning = {
    value: (name) => values[name], macro: (name) => name === 'SQ' ? { parameters: ['x'], body: 'x * x' } : undefined,
    sizeOf: (type) => type === 'float' ? 4 : undefined, alignOf: () => undefined,
  };

  it('follow the rules of C++', () => {
    const cases: readonly [string, number | undefined][] = [
      ['1 + 2 * 3', 7], ['(1 + 2) * 3', 9], ['N * N - M', 321], ['7 / 2', 3], ['-7 / 2', -3], ['-7 % 3', -1], ['1 << 4 | 1', 17], ['0x10 + 010 + 0b11', 27],
      ["1'000u", 1000], ['5 > 4 ? N : M', 18], ['N > 4 && M > 4', 0], ['!M', 0], ['~0', -1], ['sizeof(float) * N', 72], ['SQ(M + 1)', 16], ['std::max(N, M)', 18],
      ['(int)N / 4', 4], ['(N + M - 1) / M', 6], ['1 / 0', undefined], ['Q', undefined], ['3.5', undefined], ['N +', undefined], ['', undefined], ['09', undefined],
      ['1 << 70', undefined], ['sizeof(double)', undefined], ['N(3)', undefined], ['((((1))))', 1], ['1 ? 2 ? 3 : 4 : 5', 3], ['0 ? 1 : 0 ? 2 : 3', 3],
    ];
    for (const [text, value] of cases) strictEqual(evaluate(text, meaning), value, text);
  });

  it('macros that expand to themselves have no value', () => {
    const endless: Meaning = { ...meaning, macro: () => ({ parameters: ['x'], body: 'F(x)' }), value: () => undefined };
    strictEqual(evaluate('F(1)', endless), undefined);
  });
});

describe('scratchpad: reading the text', function () {
  this.timeout(120_000); // on busy machines
  it('knows sizes and alignments of types', async () => {
    const types: readonly [string, number, number][] = [
      ['bool', 1, 1], ['unsigned char', 1, 1], ['short', 2, 2], ['unsigned short int', 2, 2], ['half', 2, 2], ['__half2', 4, 4], ['int', 4, 4], ['unsigned', 4, 4],
      ['long long', 8, 8], ['unsigned long long int', 8, 8], ['long', 8, 8], ['double', 8, 8], ['size_t', 8, 8], ['std::uint16_t', 2, 2], ['float2', 8, 8], ['float3', 12, 4],
      ['float4', 16, 16], ['double2', 16, 16], ['double4', 32, 16], ['char3', 3, 1], ['uchar4', 4, 4], ['int3', 12, 4], ['short4', 8, 8], ['cuDoubleComplex', 16, 16],
    ];
    for (const [type, bytes, alignment] of types) deepStrictEqual(await sizeOf(`__shared__ ${type} x[5];`), [5 * bytes, alignment, [5]], type);
    deepStrictEqual(await sizeOf('__shared__ float* x[3];'), [24, 8, [3]]);
    deepStrictEqual(await sizeOf('__shared__ int x;'), [4, 4, []]);
  });

  it('lays structs out', async () => {
    const structs: readonly [string, number, number][] = [
      ['struct P { float x, y; int n[3]; };', 20, 4], ['struct P { char c; double d; char e; };', 24, 8], ['struct alignas(16) P { float x; };', 16, 16],
      ['struct P { alignas(8) char c; char d; };', 8, 8], ['struct Q { char a, b, c; }; struct P { Q q[2]; short s; };', 8, 2], ['struct P { float* p; char c; };', 16, 8],
      ['struct P { static constexpr int n = 4; float v[n]; };', 16, 4], ['typedef struct { int a; } P;', 4, 4],
        ['struct P { float x; __device__ float twice() const { return 2 * x; } };', 4, 4],
      ['struct P { P() = default; float x; };', 4, 4], ['struct __align__(8) P { float x; };', 8, 8], ['class P { public: int a, b; };', 8, 4],
    ];
    for (const [text, bytes, alignment] of structs) {
      const found = await sizeOf('__shared__ P x[2];', `${text}\n`);
      deepStrictEqual(found, [2 * bytes, alignment, [2]], text);
    }
  });

  it('knows constants, wherever they come from', async () => {
    const sources: readonly [string, string, number, object?][] = [
      ['#define W (16 + 2)\n', 'W', 18], ['#define A B\n#define B 7\n', 'A', 7], ['#define SQ(x) ((x) * (x))\n', 'SQ(3)', 9], ['constexpr int W = 4, V = W * 3;\n', 'V', 12],
      ['static const int W{5};\n', 'W', 5], ['enum { E0, E1 = 6, E2 };\n', 'E2', 7], ['struct C { static constexpr int W = 9; };\n'
        + '', 'C::W', 9], ['', 'W', 11, { defines: { W: 11 } }],
      ['#define W 3\n', 'W', 12, { defines: { W: 12 } }], ['', '1 << 5', 32], ['', "1'024", 1024], ['#define W 16 // sixteen\n', 'W + 1', 17], ['#define W \\\n  19\n', 'W', 19],
      ['typedef double real;\n', 'sizeof(real) * 2', 16], ['using real = float2;\n', 'sizeof(real)', 8], ['#ifndef W\n#define W 21\n#endif\n', 'W', 21],
    ];
    for (const [before, extent, value, options] of sources) {
      const found = await sizeOf(`__shared__ char x[${extent}];`, before, options);
      deepStrictEqual(found, [value, 1, [value]], `${before}${extent}`);
    }
    const { kernel } = await pass('  constexpr int W = 6;\n  const unsigned V = W + 1;\n  __shared__ short x[W][V];\n  out[0] = in[0];');
    deepStrictEqual(kernel.arrays[0]!.dimensions, [6, 7]);
  });

  it('reads all forms of declarations', async () => {
    const { kernel } = await pass('  __shared__ float a[2][3], b, c[4];\n  __align__(16) __shared__ char d[3];\n  __shared__ alignas(32) char e[3];\n'
      + '  alignas(8) __shared__ char f;\n'
      + '  static __shared__ int g[2];\n  float __shared__ h[2];\n  __shared__ __align__(8) float i[3];\n  out[0] = in[0];');
    deepStrictEqual(kernel.arrays.map(({ name, bytes, alignment }) => [name, bytes, alignment]), [
      ['a', 24, 4], ['b', 4, 4], ['c', 16, 4], ['d', 3, 16], ['e', 3, 32], ['f', 1, 8], ['g', 8, 4], ['h', 8, 4], ['i', 12, 8]]);
  });

  it('template parameters take the values of an instantiation, or of defines', async () => {
    const text = 'template <typename T, int M> __global__ void k(T* out) {\n  __shared__ T a[M], b[M];\n  const int t = threadIdx.x;\n  a[t] = 1;\n  __syncthreads();\n'
      + '  out[t] = a[t ^ 1];\n'
      + '  __syncthreads();\n  b[t] = 2;\n  __syncthreads();\n  out[t] += b[t ^ 1];\n}\n';
    const bytes = async (more: string, options = {}): Promise<number> => {
      const { report } = await optimize(text + more, options);
      ok(report.kernels[0]!.symbolic);
      return report.kernels[0]!.arrays[0]!.bytes;
    };
    strictEqual(await bytes('template __global__ void k<double, 32>(double*);\n'), 256);
    strictEqual(await bytes('void run(float* p) { k<float, 8><<<1, 8>>>(p); }\n'), 32);
    strictEqual(await bytes(''), 64);
  });

  it('keeps to kernels: overloads, namespaces, extern "C", several in one text', async () => {
    const text = [kernelText(body), `namespace x { ${kernelText(body).replaceAll('void k(', 'void k2(')} }`, `extern "C" ${kernelText(body).replaceAll('void k(', 'void k3(')}`,
      kernelText(body).replace('int n)', 'double n)')].join('\n');
    const { report, source } = await optimize(text);
    deepStrictEqual(report.kernels.map(({ kernel, bytesAfter }) => [kernel, bytesAfter]), [['k', 512], ['k2', 512], ['k3', 512], ['k', 512]].map(([name]) => [name, 512]));
    strictEqual(source, text); // all arrays live at once: nothing to gain
    const one = await optimize(text, { kernel: 'k2' });
    deepStrictEqual(one.report.kernels.map(({ kernel }) => kernel), ['k2']);
  });

  it('positions hold with tabs, CRLF and characters beyond ASCII', async () => {
    const text = '// Grüße 🙂🙂\r\n\t__global__ void k(float* out) {\r\n\t\t__shared__ float ä[4], b[64];\r\n\t\t/* 🙂 { */ __syncwarp();\r\n\t}\r\n';
    const { report } = await optimize(text);
    deepStrictEqual(report.refused.map(({ line, column }) => [line, column]), [[4, '\t\t/* 🙂 { */ '.length + 1]]);
    deepStrictEqual(position({ lines: [0, 5, 9] }, 5), { line: 2, column: 1 });
  });

  it('comments, strings and digit separators do not confuse it', () => {
    strictEqual(withoutComments(`a "x\\"y" b // c\n1'000 'q' /* {\n} */ d`), `a        b     \n1'000${' '.repeat(9)}\n     d`);
  });

  it('words in macros are blanked, and lambdas with __device__ elsewhere do no harm', async () => {
    const text = `MY_API auto f = [=] __device__ (int x) { return x; };\n${kernelText(body).replace('__global__', 'MY_ATTRIBUTE(3) __global__')}`;
    const { report } = await optimize(text.replace('MY_ATTRIBUTE(3)', 'MY_ATTRIBUTE'), { macros: ['MY_API', 'MY_ATTRIBUTE'] });
    deepStrictEqual([report.kernels.length, report.refused.length], [1, 0]);
  });

  it('a syntax error elsewhere leaves the kernels alone; in a kernel it refuses that one', async () => {
    const good = kernelText(body);
    const { report } = await optimize(`void host() { int x = = 3; }\n${good}`);
    deepStrictEqual([report.kernels.length, report.refused.length], [1, 0]);
    const bad = await optimize(`${good.replace('void k(', 'void bad(').replace('a[t] = in[t]', 'a[t = in[t]')}${good}`);
    deepStrictEqual(bad.report.refused.map(({ kernel, code, line }) => [kernel, code, line]), [['bad', 'parse-error', 4]]);
    deepStrictEqual(bad.report.kernels.map(({ kernel }) => kernel), ['k']);
  });
});

describe('scratchpad: arguments and hostile text', function () {
  this.timeout(120_000); // on busy machines
  const refused = async (promise: Promise<unknown>, argument: string): Promise<void> => {
    await rejects(promise, (error: unknown) => error instanceof ArgumentError && error.code === 'ERR_WARPLOOM_INVALID_ARGUMENT' && error.argument === argument);
  };

  it('every option is checked by name', async () => {
    const wrong: readonly [object, string][] = [
      [{ planner: 'best' }, 'planner'], [{ arch: 'sm_1' }, 'arch'], [{ reorder: 1 }, 'reorder'], [{ blockThreads: 0 }, 'blockThreads'], [{ blockThreads: [32, 64] },
        'blockThreads'],
      [{ blockThreads: [] }, 'blockThreads'], [{ registersPerThread: 300 }, 'registersPerThread'], [{ macros: 'X' }, 'macros'], [{ macros: ['a b'] }, 'macros'], [{ defines: [] },
        'defines'],
      [{ defines: { 'a b': 1 } }, 'defines'], [{ defines: { N: 1.5 } }, 'defines.N'], [{ defines: { N: 'x; y' } }, 'defines.N'], [{ functions: [1] }, 'functions'],
      [{ rewritten: false }, 'rewritten'], [{ whenNoGain: 'no' }, 'whenNoGain'], [{ reuse: 'yes' }, 'reuse'], [{ kernel: '' }, 'kernel'], [{ kernel: 'other' }, 'kernel'],
        [{ colour: 1 }, 'colour'],
    ];
    for (const [options, argument] of wrong) await refused(publicOptimize(kernelText(body), options as never), argument);
    await refused(publicOptimize(3 as never), 'source');
    await refused(publicOptimize('', null as never), 'options');
  });

  it('text that is no program is an argument error with its line', async () => {
    await rejects(optimize('int x = 3;\nint y = = ;\n'), /source: .*line 2/);
    await refused(optimize('}}}} )))) ((('), 'source');
    await refused(optimize(Buffer.from(Array.from({ length: 4000 }, (_, i) => (i * 7919) % 256)).toString('latin1')), 'source');
  });

  it('nothing in it is no error', async () => {
    for (const text of ['', '\n', 'int x;', '// only words']) {
      deepStrictEqual(await optimize(text), { source: text, report: { kernels: [], refused: [] } });
    }
  });

  it('limits: length, nesting', async () => {
    await refused(optimize(' '.repeat(kLongestSource + 1)), 'source');
    await refused(optimize(kernelText(`${'{'.repeat(5000)}${'}'.repeat(5000)}`)), 'source');
    await refused(optimize(`int x = ${'('.repeat(100_000)}1`), 'source');
    const long = await optimize(kernelText(`${body}\n${'  out[t] += 1.0f;\n'.repeat(3000)}`));
    strictEqual(long.report.kernels.length, 1);
    const nested = await optimize(kernelText(`${body}\n${'  if (n > 1) '.repeat(900)};`));
    deepStrictEqual(nested.report.refused.map(({ code }) => code), ['too-deep']);
  });

  it('damaged kernels never crash it', async function () {
    this.timeout(60_000);
    const random = new Random(5);
    const text = kernelText(`${body}\n  for (int i = 0; i < n; ++i) { if (i > 3) break; out[i] = a[i]; }`, '#define W 4\nstruct P { float x; };\n');
    for (let round = 0; round < 150; ++round) {
      let damaged = text;
      for (let edits = 1 + Math.floor(random.next() * 3); edits > 0; --edits) {
        const at = Math.floor(random.next() * damaged.length);
        const length = Math.floor(random.next() * 6);
        const piece = ['', '{', '}', '(', ')', ';', '[', '&', '*', 'a', '__syncthreads();', '/*', '"', '\0', '#if 1\n', 'template <', '= ='][Math.floor(random.next() * 17)]!;
        damaged = damaged.slice(0, at) + piece + damaged.slice(at + length);
      }
      await optimize(damaged).catch((error: unknown) => ok(error instanceof ArgumentError, `${String(error)}\n${damaged}`));
    }
  });

  it('the tree of the grammar comes over complete', async () => {
    const syntax = await parse('int f(int x) { return x + 1; }');
    strictEqual(syntax.root.type, 'translation_unit');
    strictEqual(syntax.root.broken, false);
    strictEqual(syntax.root.children[0]!.type, 'function_definition');
  });
});
