// Small programs of float2, float3, float4 and double: ten and more of each, with outputs worked out in plain JavaScript.
import type { Case } from './cases.ts';

const f = Math.fround;
const wave = Array.from({ length: 48 }, (_, i) => f(Math.sin(i) * 3 + i * 0.25 + 0.1));
/** Whole vectors of the input. */
const vectors = (n: number): number[][] => Array.from({ length: wave.length / n }, (_, i) => wave.slice(i * n, (i + 1) * n));

type Numbers = readonly number[];

/** The same programs over vectors of two, three and four floats. */
function vectorCases(n: 2 | 3 | 4): Case[] {
  const type = `float${n}`;
  const parts = ['x', 'y', 'z', 'w'].slice(0, n);
  const read = (name: string): string => `${type} ${name}; ${parts.map((part) => `${name}.${part} = pop();`).join(' ')}`;
  const write = (name: string): string => parts.map((part) => `push(${name}.${part});`).join(' ');
  const filter = (body: string, pop: number, push: number, more = ''): string =>
    `float->float filter F { ${more} work pop ${pop} push ${push} { ${body} } }`;
  const ends = `float->${type} filter In { work pop ${n} push 1 { ${read('v')} push(v); } }
    ${type}->float filter Out { work pop 1 push ${n} { ${type} v = pop(); ${write('v')} } }`;
  const between = (streams: string, adds: string): string => `${ends} ${streams} float->float pipeline P { add In; ${adds} add Out; }`;
  const each = (of: (v: Numbers, i: number) => Numbers): number[] => vectors(n).flatMap((v, i) => of(v, i));
  const pairs = (of: (a: number, b: number) => number): number[] => {
    const all = vectors(n);
    return all.filter((_, i) => i % 2 === 0 && i + 1 < all.length).flatMap((v, i) => v.map((x, k) => of(x, all[2 * i + 1]![k]!)));
  };
  const both = (operator: string): string => filter(`${read('a')} ${read('b')} ${type} c = a ${operator} b; ${write('c')}`, 2 * n, n);
  const running = vectors(n).reduce<number[][]>((sums, v) => [...sums, v.map((x, k) => f((sums.at(-1)?.[k] ?? 0) + x))], []);
  const made: readonly (readonly [name: string, source: string, output: number[]])[] = [
    ['parts in another order', filter(`${read('v')} ${[...parts].reverse().map((part) => `push(v.${part});`).join(' ')}`, n, n), each((v) => [...v].reverse())],
    ['sums', both('+'), pairs((a, b) => f(a + b))],
    ['differences', both('-'), pairs((a, b) => f(a - b))],
    ['products', both('*'), pairs((a, b) => f(a * b))],
    ['quotients', both('/'), pairs((a, b) => f(a / b))],
    ['signs', filter(`${read('v')} v = -v; ${write('v')}`, n, n), each((v) => v.map((x) => -x))],
    ['as items of a channel', between('', ''), each((v) => v)],
    ['kept in a field', filter(`${read('v')} kept = kept + v; ${write('kept')}`, n, n, `${type} kept;`), running.flat()],
    ['in an array', filter(`${type}[3] a; for (int i = 0; i < 3; i++) { ${read('v')} a[i] = v; } ${type} s = a[0] * a[2] + a[1]; ${write('s')}`, 3 * n, n),
      Array.from({ length: Math.floor(wave.length / n / 3) }, (_, i) => parts.map((_part, k) => {
        const at = (j: number) => vectors(n)[3 * i + j]![k]!;
        return f(f(at(0) * at(2)) + at(1));
      })).flat()],
    ['given to and by functions', filter(`${read('v')} ${type} w = twice(v); ${write('w')}`, n, n, `${type} twice(${type} a) { return a + a; }`),
      each((v) => v.map((x) => f(2 * x)))],
    ['in a struct', `struct Pair { int count; ${type} v; } ${filter(`Pair p; p.count = 3; ${read('u')} p.v = u; p.v.x = p.count; u = p.v; ${write('u')}`, n, n)}`,
      each(([, ...rest]) => [3, ...rest])],
    ['looked at ahead', between(`${type}->${type} filter Mean { work pop 1 push 1 peek 3 { push(peek(0) + peek(1) * peek(2)); pop(); } }`, 'add Mean;'),
      vectors(n).slice(2).flatMap((_, i) => parts.map((_part, k) => f(vectors(n)[i]![k]! + f(vectors(n)[i + 1]![k]! * vectors(n)[i + 2]![k]!))))],
    ['shared among branches', between(`${type}->${type} filter Minus { work pop 1 push 1 { push(-pop()); } }`,
      `add splitjoin { split roundrobin; add Identity<${type}>; add Minus; join roundrobin; };`),
    vectors(n).slice(0, 2 * Math.floor(wave.length / n / 2)).flatMap((v, i) => v.map((x) => (i % 2 === 0 ? x : -x)))],
    ['as a parameter', `${filter(`${read('v')} v = v * by; ${write('v')}`, n, n).replace('filter F', `filter F(${type} by)`)}
      float->float pipeline P { ${type} by; ${parts.map((part, k) => `by.${part} = ${k + 1}.5;`).join(' ')} add F(by); }`, each((v) => v.map((x, k) => f(x * (k + 1.5))))],
  ];
  return made.map(([name, source, output]) => ({ name: `${type}: ${name}`, source, input: wave, output }));
}

const double = (body: string, more = ''): string => `float->double filter F { ${more} work pop 1 push 1 { ${body} } }`;
const onlyDoubles = 'float->double filter In { work pop 1 push 1 { push(pop()); } }';
const doubles: readonly (readonly [name: string, source: string, output: number[]])[] = [
  ['sums that a float would round', double('double x = pop(); push(x + 1e-9);'), wave.map((x) => x + 1e-9)],
  ['products', double('double x = pop(); push(x * x * x);'), wave.map((x) => x * x * x)],
  ['quotients', double('double x = 1; push(x / pop());'), wave.map((x) => 1 / x)],
  ['functions of mathematics', double('double x = pop(); push(sqrt(abs(x)) + sin(x));'), wave.map((x) => Math.sqrt(Math.abs(x)) + Math.sin(x))],
  ['state', double('sum += pop(); push(sum);', 'double sum;'), wave.map((_, i) => wave.slice(0, i + 1).reduce((sum, x) => sum + x, 0))],
  ['arrays', double('double[3] a; for (int i = 0; i < 3; i++) a[i] = peek(0) / (i + 1.0); pop(); push(a[0] - a[1] * a[2]);'), wave.map((x) => {
    const [a, b, c] = [x, f(x / 2), f(x / 3)] as const;
    return a - b * c;
  })],
  ['functions', double('push(half(pop()));', 'double half(double x) { return x / 2 + 1e-12; }'), wave.map((x) => x / 2 + 1e-12)],
  ['structs', `struct Both { double d; float f; } ${double('Both b; b.d = 1; b.d = b.d / 3; b.f = pop(); push(b.d + b.f);')}`, wave.map((x) => 1 / 3 + x)],
  ['looked at ahead', `${onlyDoubles} double->double filter F { work pop 1 push 1 peek 2 { push(peek(0) * peek(1)); pop(); } } float->double pipeline P { add In; add F; }`,
    wave.slice(1).map((x, i) => wave[i]! * x)],
  ['to floats and ints', `${onlyDoubles} double->float filter F { work pop 1 push 2 { double x = pop(); push((float)(x / 3)); push((int)(x * 10)); } }
    float->float pipeline P { add In; add F; }`,
    wave.flatMap((x) => [f(x / 3), Math.trunc(x * 10)])],
  ['relations', double('double x = pop(); double y = x + 1e-12; push(y > x ? 1 : 0);'), wave.map(() => 1)],
  ['loops of a stream', `${onlyDoubles} double->double feedbackloop L { join roundrobin(1, 1); body double->double filter { work pop 2 push 1 { push(pop() + pop() * 0.5); } };
    loop Identity<double>; split duplicate; enqueue 0; } float->double pipeline P { add In; add L; }`,
  wave.reduce<number[]>((all, x) => [...all, x + (all.at(-1) ?? 0) * 0.5], [])],
];

/** All of them. */
export const typeCases: readonly Case[] = [
  ...([2, 3, 4] as const).flatMap(vectorCases), ...doubles.map(([name, source, output]) => ({ name: `double: ${name}`, source, input: wave, output })),
];
