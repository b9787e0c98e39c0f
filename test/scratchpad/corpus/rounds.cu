// Arrays that every round of a loop writes anew: their content is not needed between the rounds.

// run: filled<<<2, 64>>>(in f32 1024, out f32 128, 4)
// Threads fill both arrays together, in strides of the block.
__global__ void filled(const float* in, float* out, int rounds) {
  __shared__ float first[200];
  __shared__ float second[200];
  const int t = threadIdx.x;
  float sum = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int i = t; i < 200; i += blockDim.x) first[i] = in[round * 200 + i];
    __syncthreads();
    const float x = first[199 - t] + first[t ^ 3];
    __syncthreads();
    for (int i = t; i < 200; i += blockDim.x) second[i] = x * i;
    __syncthreads();
    sum += second[199 - t] - second[t ^ 5];
    __syncthreads();
  }
  out[blockIdx.x * 64 + t] = sum;
}

// run: borders<<<1, (8, 8)>>>(inout f32 1024, out f32 64, 3)
// Tiles with borders that some threads write. The compiler unrolls the loop, and there are several stores of each.
__global__ void borders(const float* in, float* out, int rounds) {
  __shared__ float tile[10][10];
  __shared__ float slopes[10][10];
  const int x = threadIdx.x, y = threadIdx.y;
  float sum = 0;
  for (int round = 0; round < rounds; ++round) {
    const float* at = in + 64 + round * 32 + y * 8 + x;
    tile[y + 1][x + 1] = at[0];
    if (x < 1) tile[y + 1][0] = at[-1];
    if (y < 1) tile[0][x + 1] = at[-8];
    __syncthreads();
    const float slope = tile[y + 1][x + 1] - tile[y + 1][x] + tile[y][x + 1];
    __syncthreads();
    slopes[y + 1][x + 1] = slope;
    if (x < 1) slopes[y + 1][0] = 2 * slope;
    __syncthreads();
    sum += slopes[y + 1][x] * slopes[8 - y][8 - x];
    __syncthreads();
  }
  out[y * 8 + x] = sum;
}

// run: returning<<<2, 64>>>(in f32 256, out f32 128)
// Without a loop: the first array is used again, with other content.
__global__ void returning(const float* in, float* out) {
  __shared__ float first[64];
  __shared__ float second[64];
  const int t = threadIdx.x;
  first[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  float x = first[63 - t];
  __syncthreads();
  second[t] = x * in[128 + t];
  __syncthreads();
  x += second[(t + 1) % 64];
  __syncthreads();
  first[t] = x;
  __syncthreads();
  out[blockIdx.x * 64 + t] = first[63 - t] - x;
}

// run: partly<<<1, 64>>>(in f32 256, out f32 64, 3)
// Only half of the threads write in later rounds: the rest of the array is still needed.
__global__ void partly(const float* in, float* out, int rounds) {
  __shared__ float first[64];
  __shared__ float second[64];
  const int t = threadIdx.x;
  float sum = 0;
  first[t] = in[t];
  for (int round = 0; round < rounds; ++round) {
    if (t < 32 * round) first[t] = in[64 + t + round];
    __syncthreads();
    const float x = first[63 - t];
    __syncthreads();
    second[t] = x + 1;
    __syncthreads();
    sum += second[t ^ 9];
    __syncthreads();
  }
  out[t] = sum;
}
