// Copies and barriers that the hardware does on its own.
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <mma.h>

// refused: pipelined async-copy
__global__ void pipelined(const float* in, float* out) {
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(a + t, in + t, sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  const float x = a[63 - t];
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: arriving barrier-object
__global__ void arriving(const float* in, float* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> ready;
  __shared__ float a[64], b[64];
  const int t = threadIdx.x;
  if (t == 0) init(&ready, blockDim.x);
  __syncthreads();
  a[t] = in[t];
  ready.arrive_and_wait();
  const float x = a[63 - t];
  ready.arrive_and_wait();
  b[t] = x;
  __syncthreads();
  out[t] = b[t ^ 1];
}

// refused: tensor_cores matrix-fragment
__global__ void tensor_cores(const half* in, float* out) {
  __shared__ half a[256];
  __shared__ float c[256];
  const int t = threadIdx.x;
  for (int i = t; i < 256; i += 32) a[i] = in[i];
  __syncthreads();
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> left;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, half, nvcuda::wmma::col_major> right;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sum;
  nvcuda::wmma::fill_fragment(sum, 0.0f);
  nvcuda::wmma::load_matrix_sync(left, a, 16);
  nvcuda::wmma::load_matrix_sync(right, a, 16);
  nvcuda::wmma::mma_sync(sum, left, right, sum);
  nvcuda::wmma::store_matrix_sync(c, sum, 16, nvcuda::wmma::mem_row_major);
  __syncthreads();
  for (int i = t; i < 256; i += 32) out[i] = c[255 - i];
}
