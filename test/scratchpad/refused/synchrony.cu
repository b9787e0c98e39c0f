// Kernels that order shared memory by other means than barriers of the whole block, or not where all threads come.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// refused: warp_barrier warp-synchronous
__global__ void warp_barrier(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncwarp();
  const float x = a[t ^ 1];
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[63 - t];
}

// refused: last_warp warp-synchronous
__global__ void last_warp(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  if (t < 32) {
    a[t] += a[t + 32];
    __syncwarp();
    if (t < 16) a[t] += a[t + 16];
    __syncwarp();
  }
  __syncthreads();
  b[t] = a[0];
  __syncthreads();
  out[t] = b[63 - t];
}

// refused: barrier_for_some divergent-barrier
__global__ void barrier_for_some(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  if (in[t] > 0.0f) __syncthreads();
  const float x = a[63 - t];
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: barrier_in_a_divergent_loop divergent-barrier
__global__ void barrier_in_a_divergent_loop(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  for (int i = 0; i < t; ++i) {
    __syncthreads();
    a[t] += 1.0f;
  }
  b[t] = a[t];
  __syncthreads();
  out[t] = b[63 - t];
}

// refused: some_leave_early divergent-return
__global__ void some_leave_early(const float* in, float* out, int n) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  if (t >= n) return;
  a[t] = in[t];
  __syncthreads();
  const float x = a[n - 1 - t];
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: barrier_as_a_value barrier-in-expression
__global__ void barrier_as_a_value(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  const float x = in[t] > 0.0f && __syncthreads_or(in[t] > 0.5f) ? a[63 - t] : 0.0f;
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: assembly inline-assembly
__global__ void assembly(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  asm volatile("bar.sync 0;");
  const float x = a[63 - t];
  asm volatile("bar.sync 0;");
  b[t] = x;
  asm volatile("bar.sync 0;");
  out[t] = b[t ^ 1];
}

// refused: whole_grid grid-barrier
__global__ void whole_grid(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  cg::this_grid().sync();
  const float x = a[63 - t];
  cg::this_grid().sync();
  b[t] = x;
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: half_a_block warp-synchronous
__global__ void half_a_block(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  a[t] = in[t];
  tile.sync();
  const float x = a[t ^ 1];
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[63 - t];
}
