// Small programs, one per feature of the language, with outputs worked out in plain JavaScript.
import { typeCases } from './type-cases.ts';

/** A program with an open input and output, run until its input is used up. */
export interface Case {
  readonly name: string;
  readonly source: string;
  readonly input?: readonly number[];
  /** Stop after so many items; default: when the input is used up. */
  readonly items?: number;
  readonly output: readonly number[];
}

const f = Math.fround;
const range = (count: number, of: (i: number) => number = (i) => i): number[] => Array.from({ length: count }, (_, i) => of(i));
const wave = range(64, (i) => f(Math.sin(i) * 3 + i * 0.25));
const ints = range(48, (i) => Math.imul(i + 1, 0x9e3779b1) | 0);
const small = range(40, (i) => (i * 37) % 101 - 50);

/** A filter from one int to one int around an expression or statements that push. */
export const intFilter = (body: string, more = ''): string => `int->int filter F { ${more} work pop 1 push 1 { ${body} } }`;
const floatFilter = (body: string, more = ''): string => `float->float filter F { ${more} work pop 1 push 1 { ${body} } }`;

export const arithmeticCases: readonly Case[] = [
  { name: 'int addition wraps', source: intFilter('push(pop() + 2147483647);'), input: ints, output: ints.map((x) => (x + 2147483647) | 0) },
  { name: 'int multiplication wraps', source: intFilter('push(pop() * 1103515245);'), input: ints, output: ints.map((x) => Math.imul(x, 1103515245)) },
  { name: 'int division truncates towards zero', source: intFilter('push(pop() / 7);'), input: small, output: small.map((x) => Math.trunc(x / 7) | 0) },
  { name: 'int remainder has the sign of the dividend', source: intFilter('push(pop() % 7);'), input: small, output: small.map((x) => (x % 7) | 0) },
  { name: 'the smallest int by minus one wraps', source: intFilter('push(pop() / -1);'), input: [-2147483648], output: [-2147483648] },
  { name: 'shifts', source: intFilter('int x = pop(); push((x << 5) ^ (x >> 3));'), input: ints, output: ints.map((x) => (x << 5) ^ (x >> 3)) },
  {
    name: 'shifts bind like multiplication', source: intFilter('int x = pop(); push(x + x << 2);'), input: small,
    output: small.map((x) => x + (x << 2)),
  },
  {
    name: 'and, or and exclusive or bind alike, from the left', source: intFilter('int x = pop(); push(x | 12 & x ^ 5);'), input: small,
    output: small.map((x) => ((x | 12) & x) ^ 5),
  },
  { name: 'complement and minus', source: intFilter('int x = pop(); push(~x - -x);'), input: small, output: small.map((x) => ~x + x) },
  { name: 'hexadecimal literals wrap', source: intFilter('push(pop() ^ 0xFFFFFFFF);'), input: small, output: small.map((x) => x ^ -1) },
  { name: 'float sums are rounded', source: floatFilter('push(pop() + 0.1);'), input: wave, output: wave.map((x) => f(x + f(0.1))) },
  {
    name: 'each float operation is rounded', source: floatFilter('float x = pop(); push(x * x * x / 3 - x);'), input: wave,
    output: wave.map((x) => f(f(f(f(x * x) * x) / 3) - x)),
  },
  { name: 'ints widen to float', source: floatFilter('int i = 16777217; push(pop() + i);'), input: wave, output: wave.map((x) => f(x + 16777216)) },
  {
    name: 'a float is truncated to int',
    source: 'float->int filter F { work pop 1 push 1 { push((int) pop()); } }',
    input: [1.9, -1.9, 0.5, -0.5, 3e9, -3e9], output: [1, -1, 0, 0, 2147483647, -2147483648],
  },
  {
    name: 'doubles are not rounded', source: 'float->double filter F { work pop 1 push 1 { double x = pop(); push(x * 0.1); } }', input: wave,
    output: wave.map((x) => x * 0.1),
  },
  {
    name: 'bits', source: 'bit->bit filter F { work pop 2 push 4 { bit a = pop(); bit b = pop(); push(a & b); push(a | b); push(a ^ b); push(~a); } }',
    input: [0, 0, 0, 1, 1, 0, 1, 1], output: [[0, 0], [0, 1], [1, 0], [1, 1]].flatMap(([a, b]) => [a! & b!, a! | b!, a! ^ b!, 1 - a!]),
  },
  {
    name: 'booleans', source: 'int->boolean filter F { work pop 1 push 1 { boolean odd = (pop() & 1) == 1; push(!odd || false); } }', input: small,
    output: small.map((x) => ((x & 1) === 1 ? 0 : 1)),
  },
  {
    name: 'the right side of && is only evaluated where it matters',
    source: intFilter('int x = pop(); boolean b = x != 0 && 100 / x > 3; push(b ? 1 : 0);'), input: [0, 5, 50, -5],
    output: [0, 1, 0, 0],
  },
  {
    name: 'complex numbers',
    source: 'float->float filter F { work pop 2 push 2 { complex z; z.real = pop(); z.imag = pop(); complex w = z * z + 1.0 + 2i; push(w.real); push(w.imag); } }',
    input: wave, output: range(32, (i) => i).flatMap((i) => {
      const [a, b] = [wave[2 * i]!, wave[2 * i + 1]!];
      return [f(f(f(a * a) - f(b * b)) + 1), f(f(f(a * b) + f(b * a)) + 2)];
    }),
  },
  {
    name: 'size and angle of complex numbers', source: 'complex->float filter F { work pop 1 push 2 { complex z = pop(); push(abs(z)); push(arg(z)); } }',
    input: [3, 4, -1, 0, 0, 2], output: [5, f(Math.atan2(4, 3)), 1, f(Math.PI), 2, f(Math.PI / 2)],
  },
  {
    name: 'root of a complex number', source: 'complex->complex filter F { work pop 1 push 1 { push(csqrt(pop())); } }',
    input: [3, 4, -4, 0, 0, 8], output: [2, 1, 0, 2, 2, 2],
  },
  {
    name: 'float4',
    source: 'float->float filter F { work pop 4 push 4 { float4 v; v.x = pop(); v.y = pop(); v.z = pop(); v.w = pop(); v = v + v * v; push(v.x); push(v.y); push(v.z); ' +
      'push(v.w); } }',
    input: wave, output: wave.map((x) => f(x + f(x * x))),
  },
  {
    name: 'functions of mathematics', source: floatFilter('float x = pop(); push(sin(x) + atan2(x, 2.0) * exp(-abs(x)) + max(x, 1.0));'), input: wave,
    output: wave.map((x) => f(f(f(Math.sin(x)) + f(f(Math.atan2(x, 2)) * f(Math.exp(-Math.abs(x))))) + Math.max(x, 1))),
  },
  {
    name: 'round, rint, floor and ceil',
    source: 'float->float filter F { work pop 1 push 4 { float x = pop(); push(round(x)); push(rint(x)); push(floor(x)); push(ceil(x)); } }',
    input: [2.5, -2.5, 0.4, 3.5], output: [3, 2, 2, 3, -2, -2, -3, -2, 0, 0, 0, 1, 4, 4, 3, 4],
  },
  { name: 'pi', source: floatFilter('push(pop() * pi);'), input: wave, output: wave.map((x) => f(x * f(Math.PI))) },
  ...typeCases,
];

export const statementCases: readonly Case[] = [
  {
    name: 'for, if and else',
    source: intFilter('int n = pop(); int s = 0; for (int i = 0; i < 10; i++) { if (i % 2 == 0) s += n; else s -= i; } push(s);'),
    input: small, output: small.map((n) => (5 * n - 25)),
  },
  {
    name: 'while with break and continue',
    source: intFilter('int x = pop(); if (x < 0) x = -x; int n = 0; while (true) { if (x <= 1) break; n++; if (x % 2 == 0) { x = x / 2; continue; } x = 3 * x + 1; } push(n);'),
    input: small, output: small.map((start) => {
      let x = Math.abs(start);
      let n = 0;
      for (; x > 1; ++n) x = x % 2 === 0 ? x / 2 : 3 * x + 1;
      return n;
    }),
  },
  { name: 'do', source: intFilter('int x = pop(); int n = 0; do { n++; x = x / 10; } while (x != 0); push(n);'), input: [0, 7, 10, 99, 100, -12345], output: [1, 1, 2, 2, 3, 5] },
  {
    name: 'compound assignments',
    source: intFilter('int x = pop(); x += 3; x *= 2; x -= 1; x /= 3; x <<= 2; x >>= 1; push(x);'),
    input: small, output: small.map((x) => (Math.trunc(((x + 3) * 2 - 1) / 3) << 2) >> 1),
  },
  {
    name: 'the target of a compound assignment is evaluated once',
    source: 'int->int filter F { work pop 2 push 4 { int[4] a; a[pop() & 3] += pop(); for (int i = 0; i < 4; i++) push(a[i]); } }',
    input: [1, 10, 6, 20, 3, -5], output: [0, 10, 0, 0, 0, 0, 20, 0, 0, 0, 0, -5],
  },
  {
    name: 'increments',
    source: intFilter('int x = pop(); int y = x++; int z = ++x; push(x * 10000 + y * 100 + z);'),
    input: [1, 2, 3], output: [1, 2, 3].map((x) => (x + 2) * 10000 + x * 100 + x + 2),
  },
  {
    name: 'an increment changes what stands behind it, not what stands before',
    source: intFilter('int i = pop(); int a = i + i++ * i; push(a * 100 + i);'),
    input: [1, 2, 5], output: [1, 2, 5].map((i) => (i + i * (i + 1)) * 100 + i + 1),
  },
  {
    name: 'increments in conditions of loops',
    source: intFilter('int n = pop(); int i = 0; int s = 0; while (i++ < n) s += i; push(s * 100 + i);'),
    input: [0, 1, 5], output: [0, 1, 5].map((n) => (n * (n + 1)) / 2 * 100 + n + 1),
  },
  {
    name: 'increments behind && happen only where it matters',
    source: intFilter('int n = pop(); int i = 0; if (n > 2 && i++ < 5) i += 10; push(i);'),
    input: [1, 3], output: [0, 11],
  },
  {
    name: 'locals begin as zeros each time',
    source: 'int->int filter F { work pop 2 push 2 { for (int i = 0; i < 2; i++) { int s; int[3] a; s += pop(); a[1] += s; push(a[1]); } } }',
    input: small, output: small,
  },
  {
    name: 'arrays are values',
    source: 'int->int filter F { work pop 1 push 2 { int[2] a; a[0] = pop(); int[2] b = a; b[0] += 1; push(a[0]); push(b[0]); } }',
    input: small, output: small.flatMap((x) => [x, x + 1]),
  },
  {
    name: 'rows of arrays are values',
    source: 'int->int filter F { work pop 1 push 2 { int[2][3] a; a[1][2] = pop(); int[3] row = a[1]; a[1][2] = 5; push(row[2]); push(a[1][2]); } }',
    input: small, output: small.flatMap((x) => [x, 5]),
  },
  {
    name: 'literal arrays',
    source: intFilter('int[2][3] t = {{1, 2, 3}, {4, 5, 6}}; int x = pop() & 1; push(t[x][0] * 100 + t[x][1] * 10 + t[x][2]);'),
    input: [0, 1, 2], output: [123, 456, 123],
  },
  {
    name: 'literal arrays of values at run time',
    source: intFilter('int x = pop(); int[3] t = {x, x * 2, x * x}; push(t[0] + t[1] + t[2]);'),
    input: small, output: small.map((x) => 3 * x + x * x),
  },
  {
    name: 'operands from left to right',
    source: 'int->int filter F { work pop 3 push 1 { push(pop() * 100 - pop() * 10 + pop()); } }',
    input: [1, 2, 3, 4, 5, 6], output: [83, 356],
  },
  {
    name: 'structs',
    source: 'struct Pair { int a; float[2] b; } int->float filter F { work pop 1 push 2 { Pair p; p.a = pop(); p.b[1] = p.a * 0.5; Pair q = p; q.a = 7; push(p.a); ' +
      'push(q.b[1]); } }',
    input: small, output: small.flatMap((x) => [x, x / 2]),
  },
  {
    name: 'helper functions',
    source: intFilter('push(clip(pop(), -10, 10));', 'int clip(int x, int low, int high) { if (x < low) return low; if (x > high) return high; return x; }'),
    input: small, output: small.map((x) => Math.max(-10, Math.min(10, x))),
  },
  {
    name: 'helper functions change arrays of their caller',
    source: intFilter('int[2] a; a[0] = pop(); int s = twice(a); push(a[0] * 1000 + s);', 'int twice(int[2] v) { v[0] = v[0] * 2; return v[0]; }'),
    input: [1, 2, 3], output: [2002, 4004, 6006],
  },
  {
    name: 'helper functions that pop and push',
    source: 'int->int filter F { void move(int n) { for (int i = 0; i < n; i++) push(pop() + n); } work pop 3 push 3 { move(1); move(2); } }',
    input: range(9), output: range(9).map((x) => x + (x % 3 === 0 ? 1 : 2)),
  },
  {
    name: 'ternary operator of mixed types',
    source: 'int->float filter F { work pop 1 push 1 { int x = pop(); push(x > 0 ? x : 0.5); } }',
    input: small, output: small.map((x) => (x > 0 ? x : 0.5)),
  },
];

const fir = (taps: readonly number[]) => (x: readonly number[]): number[] => range(x.length - taps.length + 1,
  (n) => taps.reduce((sum, tap, k) => f(sum + f(tap * x[n + k]!)), 0));
const taps = range(8, (i) => f(1 / (i + 1)));

export const filterCases: readonly Case[] = [
  {
    name: 'peeking with coefficients from init', source: `float->float filter F(int N) { float[N] h; init { for (int i = 0; i < N; i++) h[i] = 1.0 / (i + 1); }
      work pop 1 push 1 peek N { float s = 0; for (int i = 0; i < N; i++) s += h[i] * peek(i); push(s); pop(); } }
      float->float pipeline P { add F(8); }`, input: wave, output: fir(taps)(wave),
  },
  {
    name: 'peek counts from what has been popped',
    source: 'int->int filter F { work pop 2 push 3 peek 4 { push(peek(1)); int a = pop(); push(peek(1) - a); pop(); push(peek(1)); } }',
    input: range(8, (i) => i * i), output: [1, 4, 9, 9, 12, 25, 25, 20, 49],
  },
  { name: 'state', source: intFilter('sum += pop(); push(sum);', 'int sum;'), input: small, output: small.map((_, i) => small.slice(0, i + 1).reduce((a, b) => a + b, 0)) },
  {
    name: 'fields with initial values',
    source: intFilter('push(pop() * scale + offset[1]);', 'int scale = 3; int[2] offset = {1, 20};'),
    input: small, output: small.map((x) => 3 * x + 20),
  },
  {
    name: 'fields that init computes from parameters',
    source: 'int->int filter F(int N) { int[N][2] t; init { for (int i = 0; i < N; i++) { t[i][0] = i * i; t[i][1] = -i; } } work pop 1 push 1 { int x = pop() & (N - 1); ' +
      'push(t[x][0] * 100 + t[x][1]); } } int->int pipeline P { add F(4); }',
    input: range(8), output: range(8, (i) => (i & 3) * (i & 3) * 100 - (i & 3)),
  },
  {
    name: 'init calls helper functions',
    source: intFilter('push(pop() + k);', 'int k; init { k = power(3, 4); } int power(int b, int n) { int r = 1; for (int i = 0; i < n; i++) r *= b; return r; }'),
    input: small, output: small.map((x) => x + 81),
  },
  {
    name: 'prework replaces the first firing',
    source: 'int->int filter F { prework push 3 pop 1 { pop(); push(-1); push(-2); push(-3); } work pop 1 push 1 { push(pop() * 2); } }',
    input: range(6), output: [-1, -2, -3, 2, 4, 6, 8, 10],
  },
  {
    name: 'prework that pushes without popping',
    source: 'int->int filter Delay(int N) { prework push N { for (int i = 0; i < N; i++) push(0); } work pop 1 push 1 { push(pop()); } } int->int pipeline P { add Delay(3); }',
    input: range(5, (i) => i + 1), output: [0, 0, 0, 1, 2, 3, 4, 5],
  },
  { name: 'iter counts firings', source: intFilter('push(pop() + 100 * iter());'), input: [1, 1, 1], output: [1, 101, 201] },
  { name: 'a source without input', source: 'void->int filter F { int n; work push 1 { push(n++ * 3); } }', items: 5, output: [0, 3, 6, 9, 12] },
  {
    name: 'scratch arrays',
    source: 'int->int filter F { int[4] t; work pop 4 push 4 { for (int i = 0; i < 4; i++) t[i] = pop(); for (int i = 0; i < 4; i++) push(t[3 - i]); } }',
    input: range(8), output: [3, 2, 1, 0, 7, 6, 5, 4],
  },
  {
    name: 'dynamic rates',
    source: 'int->int filter F { work pop [1, *] push * { int n = pop(); for (int i = 0; i < n; i++) push(pop() * 10); } }',
    input: [2, 1, 2, 0, 3, 4, 5, 6, 1, 7], output: [10, 20, 40, 50, 60, 70],
  },
  {
    name: 'arrays on channels',
    source: 'int->int[2] filter A { work pop 2 push 1 { int[2] a; a[0] = pop(); a[1] = pop(); push(a); } } int[2]->int filter B { work pop 1 push 2 { int[2] a = pop(); ' +
      'push(a[1]); push(a[0]); } } int->int pipeline P { add A; add B; }',
    input: range(6), output: [1, 0, 3, 2, 5, 4],
  },
  {
    name: 'structs on channels',
    source: 'struct S { int a; float b; } int->S filter A { work pop 1 push 1 { S s; s.a = pop(); s.b = s.a * 0.25; push(s); } } S->float filter B { work pop 1 push 1 { S ' +
      's = pop(); push(s.a + s.b); } } int->float pipeline P { add A; add B; }',
    input: small, output: small.map((x) => f(x + x * 0.25)),
  },
  { name: 'complex items', source: 'complex->complex filter F { work pop 1 push 1 { push(pop() * 1i); } }', input: [1, 2, 3, -4], output: [-2, 1, 4, 3] },
  {
    name: 'arrays as parameters',
    source: 'float->float filter F(int N, float[N] h) { work pop 1 push 1 peek N { float s = 0; for (int i = 0; i < N; i++) s += h[i] * peek(i); push(s); pop(); } } ' +
      'float->float pipeline P { float[8] c; for (int i = 0; i < 8; i++) c[i] = 1.0 / (i + 1); add F(8, c); }',
    input: wave, output: fir(taps)(wave),
  },
  {
    name: 'rows of arrays as parameters',
    source: 'int->int filter F(int[3] h) { work pop 1 push 1 { push(pop() * h[0] + h[2]); } } int->int pipeline P { int[2][3] t; for (int i = 0; i < 2; i++) for (int j = ' +
      '0; j < 3; j++) t[i][j] = i * 3 + j; add F(t[1]); }',
    input: small, output: small.map((x) => x * 3 + 5),
  },
  {
    name: 'static sections',
    source: 'static { int N = 3; int[4] T = {1, 10, 100, 1000}; float K; init { K = sqrt(16.0); } } int->int filter F { work pop 1 push 1 { push(pop() * T[N] + (int) K); } }',
    input: small, output: small.map((x) => x * 1000 + 4),
  },
  {
    name: 'static sections that use each other',
    source: 'static { int B = A * 2; } static { int A = 21; } int->int filter F { work pop 1 push 1 { push(pop() + B); } }',
    input: [0, 1], output: [42, 43],
  },
];

const interleave = (x: readonly number[], ...maps: ((x: number) => number)[]): number[] => x.flatMap((each) => maps.map((map) => map(each)));
const scale = 'int->int filter Scale(int k) { work pop 1 push 1 { push(pop() * k); } }';

export const graphCases: readonly Case[] = [
  { name: 'pipelines', source: `${scale} int->int pipeline P { add Scale(2); add Scale(3); add Identity<int>; }`, input: small, output: small.map((x) => 6 * x) },
  { name: 'loops in bodies', source: `${scale} int->int pipeline P { for (int i = 1; i <= 4; i++) add Scale(i); }`, input: small, output: small.map((x) => 24 * x) },
  {
    name: 'conditions in bodies',
    source: `${scale} int->int pipeline P { for (int i = 1; i <= 4; i++) if (i % 2 == 0) add Scale(i); else { add Scale(-1); } }`,
    input: small, output: small.map((x) => 8 * x),
  },
  {
    name: 'duplicate',
    source: `${scale} int->int splitjoin P { split duplicate; add Scale(1); add Scale(2); add Scale(3); join roundrobin; }`,
    input: small, output: interleave(small, (x) => x, (x) => 2 * x, (x) => 3 * x),
  },
  {
    name: 'round-robin with weights',
    source: `${scale} int->int splitjoin P { split roundrobin(1, 2); add Scale(1); add Scale(10); join roundrobin(1, 2); }`,
    input: range(9), output: range(9).map((x) => (x % 3 === 0 ? x : 10 * x)),
  },
  {
    name: 'one weight for all',
    source: 'int->int splitjoin P { split roundrobin(4); add Identity<int>(); add Identity<int>(); join roundrobin(1); }',
    input: range(16), output: [0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15],
  },
  {
    name: 'null weights and void ends',
    source: `void->int filter Ones { work push 1 { push(1); } } ${scale} int->int splitjoin P { split roundrobin(1, 0); add Scale(5); add Ones; join roundrobin(1, 1); }`,
    input: range(3), output: [0, 1, 5, 1, 10, 1],
  },
  {
    name: 'sources side by side',
    source: 'void->int filter C(int c) { work push 1 { push(c); } } void->int splitjoin P { split roundrobin(0); add C(1); add C(2); join roundrobin(2, 1); }',
    items: 6, output: [1, 1, 2, 1, 1, 2],
  },
  {
    name: 'recursion',
    source: 'int->int splitjoin R(int n) { split roundrobin(n / 2); if (n > 2) { add R(n / 2); add R(n / 2); } else { add Identity<int>; add Identity<int>; } join ' +
      'roundrobin(1); } int->int pipeline P { add R(8); }',
    input: range(8), output: [0, 4, 2, 6, 1, 5, 3, 7],
  },
  {
    name: 'anonymous streams read parameters',
    source: 'int->int pipeline Q(int k) { int m = k * k; add int->int filter { work pop 1 push 1 { push(pop() * k + m); } }; add splitjoin { split duplicate; add int->int ' +
      'filter { work pop 1 push 1 { push(pop() + m); } } add pipeline { for (int i = 0; i < k; i++) add int->int filter { work pop 1 push 1 { push(pop() + i); } }; } join ' +
      'roundrobin; } } int->int pipeline P { add Q(3); }',
    input: range(4), output: range(4).flatMap((x) => [3 * x + 18, 3 * x + 9 + 3]),
  },
  {
    name: 'feedback: a running sum',
    source: 'int->int feedbackloop P { join roundrobin(1, 1); body int->int filter { work pop 2 push 1 { push(pop() + pop()); } } '
      + 'loop Identity<int>; split duplicate; enqueue 100; }',
    input: range(6), output: range(6).map((i) => 100 + (i * (i + 1)) / 2),
  },
  {
    name: 'feedback: Fibonacci numbers',
    source: 'void->int feedbackloop P { join roundrobin(0, 1); body int->int filter { work pop 1 push 1 peek 2 { push(peek(0) + peek(1)); pop(); } } loop Identity<int>; ' +
      'split duplicate; enqueue 0; enqueue 1; }',
    items: 8, output: [1, 2, 3, 5, 8, 13, 21, 34],
  },
  {
    name: 'feedback with weights',
    source: 'int->int feedbackloop P { join roundrobin(1, 2); body int->int filter { work pop 3 push 3 { int a = pop(); int b = pop(); int c = pop(); push(a + b); push(b ' +
      '- c); push(a); } } loop int->int filter { work pop 2 push 2 { int a = pop(); push(pop()); push(a); } } split roundrobin(1, 2); enqueue 1; enqueue 2; }',
    input: [5, 6, 7], output: [6, 11, 13],
  },
  {
    name: 'arrays computed in the body',
    source: 'int->int filter F(int n, int[n] t) { work pop 1 push 1 { push(pop() + t[n - 1]); } } int->int pipeline P { for (int k = 1; k < 4; k++) { int[k] t; for (int i ' +
      '= 0; i < k; i++) t[i] = k * 10 + i; add F(k, t); } }',
    input: [0, 1], output: [10 + 21 + 32, 64],
  },
  {
    name: 'several levels of splitjoins',
    source: `${scale} int->int splitjoin Q(int k) { split duplicate; add Scale(k); add Scale(-k); join roundrobin; } int->int splitjoin P { split roundrobin; add Q(1); add
      Q(2); join roundrobin(2); }`,
    input: range(4, (i) => i + 1), output: [1, -1, 4, -4, 3, -3, 8, -8],
  },
];
