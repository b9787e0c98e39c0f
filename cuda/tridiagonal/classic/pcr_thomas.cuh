// pcr-thomas with a given plan, for tests and tuning; solve_pcr_thomas picks one.
#pragma once
#include "cuda/tridiagonal/batch.cuh"
#include "cuda/tridiagonal/classic/hybrid_policy.h"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Tiled passes over global workspace, whatever n. `slice_bytes`: workspace to stay under where several problems
/// allow it.
template <class T>
Status solve_pcr_thomas_tiled(GpuDevice&, const Batch<T>&, const operation::TilePlan&, int64_t slice_bytes, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
