// solve_periodic_regpack for one element type; the .cu files instantiate it.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/inputs.cuh"
#include "cuda/tridiagonal/solve_policy.h"
#include "cuda/tridiagonal/regpack/cr_regpack_launch.cuh"
#include "cuda/tridiagonal/regpack/regpack_cyclic_agent.cuh"
#include "cuda/tridiagonal/regpack/regpack_periodic_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class Agent, class T>
Status launch_periodic(GpuDevice& device, const Batch<T>& batch, Used* used) {
  const int64_t lanes = (batch.n - 1 + Agent::kRowsPerLane - 1) / Agent::kRowsPerLane;
  LaunchShape shape;
  shape.threads = static_cast<int>(lanes < Agent::kMaxThreads ? (lanes + 31) / 32 * 32 : Agent::kMaxThreads);
  shape.shared_bytes = Agent::shared_bytes(shape.threads);
  const int64_t resident = resident_blocks<Agent>(device, shape.threads, shape.shared_bytes);
  if (lanes > Agent::kMaxThreads || resident < 1) return {Code::unsupported, "cr-regpack: the system does not fit a block"};
  PeriodicParameters<T> p{batch, inputs_of(batch, true), 1};
  const int64_t most = resident * device.limits().multiprocessors, problems = batch.problems();
  // As in launch_regpack: long runs if problems share a matrix. In float32, runs gain nothing (297 us with and without,
  // 65536x512 on an H200; in float64 487 us with, 520 without).
  if (batch.rhs_count > 1) {
    p.span = (problems + most - 1) / most;
  } else if (sizeof(T) > 4 && problems > most * operation::kTilesPerWorker) {
    p.span = operation::kTilesPerWorker;
  }
  shape.blocks = (problems + p.span - 1) / p.span;
  if (shape.blocks > device.limits().max_blocks) return {Code::unsupported, "cr-regpack: more blocks than a grid has"};
  *used = {operation::Algorithm::cr_regpack, Agent::kRowsPerLane, shape.threads, 1};
  return launch<Agent>(device, shape, p);
}

/// Whether the systems satisfy closes_over_lanes.
template <class T>
Status launch_cyclic(GpuDevice& device, const Batch<T>& batch, Used* used) {
  constexpr int kDepth = operation::kCyclicDepth;
  RegpackParameters<T> p{};
  p.full = full_batch(batch);
  p.width = static_cast<int>(batch.n) / kDepth;
  p.batch = batch;
  *used = {operation::Algorithm::cr_regpack, kDepth, p.width, 1};
  return launch_by_warps<CyclicWarpRegpackAgent<T, kDepth, true>, CyclicWarpRegpackAgent<T, kDepth, false>, kDepth>(device, p);
}

/// Periodic systems in one pass over their bands, which include the corners, so no band is shifted. Code::unsupported
/// if they do not fit.
template <class T>
Status solve_periodic_regpack(GpuDevice& device, const Batch<T>& batch, Used* used) {
  if constexpr (!kIsComplex<T>) {
    bool aligned = false;
    if (batch.n >= operation::kLeastPeriodicRows && moves_spans(batch, &aligned)) {
      if (operation::closes_over_lanes(batch.n)) return launch_cyclic(device, batch, used);
      return launch_periodic<PeriodicRegpackAgent<T, 9>>(device, batch, used);
    }
  }
  return {Code::unsupported, "cr-regpack: these periodic systems do not fit a block"};
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
