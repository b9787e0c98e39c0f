// Programs by what is special about their ends, and items for them.
import type { FusedOptions } from '../../../lib/stream/targets/cuda-layout.ts';
import { generator } from '../../kernel/random.ts';

export const small: FusedOptions = { threads: 32, sharedBytes: 1500 };

export interface Ends {
  readonly source: string;
  /** Of an item on the input; default 1. */
  readonly scalars?: number;
  readonly options?: FusedOptions;
  /** Only 0 and 1 come in. */
  readonly bits?: true;
}

/** Programs by what is special about them. */
export const programs: Readonly<Record<string, Ends>> = {
  'one to one': { source: 'float->float filter F { work pop 1 push 1 { push(pop() * 0.1 + 1); } } float->float pipeline Main { add F; }' },
  'odd rates': { source: 'float->float filter F { work pop 7 push 3 { for (int i = 0; i < 3; i++) push(peek(2 * i) - peek(6 - i)); for (int i = 0; i < 7; i++) pop(); } } '
    + 'float->float filter G { work pop 4 push 5 { for (int i = 0; i < 5; i++) push(peek(i % 4) * i); for (int i = 0; i < 4; i++) pop(); } } '
    + 'float->float pipeline Main { add F; add G; }' },
  'windows over windows': { source: 'float->float filter F(int n, int p) { work pop p push 1 peek n { float s = 0; for (int i = 0; i < n; i++) s += peek(i) * (i - 2); '
    + 'push(s / n); for (int i = 0; i < p; i++) pop(); } } float->float pipeline Main { add F(40, 1); add F(9, 3); add F(17, 2); }' },
  'a window longer than a round': { source: 'float->float filter F { work pop 1 push 1 peek 300 { push(peek(0) + peek(299)); pop(); } } '
    + 'float->float filter G { work pop 1 push 1 peek 200 { push(peek(0) * peek(199)); pop(); } } float->float pipeline Main { add F; add G; }',
    options: { threads: 32, sharedBytes: 3300 } },
  'branches of several lengths': { source: 'int->int filter F(int n) { work pop 1 push 1 peek n { push(peek(0) ^ peek(n - 1)); pop(); } } '
    + 'int->int splitjoin S { split roundrobin(2, 1, 3); add F(4); add pipeline { add F(2); add F(30); }; add Identity<int>; join roundrobin(4, 2, 6); } '
    + 'int->int pipeline Main { add F(3); add S; add F(5); }' },
  'a prework that takes and gives otherwise': { source: 'int->int filter F { prework pop 3 push 5 { for (int i = 0; i < 5; i++) push(i * 100); '
    + 'for (int i = 0; i < 3; i++) pop(); } '
    + 'work pop 1 push 1 peek 2 { push(peek(0) + peek(1)); pop(); } } int->int filter G { work pop 2 push 2 peek 6 { push(peek(5)); push(peek(3)); pop(); pop(); } } '
    + 'int->int pipeline Main { add F; add G; }' },
  'a prework at the end': { source: 'int->int filter F { prework pop 1 push 2 { push(-1); push(pop()); } work pop 1 push 1 peek 3 { push(peek(2)); pop(); } } '
    + 'int->int filter G { work pop 1 push 1 { push(pop() * 3); } } int->int pipeline Main { add G; add F; }' },
  'structs of several kinds': { source: 'struct P { int a; float b; double c; bit d; } P->P filter F { work pop 1 push 1 peek 3 { P p = peek(0); P q = peek(2); '
    + 'p.a += q.a; p.b = p.b * q.b; p.c = p.c - q.c; p.d = p.d ^ q.d; push(p); pop(); } } P->P pipeline Main { add F; add F; }', scalars: 4 },
  'an item of one kind to one of several': { source: 'struct P { int a; float b; } float->P filter F { work pop 2 push 1 { P p; p.a = (int) peek(0); p.b = peek(1); '
    + 'pop(); pop(); push(p); } } float->P pipeline Main { add F; }' },
  'complex numbers': { source: 'complex->complex filter F { work pop 1 push 1 peek 2 { push(peek(0) * peek(1) + 1i); pop(); } } '
    + 'complex->complex pipeline Main { add F; add F; }', scalars: 2 },
  'arrays': { source: 'float[3]->float[3] filter F { work pop 1 push 1 { float[3] a = pop(); float[3] b; for (int i = 0; i < 3; i++) b[i] = a[2 - i] * 2; push(b); } } '
    + 'float[3]->float[3] pipeline Main { add F; }', scalars: 3 },
  'bits': { source: 'bit->bit filter F { work pop 3 push 2 { push(peek(0) ^ peek(2)); push(peek(1) & peek(0)); pop(); pop(); pop(); } } '
    + 'bit->bit pipeline Main { add F; }', bits: true },
  'booleans': { source: 'boolean->boolean filter F { work pop 2 push 1 { boolean a = pop(); boolean b = pop(); push(a != b); } } '
    + 'boolean->boolean pipeline Main { add F; }', bits: true },
  'doubles': { source: 'double->double filter F { work pop 1 push 1 peek 5 { push(peek(0) / 3 + peek(4)); pop(); } } double->double pipeline Main { add F; }' },
  'whole numbers to doubles': { source: 'int->double filter F { work pop 1 push 2 { double x = pop(); push(x / 7); push(sqrt(abs(x))); } } int->double pipeline Main { add F; }' },
};

export const integers = (count: number, seed: number): number[] => {
  const random = generator(seed);
  return Array.from({ length: count }, () => Math.floor(random() * 4001) - 2000);
};
