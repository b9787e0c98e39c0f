// Arrays of which every iteration reads only what it wrote itself: the caller's word.

// run: arrays_in_the_body<<<2, 64>>>(in f32 256, out f32 128)
__global__ void arrays_in_the_body(const float* in, float* out) {
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int step = 0; step < 4; ++step) {
    __shared__ float left[64];
    __shared__ float right[64];
    left[t] = in[step * 64 + t];
    __syncthreads();
    const float x = left[(t + step) % 64];
    __syncthreads();
    right[t] = x * 2.0f;
    __syncthreads();
    sum += right[63 - t];
    __syncthreads();
  }
  out[blockIdx.x * 64 + t] = sum;
}

// run: nested_loops<<<2, 64>>>(in f32 128, out f32 128)
__global__ void nested_loops(const float* in, float* out) {
  __shared__ float rows[64];
  __shared__ float columns[64];
  __shared__ float sums[64];
  const int t = threadIdx.x;
  float total = 0.0f;
  for (int i = 0; i < 2; ++i) {
    rows[t] = in[blockIdx.x * 64 + t] + (float)i;
    __syncthreads();
    for (int j = 0; j < 3; ++j) {
      columns[t] = rows[(t + j + 1) % 64] * 0.5f;
      __syncthreads();
      total += columns[63 - t];
      __syncthreads();
    }
    sums[t] = total;
    __syncthreads();
    total += sums[(t + 7) % 64];
    __syncthreads();
  }
  out[blockIdx.x * 64 + t] = total;
}

// run: back_edge<<<2, 64>>>(in f32 128, out f32 128)
// The reuse meets itself over the back edge: the end of a round and the beginning of the next one need a barrier between them.
__global__ void back_edge(const float* in, float* out) {
  const int t = threadIdx.x;
  float x = in[blockIdx.x * 64 + t];
  for (int i = 0; i < 3; ++i) {
    __shared__ float up[64];
    __shared__ float down[64];
    up[t] = x;
    __syncthreads();
    x = up[(t + 1) % 64];
    down[t] = x * 0.5f;
    __syncthreads();
    x += down[(t + 62) % 64];
  }
  out[blockIdx.x * 64 + t] = x;
}
