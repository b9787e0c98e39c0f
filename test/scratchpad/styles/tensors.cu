// Kernels in the styles of others: wmma, mma with ldmatrix, cp.async, bulk copies, swizzles, halves, and common algorithms.
#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cstdint>
using namespace nvcuda;
__global__ void wmma_gemm(const half* A, const half* B, float* C, int K) {
  __shared__ half a[16][24], b[16][24];
  __shared__ float c[16][20];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.f);
  for (int k = 0; k < K; k += 16) {
    for (int i = threadIdx.x; i < 256; i += 32) {
      a[i / 16][i % 16] = A[i + k * 16];
      b[i / 16][i % 16] = B[i + k * 16];
    }
    __syncthreads();
    wmma::load_matrix_sync(fa, &a[0][0], 24);
    wmma::load_matrix_sync(fb, &b[0][0], 24);
    wmma::mma_sync(fc, fa, fb, fc);
    __syncthreads();
  }
  wmma::store_matrix_sync(&c[0][0], fc, 20, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 32) C[i] = c[i / 16][i % 16];
}
__device__ uint32_t s_addr(const void* p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}
__global__ void mma_ldmatrix(const half* A, const half* B, float* C) {
#if __CUDA_ARCH__ >= 800
  __shared__ __align__(16) half a[16 * 16], b[16 * 8];
  __shared__ float c[128];
  int t = threadIdx.x;
  reinterpret_cast<uint4*>(a)[t] = reinterpret_cast<const uint4*>(A)[t];
  if (t < 16) reinterpret_cast<uint4*>(b)[t] = reinterpret_cast<const uint4*>(B)[t];
  __syncthreads();
  uint32_t ra[4], rb[2];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
               : "r"(s_addr(a + (t % 16) * 16 + t / 16 * 8)));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(rb[0]), "=r"(rb[1])
               : "r"(s_addr(b + (t % 16) * 8)));
  float d[4] = {};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  __syncthreads();
  for (int i = 0; i < 4; ++i) c[t * 4 + i] = d[i];
  __syncthreads();
  for (int i = 0; i < 4; ++i) C[i * 32 + t] = c[i * 32 + t];
#endif
}
// run: cp_async<3><<<1, 128>>>(in f32 4096, out f32 512, 5)
template <int STAGES>
__global__ void cp_async(const float4* in, float4* out, int n) {
#if __CUDA_ARCH__ >= 800
  __shared__ float4 buf[STAGES][128];
  __shared__ float4 last[128];
  int t = threadIdx.x;
  for (int s = 0; s < STAGES - 1; ++s) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(s_addr(&buf[s][t])), "l"(in + s * 128 + t));
    asm volatile("cp.async.commit_group;");
  }
  float4 acc = {};
  for (int i = 0; i < n; ++i) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
    __syncthreads();
    int f = i + STAGES - 1;
    if (f < n)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(s_addr(&buf[f % STAGES][t])),
                   "l"(in + f * 128 + t));
    asm volatile("cp.async.commit_group;");
    float4 v = buf[i % STAGES][127 - t];
    acc.x += v.x;
    acc.y += v.y;
  }
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  last[t] = acc;
  __syncthreads();
  out[t] = last[t ^ 1];
#endif
}
template __global__ void cp_async<3>(const float4*, float4*, int);
template __global__ void cp_async<4>(const float4*, float4*, int);
// run: swizzle<<<1, 256>>>(in f32 1024, out f32 1024)
__global__ void swizzle(const float4* in, float4* out) {
  __shared__ float4 a[256];
  __shared__ float4 b[256];
  int t = threadIdx.x;
  a[t ^ (t >> 3 & 7)] = in[t];
  __syncthreads();
  float4 v = a[(255 - t) ^ (t >> 2 & 7)];
  __syncthreads();
  b[t] = v;
  __syncthreads();
  out[t] = b[t ^ 31];
}
// run: tma_like<<<1, 256>>>(in f32 256, out f32 256)
__global__ void tma_like(const float* in, float* out) {
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(128) float a[256];
  __shared__ float b[256];
  __shared__ float c[256];
  __shared__ alignas(8) uint64_t bar;
  int t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(s_addr(&bar)));
    asm volatile("fence.proxy.async;");
  }
  __syncthreads();
  if (t == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(s_addr(&bar)));
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(s_addr(a)),
        "l"(in), "r"(s_addr(&bar))
        : "memory");
  }
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }" ::"r"(s_addr(&bar))
               : "memory");
  float v = a[255 - t];
  __syncthreads();
  b[t] = v;
  __syncthreads();
  v += b[t ^ 1];
  __syncthreads();
  c[t] = v;
  __syncthreads();
  out[t] = c[t ^ 3];
#endif
}
__global__ void half_ops(const __half2* in, __nv_bfloat162* out) {
  __shared__ __half2 a[128];
  __shared__ __nv_bfloat162 b[128];
  int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  __half2 v = __hmul2(a[127 - t], a[t]);
  __syncthreads();
  b[t] = __floats2bfloat162_rn(__low2float(v), __high2float(v));
  __syncthreads();
  out[t] = b[t ^ 1];
}
// run: lbm<<<1, 256>>>(in f32 1280, out f32 256, 5)
__global__ void __launch_bounds__(256, 2) lbm(const float* in, float* out, int steps) {
  __shared__ float f0[18][18], f1[18][18], f2[18][18];
  int x = threadIdx.x % 16, y = threadIdx.x / 16;
  float r = 0;
  for (int s = 0; s < steps; ++s) {
    f0[y + 1][x + 1] = in[s * 256 + threadIdx.x];
    if (x == 0) f0[y + 1][0] = 0;
    if (y == 0) f0[0][x + 1] = 0;
    __syncthreads();
    float a = f0[y][x + 1] + f0[y + 1][x];
    __syncthreads();
    f1[y + 1][x + 1] = a;
    if (x == 15) f1[y + 1][17] = 0;
    __syncthreads();
    a += f1[y + 1][x + 2];
    __syncthreads();
    f2[y + 1][x + 1] = a;
    if (y == 15) f2[17][x + 1] = 1;
    __syncthreads();
    r += f2[y + 2][x + 1];
    __syncthreads();
  }
  out[threadIdx.x] = r;
}
// run: nbody<<<1, 256>>>(in f32 1024, out f32 1024, 256)
__global__ void nbody(const float4* p, float4* o, int n) {
  __shared__ float4 tile[256];
  float4 me = p[blockIdx.x * 256 + threadIdx.x], acc = {};
  for (int b = 0; b < n / 256; ++b) {
    tile[threadIdx.x] = p[b * 256 + threadIdx.x];
    __syncthreads();
    _Pragma("unroll 8") for (int j = 0; j < 256; ++j) {
      float dx = tile[j].x - me.x;
      acc.x += dx * rsqrtf(dx * dx + 1e-6f);
    }
    __syncthreads();
  }
  __shared__ float4 out_s[256];
  out_s[threadIdx.x] = acc;
  __syncthreads();
  o[blockIdx.x * 256 + threadIdx.x] = out_s[255 - threadIdx.x];
}
// run: fft8<<<2, 64>>>(inout f32 2048)
__global__ void fft8(float2* d) {
  __shared__ float re[512], im[512];
  __shared__ float re2[512], im2[512];
  int t = threadIdx.x;
  float2 v[8];
  for (int i = 0; i < 8; ++i) v[i] = d[blockIdx.x * 512 + t + 64 * i];
  for (int i = 0; i < 8; ++i) {
    re[t * 8 + i] = v[i].x;
    im[t * 8 + i] = v[i].y;
  }
  __syncthreads();
  for (int i = 0; i < 8; ++i) v[i] = {re[t + 64 * i], im[t + 64 * i]};
  __syncthreads();
  for (int i = 0; i < 8; ++i) {
    re2[t * 8 + (i ^ 1)] = v[i].x;
    im2[t * 8 + i] = v[i].y;
  }
  __syncthreads();
  for (int i = 0; i < 8; ++i) d[blockIdx.x * 512 + t + 64 * i] = {re2[t + 64 * i], im2[t + 64 * i]};
}
// run: bitonic<<<1, 256>>>(inout i32 512)
__global__ void bitonic(int* d) {
  __shared__ int k[512];
  __shared__ int v[512];
  int t = threadIdx.x;
  k[t] = d[t];
  k[t + 256] = d[t + 256];
  __syncthreads();
  for (int s = 2; s <= 512; s <<= 1)
    for (int j = s >> 1; j; j >>= 1) {
      int i = 2 * t - (t & (j - 1));
      bool up = (i & s) == 0;
      int a = k[i], b = k[i + j];
      if ((a > b) == up) {
        k[i] = b;
        k[i + j] = a;
      }
      __syncthreads();
    }
  int r = k[t];
  __syncthreads();
  v[t] = r;
  __syncthreads();
  d[t] = v[255 - t];
}
// run: softmax<<<1, 96>>>(in f32 500, out f32 500, 500)
__global__ void softmax(const float* in, float* out, int n) {
  __shared__ float mx[32], sm[32];
  __shared__ float row[1024];
  float m = -1e30f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    row[i] = in[i];
    m = fmaxf(m, row[i]);
  }
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  if (threadIdx.x % 32 == 0) mx[threadIdx.x / 32] = m;
  __syncthreads();
  m = mx[0];
  for (int i = 1; i < blockDim.x / 32; ++i) m = fmaxf(m, mx[i]);
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += row[i] = __expf(row[i] - m);
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
  if (threadIdx.x % 32 == 0) sm[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int i = 0; i < blockDim.x / 32; ++i) s += sm[i];
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = row[i] / s;
}
