// Textbook kernels: reduction, scan, histogram, sort, matrix product, transposition, stencils.

// run: reduction<<<3, 128>>>(in f32 384, out f32 3)
__global__ void reduction(const float* in, float* out) {
  __shared__ float partial[128];
  __shared__ float warps[4];
  const int t = threadIdx.x;
  partial[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
  for (int half = 64; half >= 32; half >>= 1) {
    if (t < half) partial[t] += partial[t + half];
    __syncthreads();
  }
  if (t < 4) {
    float sum = 0.0f;
    for (int i = 0; i < 8; ++i) sum += partial[t * 8 + i];
    warps[t] = sum;
  }
  __syncthreads();
  if (t == 0) out[blockIdx.x] = warps[0] + warps[1] + warps[2] + warps[3];
}

// run: scan<<<2, 64>>>(in i32 128, out i32 128)
__global__ void scan(const int* in, int* out) {
  __shared__ int from[64];
  __shared__ int to[64];
  const int t = threadIdx.x;
  from[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    to[t] = t >= d ? from[t] + from[t - d] : from[t];
    __syncthreads();
    from[t] = to[t];
    __syncthreads();
  }
  out[blockIdx.x * 64 + t] = from[t];
}

// run: histogram<<<2, 64>>>(in u8 512, out u32 64)
__global__ void histogram(const unsigned char* in, unsigned int* out) {
  __shared__ unsigned int bins[32];
  __shared__ unsigned int sums[32];
  const int t = threadIdx.x;
  if (t < 32) bins[t] = 0u;
  __syncthreads();
  for (int i = t; i < 256; i += 64) atomicAdd(&bins[in[blockIdx.x * 256 + i] / 8], 1u);
  __syncthreads();
  unsigned int before = 0u;
  if (t < 32) {
    for (int i = 0; i < t; ++i) before += bins[i];
  }
  __syncthreads();
  if (t < 32) sums[t] = before;
  __syncthreads();
  if (t < 32) out[blockIdx.x * 32 + t] = sums[31 - t];
}

// run: sorted<<<2, 64>>>(in i32 128, out i32 128)
__global__ void sorted(const int* in, int* out) {
  __shared__ int keys[64];
  __shared__ int ranks[64];
  const int t = threadIdx.x;
  keys[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  for (int size = 2; size <= 64; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const int other = t ^ stride;
      if (other > t) {
        const int a = keys[t], b = keys[other];
        if ((a > b) == ((t & size) == 0)) {
          keys[t] = b;
          keys[other] = a;
        }
      }
      __syncthreads();
    }
  }
  int smaller = 0;
  for (int i = 0; i < 64; ++i) smaller += keys[i] < keys[t];
  __syncthreads();
  ranks[t] = smaller;
  __syncthreads();
  out[blockIdx.x * 64 + t] = ranks[63 - t];
}

// run: product<<<2, (16, 16)>>>(in f32 512, in f32 512, out f32 512)
__global__ void product(const float* a, const float* b, float* out) {
  __shared__ float left[16][16];
  __shared__ float right[16][17];
  __shared__ float result[16][16];
  const int x = threadIdx.x, y = threadIdx.y;
  float sum = 0.0f;
  for (int k = 0; k < 2; ++k) {
    left[y][x] = a[k * 256 + y * 16 + x];
    right[y][x] = b[k * 256 + x * 16 + y];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  result[x][y] = sum;
  __syncthreads();
  out[blockIdx.x * 256 + y * 16 + x] = result[y][x];
}

// run: transposed<<<(2, 2), (16, 16)>>>(in f32 1024, out f32 1024)
__global__ void transposed(const float* in, float* out) {
  __shared__ float tile[16][17];
  __shared__ float scaled[16][17];
  const int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[(blockIdx.y * 16 + y) * 32 + blockIdx.x * 16 + x];
  __syncthreads();
  const float v = tile[x][y];
  __syncthreads();
  scaled[y][x] = v * 2.0f;
  __syncthreads();
  out[(blockIdx.x * 16 + y) * 32 + blockIdx.y * 16 + x] = scaled[y][x] + scaled[15 - y][x];
}

// run: voted<<<2, 64>>>(in f32 128, out f32 128)
__global__ void voted(const float* in, float* out) {
  __shared__ float state[64];
  __shared__ int marks[64];
  const int t = threadIdx.x;
  state[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  const float x = state[(t + 1) % 64] - state[t];
  const int rising = __syncthreads_count(x > 0.0f);
  marks[t] = x > 0.0f ? rising : -rising;
  __syncthreads();
  out[blockIdx.x * 64 + t] = (float)marks[63 - t];
}

// run: heat<<<2, 64>>>(in f32 128, out f32 128, 4)
__global__ void heat(const float* in, float* out, int steps) {
  __shared__ float now[66];
  __shared__ float next[66];
  __shared__ float flux[65];
  const int t = threadIdx.x;
  now[t + 1] = in[blockIdx.x * 64 + t];
  if (t == 0) now[0] = next[0] = 0.0f;
  if (t == 63) now[65] = next[65] = 0.0f;
  __syncthreads();
  for (int k = 0; k < steps; k += 2) {
    next[t + 1] = now[t + 1] + 0.25f * (now[t] - 2.0f * now[t + 1] + now[t + 2]);
    __syncthreads();
    now[t + 1] = next[t + 1] + 0.25f * (next[t] - 2.0f * next[t + 1] + next[t + 2]);
    __syncthreads();
  }
  const float difference = now[t + 1] - now[t];
  __syncthreads();
  flux[t] = difference;
  if (t == 63) flux[64] = 0.0f;
  __syncthreads();
  out[blockIdx.x * 64 + t] = flux[t + 1] - flux[t];
}
