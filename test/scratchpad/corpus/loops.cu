// Arrays inside, outside and carried by loops.

// run: carried<<<2, 64>>>(in f32 128, out f32 128, 5)
// state is read and written by every step; halo only lives before the loop, result only after it.
__global__ void carried(const float* in, float* out, int steps) {
  __shared__ float halo[66];
  __shared__ float state[64];
  __shared__ float result[64];
  const int t = threadIdx.x;
  halo[t + 1] = in[blockIdx.x * 64 + t];
  if (t < 2) halo[t * 65] = 0.25f;
  __syncthreads();
  state[t] = 0.5f * (halo[t] + halo[t + 2]);
  __syncthreads();
  for (int i = 0; i < steps; ++i) {
    const float x = state[(t + 1) % 64];
    __syncthreads();
    state[t] = 0.5f * (x + state[t]);
    __syncthreads();
  }
  result[t] = state[63 - t];
  __syncthreads();
  out[blockIdx.x * 64 + t] = result[(t + 32) % 64];
}

// run: ping_pong<<<2, 64>>>(in f32 128, out f32 128)
__global__ void ping_pong(const float* in, float* out) {
  __shared__ float even[64], odd[64];
  const int t = threadIdx.x;
  even[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  for (int i = 0; i < 3; ++i) {
    odd[t] = even[(t + 1) % 64] * 0.5f;
    __syncthreads();
    even[t] = odd[(t + 63) % 64] + 0.125f;
    __syncthreads();
  }
  out[blockIdx.x * 64 + t] = even[t];
}

// run: two_loops<<<2, 64>>>(in f32 128, out f32 128)
__global__ void two_loops(const float* in, float* out) {
  __shared__ float head[64];
  __shared__ float tail[96];
  const int t = threadIdx.x;
  head[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  float sum = 0.0f;
  for (int i = 0; i < 8; ++i) sum += head[(t + i) % 64];
  for (int i = t; i < 96; i += 64) tail[i] = sum + (float)i;
  __syncthreads();
  for (int i = 0; i < 96; i += 12) sum -= 0.01f * tail[i];
  out[blockIdx.x * 64 + t] = sum;
}

// run: while_and_do<<<2, 64>>>(in f32 128, out f32 128, 3)
__global__ void while_and_do(const float* in, float* out, int rounds) {
  __shared__ float a[64];
  __shared__ float b[64];
  const int t = threadIdx.x;
  a[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  float x = 0.0f;
  int left = rounds;
  while (left > 0) {
    x += a[(t + left) % 64];
    --left;
  }
  int k = 0;
  do {
    __syncthreads();
    b[t] = x;
    __syncthreads();
    x = 0.5f * (b[(t + 1) % 64] + b[(t + 63) % 64]);
    ++k;
  } while (k < rounds);
  out[blockIdx.x * 64 + t] = x;
}

// run: break_and_continue<<<2, 64>>>(in f32 128, out f32 128, 6)
__global__ void break_and_continue(const float* in, float* out, int steps) {
  __shared__ float input[64];
  __shared__ float mixed[64];
  const int t = threadIdx.x;
  input[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  float x = input[63 - t];
  __syncthreads();
  for (int i = 0; i < 10; ++i) {
    if (i == 2) continue;
    if (i > steps) break;
    mixed[t] = x + (float)i;
    __syncthreads();
    x = mixed[(t + 5) % 64];
    __syncthreads();
  }
  out[blockIdx.x * 64 + t] = x;
}

// run: unrolled<<<2, 64>>>(in f32 128, out f32 128)
__global__ void __launch_bounds__(64) unrolled(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float stage[2][64];
  __shared__ float last[64];
  const int t = threadIdx.x;
  stage[0][t] = in[blockIdx.x * 64 + t];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    stage[(i + 1) & 1][t] = stage[i & 1][(t + i) % 64] + 0.5f;
    __syncthreads();
  }
  const float x = stage[0][t ^ 1];
  last[t] = x;
  __syncthreads();
  out[blockIdx.x * 64 + t] = last[t ^ 3];
}
