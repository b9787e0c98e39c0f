// Tuning table of scan.prefix. A result depends on n, depth, radix and this table, never on the batch or the device.
#pragma once
#include <cstdint>

#include "cuda/scan/prefix.h"

namespace warploom::scan::policy {

/// Threads of every block of the register-packed scan.
inline constexpr int kThreads = 256;
/// Largest block of the shared-memory peer, one element per thread.
inline constexpr int kSharedThreads = 1024;
/// Threads of a block of the reduction.
inline constexpr int kReduceThreads = 256;

/// Elements per thread when the caller specifies none: enough loads in flight to keep memory at full speed; short rows
/// use no more than they need. On an H200, 16 reach 95 to 98 % of a copy's rate in both types, 8 reach 85 and 94 %.
inline int default_depth(int64_t n) {
  int depth = 2;
  while (depth < 16 && depth < n) depth *= 2;
  return depth;
}

/// Log2 of the threads that share one row.
inline int row_shift(int64_t n, int depth, int most) {
  int shift = 0;
  while (1 << shift < most && int64_t{depth} << shift < n) ++shift;
  return shift;
}

}  // namespace warploom::scan::policy
