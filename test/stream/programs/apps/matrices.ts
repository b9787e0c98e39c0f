// Sorting, matrices, cells: graphs built by recursion and by loops.
import { blocks, signal, sum, upTo, whole, type App } from './app.ts';

const radixSource = `
/** Radix sort of N numbers, low bit first */
int->int pipeline Main {
  int N = 16;
  for (int i = 1; i < 256; i <<= 1) add Step(N, i);
  add Check(N);
}
int->int filter Step(int N, int mask) {
  int[N] kept;
  work pop N push N {
    int count = 0;
    for (int i = 0; i < N; i++) {
      int x = pop();
      if ((x & mask) == 0) push(x);
      else kept[count++] = x;
    }
    for (int i = 0; i < count; i++) push(kept[i]);
  }
}
int->int filter Check(int N) {
  work pop N push N + 1 {
    int wrong = 0;
    for (int i = 0; i < N; i++) {
      if (i + 1 < N) { if (peek(1) < peek(0)) wrong++; }
      push(pop());
    };
    push(wrong);
  }
}
`;

const mergeSource = `
// merge sort; the leaves are compared in Batcher's odd-even network
int->int filter Merger(int N) {
  work push N pop N {
    int a = 0, b = N / 2;
    while (a < N/2 || b < N) {
      boolean left;
      if (a >= N/2) left = false;
      else if (b >= N) left = true;
      else left = peek(a) <= peek(b);
      push(peek(left ? a++ : b++));
    }
    for (int i = 0; i < N; i++) pop();
  }
}
int->int filter CompareExchange(boolean up) {
  work push 2 pop 2 {
    int a, b;
    a = pop();
    b = pop();
    if (up ? a <= b : a >= b) { push(a); push(b); } else { push(b); push(a); }
  }
}
int->int splitjoin Halves(int N, boolean network) {
  split roundrobin(N/2);
  add Sorter(N/2, network); add Sorter(N/2, network);
  join roundrobin(N/2);
}
int->int pipeline Odd(int N) {
  if (N == 2) { add CompareExchange(true); }
  else {
    add splitjoin {
      split roundrobin(1, 1);
      add Odd(N/2);
      add Odd(N/2);
      join roundrobin(1, 1);
    };
    add int->int splitjoin {
      split roundrobin(1, N - 2, 1);
      add Identity<int>();
      add pipeline { for (int i = 0; i < 1; i++) add CompareExchange(true); }
      add Identity<int>();
      join roundrobin(1, N - 2, 1);
    }
  }
}
int->int pipeline Sorter(int N, boolean network) {
  if (N > 1) {
    add Halves(N, network && N > 4);
    if (network) add Odd(N);
    else add Merger(N);
  } else add Identity<int>;
}
int->int pipeline Main { add Sorter(16, true); add Sorter(16, false); }
`;

const productSource = `
/* matrix product A(m,n) * B(n,p): rows and columns are repeated and brought side by side */
float->float pipeline MatrixProduct(int m, int n, int p) {
  add splitjoin {
    split roundrobin(m * n, n * p);
    add RepeatRows(m, n, p);
    add pipeline { add Transpose(n, p); add RepeatAll(m, n * p); };
    join roundrobin(n, n);
  }
  add Dot(n);
}
float->float splitjoin RepeatRows(int m, int n, int p) {
  split roundrobin(n);
  for (int i = 0; i < m; i++) add RepeatAll(p, n);
  join roundrobin(n * p);
}
float->float filter RepeatAll(int times, int n) {
  work pop n push n * times {
    for (int t = 0; t < times; t++)
      for (int i = 0; i < n; i++)
        push(peek(i));
    for (int i = 0; i < n; i++) pop();
  }
}
float->float splitjoin Transpose(int rows, int columns) {
  split roundrobin;
  for (int j = 0; j < columns; j++) add Identity<float>();
  join roundrobin(rows);
}
float->float filter Dot(int n) {
  work pop 2 * n push 1 {
    float s = 0;
    for (int i = 0; i < n; i++) s += peek(i) * peek(n + i);
    push(s);
    for (int i = 0; i < 2 * n; i++) pop();
  }
}
float->float pipeline Main { add MatrixProduct(3, 4, 2); }
`;

const luSource = `
// solves A x = b by decomposition into triangles, with pivots
float->float filter Decompose(int n) {
  float[n][n] a;
  int[n] order;
  work pop n * (n + 1) push n * (n + 1) {
    for (int i = 0; i < n; i++) {
      order[i] = i;
      for (int j = 0; j < n; j++) a[i][j] = pop();
    }
    for (int k = 0; k < n; k++) {
      int pivot = k;
      for (int i = k + 1; i < n; i++) if (abs(a[i][k]) > abs(a[pivot][k])) pivot = i;
      if (pivot != k) {
        float[n] row = a[k];
        a[k] = a[pivot];
        a[pivot] = row;
        int o = order[k]; order[k] = order[pivot]; order[pivot] = o;
      }
      for (int i = k + 1; i < n; i++) {
        a[i][k] /= a[k][k];
        for (int j = k + 1; j < n; j++) a[i][j] -= a[i][k] * a[k][j];
      }
    }
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) push(a[i][j]);
    for (int i = 0; i < n; i++) push(peek(order[i]));
    for (int i = 0; i < n; i++) pop();
  }
}
float->float filter Solve(int n) {
  float dot(float[n][n] a, int i, float[n] x, int from, int to_) {
    float s = 0;
    for (int j = from; j < to_; j++) s += a[i][j] * x[j];
    return s;
  }
  void forward(float[n][n] a, float[n] x) { // arrays come by reference
    for (int i = 0; i < n; i++) x[i] -= dot(a, i, x, 0, i);
  }
  work pop n * n + n push n {
    float[n][n] a;
    float[n] x;
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i][j] = pop();
    for (int i = 0; i < n; i++) x[i] = pop();
    forward(a, x);
    for (int i = n - 1; i >= 0; i--) x[i] = (x[i] - dot(a, i, x, i + 1, n)) / a[i][i];
    for (int i = 0; i < n; i++) push(x[i]);
  }
}
float->float pipeline Main { int size = 4; add Decompose(size); add Solve(size); }
`;

/** Cramer's rule by determinants of minors. */
function determinant(a: readonly (readonly number[])[]): number {
  if (a.length === 1) return a[0]![0]!;
  return a[0]!.reduce((all, x, j) => all + (j % 2 === 0 ? x : -x) * determinant(a.slice(1).map((row) => row.filter((_, k) => k !== j))), 0);
}
const solved = (x: readonly number[]): number[] => {
  const a = upTo(4).map((i) => x.slice(4 * i, 4 * i + 4));
  return upTo(4).map((k) => determinant(a.map((row, i) => row.map((v, j) => (j === k ? x[16 + i]! : v)))) / determinant(a));
};

const givensSource = `
/* triangular form by Givens rotations: a chain of filters, one for each element that becomes zero */
struct Rotation { float c; float s; };
float->float pipeline Main { add Givens(3); }
float->float pipeline Givens(int n) {
  int j;
  for (j = 0; j < n; j++) {
    for (int i = n - 1; i > j; i--) {
      add Rotate(n, i - 1, i, j);
    }
  }
}
float->float filter Rotate(int n, int upper, int lower, int column) {
  Rotation find(float x, float y) {
    Rotation r;
    float h = sqrt(x * x + y * y);
    if (h == 0) { r.c = 1; r.s = 0; }
    else { r.c = x / h; r.s = y / h; }
    return r;
  }
  work pop n * n push n * n {
    Rotation r = find(peek(upper * n + column), peek(lower * n + column));
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < n; j++) {
        float v = peek(i * n + j);
        if (i == upper) v = r.c * v + r.s * peek(lower * n + j);
        else if (i == lower) v = r.c * v - r.s * peek(upper * n + j);
        push(v);
      }
    }
    for (int i = 0; i < n * n; i++) pop();
  }
}
`;

/** Triangular factor by Gram and Schmidt; the last diagonal element takes the sign of the determinant. */
function triangle(m: readonly number[]): number[] {
  const columns = upTo(3).map((j) => upTo(3).map((i) => m[3 * i + j]!));
  const q: number[][] = [], r = new Array<number>(9).fill(0);
  columns.forEach((column, j) => {
    const rest = [...column];
    q.forEach((unit, i) => {
      r[3 * i + j] = sum(3, (k) => unit[k]! * column[k]!);
      rest.forEach((_, k) => { rest[k]! -= r[3 * i + j]! * unit[k]!; });
    });
    const length = Math.hypot(...rest);
    r[3 * j + j] = length;
    q.push(rest.map((x) => x / length));
  });
  if (determinant(upTo(3).map((i) => m.slice(3 * i, 3 * i + 3))) < 0) r[8] = -r[8]!;
  return r;
}

const lifeSource = `
/* Conway's cells on a ring of rings: the world goes round a loop */
int->int feedbackloop Life(int h, int w) {
  join roundrobin(1, h * w);
  body Generation(h, w);
  loop Identity<int>;
  split roundrobin(1, h * w);
  for (int i = 0; i < h * w; i++) {
    int y = i / w, x = i % w;
    if ((y == 1 && x == 2) || (y == 2 && x == 3) || (y == 3 && x >= 1 && x <= 3)) enqueue(1);
    else enqueue(0);
  }
}
int->int filter Generation(int h, int w) {
  int[h][w] cells;
  int count(int y, int x) {
    int n = 0;
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        if (dy == 0 && dx == 0) continue;
        n += cells[(y + dy + h) % h][(x + dx + w) % w];
      }
    return n;
  }
  work pop h * w + 1 push h * w + 1 {
    int flip = pop(); // a cell that the outside turns round
    int hash = 0;
    for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) cells[y][x] = pop();
    if (flip >= 0) cells[flip / w][flip % w] = 1 - cells[flip / w][flip % w];
    for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) hash = hash * 31 + cells[y][x];
    push(hash);
    for (int y = 0; y < h; y++) {
      for (int x = 0; x < w; x++) {
        int n = count(y, x);
        push(n == 3 || (n == 2 && cells[y][x] == 1) ? 1 : 0);
      }
    }
  }
}
int->int pipeline Main { add Life(6, 7); }
`;

function life(flips: readonly number[]): number[] {
  let alive = new Set([[1, 2], [2, 3], [3, 1], [3, 2], [3, 3]].map(([y, x]) => 7 * y! + x!));
  return flips.map((flip) => {
    if (flip >= 0 && !alive.delete(flip)) alive.add(flip);
    const hash = upTo(42).reduce((all, i) => (Math.imul(all, 31) + Number(alive.has(i))) | 0, 0);
    const near = (i: number) => [-1, 0, 1].flatMap((dy) => [-1, 0, 1].map((dx) => ((Math.floor(i / 7) + dy + 6) % 6) * 7 + (i + dx + 7 - Math.floor(i / 7) * 7) % 7))
      .filter((j) => j !== i && alive.has(j)).length;
    alive = new Set(upTo(42).filter((i) => near(i) === 3 || (near(i) === 2 && alive.has(i))));
    return hash;
  });
}

const numbers = whole(96, 256, 11), floats = signal(60, 12), systems = signal(60, 13), squares = signal(36, 14), flips = whole(20, 60, 15).map((x) => (x < 42 ? x : -1));
const sorted = (x: readonly number[]): number[] => [...x].sort((a, b) => a - b);

export const matrices: readonly App[] = [
  { name: 'radix sort as a pipeline built by shifts', source: radixSource, input: numbers, expected: blocks(numbers, 16, (x) => [...sorted(x), 0]) },
  { name: 'merge sort and an odd-even network by recursion', source: mergeSource, input: numbers, expected: blocks(numbers, 16, sorted) },
  { name: 'a matrix product by splitting and repeating', source: productSource, input: floats, tolerance: 1e-6,
    expected: blocks(floats, 20, (x) => upTo(6).map((k) => sum(4, (i) => x[4 * Math.floor(k / 2) + i]! * x[12 + 2 * i + k % 2]!))) },
  { name: 'linear equations by triangles', source: luSource, input: systems, expected: blocks(systems, 20, solved), tolerance: 1e-5 },
  { name: 'rotations that make a triangle', source: givensSource, input: squares, expected: blocks(squares, 9, triangle), tolerance: 1e-5 },
  { name: 'cells that live in a loop', source: lifeSource, input: flips, expected: life(flips) },
];
