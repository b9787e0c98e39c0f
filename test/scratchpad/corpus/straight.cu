// Straight code: chains of stages, reuse with and without a barrier to insert, arrays that all live at once.

// run: three_stages<<<3, 64>>>(in f32 192, out f32 192)
__global__ void three_stages(const float* in, float* out) {
  __shared__ float a[64];
  __shared__ float b[64];
  __shared__ float c[64];
  const int t = threadIdx.x;
  a[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  b[t] = a[(t + 1) % 64] + a[(t + 63) % 64];
  __syncthreads();
  c[t] = b[63 - t] * 0.5f;
  __syncthreads();
  out[blockIdx.x * 64 + t] = c[(t * 5) % 64];
}

// run: barrier_needed<<<2, 64>>>(in f32 128, out f32 128)
__global__ void barrier_needed(const float* in, float* out) {
  __shared__ float first[64];
  __shared__ float second[64];
  const int t = threadIdx.x;
  first[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  const float x = first[(t + 17) % 64];
  second[t] = x * x;
  __syncthreads();
  out[blockIdx.x * 64 + t] = second[(t + 40) % 64] + x;
}

// run: all_live<<<2, 64>>>(in f32 128, out f32 128)
__global__ void all_live(const float* in, float* out) {
  __shared__ float a[64];
  __shared__ float b[64];
  const int t = threadIdx.x;
  a[t] = in[blockIdx.x * 64 + t];
  b[t] = 1.0f - in[blockIdx.x * 64 + t];
  __syncthreads();
  out[blockIdx.x * 64 + t] = a[63 - t] * b[(t + 1) % 64] + a[t];
}

// run: one_array<<<2, 64>>>(in f32 128, out f32 128)
__global__ void one_array(const float* in, float* out) {
  __shared__ float only[64];
  only[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = only[63 - threadIdx.x];
}

// run: no_array<<<2, 64>>>(in f32 128, out f32 128)
__global__ void no_array(const float* in, float* out) {
  out[blockIdx.x * 64 + threadIdx.x] = 2.0f * in[blockIdx.x * 64 + threadIdx.x];
}

// run: two_in_one<<<2, 64>>>(in f32 128, out f32 128)
// Two small arrays die before a large one begins: both fit inside it.
__global__ void two_in_one(const float* in, float* out) {
  __shared__ float small_a[64], small_b[64];
  __shared__ float large[128];
  const int t = threadIdx.x;
  small_a[t] = in[blockIdx.x * 64 + t];
  small_b[t] = small_a[t] + 1.0f;
  __syncthreads();
  const float x = small_a[(t + 3) % 64], y = small_b[(t + 9) % 64];
  large[2 * t] = x;
  large[2 * t + 1] = y;
  __syncthreads();
  out[blockIdx.x * 64 + t] = large[t] - large[127 - t];
}
