// The fastest correct solver for a batch, by the policy of solve_policy.h.
#include "cuda/core/runtime.h"
#include "cuda/tridiagonal/inputs.cuh"
#include "cuda/tridiagonal/solve_policy.h"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Whether, in arrays with a value per row, neighbouring systems are adjacent in memory and rows are far apart.
template <class T>
static bool lies_across(const Batch<T>& batch) {
  bool result = batch.n > 1;
  for (const auto* view : {&batch.diagonal, &batch.rhs, &batch.solution}) {
    result = result && view->system_stride == 1 && view->row_stride > 1;
  }
  return result;
}

template <class T>
Status solve_automatic(GpuDevice& device, const Batch<T>& batch, Used* used) {
  const bool interleaved = is_interleaved(batch), packs = interleaved && batch.n <= operation::interleaved_rows(sizeof(T));
  if constexpr (!kIsComplex<T>) {
    const Status status = solve_matrix_columns(device, batch, used);
    if (status.code() != Code::unsupported) return status;
  }
  if (interleaved && !packs &&
      operation::prefers_chunks(batch.planned_problems(), sizeof(T), is_one_matrix(batch), device.limits().multiprocessors)) {
    const Status status = solve_partition(device, batch, used);
    if (status.code() != Code::unsupported) return status;
  }
  if (!packs && lies_across(batch) && operation::prefers_thomas(batch.planned_problems(), device.limits().multiprocessors)) {
    const Status status = solve_thomas(device, batch, used);
    if (status.code() != Code::unsupported) return status;
  }
  // Systems beyond one block's registers go to the large-system solver.
  const Status status = solve_cr_regpack(device, batch, 0, used);
  if (status.code() != Code::unsupported) return status;
  return solve_partition(device, batch, used);
}

template Status solve_automatic<float>(GpuDevice&, const Batch<float>&, Used*);
template Status solve_automatic<double>(GpuDevice&, const Batch<double>&, Used*);
template Status solve_automatic<Complex<float>>(GpuDevice&, const Batch<Complex<float>>&, Used*);
template Status solve_automatic<Complex<double>>(GpuDevice&, const Batch<Complex<double>>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
