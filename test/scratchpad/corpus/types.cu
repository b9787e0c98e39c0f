// Element sizes from 1 to 16 bytes, structs, alignment, several dimensions, extents of every kind.
#define WIDTH 32
constexpr int kRows = 4;
enum { kDepth = 2 };
typedef unsigned short Half;
using Wide = double;

struct Pair {
  float value;
  int place;
};
struct alignas(16) Cell {
  double mass;
  float velocity[3];
  unsigned char kind;
};
struct Plane {
  float row[2][16];
};

// run: element_sizes<<<2, 64>>>(in u8 128, out f64 128)
__global__ void element_sizes(const unsigned char* in, double* out) {
  __shared__ unsigned char bytes[64];
  __shared__ Half halves[64];
  __shared__ int words[64];
  __shared__ double reals[64];
  __shared__ double2 pairs[64];
  const int t = threadIdx.x;
  bytes[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  halves[t] = (Half)(bytes[(t + 1) % 64] * 3);
  __syncthreads();
  words[t] = halves[(t + 2) % 64] - 100;
  __syncthreads();
  reals[t] = words[(t + 3) % 64] * 0.25;
  __syncthreads();
  pairs[t] = make_double2(reals[(t + 4) % 64], reals[t]);
  __syncthreads();
  out[blockIdx.x * 64 + t] = pairs[63 - t].x - pairs[t ^ 1].y;
}

// run: pairs<<<2, 64>>>(in f32 128, out f32 128, out i32 128)
__global__ void pairs(const float* in, float* value, int* place) {
  __shared__ Pair found[64];
  __shared__ float copy[64];
  const int t = threadIdx.x;
  found[t].value = in[blockIdx.x * 64 + t];
  found[t].place = t;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (t < half && found[t + half].value > found[t].value) found[t] = found[t + half];
    __syncthreads();
  }
  const Pair best = found[0];
  __syncthreads();
  copy[t] = best.value + (float)t;
  __syncthreads();
  value[blockIdx.x * 64 + t] = copy[(t + 1) % 64];
  place[blockIdx.x * 64 + t] = best.place;
}

// run: cells<<<2, 32>>>(in f32 64, out f64 64)
__global__ void cells(const float* in, double* out) {
  __shared__ float raw[32];
  __shared__ Cell gas[32];
  __shared__ double energy[32];
  const int t = threadIdx.x;
  raw[t] = in[blockIdx.x * 32 + t];
  __syncthreads();
  const float left = raw[(t + 31) % 32], right = raw[(t + 1) % 32];
  gas[t].mass = 1.0 + left;
  gas[t].velocity[0] = right - left;
  gas[t].velocity[1] = right;
  gas[t].velocity[2] = left;
  gas[t].kind = t % 3;
  __syncthreads();
  double e = 0.0;
  for (int k = 0; k < 3; ++k) e += gas[(t + 5) % 32].velocity[k] * gas[(t + 5) % 32].mass;
  e += gas[31 - t].kind;
  __syncthreads();
  energy[t] = e;
  __syncthreads();
  out[blockIdx.x * 32 + t] = energy[31 - t];
}

// run: dimensions<<<2, (32, 4)>>>(in f32 256, out f32 256)
__global__ void dimensions(const float* in, float* out) {
  __shared__ float flat[kRows * WIDTH];
  __shared__ float square[kRows][WIDTH + 1];
  __shared__ float cube[kDepth][kRows][WIDTH];
  const int x = threadIdx.x, y = threadIdx.y;
  const int t = y * WIDTH + x;
  flat[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
  square[y][x] = flat[(t + 37) % 128];
  if (x == 0) square[y][WIDTH] = 0.0f;
  __syncthreads();
  const float gradient = square[y][x + 1] - square[y][x];
  __syncthreads();
  for (int z = 0; z < kDepth; ++z) cube[z][y][x] = gradient * (float)(z + 1);
  __syncthreads();
  out[blockIdx.x * 128 + t] = cube[1][kRows - 1 - y][x] + cube[0][y][WIDTH - 1 - x];
}

// run: aligned<<<2, 64>>>(in f32 128, out f32 128)
__global__ void aligned(const float* in, float* out) {
  __shared__ char flag[3];
  alignas(128) __shared__ float line[64];
  __shared__ float4 quads[16];
  __shared__ short odd[65];
  const int t = threadIdx.x;
  if (t < 3) flag[t] = (char)(t + 1);
  line[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  const float a = line[63 - t] * (float)flag[t % 3];
  odd[t] = (short)(a * 100.0f);
  if (t == 0) odd[64] = 7;
  __syncthreads();
  const int b = odd[t + 1];
  if (t < 16) quads[t] = make_float4((float)odd[t], (float)odd[t + 16], 1.0f, 2.0f);
  __syncthreads();
  const float4 q = quads[t / 4];
  out[blockIdx.x * 64 + t] = q.x + q.y * q.z - q.w + (float)b;
}

// run: struct_of_arrays<<<2, 32>>>(in f32 64, out f32 64)
__global__ void struct_of_arrays(const float* in, float* out) {
  __shared__ Plane plane;
  __shared__ Wide wide[32];
  const int t = threadIdx.x;
  plane.row[t / 16][t % 16] = in[blockIdx.x * 32 + t];
  __syncthreads();
  const float x = plane.row[1 - t / 16][t % 16];
  __syncthreads();
  wide[t] = x;
  __syncthreads();
  out[blockIdx.x * 32 + t] = (float)wide[31 - t];
}

// run: declarators<<<2, 64>>>(in f32 128, out f32 128)
__global__ void declarators(const float* in, float* out) {
  const int kLocal = 16;
  __shared__ float a[64], b[4][kLocal], factor;
  __shared__ int counts[kLocal * 2 + 32], zero;
  const int t = threadIdx.x;
  if (t == 0) factor = 1.5f;
  if (t == 1) zero = 0;
  a[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  b[t / kLocal][t % kLocal] = a[63 - t] * factor;
  __syncthreads();
  counts[t] = (int)(b[t % 4][t / 4] * 8.0f) + zero;
  __syncthreads();
  out[blockIdx.x * 64 + t] = (float)counts[(t + 1) % (int)(sizeof(counts) / sizeof(counts[0]))];
}

// run: integers<<<2, 64>>>(in i64 128, out i64 128)
__global__ void integers(const long long* in, long long* out) {
  __shared__ long long a[64];
  __shared__ unsigned int bits[64];
  __shared__ signed char signs[64];
  const int t = threadIdx.x;
  a[t] = in[blockIdx.x * 64 + t] * 3 - 200;
  __syncthreads();
  bits[t] = (unsigned int)(a[63 - t] & 0xffff) << 3;
  __syncthreads();
  bits[t] ^= 5u;
  bits[t]++;
  __syncthreads();
  signs[t] = (signed char)((bits[(t + 9) % 64] >> 4) % 100u);
  __syncthreads();
  out[blockIdx.x * 64 + t] = signs[t ^ 2] - signs[63 - t];
}
