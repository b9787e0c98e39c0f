// Arrays in and out of functions: what a function writes into an array, its caller finds there. Arrays are values everywhere else.
import type { Style } from './styles.ts';

const mod = (x: number, m: number): number => ((x % m) + m) % m;

export const arrayStyles: readonly Style[] = [
  {
    name: 'a function fills an array of its caller',
    source: `void->int filter A { int i; void fill(int[3] a, int v) { a[0] = v; } work push 1 { int[3] a; fill(a, ++i); push(a[0]); } }
      int->void filter P { work pop 1 { println(pop()); } } void->void pipeline Main { add A; add P; }`,
    printed: ['1', '2', '3', '4', '5', '6'],
  },
  {
    name: 'init, prework and functions of functions fill fields, rows and a parameter',
    source: `int->int filter A(int[3] given) { int[2][3] f; int n;
      void put(int[3] a, int i, int v) { a[i] = v; } void fill(int[3] a, int v) { for (int i = 0; i < 3; i++) put(a, i, v + i); n = n + 1; }
      init { fill(f[0], 5); fill(given, 40); int[3] l; fill(l, 2); f[1][0] = l[1] * 100 + f[0][2]; }
      prework pop 1 push 1 { fill(f[n - 2], f[0][0]); push(pop() + f[1][2]); }
      work pop 1 push 1 { push(pop() * 1000 + f[0][0] + f[1][0] + given[1] + n); fill(given, n); fill(f[n & 1], f[0][1]); } }
      int->int pipeline Main { int[3] x; x[2] = 3; add A(x); }`,
    output: (input) => {
      const f = [[0, 0, 0], [0, 0, 0]];
      const given = [0, 0, 3];
      let n = 0;
      const fill = (a: number[], v: number): void => { for (let i = 0; i < 3; ++i) a[i] = v + i; ++n; };
      fill(f[0]!, 5);
      fill(given, 40);
      ++n;
      f[1]![0] = 300 + f[0]![2]!;
      return input.map((x, i) => {
        if (i === 0) {
          fill(f[n - 2]!, f[0]![0]!);
          return x + f[1]![2]!;
        }
        const y = x * 1000 + f[0]![0]! + f[1]![0]! + given[1]! + n;
        fill(given, n);
        fill(f[n & 1]!, f[0]![1]!);
        return y;
      });
    },
  },
  {
    name: 'the same array twice, and a field that its function writes as well',
    source: `int->int filter A { int[4] t; int[4] u;
      void both(int[4] a, int[4] b, int x) { a[0] = x; b[1] = a[0] + b[0]; t[2] += a[1]; a[3] = t[2] + b[3]; }
      work pop 1 push 2 { int x = pop(); both(t, t, x); both(u, t, x + 1); both(t, u, t[3]); push(t[0] + t[1] * 3 + t[2] * 5 + t[3]); push(u[1] - u[3]); } }
      int->int pipeline Main { add A; }`,
    output: (input) => {
      const [t, u] = [new Int32Array(4), new Int32Array(4)];
      const both = (a: Int32Array, b: Int32Array, x: number): void => {
        a[0] = x;
        b[1] = a[0]! + b[0]!;
        t[2]! += a[1]!;
        a[3] = t[2]! + b[3]!;
      };
      return input.flatMap((x) => {
        both(t, t, x);
        both(u, t, x + 1);
        both(t, u, t[3]!);
        return [(t[0]! + t[1]! * 3 + t[2]! * 5 + t[3]!) | 0, (u[1]! - u[3]!) | 0];
      });
    },
  },
  {
    name: 'arrays in structs and structs in arrays go by reference, structs by value, results and assignments copy',
    source: `struct S { int[4] v; int n; }
      int->int filter A { S[3] all; S one; int k;
      void put(int[4] a, int i, int v) { a[i] = v; } void lost(S s) { s.v[0] = 99; s.n = 99; put(s.v, 1, 98); }
      void set(S[3] s, int j) { s[j].n = k; s[j].v[j] = k; s[(j + 1) % 3] = one; s[j].v[3] = -k; one = s[j]; one.v[2]++; }
      int[4] more(int[4] a) { int[4] r = a; put(r, 0, 1 + a[0]); return r; }
      work pop 1 push 4 { k = pop(); lost(one); set(all, k % 3); int[4] c = more(one.v); put(c, 3, k++); put(more(c), 0, 1000);
        push(c[0] + c[1] * 10 + c[2] * 100 + c[3] * 1000); push(one.v[0] + one.n); push(all[0].v[1] + all[1].v[2] + all[2].v[3]);
        push(all[0].n + all[1].n * 3 + all[2].n * 9); } }
      int->int pipeline Main { add A; }`,
    output: (input) => {
      type S = { v: number[]; n: number };
      const copy = ({ v, n }: S): S => ({ v: [...v], n });
      const all = [0, 1, 2].map((): S => ({ v: [0, 0, 0, 0], n: 0 }));
      let one: S = { v: [0, 0, 0, 0], n: 0 };
      return input.flatMap((k) => {
        const j = k % 3;
        all[j]!.n = k;
        all[j]!.v[j] = k;
        all[(j + 1) % 3] = copy(one);
        all[j]!.v[3] = -k;
        one = copy(all[j]!);
        ++one.v[2]!;
        const c = [...one.v];
        c[0] = 1 + c[0]!;
        c[3] = k;
        return [c[0] + c[1]! * 10 + c[2]! * 100 + c[3] * 1000, one.v[0]! + one.n, all[0]!.v[1]! + all[1]!.v[2]! + all[2]!.v[3]!,
          all[0]!.n + all[1]!.n * 3 + all[2]!.n * 9];
      });
    },
  },
  {
    name: 'recursion keeps its own variables and shares the array',
    warned: ['S0604'],
    isCompiled: true,
    source: `int->int filter A { int rec(int[4] a, int d) { int x = d * 10; int[4] own; own[d] = a[d]; a[d] = d + a[0]; if (d > 0) { rec(a, d - 1); rec(own, d - 1); }
      return x + a[0] + own[d] * 100 + own[0]; }
      work pop 1 push 2 { int[4] loc; loc[1] = pop(); int s = rec(loc, 3); push(s); push(loc[1] + loc[2] * 2 + loc[3] * 4); } }
      int->int pipeline Main { add A; }`,
    output: (input) => {
      const rec = (a: number[], d: number): number => {
        const own = [0, 0, 0, 0];
        own[d] = a[d]!;
        a[d] = d + a[0]!;
        if (d > 0) {
          rec(a, d - 1);
          rec(own, d - 1);
        }
        return d * 10 + a[0]! + own[d]! * 100 + own[0]!;
      };
      return input.flatMap((x) => {
        const loc = [0, x, 0, 0];
        const s = rec(loc, 3);
        return [s, loc[1]! + loc[2]! * 2 + loc[3]! * 4];
      });
    },
  },
  {
    name: 'bodies of composites and sections of constants call functions that fill arrays',
    source: `void ramp(int[4] a, int v) { for (int i = 0; i < 4; i++) a[i] += v * i; }
      static { int[4] T; init { ramp(T, 3); } }
      int->int filter A(int[4] q) { work pop 1 push 1 { int[4] own = T; ramp(own, 1); push(pop() + own[3] * 100 + q[1] * 10000); } }
      int->int pipeline Main { int[4] x; ramp(x, 7); ramp(x, 1); add A(x); }`,
    output: (input) => input.map((x) => x + 1200 + 80000),
  },
  {
    name: 'a swap, a sort and a matrix product by reference',
    source: `int->int filter Sort(int N) { void swap(int[N] a, int i, int j) { int t = a[i]; a[i] = a[j]; a[j] = t; }
      void sort(int[N] a) { for (int i = 0; i < N; i++) for (int j = i + 1; j < N; j++) if (a[j] < a[i]) swap(a, i, j); }
      work pop N push N { int[N] a; for (int i = 0; i < N; i++) a[i] = (pop() * 7919) % 31; sort(a); for (int i = 0; i < N; i++) push(a[i]); } }
      int->int filter Multiply { void multiply(int[2][2] a, int[2][2] b, int[2][2] c) {
        for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) { c[i][j] = 0; for (int k = 0; k < 2; k++) c[i][j] += a[i][k] * b[k][j]; } }
        void row(int[2] r, int x, int y) { r[0] = x; r[1] = y; }
        work pop 4 push 4 { int[2][2] a; int[2][2] b; for (int i = 0; i < 2; i++) row(a[i], pop(), pop()); multiply(a, a, b);
          for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) push(b[i][j]); } }
      int->int pipeline Main { add Sort(8); add Multiply; }`,
    output: (input) => {
      const result: number[] = [];
      for (let at = 0; at + 8 <= input.length; at += 8) {
        const sorted = input.slice(at, at + 8).map((x) => mod(x * 7919, 31)).sort((a, b) => a - b);
        for (const from of [0, 4]) {
          const [a, b, c, d] = sorted.slice(from, from + 4) as [number, number, number, number];
          result.push(a * a + b * c, a * b + b * d, c * a + d * c, c * b + d * d);
        }
      }
      return result;
    },
  },
  {
    name: 'an array of complex numbers and of bits is changed in place',
    source: `int->int filter A { complex[3] z; bit[4] b; void turn(complex[3] z, int j) { z[j] = z[j] * 1i + 1.0; z[j].imag = z[j].imag + 1; }
       void flip(bit[4] x, int j) { x[j] = ~x[j]; }
       work pop 1 push 2 { int x = pop(); turn(z, x % 3); flip(b, x & 3);
         push((int) z[0].real * 100 + (int) z[0].imag * 10 + (int) z[1].imag); push(b[0] + b[1] * 2 + b[2] * 4 + b[3] * 8); } }
      int->int pipeline Main { add A; }`,
    output: (input) => {
      const z = [[0, 0], [0, 0], [0, 0]];
      const b = [0, 0, 0, 0];
      return input.flatMap((x) => {
        const [re, im] = z[x % 3] as [number, number];
        z[x % 3] = [1 - im, re + 1];
        b[x & 3]! ^= 1;
        return [z[0]![0]! * 100 + z[0]![1]! * 10 + z[1]![1]!, b[0]! + b[1]! * 2 + b[2]! * 4 + b[3]! * 8];
      });
    },
  },
];
