// Statements that change places: only independent ones, and only where bytes are saved.
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import type { Dependence, Unit } from '../../lib/scratchpad/dependence.ts';
import { optimize } from '../../lib/scratchpad/optimize.ts';
import { schedule } from '../../lib/scratchpad/schedule.ts';
import { pass } from './pass.ts';

const four = '  __shared__ float a[64], b[64], c[64], d[64];\n  const int t = threadIdx.x;\n';
/** Two chains, a to c and b to d, stage by stage: all four arrays are needed at once. */
const chains = (one = 'out[t] = c[t ^ 1];', two = 'out[t + n] = d[t ^ 1];', between = ''): string =>
  `${four}  a[t] = in[t];\n  b[t] = in[t + n];\n  __syncthreads();\n${between}  c[t] = a[t ^ 1] + a[t];\n  d[t] = b[t ^ 1] + b[t];\n  __syncthreads();\n  ${one}\n  ${two}\n`
    + `  n = a[0] + b[0];`;
const reorder = { reorder: true };

describe('scratchpad: reordering', function () {
  this.timeout(120_000); // on busy machines
  it('one chain after the other needs half of the bytes', async () => {
    const body = chains().replace('\n  n = a[0] + b[0];', '');
    strictEqual((await pass(body)).kernel.bytesAfter, 768);
    const wide = body.replace('out[t] = c[t ^ 1];', 'out[t] = c[t ^ 1] + a[t];').replace('out[t + n] = d[t ^ 1];', 'out[t + n] = d[t ^ 1] + b[t];');
    strictEqual((await pass(wide)).kernel.status, 'kept');
    const { kernel, source } = await pass(wide, reorder);
    deepStrictEqual([kernel.bytesBefore, kernel.bytesAfter, kernel.lowerBound], [1024, 512, 512]);
    deepStrictEqual(kernel.moved.map(({ line, beforeLine }) => [line, beforeLine]), [[5, 11], [8, 11]]);
    ok(kernel.barriersAdded.every(({ cause, separates }) => cause === 'order' && separates.length === 0) && kernel.barriersAdded.length > 0);
    // The same statements, each once.
    const statements = (text: string): string[] => text.split('\n').map((line) => line.trim()).filter((line) => /^(?:[abcd]\[t\] =|out)/.test(line)).sort();
    deepStrictEqual(statements(source), statements(wide));
  });

  it('the registration step saves half', async () => {
    const source = readFileSync(new URL('../../examples/kernels/registration.cu', import.meta.url), 'utf8');
    const { report } = await optimize(source, reorder);
    const [kernel] = report.kernels;
    deepStrictEqual([kernel!.bytesBefore, kernel!.bytesAfter, kernel!.barriersExisting.length, kernel!.barriersAdded.length], [8224, 4112, 2, 3]);
    match(kernel!.moved[0]!.text, /^for /);
  });

  const wide = (one: string, two: string, between = ''): string => chains(one, two, between).replace('\n  n = a[0] + b[0];', '');

  it('not where both write what may be the same memory, unless they say it is not', async () => {
    const head = '__global__ void k2(const float* in, float* P, float* Q, int n) {\n';
    const body = wide('P[t] = c[t ^ 1] + a[t];', 'Q[t] = d[t ^ 1] + b[t];').replace(/in\[/g, 'in[');
    const bytes = async (text: string): Promise<number> => (await optimize(text, reorder)).report.kernels[0]!.bytesAfter;
    // P and Q may be one array, and may be what in points to: only d can wait.
    strictEqual(await bytes(`${head}${body}\n}\n`), 768);
    strictEqual(await bytes(`${head.replace('float* P, float* Q', 'float* __restrict__ P, float* __restrict__ Q')}${body}\n}\n`), 512);
    // Two writes through one pointer keep their order; one chain first does that too.
    strictEqual(await bytes(`${head.replace('in, float* P, float* Q', '__restrict__ in, float* __restrict__ P, float* Q')}${body.replace('Q[t]', 'P[t]')}\n}\n`), 512);
    // The other chain reads what this one's end writes: it goes first as a whole.
    const read = await optimize(`${head.replace('float* P, float* Q', 'float* __restrict__ P, float* __restrict__ Q')}${body.replace('b[t] = in[t + n]', 'b[t] = P[t]')}\n}\n`
      + ``, reorder);
    strictEqual(read.report.kernels[0]!.bytesAfter, 512);
    ok(read.source.indexOf('b[t] = P[t]') < read.source.indexOf('P[t] = c'));
  });

  it('atomics, shuffles, prints and barriers in loops stay between their neighbours', async () => {
    for (const fence of ['atomicAdd(out + n, 1.0f);', 'printf("%d", n);', 'out[n] = __shfl_sync(~0u, out[t], 0);', 'for (int i = 0; i < n; ++i) __syncthreads();',
      'if (n > 3) return;']) {
      const { kernel, source } = await pass(wide('out[t] = c[t ^ 1] + a[t];', 'out[t + n] = d[t ^ 1] + b[t];', `  ${fence}\n`), reorder);
      strictEqual(kernel.bytesAfter, 768, fence);
      const places = ['a[t] = in', 'b[t] = in', fence, 'c[t] =', 'out[t] =', 'd[t] ='].map((text) => source.lastIndexOf(text));
      deepStrictEqual([...places].sort((x, y) => x - y), places, source);
    }
  });

  it('values in registers keep their order', async () => {
    const counted = '  float x = 1;\n';
    const body = wide('out[t] = c[t ^ 1] + a[t] + x; x = x * 2;', 'out[t + n] = d[t ^ 1] + b[t] + x;', counted);
    const { source, kernel } = await pass(body, reorder);
    strictEqual(kernel.bytesAfter, 512);
    ok(source.indexOf('float x = 1') < source.indexOf('x = x * 2') && source.indexOf('x = x * 2') < source.indexOf('d[t ^ 1]'));
    const twice = body.replace('b[t] = in[t + n];', 'float y = 0;\n  b[t] = in[t + n];\n').replace('+ a[t] + x;', '+ a[t] + y; y = 3;');
    const crossing = await pass(twice.replace('d[t] = b', 'y = 2;\n  d[t] = b'), reorder);
    const at = (text: string): number => crossing.source.indexOf(text);
    ok(at('y = 2') < at('+ y;') && at('+ y;') < at('y = 3'), crossing.source);
  });

  it('a local pointer into an array is a variable too', async () => {
    const body = wide('out[t] = *p; p += 2; out[t] += *p + c[t ^ 1] + a[t];', 'out[t + n] = d[t ^ 1] + b[t] + p[0];', '  float* p = a;\n  p += 1;\n');
    const { source } = await pass(body, reorder);
    const places = ['float* p = a', 'p += 1', 'out[t] = *p;', 'p += 2', 'out[t] += *p', 'b[t] + p[0]'].map((text) => source.indexOf(text));
    deepStrictEqual([...places].sort((x, y) => x - y), places, source);
    ok(places[0]! > 0);
  });

  it('pointers to variables, references and lambdas: the order stays', async () => {
    for (const hidden of ['int m = 0; int* p = &m;', 'int m = 0; int& p = m;', 'auto f = [&] { n = 3; }; f();']) {
      const { kernel } = await pass(wide('out[t] = c[t ^ 1] + a[t];', 'out[t + n] = d[t ^ 1] + b[t];', `  ${hidden}\n`), reorder);
      deepStrictEqual(kernel.moved, [], hidden);
    }
  });

  it('comments and pragmas go with their statements', async () => {
    const body = wide('out[t] = c[t ^ 1] + a[t]; // the first end', 'out[t + n] = d[t ^ 1] + b[t];').replace('  b[t] = in', '  // second\n#pragma unroll\n'
      + '  for (int i = 0; i < 1; ++i) b[t] = in');
    const { source, kernel } = await pass(body, reorder);
    strictEqual(kernel.bytesAfter, 512);
    match(source, /\/\/ second\n#pragma unroll\n {2}for \(int i/);
    match(source, /a\[t\]; \/\/ the first end\n/);
  });

  it('where nothing is gained the text keeps its order', async () => {
    const body = `${four}  a[t] = in[t];\n  __syncthreads();\n  b[t] = a[t ^ 1];\n  __syncthreads();\n  out[t] = b[t ^ 1];`;
    const [plain, ordered] = [await pass(body), await pass(body, reorder)];
    strictEqual(ordered.source, plain.source);
    deepStrictEqual(ordered.report, plain.report);
  });
});

describe('scratchpad: the schedule', function () {
  this.timeout(120_000); // on busy machines
  /** Statements that touch arrays, with random dependences. */
  const problems = fc.record({
    touched: fc.array(fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 6 }),
    edges: fc.array(fc.tuple(fc.nat({ max: 5 }), fc.nat({ max: 5 }), fc.boolean()), { maxLength: 8 }), bytes: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 4,
      maxLength: 4 }),
  });

  function dependenceOf({ touched, edges }: { touched: number[][]; edges: [number, number, boolean][] }): Dependence {
    const units = touched.map((arrays) => ({ isBarrier: false, isLight: false, isFence: false, arrays: new Set(arrays) }) as unknown as Unit);
    const before = units.map(() => new Set<number>());
    const separated = new Set<number>();
    for (let late = 0; late < units.length; ++late) {
      for (const [a, b, apart] of edges) {
        const early = Math.min(a, b);
        if (Math.max(a, b) !== late || early === late) continue;
        before[late]!.add(early);
        for (const each of before[early]!) before[late]!.add(each);
        if (apart) separated.add(early * units.length + late);
      }
    }
    return { units, before, separated };
  }

  /** Largest bytes of a stage: arrays touched in it, or before and after it. */
  function largest({ units }: Dependence, stages: readonly (readonly number[])[], bytes: readonly number[]): number {
    const touches = (from: number, to: number, array: number): boolean => stages.slice(from, to).flat().some((unit) => units[unit]!.arrays.has(array));
    return Math.max(...stages.map((_, at) => bytes.reduce((sum, size, array) =>
      sum + (touches(at, at + 1, array) || (touches(0, at, array) && touches(at + 1, stages.length, array)) ? size : 0), 0)));
  }

  function* ordersOf(left: readonly number[], done: readonly number[], dependence: Dependence): Generator<number[]> {
    if (left.length === 0) yield [...done];
    for (const unit of left) {
      if ([...dependence.before[unit]!].every((each) => done.includes(each))) yield* ordersOf(left.filter((each) => each !== unit), [...done, unit], dependence);
    }
  }

  it('keeps dependences and needs no more than any other order and any other barriers', () => {
    fc.assert(fc.property(problems, ({ touched, edges, bytes }) => {
      const dependence = dependenceOf({ touched, edges });
      const stages = schedule(dependence, bytes);
      const order = stages.flat();
      deepStrictEqual([...order].sort(), touched.map((_, unit) => unit));
      for (const [late, early] of dependence.before.entries()) for (const each of early) ok(order.indexOf(each) < order.indexOf(late));
      const n = touched.length;
      for (const stage of stages) for (const a of stage) for (const b of stage) ok(a >= b || !dependence.separated.has(a * n + b));
      let best = Infinity;
      for (const each of ordersOf(touched.map((_, unit) => unit), [], dependence)) {
        // A barrier after every statement takes the least bytes of an order.
        best = Math.min(best, largest(dependence, each.map((unit) => [unit]), bytes));
      }
      strictEqual(largest(dependence, stages, bytes), best);
    }), { numRuns: 150, seed: 6 });
  });

  it('long kernels are scheduled too, within their dependences', () => {
    const touched = Array.from({ length: 30 }, (_, unit) => [unit % 4]);
    const edges: [number, number, boolean][] = Array.from({ length: 26 }, (_, unit) => [unit, unit + 4, unit % 2 === 0]);
    const dependence = dependenceOf({ touched, edges });
    const bytes = [4, 4, 4, 4];
    const stages = schedule(dependence, bytes);
    const order = stages.flat();
    strictEqual(order.length, 30);
    for (const [late, early] of dependence.before.entries()) for (const each of early) ok(order.indexOf(each) < order.indexOf(late));
    for (const stage of stages) for (const a of stage) for (const b of stage) ok(a >= b || !dependence.separated.has(a * 30 + b));
    ok(largest(dependence, stages, bytes) < 16);
  });
});
