// Programs in the styles that people write: old and new spellings, types mixed freely, rates that the code does not keep, several programs
// in one file. Outputs are worked out in plain JavaScript.
import { arrayStyles } from './styles-arrays.ts';

export interface Style {
  readonly name: string;
  readonly source: string;
  /** Output for the items 1, 2, 3 … 24 on the open input, or for no input if the program has none. */
  readonly output?: (input: readonly number[]) => readonly number[];
  /** Lines of a program without an open output, for six steady states. */
  readonly printed?: readonly (string | number)[];
  /** Codes of warnings that must be there. */
  readonly warned?: readonly string[];
  /** With a recursion that compiled programs take, too. */
  readonly isCompiled?: boolean;
}

const f = Math.fround;
const each = (of: (x: number, i: number) => number) => (input: readonly number[]): number[] => input.map(of);
const chunks = (size: number, of: (x: readonly number[], i: number) => readonly number[]) => (input: readonly number[]): number[] =>
  Array.from({ length: Math.floor(input.length / size) }, (_, i) => of(input.slice(i * size, (i + 1) * size), i)).flat();
const windows = (size: number, of: (x: readonly number[]) => number) => (input: readonly number[]): number[] =>
  Array.from({ length: input.length - size + 1 }, (_, i) => of(input.slice(i, i + size)));
const same = each((x) => x);
const six = [0, 1, 2, 3, 4, 5];

const source = 'void->int filter Source { int n; init { n = 0; } work push 1 { push(n++); } }\n';
const sink = 'int->void filter Sink { work pop 1 { println(pop()); } }\n';
const intFilter = (body: string, more = ''): string => `int->int filter F { ${more} work pop 1 push 1 { ${body} } }`;

const types: readonly Style[] = [
  {
    name: 'floats cut to int where an int stands', warned: ['S0302'],
    source: 'float->float filter N(int n) { int k = 3.7; init { int i; i = 3.5 * n; k = k + i; } work push 1 pop 1 { int x = 3.5 * pop(); x += 2.5; x *= 1.5; push(x ' +
      '+ k); } }\n' +
      'float->float pipeline Main { add N(3); }',
    output: each((x) => Math.trunc(Math.trunc(Math.trunc(3.5 * x) + 2.5) * 1.5) + 13),
  },
  { name: 'an int as a condition', warned: ['S0320'], source: intFilter('int x = pop(); if (x - 3) push(x); else push(!x ? 7 : 8);'), output: each((x) => (x === 3 ? 8 : x)) },
  { name: 'a float as a condition', warned: ['S0320'], source: intFilter('float x = pop() - 5; int n = 0; while (x) { x = 0; n++; } ' +
      'push(n);'), output: each((x) => Number(x !== 5)) },
  { name: 'booleans beside ints', warned: ['S0324'], source: intFilter('int x = pop(); boolean b = x > 4; if (b == 1) x++; push(x + b + (b & ' +
      '3));'), output: each((x) => (x > 4 ? x + 3 : x)) },
  { name: 'booleans and numbers stored in each other', warned: ['S0324'], source: intFilter('boolean b = pop() % 3; int k = b; ' +
      'push(k);'), output: each((x) => Number(x % 3 !== 0)) },
  {
    name: 'bits and ints mixed', warned: ['S0302'],
    source: 'int->bit filter B { bit s = 1; work pop 1 push 1 { bit x = pop() & 1; s = s ^ x; push(s | 0); } } bit->int filter I { work pop 4 push 1 { int v = 0; ' +
      'for (int i = 0; i < 4; ' +
      'i++) v = (v << 1) | pop(); push(v); } } int->int pipeline Main { add B; add I; }',
    output: (input) => {
      let s = 1;
      return chunks(4, (bits) => [bits.reduce((v, x) => { s ^= x & 1; return 2 * v + s; }, 0)])(input);
    },
  },
  { name: 'the remainder of floats', source: 'float->float filter F { work pop 1 push 1 { push((pop() * 1.5) % 2 + fmod(7.25, 2)); } ' +
      '}', output: each((x) => (1.5 * x) % 2 + 1.25) },
  { name: 'alternatives of two types', source: 'int->float filter F { work pop 1 push 1 { int x = pop(); push(x > 2 ? x : 0.5); } }', output: each((x) => (x > 2 ? x : 0.5)) },
  { name: 'casts before everything', source: intFilter('int x = pop(); float y = (float)x / 2; push((int)y + (int)(y * 2) + (int) sqrt((float) 16) + ((boolean) (x - ' +
      '1) ? 1 : 0) + (bit) x);'),
    output: each((x) => Math.trunc(x / 2) + x + 4 + Number(x !== 1) + (x & 1)) },
  { name: 'signs and complements', source: intFilter('int x = pop(); push(-x + +x - -3 + -(-x) + ~x + (-1) * x);'), output: each((x) => 3 + x + ~x - x) },
  { name: 'doubles stored in floats', warned: ['S0302'], source: 'double->double filter F { double k = 1.5; work pop 1 push 1 { double x = pop(); float y = x * 0.1; ' +
      'push(x * k + y); } }',
    output: each((x) => x * 1.5 + f(x * 0.1)) },
  { name: 'int numbers from functions of mathematics', warned: ['S0321'], source: intFilter('int x = pop(); int r = round(x / 2.5); int c = floor(2.5); push(r + c + ' +
      'max(x, 3) + min(x, 2) + abs(-x) + (int) ceil(1.2));'),
    output: each((x) => Math.floor(f(x / 2.5) + 0.5) + 2 + Math.max(x, 3) + Math.min(x, 2) + x + 2) },
  { name: 'names of java.lang.Math', source: 'float->float filter F { work pop 1 push 4 { float x = pop(); push(hypot(3 * x, 4 * x)); push(signum(x - 2)); ' +
      'push(Math.sqrt(x * x)); push(floorMod(-7, 4) + floorDiv(-7, ' +
    '4) + fabs(-x) + trunc(-1.5)); } }', output: (input) => input.flatMap((x) => [5 * x, Math.sign(x - 2), x, 1 - 2 + x - 1]) },
  { name: 'complex numbers of all forms', source: 'float->complex filter In { work pop 1 push 1 { push(pop()); } } complex->complex filter F { complex z = 1+2i; ' +
      'complex[2] a; init { a[0] = 2i; a[1].real = 4; } ' +
    'work pop 1 push 1 { complex t = pop(); t += z; t *= a[0]; push(-t * 2 + a[1]); } } complex->float filter Out { work pop 1 push 2 { complex c = pop(); ' +
      'push(c.real); push(c.imag); } } ' +
    'float->float pipeline Main { add In; add F; add Out; }', output: (input) => input.flatMap((x) => [12, -4 * (x + 1)]) },
  { name: 'functions of complex numbers', source: 'float->float filter F { work pop 1 push 2 { complex z = pop() * 1i; complex e = exp(z * 0); complex r = sqrt(z * ' +
      'z); push(e.real); push(abs(r)); } }',
    output: (input) => input.flatMap((x) => [1, x]) },
  { name: 'structs in arrays in structs', source: 'struct V { float x, y; } struct W { V[2] a; int n; V c; } float->float filter F { W w; V[3] v; work pop 1 push 1 ' +
      '{ w.a[1].x = pop(); w.c = w.a[1]; w.n++; v[2] = w.c; V ' +
    't = v[2]; t.x += 1; push(t.x + w.n + v[2].x + w.a[0].y); } }', output: each((x, i) => 2 * x + 1 + i + 1) },
  { name: 'structs and arrays on channels', source: 'struct P { int x; int[3] v; } int->P filter A { work pop 1 push 1 { P p; p.x = pop(); for (int i = 0; i < 3; ' +
      'i++) p.v[i] = p.x * i; push(p); } } P->int[2] filter B { ' +
    'work pop 1 push 1 peek 1 { int[2] r; r[0] = peek(0).x; r[1] = pop().v[2]; push(r); } } int[2]->int filter C { work pop 1 push 2 { int[2] a = pop(); push(a[1]); ' +
      'push(a[0]); } } int->int pipeline Main { ' +
    'add A; add Identity<P>; add B; add C; }', output: (input) => input.flatMap((x) => [2 * x, x]) },
];

const spelling: readonly Style[] = [
  {
    name: 'blanks, semicolons and comments everywhere',
    source: '/* a\n // b */ void->int filter S // c\n{ int a, b = 3, c[4];\n int[3] d = {1, 2, 3,}; float e = 1e-5f, g = .5, h = 1.f;\n init\n{ for (int i = 0; i < ' +
      '4; i++)\n c[i] = i;; ; }\n work\n push 1\n { ' +
      'int h2 = 0xFF; if (a > 2); else { } { int q = a; { int r = q; a = r + 1; } } a = +a; push(a + b + c[a % 4] + d[a % 3] + h2); }; };\nvoid->void pipeline ' +
      'Main() { add S(); add int->void filter { work ' +
      'pop 1 { println(pop()); } }; /***/ };',
    printed: six.map((i) => (i + 1) + 3 + ((i + 1) % 4) + [1, 2, 3][(i + 1) % 3]! + 255),
  },
  { name: 'both spellings of arrays', source: intFilter('int local[2]; local[0] = 4; w[0] = 1; push(pop() + local[0] + q[1] + w[0]);', 'int w[3]; int[] q = {1, 2, ' +
      '3};'), output: each((x) => x + 7) },
  { name: 'array elements that are missing are zeros', warned: ['S0325'], source: intFilter('push(pop() + a[0] + a[3]);', 'int[4] a = {7, 8};'), output: each((x) => x + 7) },
  { name: 'arrays between braces as arguments', source: 'float->float filter F(float[] w, int n) { work pop n push 1 { float s = 0; for (int i = 0; i < n; i++) s += ' +
      'w[i] * pop(); push(s); } } float->float pipeline Main { ' +
    'add F({1, 2}, 2); add F({3.0, 4.0}, 2); }', output: chunks(4, ([a, b, c, d]) => [3 * (a! + 2 * b!) + 4 * (c! + 2 * d!)]) },
  { name: 'stateful before and behind the types', source: 'int->int stateful filter A { int s; work pop 1 push 1 { s += pop(); push(s); } } stateful int->int filter ' +
      'B { int s; work pop 1 push 1 { push(s); s = pop(); } } int->int ' +
    'pipeline Main { add A; add B; }', output: each((_x, i) => (i * (i + 1)) / 2) },
  { name: 'a parameter of a filter that is assigned', source: 'float->float filter A(int n, float g) { init { g = g * 2; } work pop 1 push 1 { n++; push(pop() * g + ' +
      'n); } } float->float pipeline Main { add A(3, 1.5); }',
    output: each((x, i) => 3 * x + 4 + i) },
  { name: 'a parameter of a pipeline that is assigned, and return', source: 'int->int filter Plus(int n) { work pop 1 push 1 { push(pop() + n); } } int->int ' +
      'pipeline P(int n) { while (n > 0) { add Plus(n); n = n / 2; } if (n == 0) ' +
    'return; add Plus(100); } int->int pipeline Main { add P(4); }', output: each((x) => x + 7) },
  { name: 'print in the body of a pipeline', source: 'int->int pipeline Main { println("building"); add Identity<int>; }', output: same },
  { name: 'a variable declared again', warned: ['S0809'], source: intFilter('int i = pop(); for (int i = 0; i < 3; i++) { } int i = i + 4; ' +
      'push(i);'), output: each((x) => x + 4) },
  { name: 'functions that call themselves', warned: ['S0604'], source: intFilter('push(fact(pop() % 6) + k);', 'int k; int fact(int n) { if (n <= 1) return 1; ' +
      'return n * fact(n - 1); } init { k = fact(4); }'),
    output: each((x) => [1, 1, 2, 6, 24, 120][x % 6]! + 24) },
  { name: 'a function that ends without a value', warned: ['S0605'], source: intFilter('push(g(pop()));', 'int g(int n) { if (n > 2) return 5; else if (n == 1) ' +
      'return 2; }'), output: each((x) => (x > 2 ? 5 : x === 1 ? 2 : 0)) },
  { name: 'functions before and after their use, with fields', source: intFilter('bump(pop()); push(get() + k());', 'int c; void bump(int by) { c += k() - 1 + by; } ' +
      'int get() { return c; } int k() { return 1; }'),
    output: (input) => input.map((_x, i) => ((i + 1) * (i + 2)) / 2 + 1) },
  { name: 'functions with rates that pop and push', source: 'int->int filter H { int sum(int n) { int s = 0; for (int i = 0; i < n; i++) s += peek(i); return s; } ' +
      'void emit(int x) push 1 { push(x); } int next() pop 1 { return ' +
    'pop(); } work push 2 pop 2 peek 4 { emit(sum(4)); int a = next(); emit(a - next()); } }',
  output: (input) => chunks(2, (_x, i) => (2 * i + 4 > input.length ? [] : [8 * i + 10, -1]))(input) },
  { name: 'names of functions of mathematics as own names', source: intFilter('int x = pop(); int abs = 3; push(x + abs + round(x));', 'int max; int round(int y) { ' +
      'return y + 1; }'), output: each((x) => 2 * x + 4) },
  { name: 'one name for a stream and a variable', source: 'int->int filter Add(int add2) { int Add = 3; work pop 1 push 1 { push(pop() + Add + add2); } } int->int ' +
      'pipeline Main { int Add = 4; add Add(Add); }', output: each((x) => x + 7) },
  { name: 'heads of for of all forms', source: intFilter('int s = 0; int i = pop(), j; for (;;) { if (s > 10) break; s++; } for (i = 0, j = 3; i < j; i++, j--) s += ' +
      'i; for (; i > 0; i--) { continue; } do { s--; } while (s > 9); ' +
    'for (i=0;i<3;++i) s<<=1; push(s);'), output: each(() => 72) },
  { name: 'strings, characters and numbers printed', source: 'int->void filter P(string name, int n) { work pop 1 { int x = pop(); print("a" + x); print(" b" + n + ' +
      '"\\n"); println(name + \':\' + (x * 2)); println(x > 1); println(); ' +
    'println(1.5); println(\'c\'); } } void->void pipeline Main { add void->int filter { int i; work push 1 { push(i++); } } add P("it", 7); }',
  printed: six.flatMap((x) => [`a${x} b7`, `it:${2 * x}`, String(x > 1), '', '1.5', 'c']) },
  { name: 'increments inside expressions', source: intFilter('h[p++] = pop(); if (p == 4) p = 0; h[0] += h[1]--; push(h[0] + p);', 'int[4] h; int p;'), output: (input) => {
    const h = [0, 0, 0, 0];
    let p = 0;
    return input.map((x) => {
      h[p++] = x;
      if (p === 4) p = 0;
      h[0]! += h[1]!--;
      return h[0]! + p;
    });
  } },
];

const rates: readonly Style[] = [
  { name: 'rates in any order, peek before pop', source: 'int->int filter R { work peek 3 pop 1 push 2 { push(peek(2)); push(pop()); } ' +
      '}', output: (input) => windows(3, (x) => x[2]!)(input).flatMap((x) => [x, x - 2]) },
  { name: 'work without rates', warned: ['S0409'], source: 'void->int filter S { int n; work { push(n++); } } int->void filter K { work { println(pop()); } } ' +
      'void->void pipeline Main { add S; add K; }', printed: six },
  { name: 'a peek rate that is missing', warned: ['S0405'], source: intFilter('push(peek(0) + peek(2)); pop();'), output: windows(3, (x) => x[0]! + x[2]!) },
  { name: 'items that are declared to be popped but are not', warned: ['S0404'], source: 'int->int filter F { work pop 3 push 1 { push(pop()); } ' +
      '}', output: chunks(3, ([x]) => [x!]) },
  { name: 'a filter that declares a pop and only pushes', warned: ['S0404'], source: intFilter('push(0);'), output: each(() => 0) },
  { name: 'a push less than declared', warned: ['S4032'], source: 'int->int filter F(int n) { work pop 1 push 2 { push(pop()); if (n > 0) push(n); } } int->int ' +
      'pipeline Main { add F(0); }', output: same },
  { name: 'a source that declares a pop', warned: ['S0410'], source: `void->int filter S { int n; work pop 1 push 1 { push(n++); } } ${sink} void->void pipeline ` +
      `Main { add S; add Sink; }`, printed: six },
  { name: 'pop as a statement, and the order of operands', source: 'int->int filter F { work pop 3 push 1 peek 5 { pop(); push(pop() * 100 + peek(2)); pop(); } }',
    output: (input) => chunks(3, (x, i) => (3 * i + 5 > input.length ? [] : [100 * x[1]! + x[0]! + 4]))(input) },
  { name: 'rates and weights by expressions and casts', source: 'int->int splitjoin M(int n) { split roundrobin(n * 2, (int)ceil(n / 2.0), 1 << n); add ' +
      'Identity<int>; add Identity<int>; add Identity<int>; join roundrobin(n + n, (n + 1) ' +
    '/ 2, (int) pow(2, n)); } int->int filter D(int n) { work push 1 pop (n > 2 ? n : 2) { int s = 0; for (int i = 0; i < (n > 2 ? n : 2); i++) s += pop(); push(s); ' +
      '} } int->int pipeline Main { add M(1); add D(3); }',
  output: (input) => chunks(3, (x) => [x.reduce((a, b) => a + b)])(input.slice(0, 20)) },
  {
    name: 'constants outside of sections', source: 'int N = 2 * M; const int M = 2; float[2] w = {0.5, 2}, v; int->float filter F { work pop N push M { ' +
      'for (int i = 0; i < M; i++) push(pop() * w[i] + v[0]); for (int i = M; i < N; i++) pop(); } }',
    output: chunks(4, ([a, b]) => [a! * 0.5, b! * 2]),
  },
  { name: 'static constants in rates, tables and in each other', source: 'static { int A = B + 1; int[4] r = {1, 2, 3, 4}; int total; init { total = 0; for (int i = ' +
      '0; i < 4; i++) total += r[i]; } } static { int B = 4; } int->int filter S { ' +
    'work pop r[1] push total - 8 { push(pop() + A); push(pop() + r[2]); } }', output: chunks(2, ([a, b]) => [a! + 5, b! + 3]) },
  { name: 'prework without an input', source: 'int->int filter A { prework push 2 { push(-1); push(-2); } work pop 1 push 1 { push(pop()); } ' +
      '}', output: (input) => [-1, -2, ...input] },
];

const graphs: readonly Style[] = [
  { name: 'two programs in one file: the last', warned: ['S0501'], source: `${source}${sink} void->void pipeline First { add Source(); add Sink(); } void->void ` +
      `pipeline Second { add Source; add ${intFilter('push(pop()*2);').replace(' F ', ' ')} add Sink; }`,
    printed: six.map((x) => 2 * x) },
  { name: 'streams that are wrong but not reached', source: `${source}${sink} void->void pipeline Main { add Source; add Sink; } float->float filter Broken(Foo x) { ` +
      `work push 1 pop 1 { push(nothing + pop() * true); foo(3); } }`, printed: six },
  { name: 'a stream declared twice with identical text', warned: ['S0214'], source: `${source}${sink}${sink} void->void pipeline Main { add Source; add Sink; }`, printed: six },
  { name: 'round-robin in all its forms', source: 'void->int filter A(int k) { work push 1 { push(k); } } int->int splitjoin Q { split roundrobin(); add ' +
      'Identity<int>(); add Identity<int>; join roundrobin(); } void->int splitjoin V { split ' +
    'roundrobin(0); add A(1); add A(2); join roundrobin; } int->void splitjoin W { split duplicate(); add int->void filter { work pop 1 { pop(); } }; add int->void ' +
      'filter { work pop 1 { println(pop()); } }; join ' +
    'roundrobin(0); } void->void pipeline Main { add V; add Q(); add W(); }', printed: six.flatMap(() => [1, 2]) },
  { name: 'a split-join of sinks without a joiner', source: `${source} void->void pipeline Main { add Source; add splitjoin { split duplicate; add int->void filter ` +
      `{ work pop 1 { pop(); } }; add int->void filter { work pop 1 { println(pop()); } }; }; }`, printed: six },
  { name: 'a split-join of sources without a splitter', source: `${sink} void->int filter A(int k) { work push 1 { push(k); } } void->void pipeline Main { add ` +
      `splitjoin { add A(1); add A(2); join roundrobin; } add Sink; }`, printed: six.flatMap(() => [1, 2]) },
  { name: 'a child without input in a split-join', source: 'int->int splitjoin S { split roundrobin(1, 0); add Identity<int>; add int->int filter { work push 1 { ' +
      'push(9); } }; join roundrobin; }', output: (input) => input.flatMap((x) => [x, 9]) },
  { name: 'a loop whose loop, and one whose body, is Identity', source: 'int->int feedbackloop A { join roundrobin(1,1); body int->int filter { work pop 2 push 2 { int a = ' +
      'pop(); int b = pop(); push(a + b); push(a); } }; loop Identity<int>; split roundrobin(1,1); enqueue 0; } ' +
    'int->int feedbackloop B { join roundrobin(1,1); body Identity<int>; loop int->int filter { work pop 1 push 1 { push(pop() + 1); } }; ' +
    'split roundrobin(1,1); enqueue 5; } int->int ' +
      'pipeline Main { add A; add B; }',
  output: each((x) => 2 * x - 1) },
  { name: 'enqueue in a loop, of elements of an array', source: 'int->int feedbackloop L(int n) { int[3] q = {4, 5, 6}; join roundrobin(1,1); body int->int filter { ' +
      'work pop 2 push 2 { int a = pop(); push(pop()); push(a); } }; loop Identity<int>; split ' +
    'roundrobin(1,1); for (int i = 0; i < n; i++) { enqueue q[i]; } } int->int pipeline Main { add L(3); }', output: (input) => [4, 5, 6, ...input].slice(0, input.length) },
  { name: 'an echo: enqueue(0.0), anonymous and typed', source: 'float->float pipeline Main { add float->float feedbackloop { join roundrobin(1, 1); body ' +
      'float->float filter { work pop 2 push 1 { push(pop() + pop() * 0.5); } } loop Identity<float>(); split ' +
    'duplicate(); for (int i = 0; i < 4; i++) enqueue(0.0); }; }', output: (input) => input.reduce<number[]>((y, x, i) => [...y, x + 0.5 * (y[i - 4] ?? 0)], []) },
  { name: 'types of anonymous streams left out', source: `${source}${sink} void->void pipeline Main { add Source; add pipeline { add splitjoin { split roundrobin; ` +
      `add Identity<int>; add pipeline { add Identity<int>; add Identity<int>; }; join roundrobin; }; }; add Sink; }`,
    printed: [...six, ...six.map((x) => x + 6)] },
  { name: 'anonymous streams in loops that read locals', source: 'float->float pipeline Main { for (int i = 0; i < 3; i++) { float g = 1.0 / (1 << i); add splitjoin ' +
      '{ split duplicate; for (int j = 0; j <= i; j++) { add float->float filter { work pop 1 push 1 { ' +
    'push(pop() * g * j); } }; } join roundrobin; }; add float->float filter { work pop i + 1 push 1 { float s = 1; for (int k = 0; k < i + 1; k++) s += pop(); ' +
      'push(s); } }; } }', output: each(() => 1 + 0.25 * (1 + 2) * (1 + 0.5 * 1)) },
  { name: 'recursion', source: 'int->int pipeline Sort(int n) { if (n > 1) { add splitjoin { split roundrobin(n/2); add Sort(n/2); add Sort(n/2); join ' +
      'roundrobin(n/2); } } add Id(n); } int->int filter Id(int n) { work pop n push n { for (int i = 0; i ' +
    '< n; i++) push(peek(n - 1 - i)); for (int i = 0; i < n; i++) pop(); } } int->int pipeline Main { add Sort(4); }', output: chunks(4, ([a, b, c, d]) => [c!, d!, a!, b!]) },
  { name: 'rows of a matrix as arguments', source: 'float->float filter S(int n, float[n] row) { work pop 1 push 1 { push(pop() + row[n-1]); } } float->float ' +
      'splitjoin Main { float[3][2] m; for (int i = 0; i < 3; i++) { for (int j = 0; j < 2; j++) { ' +
    'm[i][j] = i + j; } } split duplicate; for (int i = 0; i < 3; i++) { if (i % 2 == 0) add S(2, m[i]); else { float[2] r; for (int j = 0; j < 2; j++) r[j] = ' +
      'm[i][j]; add S(2, r); } } join roundrobin; }',
  output: (input) => input.flatMap((x) => [x + 1, x + 2, x + 3]) },
];

const loose: readonly Style[] = [
  { name: 'work, init and prework with parentheses, and (void)', source: 'int->int pipeline Main(void) { add F(); } int->int filter F(void) { int k; init(void) { k = 2; } ' +
      'prework() push 1 { push(0); } work() pop 1 push 1 { push(pop() + f()); } int f(void) { return k; } }', output: (input) => [0, ...input.map((x) => x + 2)] },
  { name: 'anonymous filters without types', source: 'void->void pipeline Main { add filter { float x; init { x = 0.5; } work push 2 { push(x); push(x + 1); x++; } }; ' +
      'add splitjoin { split roundrobin; add filter { work pop 1 push 1 { push(pop() * 2); } }; add pipeline { for (int i = 0; i < 3; i++) add filter { work pop 1 push 1 ' +
      '{ push(-pop()); } }; }; join roundrobin; }; add filter { work pop 2 { println(pop() + pop()); } }; }', printed: six.map((i) => 2 * (i + 0.5) - (i + 1.5)) },
  { name: 'an anonymous filter whose neighbour takes floats', source: 'void->void pipeline Main { add filter { int n; work push 1 { push(n++); } }; add float->void ' +
      'filter { work ' +
      'pop 1 { println(pop() / 2); } }; }', printed: six.map((i) => i / 2) },
  { name: 'anonymous parts of a loop without types', source: 'float->float feedbackloop Main { join roundrobin(1, 1); body filter { work pop 2 push 1 { push(pop() + ' +
      'pop()); } }; ' +
      'loop filter { work pop 1 push 1 { push(pop() / 2); } }; split duplicate; enqueue 0; }',
  output: (input) => input.reduce<number[]>((y, x) => [...y, f(x + f((y.at(-1) ?? 0) / 2))], []) },
  { name: 'functions outside of streams', source: 'int twice(int x) { return 2 * x; } int four(int x) { return twice(twice(x)); } int->int filter F(int k) { work pop k push 1 { ' +
      'int s = 0; for (int i = 0; i < k; i++) s += pop(); push(four(s)); } } int->int pipeline Main { add F(twice(1)); }', output: chunks(2, ([a, b]) => [4 * (a! + b!)]) },
  { name: 'const before variables of all kinds', source: 'const int N = 2; int->int filter F { const int K = N + 1; work pop 1 push 1 { const int j = 2; push(pop() ' +
      '* K + j); } } ' +
      'int->int pipeline Main { const int M = N; for (const int i = 0; i < M; i++) add F; }', output: each((x) => 9 * x + 8) },
  { name: 'assignments in a row', source: intFilter('int a, b; float r; a = b = h[1] = pop(); r = a = b + 1; for (a = b = 0; a < 2; a = b += 1) r += 0; push(a + b + ' +
      'h[1] + (int) r);',
    'int[2] h;'), output: each((x) => 4 + x + x + 1) },
  { name: 'all operators of assignment', source: intFilter('int x = pop(); a[x & 1] %= 7; x &= 13; x |= 2; x ^= 5; x <<= 2; x >>= 1; a[0] += x; boolean b = true; b &= x > 9; ' +
      'push(x + a[1] + (b ? 1 : 0));', 'int[2] a;'), output: each((x) => { const y = (((x & 13) | 2) ^ 5) * 2; return y + Number(y > 9); }) },
  { name: 'an array before its length', source: 'float->float filter F(float[n] w, int n) { float dot(float[k] a, float[k] b, int k) { float s = 0; for (int i = 0; ' +
      'i < k; i++) s += a[i] ' +
      '* b[i]; return s; } work pop n push 1 { float[n] x; for (int i = 0; i < n; i++) x[i] = pop(); push(dot(x, w, n)); } } float->float pipeline Main { add F({1, 2}, 2); }',
  output: chunks(2, ([a, b]) => [a! + 2 * b!]) },
  { name: 'functions and parts of structs in rates', source: 'struct C { int n; } int half(int x) { return x / 2; } int->int filter F(int n) { C c; int third(int x) ' +
      '{ return half(x) - 1; } ' +
      'init { c.n = half(n); } work pop half(n) push third(n) peek c.n { for (int i = 0; i < third(n); i++) push(peek(i + 1)); for (int i = 0; i < c.n; i++) pop(); } } ' +
      'int->int pipeline Main { add F(6); }', output: chunks(3, ([, b, c]) => [b!, c!]) },
  { name: 'lengths of arrays from functions', source: 'int twice(int x) { return 2 * x; } int->int filter F(int n) { int k; int[third(n) + 1] h; init { k = n - 4; } ' +
      'int third(int x) { return x / 3; } int sum(int m) { const int p = m + 1; int[twice(p) / 2] a; a[m] = p; return a[m] + a[0]; } ' +
      'work pop 1 push 1 { const int q = 2; int[twice(k + q) - third(n)] a; h[2] += 1; a[5] = pop(); push(a[5] + h[2] + sum(k) + sum(7)); } } int->int pipeline Main { add F(6); }',
  output: each((x, i) => x + i + 1 + 3 + 8) },
  { name: 'ints and bits pushed onto wider channels', source: 'int->float filter A { work pop 1 push 1 { int x = pop(); bit b = 1; if (x % 2 == 0) push(x); else push(b); } } ' +
      'float->complex filter B { int k = 2; work pop 1 push 2 { push(k); push(pop()); } } complex->double filter C { work pop 1 push 1 { complex z = pop(); float r = z.real; ' +
      'push(r); } } double->float filter D { work pop 2 push 1 { push((float) (pop() / 4 + pop())); } } int->float pipeline Main { add A; add B; add C; add D; }',
  output: each((x) => 0.5 + (x % 2 === 0 ? x : 1)) },
  { name: 'a number of branches behind duplicate', source: 'int->int splitjoin Main { split duplicate(2); add Identity<int>; add Identity<int>; join roundrobin(1); }',
    output: (input) => input.flatMap((x) => [x, x]) },
];

export const styles: readonly Style[] = [...types, ...spelling, ...rates, ...graphs, ...loose, ...arrayStyles];
