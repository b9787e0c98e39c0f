// Declarations whose size or meaning the text does not give.
#include "elsewhere.h"

struct Counter {
  int value;
  __device__ Counter() : value(0) {}
};
union Word {
  float real;
  int bits;
};

// refused: size_from_elsewhere unknown-extent
__global__ void size_from_elsewhere(const float* in, float* out) {
  __shared__ float a[kElsewhere];
  __shared__ float b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  const float x = a[63 - t];
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: type_from_elsewhere unknown-type
__global__ void type_from_elsewhere(const float* in, float* out) {
  __shared__ Elsewhere a[64];
  __shared__ float b[64];
  const int t = threadIdx.x;
  a[t].x = in[t];
  __syncthreads();
  const float x = a[63 - t].x;
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: constructed constructor
__global__ void constructed(const float* in, float* out) {
  __shared__ Counter a[64];
  __shared__ float b[64];
  const int t = threadIdx.x;
  a[t].value = (int)in[t];
  __syncthreads();
  const float x = (float)a[63 - t].value;
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: united constructor
__global__ void united(const float* in, float* out) {
  __shared__ Word a[64];
  __shared__ float b[64];
  const int t = threadIdx.x;
  a[t].real = in[t];
  __syncthreads();
  const float x = (float)a[63 - t].bits;
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[t ^ 1];
}

__device__ float in_the_callee(float x, int t) {
  __shared__ float own[64];
  own[t] = x;
  __syncthreads();
  const float y = own[63 - t];
  __syncthreads();
  return y;
}

// refused: callee_has_arrays shared-in-callee
__global__ void callee_has_arrays(const float* in, float* out) {
  __shared__ float a[64];
  const int t = threadIdx.x;
  const float x = in_the_callee(in[t], t);
  a[t] = x;
  __syncthreads();
  out[t] = a[63 - t];
}

// refused: read_before_written uninitialised-read
__global__ void read_before_written(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  const float x = a[63 - t];
  __syncthreads();
  b[t] = x + in[t];
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: conditional_text preprocessor
__global__ void conditional_text(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  a[t] = in[t];
#ifdef FAST
  __syncwarp();
#else
  __syncthreads();
#endif
  const float x = a[63 - t];
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[t ^ 1];
}
