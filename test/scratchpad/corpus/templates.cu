// Templates: element types and extents that the text alone does not fix.

// run: shifted<float, 64><<<2, 64>>>(in f32 128, out f32 128)
// run: shifted<double, 32><<<2, 32>>>(in f64 64, out f64 64)
template <class T, int N>
__global__ void shifted(const T* in, T* out) {
  __shared__ T source[N];
  __shared__ T target[N];
  const int t = threadIdx.x;
  source[t] = in[blockIdx.x * N + t];
  __syncthreads();
  const T x = source[(t + 1) % N];
  __syncthreads();
  target[t] = x + x;
  __syncthreads();
  out[blockIdx.x * N + t] = target[N - 1 - t];
}

// run: tiled<16, 4><<<2, 64>>>(in f32 128, out f32 128)
// run: tiled<8, 8><<<2, 64>>>(in f32 128, out f32 128)
template <int X, int Y>
__global__ void tiled(const float* in, float* out) {
  __shared__ float padded[Y + 2][X + 2];
  __shared__ float inner[Y][X];
  __shared__ float lines[X * Y * 2];
  const int t = threadIdx.x, x = t % X, y = t / X;
  for (int i = t; i < (X + 2) * (Y + 2); i += X * Y) padded[i / (X + 2)][i % (X + 2)] = 0.0f;
  __syncthreads();
  padded[y + 1][x + 1] = in[blockIdx.x * X * Y + t];
  __syncthreads();
  inner[y][x] = padded[y][x + 1] + padded[y + 2][x + 1] + padded[y + 1][x] + padded[y + 1][x + 2] - 4.0f * padded[y + 1][x + 1];
  __syncthreads();
  const float v = inner[Y - 1 - y][x];
  lines[2 * t] = v;
  lines[2 * t + 1] = -v;
  __syncthreads();
  out[blockIdx.x * X * Y + t] = lines[t] + lines[X * Y * 2 - 1 - t];
}

// run: defaulted<><<<2, 64>>>(in f32 128, out f32 128)
template <class T = float, int N = 64, bool kNegate = true>
__global__ void defaulted(const T* in, T* out) {
  __shared__ T a[N];
  __shared__ T b[N + 8];
  const int t = threadIdx.x;
  a[t] = in[blockIdx.x * N + t];
  __syncthreads();
  T x = a[N - 1 - t];
  if (kNegate) x = -x;
  __syncthreads();
  b[t + 8] = x;
  if (t < 8) b[t] = x;
  __syncthreads();
  out[blockIdx.x * N + t] = b[t];
}
