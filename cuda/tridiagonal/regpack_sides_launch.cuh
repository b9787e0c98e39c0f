// solve_sides and solve_periodic_sides for one element type; the .cu files instantiate them.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/inputs.cuh"
#include "cuda/tridiagonal/regpack_sides_agent.cuh"
#include "cuda/tridiagonal/solve_policy.h"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T, int kDepth, int kCount, bool kPeriodic>
Status launch_sides(GpuDevice& device, const Batch<T>& batch, const T* corners, Used* used) {
  using Agent = SidesRegpackAgent<T, kDepth, kCount, kPeriodic>;
  const int64_t rows = kPeriodic ? batch.n - 1 : batch.n, lanes = (rows + kDepth - 1) / kDepth;
  LaunchShape shape;
  shape.threads = static_cast<int>(lanes < Agent::kMaxThreads ? (lanes + 31) / 32 * 32 : Agent::kMaxThreads);
  shape.shared_bytes = Agent::shared_bytes(shape.threads);
  const int64_t resident = resident_blocks<Agent>(device, shape.threads, shape.shared_bytes);
  if (lanes > Agent::kMaxThreads || resident < 1) return {Code::unsupported, "cr-regpack: the system does not fit a block"};
  const bool one_matrix = !kPeriodic && is_one_matrix(batch);
  SidesParameters<T> p{batch, inputs_of(batch, true), corners, one_matrix ? batch.problems() : batch.rhs_count, 0, 1};
  p.groups = (p.sides + Agent::kGiven - 1) / Agent::kGiven;
  const int64_t matrices = batch.problems() / p.sides, most = resident * device.limits().multiprocessors;
  if (matrices < most) p.blocks = (most + matrices - 1) / matrices;
  if (p.blocks > p.groups) p.blocks = p.groups;
  shape.blocks = matrices * p.blocks;
  if (shape.blocks > device.limits().max_blocks) return {Code::unsupported, "cr-regpack: more blocks than a grid has"};
  *used = {operation::Algorithm::cr_regpack, kDepth, shape.threads, 1};
  return launch<Agent>(device, shape, p);
}

/// Right-hand sides that share a matrix, several at once. Code::unsupported where there are too few, or rows do not lie
/// together.
template <class T>
Status solve_sides(GpuDevice& device, const Batch<T>& batch, Used* used) {
  if constexpr (!kIsComplex<T>) {
    bool aligned = false;
    const int64_t sides = is_one_matrix(batch) ? batch.planned_problems() : batch.rhs_count;
    const bool fits = sides >= operation::kLeastSides && batch.n >= operation::kLeastSideRows && batch.findings == nullptr &&
                      !operation::is_small(batch.n, batch.planned_problems(), device.limits().multiprocessors) &&
                      moves_spans(batch, &aligned);
    if (fits) {
      const Status status = launch_sides<T, 9, 4, false>(device, batch, nullptr, used);
      if (sizeof(T) == 4 || status.code() != Code::unsupported) return status;
      if constexpr (sizeof(T) == 8) return launch_sides<T, 17, 2, false>(device, batch, nullptr, used);
    }
  }
  return {Code::unsupported, "cr-regpack: no right-hand sides that share a matrix"};
}

/// Periodic systems in one pass over their bands; `corners` as in solve_periodic. Code::unsupported where they do not fit.
template <class T>
Status solve_periodic_sides(GpuDevice& device, const Batch<T>& batch, const T* corners, Used* used) {
  if constexpr (!kIsComplex<T>) {
    bool aligned = false;
    if (batch.n >= operation::kLeastPeriodicRows && moves_spans(batch, &aligned)) {
      return launch_sides<T, 9, 2, true>(device, batch, corners, used);
    }
  }
  return {Code::unsupported, "cr-regpack: these periodic systems do not fit a block"};
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
