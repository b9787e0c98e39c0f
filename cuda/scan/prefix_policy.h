// Tuning table of scan.prefix. A result depends on n, depth, radix and this table, never on the batch or the device.
#pragma once
#include <cstdint>

#include "cuda/scan/prefix.h"

namespace warploom::scan::policy {

/// Threads of every block of the register-packed scan.
inline constexpr int kThreads = 256;
/// Largest block of the shared-memory peer, one element per thread.
inline constexpr int kSharedThreads = 1024;
/// Elements of one tile of the reduction come in strides of a block.
inline constexpr int kReduceThreads = 256;

/// Elements per thread when the caller names none: enough loads in flight for full memory speed, and no more
/// registers than let eight blocks share a multiprocessor; short rows use as few as hold them.
inline int default_depth(ScalarType type, int64_t n) {
  const int most = type == ScalarType::float32 ? 16 : 8;
  int depth = 2;
  while (depth < most && depth < n) depth *= 2;
  return depth;
}

/// Threads that share one row: a power of two.
inline int threads_per_row(int64_t n, int depth, int most) {
  int threads = 1;
  while (threads < most && static_cast<int64_t>(threads) * depth < n) threads *= 2;
  return threads;
}

}  // namespace warploom::scan::policy
