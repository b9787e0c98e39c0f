// The text that comes out: the pool, references into it, and not a byte more.
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { optimize } from '../../lib/scratchpad/optimize.ts';
import { explain } from './public.ts';
import { head, kernelText, pass } from './pass.ts';

const two = `${head}  a[t] = in[t];\n  __syncthreads();\n  out[t] = a[t ^ 1];\n  b[t] = 1;\n  __syncthreads();\n  out[t] += b[t ^ 1];`;

/** What is left of both texts when the lines that the pass may write are taken out. */
function untouched(text: string): string[] {
  const plain = text.replace(/ __shared__ \S+ unsigned char warploom_pool_\w+\[\d+\];/g, '');
  return plain.split('\n').filter((line) => !/^ *__shared__ float|reinterpret_cast|^\s*__syncthreads\(\);$/.test(line));
}

describe('scratchpad: the rewritten text', function () {
  this.timeout(120_000); // on busy machines
  it('is this, for one kernel', async () => {
    const { source } = await pass(two);
    strictEqual(source, [
      '__global__ void k(const float* __restrict__ in, float* __restrict__ out, int n) { __shared__ alignas(16) unsigned char warploom_pool_k[256];',
      '  auto& a = *reinterpret_cast<float(*)[64]>(warploom_pool_k + 0); auto& b = *reinterpret_cast<float(*)[64]>(warploom_pool_k + 0);',
      '  const int t = threadIdx.x;', '  a[t] = in[t];', '  __syncthreads();', '  out[t] = a[t ^ 1];', '  __syncthreads();', '  b[t] = 1;', '  __syncthreads();',
        '  out[t] += b[t ^ 1];', '}', '',
    ].join('\n'));
  });

  it('all else stays, byte for byte: comments, blanks, macros, other kernels, host code', async () => {
    const around = '/* a[t] */ #include <x>\n#define LOOP for (;;)\nvoid host() { k<<<1, 64>>>(0, 0, 3); /* __shared__ */ }\n\t \n'.replace('#include', '\n#include');
    const odd = `${two.replace('  out[t] = a', '  /* between */ ;\n\tout[t]  =  a')}   // tail`;
    const text = `${around}${kernelText(odd)}\n\n${kernelText(odd).replace('void k(', 'void k2(')}// end`;
    const { source } = await optimize(text);
    ok(source.startsWith(around) && source.endsWith('// end'));
    deepStrictEqual(untouched(source), untouched(text));
    strictEqual([...source.matchAll(/unsigned char (\w+)\[256\];/g)].map((found) => found[1]).join(), 'warploom_pool_k,warploom_pool_k2');
  });

  it('each line of the kernel keeps its ending', async () => {
    const text = kernelText(two).replaceAll('\n', '\r\n');
    const { source } = await optimize(text);
    strictEqual(source.replaceAll('\r\n', '').includes('\n'), false);
  });

  it('extents stay as written, and sizes that rest on names are checked by the compiler', async () => {
    const { source } = await pass(two.replace('a[64], b[64]', 'a[4 * W][W], b[W*16]').replaceAll('a[t', 'a[0][t').replace('float a', 'P_ a'), {}, '#define W 4\n'
      + 'typedef float P_;\n');
    match(source, /auto& a = \*reinterpret_cast<P_\(\*\)\[4 \* W\]\[W\]>\(warploom_pool_k \+ \d+\); static_assert\(sizeof\(a\) == 256, /);
    match(source, /auto& b = \*reinterpret_cast<P_\(\*\)\[W\*16\]>\(warploom_pool_k \+ \d+\); static_assert\(sizeof\(b\) == 256, /);
    const scalars = await pass(two.replace('float a[64], b[64]', 'double a, *b').replaceAll('a[t ^ 1]', 'a').replaceAll('a[t]', 'a').replace('b[t] = 1',
      'b = (double*)out').replace('b[t ^ 1]', 'b[0]'));
    match(scalars.source, /auto& a = \*reinterpret_cast<double\*>\(warploom_pool_k \+ 0\); auto& b = \*reinterpret_cast<double\*\*>\(/);
  });

  it('a name that is taken is not taken again', async () => {
    const { source } = await pass(two, {}, 'int warploom_pool_k;\n');
    match(source, /unsigned char warploom_pool_k_\[256\]/);
  });

  it('alignment: that of the strictest array, at least 16', async () => {
    const { source, kernel } = await pass('  __shared__ char c[3];\n  __shared__ double d[2];\n  __shared__ alignas(64) float e[4];\n  const int t = threadIdx.x;\n'
      + '  c[t] = 1;\n  d[t] = 2;\n  e[t] = 3;\n  __syncthreads();\n'
      + '  out[t] = c[0] + d[0] + e[0];', { reuse: false });
    for (const { offset, alignment } of kernel.arrays) strictEqual(offset % alignment, 0);
    match(source, /alignas\(64\) unsigned char/);
    strictEqual(kernel.bytesBefore, 80);
  });

  it('over 48 KB the pool is dynamic, and the launch is told its bytes', async () => {
    const { source, kernel, dynamicBytes } = await pass(two.replace('a[64], b[64]', 'a[13000], b[200]'));
    deepStrictEqual([dynamicBytes, kernel.dynamicBytes, kernel.bytesBefore], [52000, 52000, 52800]);
    match(source, /extern __shared__ \S+\(16\) unsigned char warploom_pool_k\[\];/);
    const small = await pass(two);
    deepStrictEqual([small.dynamicBytes, 'dynamicBytes' in small.kernel], [undefined, false]);
  });

  it('dynamic shared memory of the kernel stays beside a small pool', async () => {
    const { source, kernel } = await pass(`  extern __shared__ float more[];\n${two}\n  more[t] = 1;\n  out[t] += more[t];`);
    deepStrictEqual([kernel.arrays.length, kernel.bytesAfter], [2, 256]);
    ok(source.includes('  extern __shared__ float more[];\n'));
  });

  it('sizes of template parameters are left to the compiler', async () => {
    const text = `template <typename T, int M>\n${kernelText(two).replace('float a[64], b[64]', 'T a[M], b[2 * M]').replaceAll('63', 'M - 1')}`;
    const { source, report } = await optimize(text);
    const [kernel] = report.kernels;
    ok(kernel!.symbolic);
    match(source, /constexpr unsigned warploom_k_size0 = sizeof\(T\) \* \(M\);/);
    match(source, /constexpr unsigned warploom_k_size1 = sizeof\(T\) \* \(2 \* M\);/);
    match(source, /constexpr unsigned warploom_k_most1 = warploom_k_size0 > warploom_k_size1 \? warploom_k_size0 : warploom_k_size1;/);
    match(source, /unsigned char warploom_pool_k\[warploom_k_bytes\];/);
    match(source, /auto& b = \*reinterpret_cast<T\(\*\)\[2 \* M\]>\(warploom_pool_k \+ warploom_k_at0\);/);
  });

  it('planners: no bytes more from one to the next, and the same text each time', async () => {
    const body = '  __shared__ float a[64], b[96], c[128], d[32];\n  const int t = threadIdx.x;\n  a[t] = 1;\n  __syncthreads();\n  b[t] = a[t ^ 1];\n  __syncthreads();\n'
      + '  c[t] = b[t ^ 1];\n  __syncthreads();\n'
      + '  d[t & 31] = c[t ^ 1];\n  __syncthreads();\n  out[t] = d[t & 15];';
    const bytes: number[] = [];
    for (const planner of ['greedy', 'coloring', 'packing', 'exact'] as const) {
      const first = await pass(body, { planner });
      strictEqual(first.source, (await pass(body, { planner })).source);
      strictEqual(first.kernel.planner, planner);
      bytes.push(first.kernel.bytesAfter);
    }
    ok(bytes[0]! >= bytes[1]! && bytes[1]! >= bytes[2]! && bytes[2]! >= bytes[3]!);
    strictEqual(bytes[3], 896);
  });

  it('the text it wrote is not rewritten again', async () => {
    const { source } = await pass(two);
    const again = await optimize(source);
    strictEqual(again.source, source);
    strictEqual(again.report.refused[0]?.code, 'reinterpret-cast');
  });
});

describe('scratchpad: the report', function () {
  this.timeout(120_000); // on busy machines
  it('of one kernel, complete', async () => {
    const { kernel } = await pass(two, { blockThreads: 64, registersPerThread: 40, arch: 'sm_80' });
    const { residency, ...rest } = kernel;
    deepStrictEqual(rest, {
      kernel: 'k', line: 1, column: 17, status: 'rewritten', reason: '', planner: 'exact',
      arrays: [
        { name: 'a', type: 'float', dimensions: [64], bytes: 256, alignment: 4, line: 2, column: 20, live: [{ begin: 2, end: 5, beginLine: 4, endLine: 6 }], offset: 0,
          partition: 0, rewrittenIn: [] },
        { name: 'b', type: 'float', dimensions: [64], bytes: 256, alignment: 4, line: 2, column: 27, live: [{ begin: 5, end: 8, beginLine: 7, endLine: 9 }], offset: 0,
          partition: 0, rewrittenIn: [] },
      ],
      bytesBefore: 512, bytesAfter: 256, lowerBound: 256, optimal: true, partitions: [{ offset: 0, bytes: 256, arrays: ['a', 'b'] }], interference: [], inseparable: [],
      barriersAdded: [{ line: 7, column: 3, newLine: 7, loops: 0, cause: 'reuse', separates: [['a', 'b']] }],
      barriersExisting: [{ line: 5, column: 3, separates: false }, { line: 8, column: 3, separates: false }], moved: [], barriersRemoved: [], symbolic: false,
      points: [2, 3, 4, 5, 6, 7, 8, 9], assumptions: [],
    });
    deepStrictEqual([residency!.architecture, residency!.threads, residency!.registers, residency!.after.blocks >= residency!.before.blocks], ['sm_80', 64, 40, true]);
  });

  it('the residency comes from __launch_bounds__ too, and decides where asked', async () => {
    const text = kernelText(two).replace('void k(', 'void __launch_bounds__(64) k(');
    strictEqual((await optimize(text)).report.kernels[0]!.residency!.threads, 64);
    const kept = await optimize(text, { whenNoGain: 'keep' });
    deepStrictEqual([kept.source === text, kept.report.kernels[0]!.status], [true, 'kept']);
    match(kept.report.kernels[0]!.reason, /holds \d+ blocks as before, limited by \w+/);
    const large = await optimize(text.replace('a[64], b[64]', 'a[6000], b[6000]'), { whenNoGain: 'keep' });
    strictEqual(large.report.kernels[0]!.status, 'rewritten');
    const unknown = await optimize(kernelText(two), { whenNoGain: 'keep' });
    match(unknown.report.kernels[0]!.reason, /give blockThreads/);
  });

  it('kernels with nothing to gain are kept, with the reason', async () => {
    const reasons: readonly [string, RegExp][] = [
      ['  out[0] = 1;', /no shared arrays/], ['  __shared__ float a[4];\n  a[0] = 1;', /one shared array only/],
      [`${head}  a[t] = 1;\n  b[t] = 2;\n  __syncthreads();\n  out[t] = a[0] + b[0];`, /needed at the same time/],
    ];
    for (const [body, reason] of reasons) match((await pass(body)).kernel.reason, reason);
  });

  it('trusted functions are named', async () => {
    const { kernel } = await pass(two.replace('b[t] = 1;', 'b[t] = mystery(n);'), { functions: ['mystery', 'other'] });
    deepStrictEqual(kernel.assumptions, ['mystery() touches neither shared arrays nor barriers (option functions)']);
  });

  it('as text and as a graph', async () => {
    const source = readFileSync(new URL('../../examples/kernels/curvature3d.cu', import.meta.url), 'utf8');
    const { report } = await optimize(source, { blockThreads: [16, 16] });
    const { text, dot } = explain(report);
    match(text, /curvature3d \(line \d+\): 6192 -> 3888 bytes per block, 37\.2 % less; no placement takes fewer/);
    match(text, /float below\[18\]\[18\] {2,}line \d+ +1296 B +at \d+ +needed in lines \d+-\d+/);
    match(text, /barrier added before line \d+ \(line \d+ of the new text\), between/);
    match(text, /sm_90, 256 threads, 32 registers: 8 \(100 %\) -> 8 \(100 %\) blocks per multiprocessor, limited by registers/);
    match(dot, /^graph "curvature3d" \{\n(?: {2}"\w+" \[label="\w+\\n1296 B at \d+", style=filled, fillcolor="#\w{6}"\];\n){3}/);
    strictEqual([...dot.matchAll(/ -- /g)].length, report.kernels[0]!.interference.length);
    const refused = explain((await optimize(kernelText(`${head}  a[t] = 1; __syncwarp();`))).report);
    match(refused.text, /^k: left alone, line 4:13, warp-synchronous: .*\n {2}separate the accesses/);
  });
});
