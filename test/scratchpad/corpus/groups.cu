// Barriers of cooperative groups.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// run: grouped<<<2, 64>>>(in f32 128, out f32 128)
__global__ void grouped(const float* in, float* out) {
  __shared__ float a[64];
  __shared__ float b[64];
  const int t = threadIdx.x;
  a[t] = in[blockIdx.x * 64 + t];
  cg::this_thread_block().sync();
  const float x = a[63 - t];
  cg::this_thread_block().sync();
  b[t] = x + 1.0f;
  cg::this_thread_block().sync();
  out[blockIdx.x * 64 + t] = b[(t + 1) % 64];
}
