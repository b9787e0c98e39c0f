// Control flow that is not followed.
#define EXCHANGE(to, from) to[t] = from[63 - t]; __syncthreads()

// refused: jumping goto
__global__ void jumping(const float* in, float* out, int n) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
again:
  __syncthreads();
  b[t] = a[63 - t];
  __syncthreads();
  a[t] = b[t ^ 1];
  if (--n > 0) goto again;
  out[t] = a[t];
}

// refused: falling_through switch-fallthrough
__global__ void falling_through(const float* in, float* out, int n) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  float x = 0.0f;
  switch (n) {
    case 1:
      x = a[63 - t];
    case 2:
      __syncthreads();
      b[t] = x;
      break;
    default:
      b[t] = 1.0f;
  }
  __syncthreads();
  out[t] = b[t ^ 1];
}

__device__ float again_and_again(float* row, int t, int n) {
  row[t] = row[t] * 0.5f;
  return n == 0 ? row[t] : again_and_again(row, t, n - 1);
}

// refused: recursive recursion
__global__ void recursive(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  const float x = again_and_again(a, t, 3);
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: hidden_by_a_macro escaping-pointer
__global__ void hidden_by_a_macro(const float* in, float* out) {
  __shared__ float a[64], b[64], c[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  EXCHANGE(b, a);
  EXCHANGE(c, b);
  out[t] = c[t ^ 1];
}

// refused: unreadable parse-error
__global__ void unreadable(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  b[t] = a[63 - t;
  __syncthreads();
  out[t] = b[t ^ 1];
}
