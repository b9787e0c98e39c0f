// The partition method of the cpu backend: one long system spread over lanes and threads.
#pragma once
#include "native/tridiagonal/batch_run.h"

namespace warploom::cpu {

/// Systems of at least this many rows justify two passes.
inline constexpr int64_t kPartitionRows = 4096;

/// Rows of a chunk, including its separator. Depends on n alone, so that results do not depend on the number of
/// threads.
inline int64_t chunk_rows(int64_t n) { return n >= int64_t{1} << 16 ? 512 : 128; }

/// Whether a call can be partitioned: systems of equal length, not periodic, no check, no refinement.
template <class R>
bool can_partition(const Problem<R>& problem, const Options& options) {
  return problem.n >= kPartitionRows && problem.offsets == nullptr && !problem.periodic &&
         !options.check && !options.refine;
}

/// Solves every problem by chunks. If the first pass finds a zero pivot or a non-finite value, Thomas elimination
/// solves the problem instead and names the row.
template <class R>
Status run_partition(CpuDevice& device, const Problem<R>& problem, const Options& options,
                     const Results& results, bool complex, Control& control);

/// Device memory beyond the scratch of the threads.
int64_t partition_bytes(int64_t n, int64_t element_bytes);

}  // namespace warploom::cpu
