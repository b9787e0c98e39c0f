// Kernels in the styles of others: CUB, libcu++ (barriers, pipelines, atomic references), spin waits, warp specialisation, clusters.
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/atomic>
#include <cuda/std/array>
#include <cuda/std/tuple>
#include <cooperative_groups.h>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/warp/warp_reduce.cuh>
namespace cg = cooperative_groups;
// run: cub_all<<<1, 128>>>(in i32 512, out i32 512)
__global__ void cub_all(const int* in, int* out) {
  using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, 128, 4>;
  using Scan = cub::BlockScan<int, 128>;
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Load::TempStorage load;
  __shared__ typename Store::TempStorage store;
  __shared__ typename Sort::TempStorage sort;
  __shared__ typename Scan::TempStorage scan;
  __shared__ typename Reduce::TempStorage reduce;
  int v[4];
  Load(load).Load(in + blockIdx.x * 512, v);
  __syncthreads();
  Sort(sort).Sort(v);
  __syncthreads();
  Scan(scan).InclusiveSum(v, v);
  __syncthreads();
  int s = Reduce(reduce).Sum(v);
  __syncthreads();
  v[0] += s * (threadIdx.x == 0);
  Store(store).Store(out + blockIdx.x * 512, v);
}
// run: cub_union<<<1, 256>>>(in f32 256, out f32 256)
__global__ void cub_union(const float* in, float* out) {
  using Scan = cub::BlockScan<float, 256, cub::BLOCK_SCAN_WARP_SCANS>;
  using Exch = cub::BlockExchange<float, 256, 4>;
  __shared__ union {
    typename Scan::TempStorage a;
    typename Exch::TempStorage b;
  } u;
  __shared__ float extra[256];
  float v[4] = {in[threadIdx.x], 1, 2, 3};
  Scan(u.a).ExclusiveSum(v, v);
  __syncthreads();
  Exch(u.b).BlockedToStriped(v, v);
  __syncthreads();
  extra[threadIdx.x] = v[0];
  __syncthreads();
  out[threadIdx.x] = extra[255 - threadIdx.x] + v[3];
}
// run: cub_hist<<<1, 128>>>(in u8 512, out u32 128)
__global__ void cub_hist(const unsigned char* in, unsigned* out) {
  using H = cub::BlockHistogram<unsigned char, 128, 4, 256>;
  __shared__ typename H::TempStorage t;
  __shared__ unsigned h[256];
  unsigned char v[4];
  for (int i = 0; i < 4; ++i) v[i] = in[threadIdx.x * 4 + i];
  H(t).Histogram(v, h);
  __syncthreads();
  out[threadIdx.x] = h[threadIdx.x];
}
// run: warp_red<<<1, 256>>>(in f32 256, out f32 1)
__global__ void warp_red(const float* in, float* out) {
  using W = cub::WarpReduce<float>;
  __shared__ typename W::TempStorage t[8];
  __shared__ float r[8];
  float s = W(t[threadIdx.x / 32]).Sum(in[threadIdx.x]);
  if (threadIdx.x % 32 == 0) r[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    float x = 0;
    for (float y : r) x += y;
    *out = x;
  }
}
// run: cuda_barrier<<<1, 256>>>(in f32 256, out f32 256)
__global__ void cuda_barrier(const float* in, float* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ float a[256], b[256];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  a[threadIdx.x] = in[threadIdx.x];
  bar.arrive_and_wait();
  float v = a[255 - threadIdx.x];
  bar.arrive_and_wait();
  b[threadIdx.x] = v;
  auto tok = bar.arrive();
  bar.wait(std::move(tok));
  out[threadIdx.x] = b[threadIdx.x ^ 1];
}
// run: cuda_pipeline<<<1, 256>>>(in f32 1280, out f32 256, 5)
__global__ void cuda_pipeline(const float* in, float* out, int n) {
  constexpr int S = 2;
  auto block = cg::this_thread_block();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, S> state;
  __shared__ float buf[S][256];
  __shared__ float done[256];
  auto pipe = cuda::make_pipeline(block, &state);
  float sum = 0;
  for (int c = 0, f = 0; c < n; ++c) {
    for (; f < n && f < c + S; ++f) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, buf[f % S], in + f * 256, sizeof(float) * 256, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += buf[c % S][255 - threadIdx.x];
    pipe.consumer_release();
  }
  __syncthreads();
  done[threadIdx.x] = sum;
  __syncthreads();
  out[threadIdx.x] = done[threadIdx.x ^ 3];
}
// run: thread_pipeline<<<1, 128>>>(in f32 512, out f32 512)
__global__ void thread_pipeline(const float4* in, float4* out) {
  __shared__ float4 a[128], b[128];
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&a[threadIdx.x], &in[threadIdx.x], cuda::aligned_size_t<16>(16), pipe);
  pipe.producer_commit();
  pipe.consumer_wait();
  __syncthreads();
  float4 v = a[127 - threadIdx.x];
  pipe.consumer_release();
  __syncthreads();
  b[threadIdx.x] = v;
  __syncthreads();
  out[threadIdx.x] = b[threadIdx.x ^ 1];
}
// run: atomic_refs<<<1, 256>>>(out i32 256, 1)
__global__ void atomic_refs(int* out, int n) {
  __shared__ int a[64], b[64];
  if (threadIdx.x < 64) a[threadIdx.x] = 0;
  __syncthreads();
  cuda::atomic_ref<int, cuda::thread_scope_block> r{a[threadIdx.x & 63]};
  r.fetch_add(1, cuda::memory_order_relaxed);
  __syncthreads();
  int v = a[threadIdx.x & 63];
  __syncthreads();
  if (threadIdx.x < 64) b[threadIdx.x] = v;
  __syncthreads();
  out[threadIdx.x] = b[(threadIdx.x + 1) & 63];
}
// run: std_array<<<1, 256>>>(in f32 256, out f32 256)
__global__ void std_array(const float* in, float* out) {
  __shared__ cuda::std::array<float, 256> a;
  __shared__ cuda::std::array<float, 256> b;
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  auto [x, y] = cuda::std::make_tuple(a[255 - threadIdx.x], a[0]);
  __syncthreads();
  b[threadIdx.x] = x * y;
  __syncthreads();
  out[threadIdx.x] = b[threadIdx.x ^ 9];
}
__global__ void spin(int* flag, float* out) {
  __shared__ volatile int ready;
  __shared__ float a[256], b[256];
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  a[threadIdx.x] = threadIdx.x;
  __threadfence_block();
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) {
      while (atomicAdd(flag, 0) == 0);
      ready = 1;
    }
  } else {
    while (!ready);
  }
  __syncthreads();
  float v = a[255 - threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = v;
  __syncthreads();
  out[threadIdx.x] = b[threadIdx.x ^ 1];
}
// run: specialised<<<1, 256>>>(in f32 384, out f32 128, 3)
__global__ void specialised(const float* in, float* out, int n) {
  __shared__ float a[128], b[128];
  __shared__ float res[128];
  int w = threadIdx.x / 128;
  float acc = 0;
  for (int i = 0; i < n; ++i) {
    if (w == 0) {
      a[threadIdx.x] = in[i * 128 + threadIdx.x];
      asm volatile("bar.sync 1, 256;" ::: "memory");
      asm volatile("bar.sync 2, 256;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 256;" ::: "memory");
      acc += a[127 - threadIdx.x % 128];
      asm volatile("bar.sync 2, 256;" ::: "memory");
    }
  }
  __syncthreads();
  if (w) b[threadIdx.x % 128] = acc;
  __syncthreads();
  if (!w) res[threadIdx.x] = b[127 - threadIdx.x];
  __syncthreads();
  out[threadIdx.x % 128] = res[threadIdx.x % 128];
}
__global__ void cluster_k(const float* in, float* out) {
#if __CUDA_ARCH__ >= 900
  auto cluster = cg::this_cluster();
  __shared__ float a[256], b[256], c[256];
  a[threadIdx.x] = in[threadIdx.x];
  cluster.sync();
  float* r = cluster.map_shared_rank(a, (cluster.block_rank() + 1) % cluster.num_blocks());
  float v = r[255 - threadIdx.x];
  cluster.sync();
  b[threadIdx.x] = v;
  __syncthreads();
  v = b[threadIdx.x ^ 1];
  __syncthreads();
  c[threadIdx.x] = v;
  __syncthreads();
  out[threadIdx.x] = c[threadIdx.x ^ 3];
#endif
}
