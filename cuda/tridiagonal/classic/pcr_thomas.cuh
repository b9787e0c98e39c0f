// pcr-thomas with a given plan, for tests and tuning; solve_pcr_thomas picks one.
#pragma once
#include "cuda/tridiagonal/batch.cuh"
#include "cuda/tridiagonal/classic/hybrid_policy.h"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Tiled passes over global workspace, for any n. `slice_bytes`: limit for the workspace, if there are several problems
/// to divide.
template <class T>
Status solve_pcr_thomas_tiled(GpuDevice&, const Batch<T>&, const operation::TilePlan&, int64_t slice_bytes, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
