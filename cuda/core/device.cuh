// The only header that knows whether nvcc or the host SIMT shim compiles device code.
//
// Device code is written as agents: a struct with `Parameters` and
//   static WARPLOOM_DEVICE void run(const Block& block, const Parameters& p)
// that does one block's work. Launch it with launch<Agent>() from launch.cuh. Agents use only the names of this header:
// no threadIdx, no __shared__, no intrinsics, no inline PTX. Blocks have a multiple of 32 threads, and every thread of
// a warp takes part in every warp operation. Both compilers run with contraction off: write fma() where you want a
// fused operation.
#pragma once
#include <cstddef>
#include <cstdint>

#ifdef WARPLOOM_SIMT
#define WARPLOOM_TARGET simt
#include "simt/device.h"  // native/simt: the same names on fibers
#else
#define WARPLOOM_TARGET cuda
#define WARPLOOM_DEVICE __device__ __forceinline__
#define WARPLOOM_HOST_DEVICE __host__ __device__ __forceinline__
#define WARPLOOM_UNROLL _Pragma("unroll")
#define WARPLOOM_NO_UNROLL _Pragma("unroll 1")

namespace warploom::cuda::device {

/// One thread's view of its block.
class Block {
 public:
  WARPLOOM_DEVICE int thread() const { return static_cast<int>(threadIdx.x); }
  WARPLOOM_DEVICE int threads() const { return static_cast<int>(blockDim.x); }
  WARPLOOM_DEVICE int lane() const { return static_cast<int>(threadIdx.x & 31u); }
  WARPLOOM_DEVICE int warp() const { return static_cast<int>(threadIdx.x >> 5); }
  WARPLOOM_DEVICE int64_t index() const { return blockIdx.x; }
  WARPLOOM_DEVICE int64_t count() const { return gridDim.x; }
  /// Barrier of the block; orders shared and global memory among its threads.
  WARPLOOM_DEVICE void sync() const { __syncthreads(); }
  /// Barrier of the calling warp; orders shared memory among its lanes.
  WARPLOOM_DEVICE void sync_warp() const { __syncwarp(); }
  /// Barrier of all blocks of a cooperative launch; `counter` is one zeroed word per launch, in global memory.
  WARPLOOM_DEVICE void sync_grid(unsigned int* counter) const {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      const unsigned int ticket = atomicAdd(counter, 1u);
      const unsigned int goal = (ticket / gridDim.x + 1u) * gridDim.x;
      while (static_cast<int>(*static_cast<volatile unsigned int*>(counter) - goal) < 0) {
      }
      __threadfence();
    }
    __syncthreads();
  }
  /// The block's dynamic shared memory, starting at byte `offset` (the base is 16-byte aligned).
  template <class T>
  WARPLOOM_DEVICE T* shared(size_t offset = 0) const {
    extern __shared__ __align__(128) unsigned char warploom_shared[];
    return reinterpret_cast<T*>(warploom_shared + offset);
  }
};

// --- warp exchange: T is any trivially copyable type of 4, 8, 12, 16… bytes ---
namespace detail {
template <class T, class Exchange>
WARPLOOM_DEVICE T by_words(const T& value, Exchange exchange) {
  static_assert(sizeof(T) % 4 == 0, "exchanged by 32-bit words");
  constexpr int kWords = sizeof(T) / 4;
  unsigned int words[kWords];
  memcpy(words, &value, sizeof(T));
  WARPLOOM_UNROLL
  for (int i = 0; i < kWords; ++i) words[i] = exchange(words[i]);
  T result;
  memcpy(&result, words, sizeof(T));
  return result;
}
}  // namespace detail

/// Value of `lane` (0…width-1 within the caller's group of `width` lanes, taken modulo width).
template <class T>
WARPLOOM_DEVICE T shuffle(const Block&, const T& value, int lane, int width = 32) {
  return detail::by_words(value, [=](unsigned int w) { return __shfl_sync(~0u, w, lane, width); });
}
/// Value of the lane `delta` below; the lane's own value if there is no such lane in the group.
template <class T>
WARPLOOM_DEVICE T shuffle_up(const Block&, const T& value, int delta, int width = 32) {
  return detail::by_words(value, [=](unsigned int w) { return __shfl_up_sync(~0u, w, delta, width); });
}
template <class T>
WARPLOOM_DEVICE T shuffle_down(const Block&, const T& value, int delta, int width = 32) {
  return detail::by_words(value, [=](unsigned int w) { return __shfl_down_sync(~0u, w, delta, width); });
}
template <class T>
WARPLOOM_DEVICE T shuffle_xor(const Block&, const T& value, int mask, int width = 32) {
  return detail::by_words(value, [=](unsigned int w) { return __shfl_xor_sync(~0u, w, mask, width); });
}
/// The sum over the warp, modulo 2^32, in every lane.
WARPLOOM_DEVICE int warp_sum(const Block&, int value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(~0u, value);
#else
  WARPLOOM_UNROLL
  for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(~0u, value, mask);
  return value;
#endif
}
/// The largest value in the warp, in every lane.
WARPLOOM_DEVICE unsigned int warp_maximum(const Block&, unsigned int value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(~0u, value);
#else
  WARPLOOM_UNROLL
  for (int mask = 16; mask > 0; mask /= 2) value = max(value, __shfl_xor_sync(~0u, value, mask));
  return value;
#endif
}
/// Bit i is lane i's predicate.
WARPLOOM_DEVICE unsigned int ballot(const Block&, bool predicate) { return __ballot_sync(~0u, predicate); }

// --- arithmetic with one meaning on both compilers (IEEE, round to nearest) ---
WARPLOOM_DEVICE float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
WARPLOOM_DEVICE double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
WARPLOOM_DEVICE float reciprocal(float a) { return __frcp_rn(a); }
WARPLOOM_DEVICE double reciprocal(double a) { return __drcp_rn(a); }
/// 1/a rounded to nearest, without branches, if |a| is between 2^-125 and 2^125 (2^-1000 and 2^1000 for double).
/// Otherwise `ordinary` becomes false, and the value must be recomputed with reciprocal(). Many of these can overlap,
/// whereas each reciprocal() has a branch of its own.
WARPLOOM_DEVICE float ordinary_reciprocal(float a, bool& ordinary) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  ordinary = ordinary & (fabsf(a) >= 0x1p-125f) & (fabsf(a) <= 0x1p125f);
  return __fmaf_rn(r, __fmaf_rn(-a, r, 1.0f), r);
}
WARPLOOM_DEVICE double ordinary_reciprocal(double a, bool& ordinary) {
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(a));
  // The high word is enough to decide: 2^-1000 <= |a| < 2^1000.
  const unsigned int high = static_cast<unsigned int>(__double2hiint(a)) & 0x7fffffffu;
  ordinary = ordinary & (high - 0x01700000u < 0x7e700000u - 0x01700000u);
  double e = __fma_rn(-a, r, 1.0);
  e = __fma_rn(e, e, e);
  r = __fma_rn(r, e, r);
  return __fma_rn(r, __fma_rn(-a, r, 1.0), r);
}
/// 1/a to about 20 bits, which differ between machines. Unusable for zero, infinity and values near them.
WARPLOOM_DEVICE float rough_reciprocal(float a) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}
WARPLOOM_DEVICE double rough_reciprocal(double a) {
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(a));
  return r;
}
/// The bits of a float, the high word of a double. For numbers without sign these words compare as the numbers do.
WARPLOOM_DEVICE unsigned int high_word(float a) { return __float_as_uint(a); }
WARPLOOM_DEVICE unsigned int high_word(double a) { return static_cast<unsigned int>(__double2hiint(a)); }
WARPLOOM_DEVICE float absolute(float a) { return fabsf(a); }
WARPLOOM_DEVICE double absolute(double a) { return fabs(a); }
WARPLOOM_DEVICE bool is_finite(float a) { return fabsf(a) <= 3.402823466e+38f; }
WARPLOOM_DEVICE bool is_finite(double a) { return fabs(a) <= 1.7976931348623157e+308; }
WARPLOOM_DEVICE float maximum(float a, float b) { return fmaxf(a, b); }
WARPLOOM_DEVICE double maximum(double a, double b) { return fmax(a, b); }
WARPLOOM_DEVICE float square_root(float a) { return __fsqrt_rn(a); }
WARPLOOM_DEVICE double square_root(double a) { return __dsqrt_rn(a); }

// --- memory ---
WARPLOOM_DEVICE int atomic_add(int* address, int value) { return atomicAdd(address, value); }
WARPLOOM_DEVICE int64_t atomic_add(int64_t* address, int64_t value) {
  return static_cast<int64_t>(atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value)));
}
WARPLOOM_DEVICE int atomic_min(int* address, int value) { return atomicMin(address, value); }
WARPLOOM_DEVICE int atomic_or(int* address, int value) { return atomicOr(address, value); }
WARPLOOM_DEVICE void fence_device() { __threadfence(); }

/// In an overlapped launch: waits until the previous launch has ended and its writes are visible.
WARPLOOM_DEVICE void follow_previous_launch() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/// Lets the next overlapped launch be set up once all blocks have reached this call, rather than at their end. Blocks
/// that start early take up room that others need, so this pays only near the end.
WARPLOOM_DEVICE void let_next_launch_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Starts an asynchronous copy of kBytes (4, 8 or 16; both addresses aligned to that) from global to shared memory. The
/// data is visible to the copying thread after async_wait, and to other threads after a later barrier.
template <int kBytes>
WARPLOOM_DEVICE void async_copy(const Block&, void* shared, const void* global) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  const unsigned int to = static_cast<unsigned int>(__cvta_generic_to_shared(shared));
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(kBytes) : "memory");
  }
#else  // Turing has no such copies: at once
  if constexpr (kBytes == 16) *static_cast<uint4*>(shared) = *static_cast<const uint4*>(global);
  else if constexpr (kBytes == 8) *static_cast<uint2*>(shared) = *static_cast<const uint2*>(global);
  else *static_cast<unsigned int*>(shared) = *static_cast<const unsigned int*>(global);
#endif
}
/// Closes the thread's current group of asynchronous copies.
WARPLOOM_DEVICE void async_commit(const Block&) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Waits until at most kPending of the thread's groups are unfinished.
template <int kPending>
WARPLOOM_DEVICE void async_wait(const Block&) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

/// Copies from shared to global memory that go on while the threads do something else. One thread begins all of them and
/// waits for them. initcheck does not notice them, so that it wants modules without.
struct StoresAside {
#if __CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ >= 12 && !defined(WARPLOOM_THREAD_STORES)
  static constexpr bool kIsAvailable = true;
  /// For every thread that wrote what is to be copied: after that, and before the barrier in front of begin().
  static WARPLOOM_DEVICE void publish(const Block&) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
  /// Both addresses and `bytes` are multiples of 16.
  WARPLOOM_DEVICE void begin(const Block&, void* global, const void* shared, int bytes) {
    const unsigned int from = static_cast<unsigned int>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global), "r"(from), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }
  /// Then, behind a barrier, the shared memory may be written again.
  WARPLOOM_DEVICE void wait_read(const Block&) { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
  WARPLOOM_DEVICE void wait(const Block&) { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
#else
  static constexpr bool kIsAvailable = false;
  static WARPLOOM_DEVICE void publish(const Block&) {}
  WARPLOOM_DEVICE void begin(const Block&, void*, const void*, int) {}
  WARPLOOM_DEVICE void wait_read(const Block&) {}
  WARPLOOM_DEVICE void wait(const Block&) {}
#endif
};

// --- messages between the blocks of a cooperative launch ---
/// Three words and a tag that says they have arrived, in global memory. They are written and read as a unit, and not
/// ordered with anything else. Faster than sync_grid: no fence, no counter, and only blocks that depend on each other
/// wait.
struct alignas(16) Message {
  unsigned int word[3];
  unsigned int tag;
};
WARPLOOM_DEVICE void post(const Block&, Message* to, const Message& message) {
  const unsigned __int128 low = message.word[0] | static_cast<unsigned long long>(message.word[1]) << 32;
  const unsigned __int128 high = message.word[2] | static_cast<unsigned long long>(message.tag) << 32;
  asm volatile("st.relaxed.gpu.global.b128 [%0], %1;" ::"l"(to), "q"(low | high << 64) : "memory");
}
WARPLOOM_DEVICE Message look(const Message* from) {
  unsigned __int128 bits;
  asm volatile("ld.relaxed.gpu.global.b128 %0, [%1];" : "=q"(bits) : "l"(from) : "memory");
  const auto low = static_cast<unsigned long long>(bits), high = static_cast<unsigned long long>(bits >> 64);
  return {{static_cast<unsigned int>(low), static_cast<unsigned int>(low >> 32), static_cast<unsigned int>(high)},
          static_cast<unsigned int>(high >> 32)};
}
/// Waits until the messages at from(0) … from(kCount-1) carry `tag`. All lanes of the warp take part.
template <int kCount, class From>
WARPLOOM_DEVICE void receive(const Block&, unsigned int tag, From from, Message (&out)[kCount]) {
  while (true) {
    bool missing = false;
    WARPLOOM_UNROLL
    for (int i = 0; i < kCount; ++i) out[i] = look(from(i));
    WARPLOOM_UNROLL
    for (int i = 0; i < kCount; ++i) missing = missing || out[i].tag != tag;
    if (!__any_sync(~0u, missing)) return;
    // Poll one message per lane until they can be complete: if all lanes polled everything, they would delay the posts.
    while (__any_sync(~0u, look(from(kCount - 1)).tag != tag)) {
    }
  }
}
/// The same for a few messages that are urgently needed: polls all of them all the time.
template <int kCount, class From>
WARPLOOM_DEVICE void receive_at_once(const Block&, unsigned int tag, From from, Message (&out)[kCount]) {
  bool missing;
  do {
    missing = false;
    WARPLOOM_UNROLL
    for (int i = 0; i < kCount; ++i) out[i] = look(from(i));
    WARPLOOM_UNROLL
    for (int i = 0; i < kCount; ++i) missing = missing || out[i].tag != tag;
  } while (__any_sync(~0u, missing));
}

/// 16-byte vector of T for wide loads and stores.
template <class T>
struct alignas(16) Pack {
  static constexpr int kCount = 16 / sizeof(T);
  T item[kCount];
};

}  // namespace warploom::cuda::device
#endif
