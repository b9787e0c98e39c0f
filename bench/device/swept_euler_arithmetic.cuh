// portable.h on the GPU against the correctly rounded intrinsics.
#pragma once
#include <cmath>

#include "bench/device/bench_device.cuh"
#include "cuda/core/portable.h"

namespace warploom::bench {

__device__ inline uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Numbers of every exponent and sign. Mantissas: random (kind 0 to 3), next to powers of two, of few ones or few zeros, next to the
/// square of what lies halfway between two numbers, next to a reciprocal.
__device__ inline double sample(uint64_t i) {
  const uint64_t x = mixed(i), y = mixed(x);
  const int kind = static_cast<int>(y & 7);
  uint64_t bits = x;
  constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1;
  if (kind == 4) bits = (x & ~kMantissa) | ((x & 4096) != 0 ? kMantissa - (x & 4095) : x & 4095);
  if (kind == 5) {
    const uint64_t few = y & (y << 7) & (y >> 9) & kMantissa;
    bits = (x & ~kMantissa) | ((x & 1) != 0 ? few : kMantissa - few);
  }
  if (kind >= 6) {
    // In [1, 4), then a few units of the last place to either side, then any exponent of the same parity.
    const double one = __longlong_as_double(static_cast<long long>(uint64_t{0x3ff} << 52 | (x & kMantissa)));
    const double near = kind == 6 ? fma(one, one, one * 0x1p-52) : 2 / one;
    const uint64_t shift = (y >> 8 & 511) << 53;
    bits = static_cast<uint64_t>(__double_as_longlong(near)) + (y >> 20 & 7) - 3 + shift * ((y >> 30 & 1) != 0 ? 1 : ~uint64_t{0});
  }
  return __longlong_as_double(static_cast<long long>(bits));
}

template <class T>
__device__ bool in_range(T size) {
  return size >= portable::Range<T>::kLeast && size < portable::Range<T>::kMost;
}
template <class T>
__device__ bool agrees(T got, bool ordinary, T right) {
  return ordinary ? got == right : got != got;
}
/// Within a unit in the last place.
__device__ inline bool is_near(float got, float right) { return abs(__float_as_int(got) - __float_as_int(right)) <= 1; }
__device__ inline bool is_near(double got, double right) { return llabs(__double_as_longlong(got) - __double_as_longlong(right)) <= 1; }

struct Wrong {
  unsigned long long reciprocal, root, twice, alike, bits, checked;
};
template <class T>
__device__ void compare(T a, T reciprocal_right, T root_right, Wrong* wrong) {
  using Range = portable::Range<T>;
  const T size = portable::absolute(a), infinite = static_cast<T>(HUGE_VAL);
  const bool beyond = size >= Range::kMost && size < infinite;  // where small_reciprocal and square_root say nothing
  const bool good_reciprocal = agrees(portable::reciprocal(a), in_range(size), reciprocal_right) &&
                               (beyond || agrees(portable::small_reciprocal(a), in_range(size), reciprocal_right)) &&
                               agrees(portable::positive_reciprocal(a), in_range(a), reciprocal_right);
  const T root = portable::square_root(a);
  bool good_root = beyond && a > T(0);
  if (in_range(a)) good_root = a < Range::kLeastRoot ? is_near(root, root_right) : root == root_right;
  else if (!good_root) good_root = !(portable::absolute(root) < infinite);
  const bool good_twice = !in_range(size) || portable::twice(a) == a + a;
  if (!good_reciprocal) atomicAdd(&wrong->reciprocal, 1);
  if (!good_root) atomicAdd(&wrong->root, 1);
  if (!good_twice) atomicAdd(&wrong->twice, 1);
  if (!good_reciprocal || !good_root || !good_twice) {
    uint64_t bits = 0;
    memcpy(&bits, &a, sizeof(T));
    wrong->bits = bits;
  }
}
/// Whatever two numbers: `least` falls among their magnitudes often.
template <class T>
__device__ void compare_alike(T a, T b, T least, Wrong* wrong) {
  if (a == a && b == b && portable::alike(a, b, least) != portable::alike<T>(a, b, least)) atomicAdd(&wrong->alike, 1);
}

__global__ void check_doubles(uint64_t begin, uint64_t count, Wrong* wrong) {
  const uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count; i += stride) {
    const double a = sample(begin + i);
    compare(a, __drcp_rn(a), __dsqrt_rn(a), wrong);
    const double b = sample(begin + i + 1);
    compare_alike(a, b, 0x1p-96, wrong);
    const auto mantissa = [](double v) {
      return __longlong_as_double((__double_as_longlong(v) & 0x801fffffffffffff) | 0x39f0000000000000);
    };
    compare_alike(mantissa(a), mantissa(b), 0x1p-96, wrong);
  }
}
__global__ void check_floats(Wrong* wrong) {
  const uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < uint64_t{1} << 32; i += stride) {
    const float a = __uint_as_float(static_cast<unsigned int>(i));
    compare(a, __frcp_rn(a), __fsqrt_rn(a), wrong);
    compare_alike(a, __uint_as_float(static_cast<unsigned int>(mixed(i))), 0x1p-96f, wrong);
  }
}

/// The numbers whose roots lie closest to halfway between two doubles: 4 M 2^s = x^2 - delta with odd x of 54 bits, delta = 1 modulo 8
/// and s = 52 or 53, at exponents of every size. The root is (x - 1)/2 where delta > 0, else (x + 1)/2, in units of the last place.
__global__ void check_hard_roots(int64_t deltas, Wrong* wrong) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < 8 * deltas; i += stride) {
    const int64_t delta = 8 * (i / 8 - deltas / 2) + 1;
    const int bits = i % 2 != 0 ? 54 : 55;
    uint64_t x = 1;  // a root of delta modulo 2^bits, bit by bit
    for (int bit = 3; bit < bits; ++bit) x ^= ((x * x - static_cast<uint64_t>(delta)) >> bit & 1) << (bit - 1);
    if ((i & 2) != 0) x = ~x + 1;
    if ((i & 4) != 0) x += uint64_t{1} << (bits - 1);
    x &= (uint64_t{1} << bits) - 1;
    const __int128 rest = static_cast<__int128>(x) * x - delta;
    const uint64_t mantissa = static_cast<uint64_t>(rest >> bits);
    if (x >> 53 != 1 || mantissa >> 52 != 1) continue;
    atomicAdd(&wrong->checked, 1);
    for (int exponent = -480; exponent < 510; exponent += 11) {
      const double a = ldexp(static_cast<double>(mantissa), bits - 106 + 2 * exponent);
      const double right = ldexp(static_cast<double>(delta > 0 ? (x - 1) / 2 : (x + 1) / 2), exponent - 52);
      if (portable::square_root(a) == right && __dsqrt_rn(a) == right) continue;
      atomicAdd(&wrong->root, 1);
      wrong->bits = static_cast<unsigned long long>(__double_as_longlong(a));
    }
  }
}
inline int check_arithmetic(BenchDevice& device) {
  Wrong* wrong;
  BENCH_CUDA(cudaMalloc(&wrong, sizeof(Wrong)));
  Wrong found;
  BENCH_CUDA(cudaMemset(wrong, 0, sizeof(Wrong)));
  check_hard_roots<<<132 * 16, 256, 0, device.stream>>>(int64_t{1} << 24, wrong);
  BENCH_CUDA(cudaDeviceSynchronize());
  BENCH_CUDA(cudaMemcpy(&found, wrong, sizeof(found), cudaMemcpyDeviceToHost));
  int failures = found.root == 0 && found.checked > 0 ? 0 : 1;
  std::printf("roots next to ties: %s, %llu mantissas, %llu wrong, the last at %016llx\n", failures == 0 ? "all right" : "FAILED",
              found.checked, found.root, found.bits);
  for (const bool floats : {false, true}) {
    BENCH_CUDA(cudaMemset(wrong, 0, sizeof(Wrong)));
    const uint64_t count = uint64_t{1} << 36;
    if (floats) check_floats<<<132 * 16, 256, 0, device.stream>>>(wrong);
    else check_doubles<<<132 * 16, 256, 0, device.stream>>>(0, count, wrong);
    BENCH_CUDA(cudaDeviceSynchronize());
    BENCH_CUDA(cudaMemcpy(&found, wrong, sizeof(found), cudaMemcpyDeviceToHost));
    const bool good = found.reciprocal + found.root + found.twice + found.alike == 0;
    std::printf("arithmetic %s: %s, reciprocal %llu root %llu twice %llu alike %llu wrong, the last at %016llx\n",
                floats ? "2^32 floats" : "2^36 doubles", good ? "all right" : "FAILED", found.reciprocal, found.root, found.twice,
                found.alike, found.bits);
    failures += good ? 0 : 1;
  }
  cudaFree(wrong);
  return failures;
}

/// What fused multiply-adds alone reach.
template <class T>
__global__ void multiply_adds(T* out, int count) {
  T a[8];
  for (int i = 0; i < 8; ++i) a[i] = T(threadIdx.x + i);
  for (int s = 0; s < count; ++s) {
#pragma unroll
    for (int i = 0; i < 8; ++i) a[i] = portable::fma(a[i], T(0.5), T(0.25));
  }
  T sum = 0;
  for (int i = 0; i < 8; ++i) sum += a[i];
  if (sum == T(-1)) *out = sum;
}
template <class T>
void print_peak_of(BenchDevice& device) {
  cudaEvent_t from, to;
  BENCH_CUDA(cudaEventCreate(&from));
  BENCH_CUDA(cudaEventCreate(&to));
  float ms = 0;
  const int count = 20000;
  for (int repeat = 0; repeat < 3; ++repeat) {
    BENCH_CUDA(cudaEventRecord(from, device.stream));
    multiply_adds<T><<<132 * 2, 512, 0, device.stream>>>(nullptr, count);
    BENCH_CUDA(cudaEventRecord(to, device.stream));
    BENCH_CUDA(cudaEventSynchronize(to));
    BENCH_CUDA(cudaEventElapsedTime(&ms, from, to));
  }
  std::printf("{\"peak\":%d,\"instructionsPerSecond\":%.4g}\n", int(sizeof(T) * 8), 132.0 * 2 * 512 * 8 * count / (ms * 1e-3));
}
inline void print_peak(BenchDevice& device) {
  print_peak_of<double>(device);
  print_peak_of<float>(device);
}

}  // namespace warploom::bench
