// Programs that would hang, fill the memory or break the stack of a careless compiler. Each is refused with a place in the source.

export interface Hostile {
  readonly name: string;
  readonly source: string;
  /** Code of the diagnostic; several where parts of the compiler before elaboration may be first. */
  readonly code: string;
  readonly line: number;
  readonly column: number;
  readonly limits?: Readonly<Record<string, number>>;
}

const id = 'int->int filter Id { work pop 1 push 1 { push(pop()); } }\n';
const around = (body: string, head = ''): string => `${head}int->int pipeline P {\n${body}\nadd Identity<int>;\n}`;

export const hostile: readonly Hostile[] = [
  {
    name: 'a stream that adds itself for ever',
    source: 'int->int pipeline R(int n) {\nif (n > 0) add R(n + 1);\nadd Identity<int>;\n}\nint->int pipeline P { add R(1); }',
    code: 'S4104', line: 2, column: 16,
  },
  {
    name: 'two streams that add each other for ever',
    source: 'int->int pipeline A(int n) {\nif (n >= 0) add B(n + 1); else add Identity<int>; }\n' +
      'int->int pipeline B(int n) { if (n >= 0) add A(n); else add Identity<int>; }\nint->int pipeline P { add A(0); }',
    code: 'S4104', line: 2, column: 17,
  },
  {
    name: 'a tree of 2^60 streams',
    source: 'int->int pipeline R(int n) {\nif (n > 0) { add R(n - 1); add R(n - 1); }\nelse add Identity<int>;\n}\nint->int pipeline P { add R(60); }',
    code: 'S4107', line: 3, column: 10,
  },
  { name: 'a billion filters', source: around('for (int i = 0; i < 1000000000; i++)\nadd Id;', id), code: 'S4107', line: 1, column: 17 },
  { name: 'a loop in a body that never ends', source: around('int i = 0;\nwhile (i >= 0) i = i & 1;'), code: 'S4101', line: 3, column: 1 },
  { name: 'a for without a condition', source: around('int n = 0;\nfor (;;) n++;'), code: 'S4101', line: 3, column: 1 },
  { name: 'an endless loop that adds nothing but branches', source: around('int n = 0;\nwhile (n < 5) { if (n > 5) add Identity<int>; }'), code: 'S4101', line: 3, column: 1 },
  {
    name: 'an init that never ends',
    source: 'int->int filter F { int k;\ninit {\nwhile (k == 0) { k = 0; } }\nwork pop 1 push 1 { push(pop() + k); } }',
    code: 'S4101', line: 3, column: 1,
  },
  {
    name: 'a helper function called by init that never ends',
    source: 'int->int filter F { int k; init { k = g(1); }\nint g(int x) {\ndo { x = 1; } while (x > 0); return x; }\nwork pop 1 push 1 { push(pop() + k); } }',
    code: 'S4101', line: 3, column: 1,
  },
  {
    name: 'a static section that never ends',
    source: 'static { int N; init {\nwhile (N < 1) N = 0; } }\nint->int filter F { work pop 1 push 1 { push(pop() + N); } }',
    code: 'S4101', line: 2, column: 1,
  },
  {
    name: 'nested loops of 2^60 turns',
    source: around('int s = 0;\nfor (int i = 0; i < 1073741824; i++)\nfor (int j = 0; j < 1073741824; j++) s += j;'),
    code: 'S4101', line: 4, column: 1,
  },
  { name: 'an array of 2^31 - 1', source: 'int->int filter F {\nint[2147483647] a;\nwork pop 1 push 1 { push(pop() + a[0]); } }', code: 'S4105', line: 2, column: 5 },
  {
    name: 'an array of 2^45 in three dimensions',
    source: 'int->int filter F(int n) {\nint[n][n][n] a;\nwork pop 1 push 1 { push(pop() + a[0][0][0]); } }\nint->int pipeline P { add F(32768); }',
    code: 'S4105', line: 2, column: 8,
  },
  {
    name: 'an array of negative length',
    source: 'int->int filter F(int n) {\nint[n] a;\nwork pop 1 push 1 { push(pop() + a[0]); } }\nint->int pipeline P { add F(0 - 5); }',
    code: 'S4004', line: 2, column: 5,
  },
  {
    name: 'large arrays in every filter',
    source: 'int->int filter F(int n) {\nint[4000000] a;\nwork pop 1 push 1 { a[n] = pop(); push(a[n]); } }\nint->int pipeline P { for (int i = 0; i < 1000; i++) add F(i); }',
    code: 'S4106', line: 2, column: 14,
  },
  {
    name: 'large arrays on every level of a recursion',
    source: 'int->int pipeline R(int n) {\nint[4000000] a;\nif (n > 0) add R(n - 1); else add Identity<int>; }\nint->int pipeline P { add R(100); }',
    code: 'S4103', line: 2, column: 14,
  },
  { name: 'copies of large arrays in a loop', source: around('int[1000000] a;\nint[1000000] b;\nfor (int i = 0; i < 1000000; i++) b = a;'), code: 'S4101', line: 4, column: 39 },
  {
    name: 'a large array as a literal of a type',
    source: 'int->int[100000000] filter F { work pop 1 push 1 {\nint[100000000] a; a[0] = pop(); push(a); } }',
    code: 'S4105', line: 1, column: 10,
  },
  {
    name: 'an enormous rate',
    source: 'int->int filter F(int n) { work pop n push 1 {\nint s = 0; for (int i = 0; i < n; i++) s += pop(); push(s); } }\nint->int pipeline P { add F(2000000000); }',
    code: 'S4108', line: 1, column: 37,
  },
  { name: 'a negative rate', source: 'int->int filter F(int n) { work pop 1\npush n { pop(); } }\nint->int pipeline P { add F(0 - 1); }', code: 'S4030', line: 2, column: 6 },
  {
    name: 'an enormous weight',
    source: 'int->int splitjoin S(int n) {\nsplit roundrobin(n); add Identity<int>; add Identity<int>; join roundrobin(n); }\nint->int pipeline P { add S(2000000000); }',
    code: 'S4108', line: 2, column: 18,
  },
  {
    name: 'a negative weight',
    source: 'int->int splitjoin S(int n) { add Identity<int>; add Identity<int>; join roundrobin;\nsplit roundrobin(1, n); }\nint->int pipeline P { add S(-3); }',
    code: 'S4041', line: 2, column: 21,
  },
  {
    name: 'an endless number of tokens in a loop',
    source: 'int->int feedbackloop L { join roundrobin; body Identity<int>; loop Identity<int>; split roundrobin;\nfor (int i = 0; i < 2000000000; i++) enqueue i; }',
    code: 'S4101', line: 2, column: 38,
  },
  {
    name: 'constants of a section that need each other',
    source: 'static { int A = B; }\nstatic { int B = A; }\nint->int filter F { work pop 1 push 1 { push(pop() + A); } }',
    code: 'S4035', line: 1, column: 14,
  },
  { name: 'division by zero in a body', source: around('int n = 0;\nint k = 1 / n;'), code: 'S5002', line: 3, column: 9 },
  {
    name: 'division by zero in an init',
    source: 'int->int filter F(int n) { int k;\ninit { k = 10 % n; }\nwork pop 1 push 1 { push(pop() + k); } }\nint->int pipeline P { add F(0); }',
    code: 'S5002', line: 2, column: 12,
  },
  { name: 'an index outside of an array in a body', source: around('int[4] a;\nfor (int i = 0; i <= 4; i++) a[i] = i;'), code: 'S5001', line: 3, column: 30 },
  {
    name: 'functions that need ever longer arrays',
    source: 'int->int filter F { int k; init { k = g(3); }\nint g(int n) { int[n] a; int[2] b; for (int i = 0; i < 1000000000; i++) b[i & 1] = i; return b[0] + a[0]; }\n' +
      'work pop 1 push 1 { push(pop() + k); } }',
    code: 'S4101', line: 2, column: 36,
  },
];
