// Plain CUDA C++ on the SIMT shim, for kernels that do not use cuda/core/device.cuh: the words of CUDA as macros and functions
// over the fibers of native/simt. Every __shared__ array is static memory of the shared library that a batch of kernels is
// compiled to; that library has no other writable memory, so the runner finds all of them between two symbols of the linker and
// fills them with NaN before each block. Blocks run one at a time.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

namespace plain {

struct Index3 {
  unsigned int x, y, z;
};

/// What a CUDA thread knows of itself. Lives on its fiber's stack.
struct Self {
  Index3 thread, block, block_size, grid_size;
  const void* fiber;  ///< simt::device::Block
};

// Defined by the runner; none of them is seen by ThreadSanitizer, none changes what orders memory but the barriers.
const Self& self();
void sync(const char* file, int line);
int sync_count(int predicate, const char* file, int line);
void sync_warp(const char* file, int line);
/// The 32-bit word of another lane. `kind`: 0 lane, 1 up, 2 down, 3 xor.
unsigned int shuffle(int kind, unsigned int word, int operand, int width, const char* file, int line);

template <class T>
T shuffle_value(int kind, T value, int operand, int width, const char* file, int line) {
  static_assert(sizeof(T) % 4 == 0, "shuffles move 32-bit words");
  unsigned int words[sizeof(T) / 4];
  std::memcpy(words, &value, sizeof(T));
  for (unsigned int& word : words) word = shuffle(kind, word, operand, width, file, line);
  std::memcpy(&value, words, sizeof(T));
  return value;
}

/// One argument of a launch: an array filled from a seed, or nothing where the entry holds a literal.
struct Argument {
  char type;          ///< f float, d double, i int, u unsigned, l long long, s short, b byte
  char direction;     ///< i in, o out, x both
  long long count;
};

/// One kernel before and after the pass, with its launch.
struct Case {
  const char* name;
  void (*original)(void* const* arguments);
  void (*rewritten)(void* const* arguments);
  Index3 grid, block;
  const Argument* arguments;
  int argument_count;
  const char* file;       ///< of the rewritten kernel, as its barriers name it
  const int* inserted;    ///< lines of barriers that the pass put there
  int inserted_count;
};

/// What a batch exports as plain_batch.
struct Batch {
  const Case* cases;
  int count;
  void* shared_begin;
  void* shared_end;
};

template <class T>
T fetch_add(T* address, T value) {
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
template <class T, class Change>
T fetch_change(T* address, Change change) {
  T old = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(address, &old, change(old), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}

}  // namespace plain

#ifdef WARPLOOM_PLAIN_KERNELS  // what follows takes names that other code uses
#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __grid_constant__

struct uint3 { unsigned int x, y, z; };
struct int2 { int x, y; };
struct float2 { float x, y; };
struct float3 { float x, y, z; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(16) double2 { double x, y; };
struct dim3 {
  unsigned int x, y, z;
  dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
};
inline int2 make_int2(int x, int y) { return {x, y}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline double2 make_double2(double x, double y) { return {x, y}; }

#define threadIdx (::plain::self().thread)
#define blockIdx (::plain::self().block)
#define blockDim (::plain::self().block_size)
#define gridDim (::plain::self().grid_size)
static constexpr int warpSize = 32;

#define __syncthreads() ::plain::sync(__FILE__, __LINE__)
#define __syncthreads_count(p) ::plain::sync_count((p) ? 1 : 0, __FILE__, __LINE__)
#define __syncthreads_or(p) (::plain::sync_count((p) ? 1 : 0, __FILE__, __LINE__) != 0)
#define __syncthreads_and(p) (::plain::sync_count((p) ? 0 : 1, __FILE__, __LINE__) == 0)
#define __syncwarp(...) ::plain::sync_warp(__FILE__, __LINE__)
#define WARPLOOM_PLAIN_SHUFFLE(kind, value, operand) ::plain::shuffle_value(kind, value, operand, 32, __FILE__, __LINE__)
#define __shfl_sync(mask, value, lane) WARPLOOM_PLAIN_SHUFFLE(0, value, lane)
#define __shfl_up_sync(mask, value, delta) WARPLOOM_PLAIN_SHUFFLE(1, value, delta)
#define __shfl_down_sync(mask, value, delta) WARPLOOM_PLAIN_SHUFFLE(2, value, delta)
#define __shfl_xor_sync(mask, value, bits) WARPLOOM_PLAIN_SHUFFLE(3, value, bits)

namespace cooperative_groups {
struct thread_block {
  void sync(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const { ::plain::sync(file, line); }
  unsigned int thread_rank() const {
    const ::plain::Self& me = ::plain::self();
    return (me.thread.z * me.block_size.y + me.thread.y) * me.block_size.x + me.thread.x;
  }
  unsigned int size() const { return blockDim.x * blockDim.y * blockDim.z; }
};
inline thread_block this_thread_block() { return {}; }
inline void sync(const thread_block& block, const char* file = __builtin_FILE(), int line = __builtin_LINE()) { block.sync(file, line); }
}  // namespace cooperative_groups

template <class T>
T __ldg(const T* p) { return *p; }
inline int __popc(unsigned int v) { return __builtin_popcount(v); }
inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(v)); }
inline float rsqrtf(float v) { return 1.0f / std::sqrt(v); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline unsigned int min(unsigned int a, unsigned int b) { return a < b ? a : b; }
inline unsigned int max(unsigned int a, unsigned int b) { return a > b ? a : b; }
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }
inline void __threadfence() {}
inline void __threadfence_block() {}

template <class T>
T atomicAdd(T* address, T value) { return ::plain::fetch_add(address, value); }
inline unsigned int atomicAdd(unsigned int* address, int value) { return ::plain::fetch_add(address, static_cast<unsigned int>(value)); }
template <class T>
T atomicMax(T* address, T value) { return ::plain::fetch_change(address, [=](T old) { return old > value ? old : value; }); }
template <class T>
T atomicMin(T* address, T value) { return ::plain::fetch_change(address, [=](T old) { return old < value ? old : value; }); }
template <class T>
T atomicOr(T* address, T value) { return ::plain::fetch_change(address, [=](T old) { return old | value; }); }
template <class T>
T atomicAnd(T* address, T value) { return ::plain::fetch_change(address, [=](T old) { return old & value; }); }
template <class T>
T atomicExch(T* address, T value) { return ::plain::fetch_change(address, [=](T) { return value; }); }
template <class T>
T atomicCAS(T* address, T compare, T value) {
  T old = compare;
  __atomic_compare_exchange_n(address, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return old;
}
#endif
