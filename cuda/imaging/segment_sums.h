// Sums over all points in imaging.segment, and values derived from them, with the same bits on every backend.
//
// Each term is rounded to a multiple of a unit, and added as an integer. The unit is a power of two chosen so that the
// sum of all terms stays below 2^62 units. Integer sums are exact, so they are the same in any order, with any number
// of threads, blocks and lanes.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "cuda/core/portable.h"
#include "cuda/imaging/chan_vese.h"

namespace warploom::imaging::segmentation {

/// Initial level sets are clipped to this magnitude.
inline constexpr double kLargestLevel = 1048576;

/// Adding this to a number of magnitude below 2^50 leaves the nearest integer in the low bits.
inline constexpr double kRounding = 6755399441055744.0;  // 1.5 * 2^52
inline constexpr uint64_t kRoundingWord = 0x4338000000000000u;

/// term * scale as the nearest integer, plus kRoundingWord. `scale` is a power of two, so there is only one rounding.
WARPLOOM_PORTABLE uint64_t rounded_word(double term, double scale) {
#ifdef __CUDA_ARCH__
  const double sum = portable::fma(term, scale, kRounding);
#else
  const double sum = term * scale + kRounding;  // the product is exact
#endif
  uint64_t word;
  memcpy(&word, &sum, sizeof(word));
  return word;
}

/// The words of a slot in the ring: points inside, squared changes, sums of values.
enum SumWord { kInside = 0, kChange = 1, kSum = 2, kHeadWords = 4 };
/// Copies of a head; blocks add to them in turn.
inline constexpr int kHeads = 8;
/// Words of an energy entry: smoothed area, the area of points with data, length, lambda1 and lambda2 parts, then sums
/// of the channels.
enum EnergyWord { kArea = 0, kDataArea = 1, kLength = 2, kPartInside = 3, kPartOutside = 4, kEnergyWords = 5 };

/// Scales of the terms, 1 / unit each.
struct Scales {
  double value = 1, change = 1, area = 1, length = 1, part = 1;
};

/// A point's terms of the energy. T is a number or a vector.
template <class T>
struct EnergyTerms {
  T step, length;
};
template <class R, class T>
WARPLOOM_PORTABLE EnergyTerms<T> energy_terms(const Flow<R>& flow, const T& phi, const T& norms) {
  using portable::select;
  const T x = phi * T(flow.epsilon_inverse), most = T(R(kLargestLevel));
  const T length = smooth_delta<R>(x) * T(flow.epsilon_inverse) * (norms * T(flow.inverse_norms));
  return {smooth_step<R>(x), select(length < most, length, most)};
}

/// Means of both regions, in units of u. A region without points gets the mean of the image.
struct Means {
  double inside, outside;
};
WARPLOOM_PORTABLE Means means_of(int64_t inside, int64_t sum_inside, int64_t all, int64_t sum_all, double unit) {
  const auto mean = [unit](int64_t sum, int64_t count) {
    return static_cast<double>(sum) * unit * portable::small_reciprocal(static_cast<double>(count));
  };
  const int64_t outside = all - inside;
  if (inside > 0 && outside > 0) return {mean(sum_inside, inside), mean(sum_all - sum_inside, outside)};
  const double both = all > 0 ? mean(sum_all, all) : 0.0;
  return {both, both};
}

}  // namespace warploom::imaging::segmentation
