// Device functions that get shared arrays, local pointers, several kernels that use the same names.
__device__ float average(const float* row, int at, int n) { return 0.5f * (row[at] + row[(at + 1) % n]); }

__device__ void store(float* to, int at, float value) { to[at] = value; }

template <int N>
__device__ float largest(const float (&row)[N]) {
  float best = row[0];
  for (int i = 1; i < N; ++i) best = row[i] > best ? row[i] : best;
  return best;
}

__device__ void reduce(float* values, int t, int n) {
  for (int half = n / 2; half > 0; half /= 2) {
    if (t < half) values[t] += values[t + half];
    __syncthreads();
  }
}

// run: helpers<<<2, 64>>>(in f32 128, out f32 128)
__global__ void helpers(const float* in, float* out) {
  __shared__ float a[64];
  __shared__ float b[64];
  __shared__ float c[64];
  const int t = threadIdx.x;
  store(a, t, in[blockIdx.x * 64 + t]);
  __syncthreads();
  store(b, t, average(a, t, 64));
  __syncthreads();
  const float top = largest(b);
  c[t] = top * (float)t;
  __syncthreads();
  out[blockIdx.x * 64 + t] = c[63 - t];
}

// run: barriers_in_a_helper<<<2, 64>>>(in f32 128, out f32 128)
__global__ void barriers_in_a_helper(const float* in, float* out) {
  __shared__ float values[64];
  __shared__ float squares[64];
  const int t = threadIdx.x;
  values[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  reduce(values, t, 64);
  const float sum = values[0];
  __syncthreads();
  squares[t] = sum * (float)(t + 1);
  __syncthreads();
  reduce(squares, t, 64);
  out[blockIdx.x * 64 + t] = squares[0] + sum;
}

// run: local_pointers<<<2, 64>>>(in f32 128, out f32 128)
__global__ void local_pointers(const float* in, float* out) {
  __shared__ float padded[80];
  __shared__ float work[64];
  const int t = threadIdx.x;
  float* inner = padded + 8;
  inner[t] = in[blockIdx.x * 64 + t];
  if (t < 8) {
    padded[t] = 0.0f;
    padded[72 + t] = 0.0f;
  }
  __syncthreads();
  const float* const centre = padded + 8;
  const float x = centre[t - 8] + centre[t + 8];
  float* w = work;
  w[t] = x;
  __syncthreads();
  out[blockIdx.x * 64 + t] = w[63 - t];
}

// run: first_of_two<<<2, 64>>>(in f32 128, out f32 128)
__global__ void first_of_two(const float* in, float* out) {
  __shared__ float tile[64];
  __shared__ float sums[64];
  const int t = threadIdx.x;
  tile[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  const float x = tile[t ^ 1];
  sums[t] = x;
  __syncthreads();
  out[blockIdx.x * 64 + t] = sums[t ^ 2];
}

// run: second_of_two<<<2, 64>>>(in f64 128, out f64 128)
__global__ void second_of_two(const double* in, double* out) {
  __shared__ double tile[64];
  __shared__ double sums[64];
  const int t = threadIdx.x;
  tile[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  const double x = tile[t ^ 4];
  sums[t] = x;
  __syncthreads();
  out[blockIdx.x * 64 + t] = sums[t ^ 8];
}

namespace inner {
// run: inner::in_a_namespace<<<2, 64>>>(in f32 128, out f32 128)
__global__ void in_a_namespace(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  const float x = a[63 - t];
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[blockIdx.x * 64 + t] = average(b, t, 64);
}
}  // namespace inner
