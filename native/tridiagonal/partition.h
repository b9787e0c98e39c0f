// The partition method of the cpu backend: one long system spread over lanes and threads.
#pragma once
#include "native/tridiagonal/batch_run.h"

namespace warploom::cpu {

/// Systems of at least this many rows are worth two passes.
inline constexpr int64_t kPartitionRows = 4096;

/// Rows of a chunk, its separator included. Depends on n alone: results do not depend on threads.
inline int64_t chunk_rows(int64_t n) { return n >= int64_t{1} << 16 ? 512 : 128; }

/// Whether a call can be partitioned: equal systems, no periodicity, no check and no refinement.
template <class R>
bool can_partition(const Problem<R>& problem, const Options& options) {
  return problem.n >= kPartitionRows && problem.offsets == nullptr && !problem.periodic &&
         !options.check && !options.refine;
}

/// Solves every problem by chunks. A problem with a zero pivot or a value that is not finite in its
/// first pass is solved by Thomas elimination instead, which names the row.
template <class R>
Status run_partition(CpuDevice& device, const Problem<R>& problem, const Options& options,
                     const Results& results, bool complex, Control& control);

/// Device memory beyond the scratch of the threads.
int64_t partition_bytes(int64_t n, int64_t element_bytes);

}  // namespace warploom::cpu
