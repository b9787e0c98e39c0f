// Pictures and vertices.
import { blocks, signal, sum, upTo, whole, type App } from './app.ts';

const jpegSource = `
/* the first half of a picture coder: level shift, transform, quantisation, zigzag, runs */
int N = 8;
static {
  int[64] zigzag = {
     0,  1,  8, 16,  9,  2,  3, 10, 17, 24, 32, 25, 18, 11,  4,  5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13,  6,  7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63 };
  int[8][8] q;
  init { for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) q[i][j] = 8 + 4 * (i + j); }
}
int->float filter Shift { work pop 1 push 1 { push(pop() - 128); } }

float->float splitjoin Rows { split roundrobin(N); for (int i = 0; i < N; i++) add Cosine(); join roundrobin(N); }
float->float splitjoin Columns { split roundrobin(1); for (int i = 0; i < N; i++) { add Cosine(); } join roundrobin(1); }

float->float filter Cosine {
  float[8][8] c;
  init {
    for (int k = 0; k < 8; k++) {
      float scale = (k == 0) ? 0.5 / sqrt(2) : 0.5;
      for (int n = 0; n < 8; n++) c[k][n] = scale * cos(pi * (2 * n + 1) * k / 16);
    }
  }
  work pop 8 push 8 {
    for (int k = 0; k < 8; k++) {
      float s = 0.0f;
      for (int n = 0; n < 8; n++) s += c[k][n] * peek(n);
      push(s);
    }
    for (int n = 0; n < 8; n++) pop();
  }
}
float->int filter Quantise {
  work pop 64 push 64 {
    for (int i = 0; i < 64; i++) {
      float x = pop() / q[i / 8][i % 8];
      push((int) (x < 0 ? -floor(-x + 0.5f) : floor(x + 0.5f)));
    }
  }
}
int->int filter Reorder(int n, int[n] order) {
  work pop n push n { for (int i = 0; i < n; i++) push(peek(order[i])); for (int i = 0; i < n; i++) pop(); }
}
int->int pipeline Forward { add Shift; add Rows; add Columns; add Quantise; add Reorder(64, zigzag); }
`;

const runSource = `
struct Run { int zeros; int level; int isLast; }
/* how many runs there are depends on the picture */
int->Run filter Runs {
  int dc = 0;
  work pop 64 push [1, 65] {
    Run r;
    int x = pop();
    r.zeros = 0; r.level = x - dc; r.isLast = 0;
    push(r);
    dc = x;
    int zeros = 0;
    for (int i = 1; i < 64; i++) {
      x = pop();
      if (x == 0) zeros++;
      else { r.zeros = zeros; r.level = x; push(r); zeros = 0; }
    }
    r.zeros = zeros; r.level = 0; r.isLast = 1;
    push(r);
  }
}
/* and back */
Run->int filter Levels {
  int dc, at;
  int[64] block;
  work pop [1, *] push 64 {
    for (int i = 0; i < 64; i++) block[i] = 0;
    Run r = pop();
    dc += r.level;
    block[0] = dc;
    at = 1;
    do {
      r = pop();
      at += r.zeros;
      if (r.isLast == 0) block[at++] = r.level;
    } while (r.isLast == 0);
    for (int i = 0; i < 64; i++) push(block[i]);
  }
}
`;

function jpeg(pixels: readonly number[]): number[] {
  const zigzag = upTo(64).sort((a, b) => {
    const [i, j, k, l] = [a >> 3, a & 7, b >> 3, b & 7];
    const d = i + j - k - l;
    return d !== 0 ? d : (i + j) % 2 === 0 ? j - l : i - k;
  });
  const scale = (k: number): number => (k === 0 ? Math.SQRT1_2 : 1) / 2;
  return blocks(pixels, 64, (p) => {
    const levels = upTo(64).map((at) => {
      const [u, v] = [at >> 3, at & 7];
      const exact = scale(u) * scale(v) * sum(64, (n) => (
        (p[n]! - 128) * Math.cos(Math.PI * (2 * (n >> 3) + 1) * u / 16) * Math.cos(Math.PI * (2 * (n & 7) + 1) * v / 16)));
      const x = exact / (8 + 4 * (u + v));
      return Math.sign(x) * Math.floor(Math.abs(x) + 0.5);
    });
    return zigzag.map((at) => levels[at]! + 0);
  });
}

const edgesSource = `
/* edges of a picture whose rows come one after the other; lines are kept by peeking */
float->float pipeline Main { int W = 12; add splitjoin { split duplicate; add Sobel(W, true); add Sobel(W, false); add Median(W); join roundrobin; } add Join3; }
float->float filter Sobel(int W, boolean across) {
  float[3][3] kernel = { {1, 0, -1}, {2, 0, -2}, {1, 0, -1} };
  work pop 1 push 1 peek 2 * W + 3 {
    float s = 0;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        s += peek(i * W + j) * (across ? kernel[i][j] : kernel[j][i]);
    pop();
    push(s);
  }
}
float->float filter Median(int W) {
  void order(float[9] v, int n) {
  }
  work pop 1 push 1 peek 2 * W + 3 {
    float[9] v;
    int n = 0;
    for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) v[n++] = peek(i * W + j);
    for (int i = 1; i < n; i++) {
      float x = v[i];
      int k = i - 1;
      while (k >= 0 && v[k] > x) { v[k + 1] = v[k]; k--; }
      v[k + 1] = x;
    }
    order(v, n);
    push(v[n / 2]);
    pop();
  }
}
float->float filter Join3 { work pop 3 push 2 { float gx = pop(), gy = pop(); push(sqrt(gx * gx + gy * gy)); push(pop()); } }
`;

const edges = (x: readonly number[]): number[] => upTo(x.length - 26).flatMap((n) => {
  const at = (i: number, j: number): number => x[n + 12 * i + j]!;
  const gx = at(0, 0) + 2 * at(1, 0) + at(2, 0) - at(0, 2) - 2 * at(1, 2) - at(2, 2), gy = at(0, 0) + 2 * at(0, 1) + at(0, 2) - at(2, 0) - 2 * at(2, 1) - at(2, 2);
  return [Math.sqrt(gx * gx + gy * gy), upTo(9).map((k) => at(Math.floor(k / 3), k % 3)).sort((a, b) => a - b)[4]!];
});

const waveletSource = `
// wavelets by lifting, each level on the low half of the one before
int->int pipeline Wavelet(int n) {
  if (n >= 2) {
    add Lift(n);
    add int->int splitjoin {
      split roundrobin(n / 2);
      add Wavelet(n / 2);
      add Identity<int>;
      join roundrobin(n / 2);
    };
  } else { add Identity<int>(); }
}
int->int filter Lift(int n) {
  int[n] odd, even;
  work pop n push n {
    for (int i = 0; i < n / 2; i++) {
      even[i] = pop();
      odd[i] = pop();
      odd[i] -= even[i];
      even[i] += odd[i] >> 1;
    }
    for (int i = 0; i < n / 2; i++) push(even[i]);
    for (int i = 0; i < n / 2; i++) push(odd[i]);
  }
}
int->int pipeline Main { add Wavelet(16); }
`;

function wavelet(x: readonly number[]): number[] {
  if (x.length < 2) return [...x];
  const odd = upTo(x.length / 2).map((i) => x[2 * i + 1]! - x[2 * i]!);
  return [...wavelet(odd.map((d, i) => x[2 * i]! + Math.floor(d / 2))), ...odd];
}

const shadeSource = `
/* corners of triangles turned, seen and lit */
struct Vertex { float4 position; float3 normal; float3 color; }
float->Vertex filter Read {
  work pop 6 push 1 {
    Vertex v;
    v.position.x = pop(); v.position.y = pop(); v.position.z = pop(); v.position.w = 1;
    v.normal.x = pop(); v.normal.y = pop(); v.normal.z = pop();
    v.color.x = 1; v.color.y = 0.5; v.color.z = 0.25;
    push(v);
  }
}
Vertex->Vertex filter Turn(float angle) {
  float4[4] m;
  init {
    m[0].x = cos(angle); m[0].y = -sin(angle);
    m[1].x = sin(angle); m[1].y = cos(angle);
    m[2].z = 1; m[2].w = 5;
    m[3].w = 1;
  }
  float dot(float4 a, float4 b) { float4 p = a * b; return p.x + p.y + p.z + p.w; }
  work pop 1 push 1 {
    Vertex v = pop();
    float4 p = v.position;
    v.position.x = dot(m[0], p);
    v.position.y = dot(m[1], p);
    v.position.z = dot(m[2], p);
    v.position.w = dot(m[3], p);
    push(v);
  }
}
Vertex->float filter Shade {
  float3 light;
  init { light.x = 0; light.y = 0.6; light.z = 0.8; }
  work pop 1 push 5 {
    Vertex v = pop();
    float3 n = v.normal * light;
    float strength = max(0, n.x + n.y + n.z);
    float3 c = v.color;
    c.x *= strength; c.y *= strength; c.z *= strength;
    push(v.position.x / v.position.z);
    push(v.position.y / v.position.z);
    push(c.x); push(c.y); push(c.z);
  }
}
float->float pipeline Main { add Read; add Turn(0.5f); add Shade; }
`;

const shaded = (v: readonly number[]): number[] => {
  const [x, y, z, , ny, nz] = v, [c, s] = [Math.cos(0.5), Math.sin(0.5)], strength = Math.max(0, 0.6 * ny! + 0.8 * nz!);
  return [(c * x! - s * y!) / (z! + 5), (s * x! + c * y!) / (z! + 5), strength, strength / 2, strength / 4];
};

/** Grey values of a whole picture spread evenly: far more than a million firings in a steady state. */
export const histogram = {
  width: 640, height: 480,
  source: `
int->int filter Equalise(int n) {
  int[256] count;
  int[256] map;
  work push n pop n {
    int i, sum = 0;
    for (i = 0; i < 256; i++) count[i] = 0;
    for (i = 0; i < n; i++) count[peek(i)]++;
    for (i = 0; i < 256; i++) { sum += count[i]; map[i] = (255 * sum) / n; }
    for (i = 0; i < n; i++) push(map[pop()]);
  }
}
int->int filter Invert { work push 1 pop 1 { push(255 - pop()); } }
int->int filter Clip(int low, int high) { work push 1 pop 1 { push(min(max(pop(), low), high)); } }
int->int pipeline Main { add Invert; add Clip(20, 200); add Equalise(640 * 480); add Invert; }
`,
  expected(x: readonly number[]): number[] {
    const clipped = x.map((v) => Math.min(Math.max(255 - v, 20), 200)), below = new Array<number>(256).fill(0);
    for (const v of clipped) below[v]! += 1;
    below.forEach((_, v) => { below[v]! += below[v - 1] ?? 0; });
    return clipped.map((v) => 255 - Math.floor(255 * below[v]! / x.length));
  },
};

const pixels = upTo(192).map((i) => (i * 13 + (i >> 3) * 29 + (i % 5) * 7) % 256), picture = signal(120, 21), corners = signal(60, 22), levels = whole(64, 200, 23);
const quantised = jpeg(pixels);

export const images: readonly App[] = [
  { name: 'a transform coder up to the zigzag', source: `${jpegSource}int->int pipeline Main { add Forward; }`, input: pixels, expected: quantised },
  { name: 'a transform coder with runs as structs, and back', source: `${jpegSource}${runSource}int->int pipeline Main { add Forward; add Runs(); add Levels(); }`,
    input: pixels, expected: quantised, interpreted: true },
  { name: 'edges and medians by peeking', source: edgesSource, input: picture, expected: edges(picture), tolerance: 1e-6 },
  { name: 'wavelets by lifting', source: waveletSource, input: levels, expected: blocks(levels, 16, wavelet) },
  { name: 'vertices of float3 and float4', source: shadeSource, input: corners, expected: blocks(corners, 6, shaded), tolerance: 1e-6 },
];
