// How a cosine transform of one length is made: radices and tables of roots.
#pragma once
#include <cstdint>

namespace warploom::imaging {

/// Longest line that cosine transforms take.
inline constexpr int64_t kLongestLine = 65536;
inline constexpr int kMostStages = 12;

/// One pass of the complex transform: `radix` points at distance m / radix become neighbours at distance `before`, the product of the
/// radices so far.
struct CosineStage {
  int32_t radix = 0, before = 1;
  uint32_t divider = 0;  ///< floor(j / before) is the high word of j * divider, for before > 1
};

/// Lines of length n; the complex transform has length m: n where n is 2^a 3^b 5^c, else that of Bluestein's convolution.
struct CosinePlan {
  int32_t n = 1, m = 1, stages = 0;
  CosineStage stage[kMostStages];

  // Complex entries of the table: exp(-2 pi i k / m) for k < m; from `phases` on exp(i pi k / 2n) for k <= n / 2; with Bluestein's
  // convolution also from `chirp` on exp(-i pi k^2 / n) for k < n, and from `filter` on the spectrum of its filter, m entries.
  int32_t phases = 0, chirp = 0, filter = 0, entries = 0;
};

/// Plan for lines of 1 … kLongestLine points.
CosinePlan cosine_plan(int64_t n);

}  // namespace warploom::imaging
