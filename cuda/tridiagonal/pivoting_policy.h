// Tuning table of the partitioned pivoting solver.
#pragma once
#include <algorithm>
#include <cstdint>

namespace warploom::tridiagonal {

/// One launch: `width` lanes (a power of two) of `depth` rows (odd) each hold a system; `systems` share a block.
struct PivotingShape {
  int depth = 3;
  int width = 1;
  int systems = 32;
  int64_t segments = 1;  ///< blocks per system; then systems = 1
  int threads() const { return width * systems; }
};

inline constexpr int kPivotingMaxThreads = 256;

/// Rows per lane aimed at: enough to make merges rare, few enough to fill a multiprocessor's shared memory with warps.
/// Wide types gain from fewer merges only where there are several levels of them; systems of 16-byte elements that need
/// more lanes than a warp or two do not fit a block at the larger depth.
inline int pivoting_depth(int element_bytes, int64_t n) {
  if (element_bytes <= 4) return 17;
  return n > 72 && (element_bytes <= 8 || n <= 1088) ? 17 : 9;
}
/// Threads of a block that holds several systems: small blocks wait less for their merges.
inline int pivoting_threads(int element_bytes) { return element_bytes <= 4 ? 128 : element_bytes <= 8 ? 64 : 32; }

inline PivotingShape pivoting_shape(int element_bytes, int64_t n) {
  PivotingShape shape;
  const int64_t depth = pivoting_depth(element_bytes, n);
  // Blocks of whole 16-byte chunks, where that is not many more lanes than the rows need.
  const int64_t per_chunk = std::max(1, 16 / element_bytes);
  int64_t width = n >= 3 * per_chunk ? per_chunk : 1;
  while (width * depth < n && width < kPivotingMaxThreads) width *= 2;
  shape.width = static_cast<int>(width);
  if (width * depth < n) {
    shape.depth = static_cast<int>(depth);
    shape.systems = 1;
    shape.segments = (n + width * depth - 1) / (width * depth);
    return shape;
  }
  shape.depth = static_cast<int>(std::max<int64_t>(3, ((n + width - 1) / width) | 1));
  shape.systems = std::max(1, pivoting_threads(element_bytes) / shape.width);
  return shape;
}

}  // namespace warploom::tridiagonal
