// Uniform and divergent branches, switch, early exits.

// run: uniform_branch<<<2, 64>>>(in f32 128, out f32 128, 1)
// run: uniform_branch<<<2, 64>>>(in f32 128, out f32 128, 0)
__global__ void uniform_branch(const float* in, float* out, int smooth) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  tile[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  float x = tile[t];
  if (smooth) {
    __shared__ float sums[64];
    __syncthreads();
    sums[t] = x + 1.0f;
    __syncthreads();
    x = 0.5f * (sums[t] + sums[(t + 1) % 64]);
  } else {
    __shared__ float differences[80];
    __syncthreads();
    differences[t] = x;
    if (t < 16) differences[64 + t] = 0.0f;
    __syncthreads();
    x = differences[t + 16] - x;
  }
  out[blockIdx.x * 64 + t] = x;
}

// run: divergent_branch<<<2, 64>>>(in f32 128, out f32 128)
__global__ void divergent_branch(const float* in, float* out) {
  __shared__ float a[64];
  __shared__ float b[64];
  __shared__ float c[64];
  const int t = threadIdx.x;
  a[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  if (t < 32) {
    b[t] = a[t + 32];
  } else {
    b[t] = -a[t - 32];
  }
  __syncthreads();
  if (t % 2 == 0) c[t] = b[63 - t];
  if (t % 2 == 1) c[t] = b[t - 1];
  __syncthreads();
  out[blockIdx.x * 64 + t] = c[(t + 2) % 64];
}

// run: switched<<<2, 64>>>(in f32 128, out f32 128, 0)
// run: switched<<<2, 64>>>(in f32 128, out f32 128, 1)
// run: switched<<<2, 64>>>(in f32 128, out f32 128, 7)
__global__ void switched(const float* in, float* out, int mode) {
  __shared__ float input[64];
  __shared__ float scratch[64];
  const int t = threadIdx.x;
  input[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  float x = input[63 - t];
  __syncthreads();
  switch (mode) {
    case 0:
      scratch[t] = x * 3.0f;
      break;
    case 1:
      scratch[t] = x - 1.0f;
      break;
    default:
      scratch[t] = 0.5f;
      break;
  }
  __syncthreads();
  out[blockIdx.x * 64 + t] = scratch[(t + 11) % 64];
}

// run: chain<<<2, 64>>>(in f32 128, out f32 128, 2)
// run: chain<<<2, 64>>>(in f32 128, out f32 128, 5)
__global__ void chain(const float* in, float* out, int n) {
  __shared__ float first[64];
  __shared__ float second[64];
  const int t = threadIdx.x;
  first[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  float x;
  if (n < 2) {
    x = first[t];
  } else if (n < 4) {
    x = first[(t + n) % 64];
  } else {
    x = first[63 - t] * (float)n;
  }
  __syncthreads();
  second[t] = x;
  __syncthreads();
  out[blockIdx.x * 64 + t] = second[(t + 33) % 64];
}

// run: whole_block_leaves<<<4, 64>>>(in f32 256, inout f32 256, 3)
__global__ void whole_block_leaves(const float* in, float* out, int blocks) {
  __shared__ float a[64];
  __shared__ float b[64];
  if (blockIdx.x >= blocks) return;
  const int t = threadIdx.x;
  a[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  const float x = a[t ^ 7];
  b[t] = x;
  __syncthreads();
  out[blockIdx.x * 64 + t] = b[t ^ 12];
}

// run: threads_leave_at_the_end<<<2, 64>>>(in f32 128, inout f32 128, 50)
__global__ void threads_leave_at_the_end(const float* in, float* out, int n) {
  __shared__ float a[64];
  __shared__ float b[64];
  const int t = threadIdx.x;
  a[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  const float x = a[63 - t];
  __syncthreads();
  b[t] = x + 1.0f;
  __syncthreads();
  if (t >= n) return;
  out[blockIdx.x * 64 + t] = b[(t + 20) % 64];
}

// run: guarded_by_size<<<3, 64>>>(in f32 150, inout f32 150, 150)
__global__ void guarded_by_size(const float* in, float* out, int n) {
  __shared__ float tile[66];
  __shared__ float edge[64];
  const int t = threadIdx.x;
  const int i = blockIdx.x * blockDim.x + t;
  tile[t + 1] = i < n ? in[i] : 0.0f;
  if (t == 0) tile[0] = i > 0 ? in[i - 1] : 0.0f;
  if (t == 63) tile[65] = i + 1 < n ? in[i + 1] : 0.0f;
  __syncthreads();
  const float second = tile[t] - 2.0f * tile[t + 1] + tile[t + 2];
  __syncthreads();
  edge[t] = second > 0.0f ? 1.0f : 0.0f;
  __syncthreads();
  if (i < n) out[i] = edge[t] + edge[(t + 1) % 64];
}

// run: scopes<<<2, 64>>>(in f32 128, out f32 128)
__global__ void scopes(const float* in, float* out) {
  const int t = threadIdx.x;
  float x = in[blockIdx.x * 64 + t];
  {
    __shared__ float tile[64];
    tile[t] = x;
    __syncthreads();
    x = tile[(t + 1) % 64];
  }
  {
    __shared__ float tile[64];
    tile[t] = x * x;
    __syncthreads();
    x = tile[(t + 2) % 64];
  }
  {
    __shared__ double tile[64];
    tile[t] = 0.5 * x;
    __syncthreads();
    x = (float)tile[(t + 3) % 64];
  }
  out[blockIdx.x * 64 + t] = x;
}

// run: one_thread_works<<<2, 64>>>(in f32 128, out f32 128)
__global__ void one_thread_works(const float* in, float* out) {
  __shared__ float values[64];
  __shared__ float total;
  __shared__ float shifted[64];
  const int t = threadIdx.x;
  values[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  if (t == 0) {
    float sum = 0.0f;
    for (int i = 0; i < 64; ++i) sum += values[i];
    total = sum;
  }
  __syncthreads();
  const float mean = total / 64.0f;
  shifted[t] = mean;
  __syncthreads();
  out[blockIdx.x * 64 + t] = in[blockIdx.x * 64 + t] - shifted[63 - t];
}
