// Live ranges: where they begin and end, what loops keep, what branches keep apart.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { optimize } from '../../lib/scratchpad/optimize.ts';
import { head, liveLines, pass } from './pass.ts';

describe('scratchpad: live ranges', function () {
  this.timeout(120_000); // on busy machines
  it('from the first write that a read sees to the last read', async () => {
    const { kernel } = await pass(`${head}  a[t] = in[t];\n  a[t ^ 1] += 1;\n  __syncthreads();\n  out[t] = a[t];\n  out[t] += a[t];\n  n = 3;\n  b[t] = 1;\n  __syncthreads();\n`
      + '  out[t] += b[t ^ 1];');
    deepStrictEqual(liveLines(kernel), { a: '4-8', b: '10-12' });
    deepStrictEqual(kernel.interference, []);
    strictEqual(kernel.points.length, 11);
  });

  it('writes do not end a range: threads write parts', async () => {
    const { kernel } = await pass(`${head}  a[t] = in[t];\n  __syncthreads();\n  out[t] = a[t ^ 1];\n  __syncthreads();\n  b[t] = 1;\n  __syncthreads();\n`
      + `  if (t < 3) a[t] = b[t];\n`
      + '  __syncthreads();\n  out[t] += a[t ^ 1];');
    deepStrictEqual(liveLines(kernel), { a: '4-12', b: '8-10' });
    deepStrictEqual(kernel.interference, [['a', 'b']]);
  });

  it('a write that nobody reads still takes its bytes at that point', async () => {
    const { kernel, source } = await pass(`${head}  a[t] = in[t];\n  __syncthreads();\n  b[t] = 1;\n  __syncthreads();\n  out[t] = a[t ^ 1];`);
    deepStrictEqual(liveLines(kernel), { a: '4-8', b: '6-6' });
    strictEqual(kernel.status, 'kept');
    ok(!source.includes('pool'));
  });

  it('an array that nobody touches takes none', async () => {
    const { kernel } = await pass(`${head}  a[t] = in[t];\n  __syncthreads();\n  out[t] = a[t ^ 1];`);
    deepStrictEqual(kernel.arrays[1]!.live, []);
    strictEqual(kernel.bytesAfter, 256);
  });

  it('sizeof is no access', async () => {
    const { kernel } = await pass(`${head}  a[t] = in[t];\n  __syncthreads();\n  out[t] = a[t ^ 1];\n  static_assert(sizeof(b) == 256, "");\n  n = sizeof(b) / sizeof b[0];`);
    deepStrictEqual(kernel.arrays[1]!.live, []);
  });

  it('the arms of a uniform branch do not meet, those of a divergent one do', async () => {
    const arms = (condition: string): string => `${head}  if (${condition}) {\n    a[t] = 1;\n    out[t] = a[t];\n  } else {\n    b[t] = 2;\n    out[t] = b[t];\n  }`;
    const uniform = await pass(arms('n > 3'));
    deepStrictEqual([uniform.kernel.interference, uniform.kernel.bytesAfter, uniform.kernel.barriersAdded.length], [[], 256, 0]);
    for (const condition of ['t < n', 'in[0] > 1 && out[0] > 0', 'threadIdx.y == 0', 'out[0] > 0']) {
      const divergent = await pass(arms(condition));
      deepStrictEqual(divergent.kernel.interference, [['a', 'b']], condition);
    }
  });

  it('what is uniform: parameters, blocks, constants, what is computed from them, read-only memory, votes', async () => {
    const before = '#define TWICE(x) (2 * (x))\n#define BLOCK blockIdx.x\n__constant__ int table[4];\n'
      + '__device__ int half(int x) { int y = x; for (int i = 0; i < 1; ++i) y /= 2; return y; }\n';
    for (const condition of ['n', 'blockIdx.x > 3', 'blockDim.x * gridDim.y == 2', 'TWICE(n) > 3', 'BLOCK', 'table[n & 3] > 0', 'in[n] > 0.0f', '__ldg(in + n) > 0.0f',
      'half(n) > 2', 'm > 2',
      '__syncthreads_or(t)', 'min(n, 3) == 2', '(int)blockIdx.y - 1 > 0', 'p.x > 3', 'sizeof(float) == 4']) {
      const text = `${head}  int m = 0;\n  float2 p = make_float2(n, 2);\n  for (int i = 0; i < n; ++i) m += i;\n  if (${condition}) {\n    a[t] = 1;\n    __syncthreads();\n`
        + `    out[t] = a[t];\n  } else {\n`
        + '    b[t] = 2;\n    __syncthreads();\n    out[t] = b[t];\n  }';
      const { kernel } = await pass(text, {}, before);
      deepStrictEqual(kernel.interference, [], condition);
    }
  });

  it('what may change while the kernel runs is not uniform', async () => {
    const before = '__constant__ float* moving;\n__device__ int flag;\n'
      + '__global__ void k2(const float* const* __restrict__ rows, const volatile int* __restrict__ seen, const int* plain, float* out, int n) {\n';
    for (const condition of ['moving[0] > 0', 'flag > 0', 'rows[0][1] > 0', 'seen[0] > 0', 'plain[0] > 0', 'out[0] > 0', 'clock() > 3', 'b[0] > 0']) {
      const body = `${head}  b[t] = 1;\n  if (${condition}) {\n    a[t] = 1;\n    __syncthreads();\n    out[t] = a[t];\n  }`;
      const { report } = await optimize(`${before}${body}\n}\n`);
      deepStrictEqual(report.refused.map(({ code }) => code), ['divergent-barrier'], condition);
    }
  });

  it('a loop keeps what its iterations carry', async () => {
    const loop = `${head}  for (int i = 0; i < n; ++i) {\n    a[t] = in[i];\n    __syncthreads();\n    float x = a[t ^ 1];\n    __syncthreads();\n    b[t] = x;\n`
      + `    __syncthreads();\n    out[t] += b[t ^ 1];\n`
      + '    __syncthreads();\n  }';
    const { kernel } = await pass(loop);
    deepStrictEqual([kernel.interference, kernel.status], [[['a', 'b']], 'kept']);
    const told = await pass(loop, { rewritten: ['a'] });
    deepStrictEqual(told.kernel.interference, [['a', 'b']]); // b is still kept around
    const both = await pass(loop, { rewritten: true });
    deepStrictEqual([both.kernel.interference, both.kernel.bytesAfter, both.kernel.barriersAdded], [[], 256, []]);
    deepStrictEqual(both.kernel.arrays.map((array) => array.rewrittenIn), [[4], [4]]);
    strictEqual(both.kernel.assumptions.length, 2);
  });

  it('the word of the caller is not taken where the text speaks against it', async () => {
    const first = await pass(`${head}  a[t] = 0;\n  for (int i = 0; i < n; ++i) {\n    b[t] = a[t];\n    __syncthreads();\n    out[t] = b[t ^ 1];\n    __syncthreads();\n`
      + `    a[t] = 1;\n    __syncthreads();\n  }`,
      { rewritten: true });
    deepStrictEqual(first.kernel.interference, [['a', 'b']]);
    const sometimes = await pass(`${head}  for (int i = 0; i < n; ++i) {\n    if (i % 2 == 0) a[t] = 1;\n    __syncthreads();\n    out[t] += a[t ^ 1];\n    __syncthreads();\n`
      + `    b[t] = 1;\n    __syncthreads();\n`
      + '    out[t] += b[t ^ 1];\n    __syncthreads();\n  }', { rewritten: true });
    deepStrictEqual(sometimes.kernel.interference, [['a', 'b']]);
  });

  it('nested loops: what is only needed inside the inner one ends with it', async () => {
    const { kernel } = await pass('  __shared__ float a[64], b[64], c[64];\n  const int t = threadIdx.x;\n  for (int i = 0; i < n; ++i) {\n    a[t] = 1;\n'
      + '    for (int j = 0; j < n; ++j) {\n      b[t] = a[t];\n'
      + '      __syncthreads();\n      out[t] += b[t ^ 1];\n      __syncthreads();\n    }\n    c[t] = 2;\n    __syncthreads();\n    out[t] += c[t ^ 1];\n    __syncthreads();\n'
      + '  }', { rewritten: ['b', 'c', 'a'] });
    deepStrictEqual(kernel.interference, [['a', 'b']]);
    strictEqual(kernel.bytesAfter, 512);
  });

  it('pointers, references, rows and functions are seen through', async () => {
    const before = '__device__ void put(float* p, float& r, const float (*rows)[8], int i) { float* q = p + 1; q[i] = 1; r = rows[i][0]; }\n';
    const { kernel } = await pass('  __shared__ float a[64], m[8][8];\n  __shared__ struct_ s[2];\n  const int t = threadIdx.x;\n  m[t][t] = 1;\n  float* row = m[2];\n'
      + '  row += 3;\n  *row = 2;\n  __syncthreads();\n'
      + '  put(a, s[0].x, m, t);\n  __syncthreads();\n  const float& r = s[0].x;\n  out[t] = r + a[t];', {}, `struct struct_ { float x; int y[2]; };\n${before}`);
    deepStrictEqual(liveLines(kernel), { a: '12-15', m: '7-12', s: '12-15' });
  });

  it('names that are hidden mean the inner ones', async () => {
    const { kernel } = await pass(`${head}  a[t] = 1;\n  __syncthreads();\n  out[t] = a[t ^ 1];\n  __syncthreads();\n  {\n    float a[2] = {1, 2};\n    b[t] = a[t & 1];\n`
      + `    __syncthreads();\n    out[t] += b[t ^ 1] + a[0];\n  }`);
    deepStrictEqual(liveLines(kernel), { a: '4-6', b: '10-12' });
    strictEqual(kernel.bytesAfter, 256);
  });
});

describe('scratchpad: statements that write whole arrays', function () {
  this.timeout(120_000); // on busy machines
  /** Whether the content of `a` is seen not to be kept around a loop in which a statement writes it. */
  const proves = async (statement: string, shape: readonly [number, number?, number?], array = 'float a[64]', setting = 'const int t = threadIdx.x;'): Promise<boolean> => {
    const index = array.includes('][') ? 'a[0][t]' : 'a[t]';
    const { kernel } = await pass(`  __shared__ ${array}, b[64];\n  ${setting}\n  for (int i = 0; i < n; ++i) {\n    ${statement}\n    __syncthreads();\n`
      + `    out[t] += ${index};\n    __syncthreads();\n`
      + '    b[t] = 1;\n    __syncthreads();\n    out[t] += b[0];\n    __syncthreads();\n  }', { blockThreads: shape, rewritten: ['b'] });
    return kernel.interference.length === 0;
  };

  it('one element per thread', async () => {
    ok(await proves('a[t] = in[i];', [64]));
    ok(await proves('a[63 - t] = in[i];', [64]));
    ok(await proves('a[t * 2 % 64 + t / 32] = 0;', [64]));
    ok(!(await proves('a[t] = in[i];', [63])));
    ok(!(await proves('a[t / 2] = in[i];', [64])));
    ok(!(await proves('a[t] += in[i];', [64])));
    ok(!(await proves('a[(t + i) % 64] = 0;', [64])));
    ok(await proves('a[threadIdx.y][threadIdx.x] = 1;', [16, 8], 'float a[8][16]'));
    ok(!(await proves('a[threadIdx.y][threadIdx.x] = 1;', [16, 4], 'float a[8][16]')));
  });

  it('loops over the elements', async () => {
    ok(await proves('for (int k = t; k < 64; k += 16) a[k] = in[k];', [16]));
    ok(!(await proves('for (int k = t; k < 64; k += 17) a[k] = in[k];', [16])));
    ok(!(await proves('for (int k = t; k < 60; k += 16) a[k] = in[k];', [16])));
    ok(await proves('for (int k = t; k < 64; k += blockDim.x) { const float v = in[k]; if (k >= 0) a[k] = v; }', [16]));
    ok(!(await proves('for (int k = t; k < 64; k += 16) { if (in[k] > 0) a[k] = 1; }', [16])));
    ok(!(await proves('for (int k = t; k < 64; k += 16) { if (in[k] > 0) continue; a[k] = 1; }', [16])));
    ok(!(await proves('for (int k = t; k < n; k += 16) a[k] = 1;', [16])));
    ok(await proves('for (int k = t; k < 18 * 18; k += 256) { const int x = k % 18, y = k / 18; a[y][x] = in[k]; }', [16, 16], 'float a[18][18]',
      'const int t = threadIdx.y * 16 + threadIdx.x;'));
    ok(await proves('for (int y = threadIdx.y; y < 18; y += 16) for (int x = threadIdx.x; x < 18; x += 16) a[y][x] = 1;', [16, 16], 'float a[18][18]'));
    ok(!(await proves('for (int y = threadIdx.y; y < 18; y += 16) for (int x = threadIdx.x; x < 17; x += 16) a[y][x] = 1;', [16, 16], 'float a[18][18]')));
  });

  it('numbers that are not exact integers prove nothing', async () => {
    ok(!(await proves('a[k] = 1;', [64], 'float a[64]', 'const int t = threadIdx.x; const float k = t;')));
    ok(!(await proves('a[k] = 1;', [64], 'float a[64]', 'const int t = threadIdx.x; const char k = t;')));
    // An unsigned difference wraps: the loop does not run for the first threads.
    ok(!(await proves('for (unsigned k = threadIdx.x - 5; k < 64; k += 16) a[k] = 1;', [16])));
    ok(!(await proves('a[k] = 1;', [64], 'float a[64]', 'const int t = threadIdx.x; int k = t; if (n > 3) k = 2;')));
  });

  it('a number of threads is no promise of a shape', async () => {
    const text = `${head}  for (int i = 0; i < n; ++i) {\n    a[t] = 1;\n    __syncthreads();\n    out[t] += a[t ^ 1];\n    __syncthreads();\n    b[t] = 1;\n`
      + `    __syncthreads();\n    out[t] += b[t ^ 1];\n    __syncthreads();\n  }`;
    strictEqual((await pass(text, { blockThreads: 64 })).kernel.status, 'kept');
    const { kernel } = await pass(text, { blockThreads: [64] });
    deepStrictEqual([kernel.status, kernel.bytesAfter, kernel.assumptions.length], ['rewritten', 256, 2]);
  });
});
