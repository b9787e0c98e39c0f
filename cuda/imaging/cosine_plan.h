// How to compute a cosine transform of one length: radices and tables of roots.
#pragma once
#include <cstdint>

namespace warploom::imaging {

/// The longest line that cosine transforms accept.
inline constexpr int64_t kLongestLine = 65536;
inline constexpr int kMostStages = 12;

/// One pass of the complex transform: `radix` points at distance m / radix move to distance `before`, which is the
/// product of the earlier radices.
struct CosineStage {
  int32_t radix = 0, before = 1;
  uint32_t divider = 0;  ///< floor(j / before) is the high word of j * divider, for before > 1
};

/// Lines of length n. The complex transform has length m: n if n is 2^a 3^b 5^c, otherwise the length of Bluestein's
/// convolution.
struct CosinePlan {
  int32_t n = 1, m = 1, stages = 0;
  CosineStage stage[kMostStages];

  // Complex entries of the table: exp(-2 pi i k / m) for k < m; then, from `phases`, exp(i pi k / 2n) for k <= n / 2.
  // With Bluestein's convolution also exp(-i pi k^2 / n) for k < n, from `chirp`, and the m entries of its filter's
  // spectrum, from `filter`.
  int32_t phases = 0, chirp = 0, filter = 0, entries = 0;
};

/// Plan for lines of 1 … kLongestLine points.
CosinePlan cosine_plan(int64_t n);

}  // namespace warploom::imaging
