// Kernels in the styles of others: macros, templates, cooperative groups, structs, unions, dynamic memory, functions that are not inlined.
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
#define TILE 16
#define SYNC() __syncthreads()
#define IF_FIRST if (threadIdx.x == 0 && threadIdx.y == 0)
#define CHECK_BOUNDS(i, n) \
  if ((i) >= (n)) return
#define IDX(r, c, ld) ((r) * (ld) + (c))
// run: gemm_tiled<float><<<1, (16, 16)>>>(in f32 1024, in f32 1024, out f32 1024, 16, 16, 32)
template <typename T, int BM, int BN, int BK>
__global__ void gemm_tiled(const T* __restrict__ A, const T* __restrict__ B, T* __restrict__ C, int M, int N, int K) {
  __shared__ T As[BM][BK + 1];
  __shared__ T Bs[BK][BN + 1];
  T acc = T(0);
  int r = blockIdx.y * BM + threadIdx.y, c = blockIdx.x * BN + threadIdx.x;
  for (int k0 = 0; k0 < K; k0 += BK) {
    As[threadIdx.y][threadIdx.x] = (r < M && k0 + threadIdx.x < K) ? A[IDX(r, k0 + threadIdx.x, K)] : T(0);
    Bs[threadIdx.y][threadIdx.x] = (c < N && k0 + threadIdx.y < K) ? B[IDX(k0 + threadIdx.y, c, N)] : T(0);
    SYNC();
#pragma unroll
    for (int k = 0; k < BK; ++k) acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
    SYNC();
  }
  if (r < M && c < N) C[IDX(r, c, N)] = acc;
}
template __global__ void gemm_tiled<float, TILE, TILE, TILE>(const float*, const float*, float*, int, int, int);
template __global__ void gemm_tiled<double, TILE, TILE, TILE>(const double*, const double*, double*, int, int, int);
// run: hist_macro<<<2, 256>>>(in u8 2048, inout i32 256, 2000)
__global__ void hist_macro(const unsigned char* in, int* out, int n) {
  __shared__ int counts[256];
  __shared__ int scan[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) counts[i] = 0;
  SYNC();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&counts[in[i]], 1);
  SYNC();
  int x = threadIdx.x < 256 ? counts[threadIdx.x] : 0;
  SYNC();
  if (threadIdx.x < 256) scan[threadIdx.x] = x;
  for (int d = 1; d < 256; d <<= 1) {
    SYNC();
    int y = threadIdx.x >= d && threadIdx.x < 256 ? scan[threadIdx.x - d] : 0;
    SYNC();
    if (threadIdx.x < 256) scan[threadIdx.x] += y;
  }
  SYNC();
  if (threadIdx.x < 256) atomicAdd(&out[threadIdx.x], scan[threadIdx.x]);
}
// run: first_macro<<<2, 128>>>(in f32 256, out f32 2)
__global__ void first_macro(const float* in, float* out) {
  __shared__ float total;
  __shared__ float part[32];
  __shared__ float again[32];
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  SYNC();
  IF_FIRST {
    float s = 0;
    for (int i = 0; i < blockDim.x / 32; ++i) s += part[i];
    total = s;
  }
  SYNC();
  float m = total / blockDim.x, d = in[blockIdx.x * blockDim.x + threadIdx.x] - m;
  d *= d;
  for (int o = 16; o; o >>= 1) d += __shfl_down_sync(~0u, d, o);
  if (threadIdx.x % 32 == 0) again[threadIdx.x / 32] = d;
  SYNC();
  IF_FIRST {
    float s = 0;
    for (int i = 0; i < blockDim.x / 32; ++i) s += again[i];
    out[blockIdx.x] = s;
  }
}
// run: cg_reduce<<<1, 96>>>(in f32 300, out f32 2, 300)
__global__ void cg_reduce(const float* in, float* out, int n) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  __shared__ float sums[32];
  __shared__ float maxima[32];
  float v = 0, m = -1e30f;
  for (int i = block.thread_rank(); i < n; i += block.size()) {
    v += in[i];
    m = max(m, in[i]);
  }
  v = cg::reduce(tile, v, cg::plus<float>());
  m = cg::reduce(tile, m, cg::greater<float>());
  if (tile.thread_rank() == 0) sums[tile.meta_group_rank()] = v;
  block.sync();
  if (tile.meta_group_rank() == 0) {
    float x = tile.thread_rank() < tile.meta_group_size() ? sums[tile.thread_rank()] : 0;
    x = cg::reduce(tile, x, cg::plus<float>());
    if (tile.thread_rank() == 0) out[0] = x;
  }
  block.sync();
  if (tile.thread_rank() == 0) maxima[tile.meta_group_rank()] = m;
  block.sync();
  if (block.thread_rank() == 0) {
    float x = -1e30f;
    for (int i = 0; i < tile.meta_group_size(); ++i) x = max(x, maxima[i]);
    out[1] = x;
  }
}
// run: cg_scan<<<2, 64>>>(in i32 128, out i32 128)
__global__ void cg_scan(const int* in, int* out) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  __shared__ int warps[32];
  __shared__ int base[32];
  int x = cg::inclusive_scan(warp, in[blockIdx.x * blockDim.x + threadIdx.x]);
  if (warp.thread_rank() == 31) warps[warp.meta_group_rank()] = x;
  block.sync();
  if (threadIdx.x < 32)
    base[threadIdx.x] = cg::exclusive_scan(warp, threadIdx.x < warp.meta_group_size() ? warps[threadIdx.x] : 0);
  block.sync();
  out[blockIdx.x * blockDim.x + threadIdx.x] = x + base[warp.meta_group_rank()];
}
// run: cg_async<<<1, 128>>>(in f32 1024, out f32 512)
__global__ void cg_async(const float4* in, float4* out) {
  auto block = cg::this_thread_block();
  __shared__ float4 a[128];
  __shared__ float4 b[128];
  cg::memcpy_async(block, a, in, sizeof(a));
  cg::wait(block);
  float4 x = a[127 - threadIdx.x];
  block.sync();
  cg::memcpy_async(block, b, in + 128, sizeof(b));
  cg::wait(block);
  out[threadIdx.x] = make_float4(x.x + b[threadIdx.x ^ 1].x, x.y, x.z, x.w);
}
// run: dyn<<<1, 64, 512>>>(in f32 128, out f32 64, 64)
__global__ void dyn(const float* in, float* out, int n) {
  extern __shared__ unsigned char smem[];
  float* a = reinterpret_cast<float*>(smem);
  float* b = a + n;
  __shared__ float c[64];
  __shared__ float d[64];
  a[threadIdx.x] = in[threadIdx.x];
  b[threadIdx.x] = in[n + threadIdx.x];
  c[threadIdx.x & 63] = 1;
  __syncthreads();
  float s = a[n - 1 - threadIdx.x] * b[threadIdx.x] + c[3];
  __syncthreads();
  d[threadIdx.x & 63] = s;
  __syncthreads();
  out[threadIdx.x] = d[5];
}
struct Smem {
  float tile[32][33];
  int flags[32];
};
union Both {
  float f[256];
  double d[128];
};
// run: structs<<<1, (32, 32)>>>(in f32 1024, out f32 1024)
__global__ void structs(const float* in, float* out) {
  __shared__ Smem s;
  __shared__ Both u;
  __shared__ alignas(128) float z[64];
  s.tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  if (threadIdx.y == 0) s.flags[threadIdx.x] = threadIdx.x;
  __syncthreads();
  float v = s.tile[threadIdx.x][threadIdx.y] + s.flags[threadIdx.y];
  __syncthreads();
  int t = threadIdx.y * 32 + threadIdx.x;
  if (t < 128) u.d[t] = v;
  __syncthreads();
  v += u.f[t & 255];
  __syncthreads();
  if (t < 64) z[t] = v;
  __syncthreads();
  out[t] = z[t & 63];
}
__device__ __noinline__ float outside(const float* p, int i) {
  return p[i] * p[i + 1];
}
__global__ void calls(const float* in, float* out) {
  __shared__ float a[256], b[256], c[256];
  int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  float v = outside(a, t & 127);
  __syncthreads();
  b[t] = v;
  __syncthreads();
  v = b[255 - t];
  __syncthreads();
  c[t] = v;
  __syncthreads();
  out[t] = c[t ^ 1];
}
// run: select_ptr<<<1, 256>>>(in f32 512, out f32 256, 3)
__global__ void select_ptr(const float* in, float* out, int k) {
  __shared__ float a[256], b[256], c[256];
  int t = threadIdx.x;
  float* p = k & 1 ? a : b;
  float* q = k & 1 ? b : a;
  p[t] = in[t];
  q[t] = in[t + 256];
  __syncthreads();
  float v = p[255 - t] + q[t ^ 1];
  __syncthreads();
  c[t] = v;
  __syncthreads();
  out[t] = c[255 - t];
}
// run: pingpong<<<1, 256>>>(in f32 256, out f32 256, 1)
__global__ void pingpong(const float* in, float* out, int n) {
  __shared__ float buf[2][256];
  __shared__ float fin[256];
  int t = threadIdx.x, w = 0;
  buf[0][t] = in[t];
  __syncthreads();
  for (int d = 1; d < 256; d <<= 1) {
    buf[1 - w][t] = buf[w][t] + (t >= d ? buf[w][t - d] : 0);
    w = 1 - w;
    __syncthreads();
  }
  float v = buf[w][t];
  __syncthreads();
  fin[t] = v;
  __syncthreads();
  out[t] = fin[255 - t];
}
// run: early<<<2, 256>>>(in f32 512, out f32 512, 512)
__global__ void early(const float* in, float* out, int n) {
  __shared__ float a[256], b[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  CHECK_BOUNDS(i, n);
  int t = threadIdx.x;
  a[t] = in[i];
  __syncthreads();
  float v = a[255 - t];
  __syncthreads();
  b[t] = v;
  __syncthreads();
  out[i] = b[t ^ 1];
}
// run: switches<<<1, 256>>>(in f32 256, out f32 256, 1)
__global__ void switches(const float* in, float* out, int mode) {
  __shared__ float a[256], b[256], c[256];
  int t = threadIdx.x;
  float v = in[t];
  switch (mode) {
    case 0:
      a[t] = v;
      __syncthreads();
      v = a[255 - t];
      break;
    case 1:
      b[t] = v;
      __syncthreads();
      v = b[t ^ 1];
      break;
    case 2:
      c[t] = v;
      __syncthreads();
      v = c[t ^ 7];
      break;
    default:
      v = -v;
  }
  out[t] = v;
}
