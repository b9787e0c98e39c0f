// Tuning table of the partitioned pivoting solver.
#pragma once
#include <cstdint>

#include "cuda/core/numbers.h"

namespace warploom::tridiagonal {

/// One launch: `width` lanes (a power of two) of `depth` rows each (odd) hold one system; `systems` share a block.
struct PivotingShape {
  int depth = 3;
  int width = 1;
  int systems = 32;
  int64_t segments = 1;  ///< blocks per system; then systems = 1
  int threads() const { return width * systems; }
};

inline constexpr int kPivotingMaxThreads = 256;

/// Target for rows per lane: enough to make merges rare, few enough to fill a multiprocessor's shared memory with
/// warps. Wide types gain from fewer merges only if there are several levels of them, and if that keeps a system in one
/// block; 16-byte elements fill the shared memory of a block of more than 64 lanes.
inline int pivoting_depth(int element_bytes, int64_t n) {
  if (element_bytes <= 4) return 17;
  const int64_t most = 17 * (element_bytes <= 8 ? kPivotingMaxThreads : 64);
  return n > 72 && n <= most ? 17 : 9;
}
/// Threads of a block that holds several systems: small blocks wait less for their merges.
inline int pivoting_threads(int element_bytes) { return element_bytes <= 4 ? 128 : element_bytes <= 8 ? 64 : 32; }

/// The shape for `depth` rows per lane and blocks of `threads` threads, if systems are small enough.
inline PivotingShape lane_shape(int element_bytes, int64_t n, int64_t depth, int threads) {
  PivotingShape shape;
  // Blocks of whole 16-byte chunks, if that needs few lanes beyond those for the rows.
  const int64_t per_chunk = larger(1, 16 / element_bytes);
  int64_t width = n >= 3 * per_chunk ? per_chunk : 1;
  while (width * depth < n && width < kPivotingMaxThreads) width *= 2;
  shape.width = static_cast<int>(width);
  if (width * depth < n) {
    shape.depth = static_cast<int>(depth);
    shape.systems = 1;
    shape.segments = (n + width * depth - 1) / (width * depth);
    return shape;
  }
  shape.depth = static_cast<int>(larger<int64_t>(3, ((n + width - 1) / width) | 1));
  shape.systems = larger(1, threads / shape.width);
  return shape;
}

inline PivotingShape pivoting_shape(int element_bytes, int64_t n) {
  return lane_shape(element_bytes, n, pivoting_depth(element_bytes, n), pivoting_threads(element_bytes));
}
/// The shape for solves with factors, which need no merges: more rows per lane only if the system would not fit a block
/// otherwise.
inline PivotingShape factored_shape(int element_bytes, int64_t n) {
  const bool in_block = element_bytes <= 8 && n > 9 * kPivotingMaxThreads && n <= 17 * kPivotingMaxThreads;
  const int depth = element_bytes <= 4 || in_block ? 17 : 9;
  return lane_shape(element_bytes, n, depth, element_bytes <= 8 ? 128 : 64);
}

}  // namespace warploom::tridiagonal
