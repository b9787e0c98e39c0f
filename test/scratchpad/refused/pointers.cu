// Kernels whose accesses cannot all be seen: addresses, pointers, casts.
// Each kernel that must be left alone has a line: refused: KERNEL CODE

struct Node {
  float* values;
};
__device__ float* keep;
__device__ void unseen(float* row, int n);

// refused: address_taken address-of
__global__ void address_taken(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  float(*whole)[64] = &a;
  b[t] = (*whole)[63 - t];
  __syncthreads();
  out[t] = b[63 - t];
}

// refused: pointer_stored pointer-alias
__global__ void pointer_stored(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  keep = a;
  __syncthreads();
  const float x = keep[63 - t];
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: pointer_in_a_struct pointer-alias
__global__ void pointer_in_a_struct(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  Node node;
  node.values = a;
  node.values[t] = in[t];
  __syncthreads();
  b[t] = a[63 - t];
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: passed_to_the_unknown escaping-pointer
__global__ void passed_to_the_unknown(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  unseen(a, 64);
  __syncthreads();
  b[t] = a[63 - t];
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: either_array pointer-alias
__global__ void either_array(const float* in, float* out, int n) {
  __shared__ float a[64], b[64], c[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  b[t] = -in[t];
  __syncthreads();
  const float* chosen = n > 3 ? a : b;
  const float x = chosen[63 - t];
  __syncthreads();
  c[t] = x;
  __syncthreads();
  out[t] = c[t ^ 1];
}

// refused: moving_pointer pointer-alias
__global__ void moving_pointer(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  float* p = a;
  p[t] = in[t];
  __syncthreads();
  const float x = p[63 - t];
  __syncthreads();
  p = b;
  p[t] = x;
  __syncthreads();
  out[t] = p[t ^ 1];
}

// refused: seen_as_integers reinterpret-cast
__global__ void seen_as_integers(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  reinterpret_cast<int*>(a)[t] = (int)in[t];
  __syncthreads();
  const float x = a[63 - t];
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: captured lambda
__global__ void captured(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  auto mirrored = [&](int i) { return a[63 - i]; };
  b[t] = mirrored(t);
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: volatile_array volatile-shared
__global__ void volatile_array(const float* in, float* out) {
  __shared__ volatile float a[64];
  __shared__ float b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  b[t] = a[63 - t];
  __syncthreads();
  out[t] = b[t ^ 1];
}
