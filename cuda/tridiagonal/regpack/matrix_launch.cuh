// The launches of solve_matrix_rows and solve_matrix_columns for one element type; the .cu files instantiate them.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/regpack/matrix_batch.cuh"
#include "cuda/tridiagonal/regpack/matrix_columns_agent.cuh"
#include "cuda/tridiagonal/regpack/matrix_rows_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Lines of one group, if those of all systems are evenly spaced in right-hand sides and solutions.
template <class T>
void group_lines(MatrixRowsParameters<T>* p) {
  const Batch<T>& batch = p->batch;
  const auto even = [&](const Strided<T>& array) { return array.system_stride == batch.rhs_count * array.rhs_stride; };
  const bool single = batch.rhs_count == 1;
  const bool together = p->one_matrix && (single || (even(batch.rhs) && even(batch.solution)));
  p->groups = together ? 1 : static_cast<int32_t>(batch.systems);
  p->lines = static_cast<int32_t>(together ? batch.problems() : batch.rhs_count);
  p->rhs_group = batch.rhs.system_stride;
  p->solution_group = batch.solution.system_stride;
  p->rhs_line = together && single ? batch.rhs.system_stride : batch.rhs.rhs_stride;
  p->solution_line = together && single ? batch.solution.system_stride : batch.solution.rhs_stride;
}

template <class T, int kDepth, Team kTeam>
Status launch_matrix_agent(GpuDevice& device, MatrixRowsParameters<T> p, Used* used) {
  using Agent = MatrixRowsAgent<T, kDepth, kTeam>;
  const int lanes = static_cast<int>((p.batch.n + kDepth - 1) / kDepth);
  p.width = 1;
  p.width_log2 = 0;
  while (p.width < lanes) p.width = 1 << ++p.width_log2;
  LaunchShape shape;
  shape.threads = Agent::kMaxThreads;
  shape.shared_bytes = Agent::shared_bytes(shape.threads, p.width);
  const int64_t most = int64_t{resident_blocks<Agent>(device, shape.threads, shape.shared_bytes)} * device.limits().multiprocessors;
  if (most < 1 || static_cast<int64_t>(shape.shared_bytes) > device.limits().shared_bytes_per_block) {
    return {Code::unsupported, "cr-regpack: the matrix does not fit a multiprocessor"};
  }
  const int per_tile = Agent::kSides * (shape.threads / p.width);
  p.tiles_per_group = (p.lines + per_tile - 1) / per_tile;
  const int64_t tiles = int64_t{p.groups} * p.tiles_per_group;
  shape.blocks = tiles < most ? tiles : most;
  p.span = 0;
  if (p.groups > 1) {
    p.span = static_cast<int32_t>((tiles + most - 1) / most);
    shape.blocks = (tiles + p.span - 1) / p.span;
  }
  *used = {operation::Algorithm::cr_regpack, kDepth, p.width, 1};
  return launch<Agent>(device, shape, p);
}

template <class T, int kDepth>
Status launch_matrix_depth(GpuDevice& device, const MatrixRowsParameters<T>& p, Used* used) {
  if constexpr (kDepth == 16) {
    if (p.batch.n > operation::kMatrixRows) return launch_matrix_agent<T, kDepth, Team::warps>(device, p, used);
  }
  return p.batch.n == 32 * kDepth ? launch_matrix_agent<T, kDepth, Team::warp>(device, p, used)
                                  : launch_matrix_agent<T, kDepth, Team::lanes>(device, p, used);
}

/// Batches that satisfy lie_in_vectors and has_matrix_rows, of any size.
template <class T>
Status launch_matrix_rows(GpuDevice& device, const Batch<T>& batch, Used* used) {
  if (batch.problems() >= 1 << 30) return {Code::unsupported, "cr-regpack: too many right-hand sides to count in a word"};
  MatrixRowsParameters<T> p{};
  p.batch = batch;
  p.one_matrix = is_one_matrix(batch);
  group_lines(&p);
  return operation::matrix_depth(batch.n) == 16 ? launch_matrix_depth<T, 16>(device, p, used) : launch_matrix_depth<T, 8>(device, p, used);
}

template <class T>
Status solve_matrix_rows(GpuDevice& device, const Batch<T>& batch, Used* used) {
  if (!takes_matrix_rows(batch, device.limits().multiprocessors)) {
    return {Code::unsupported, "cr-regpack: not enough right-hand sides share a matrix"};
  }
  return launch_matrix_rows(device, batch, used);
}

template <class T>
Status solve_matrix_columns(GpuDevice& device, const Batch<T>& batch, Used* used) {
  using Agent = MatrixColumnsAgent<T>;
  static_assert(Agent::kDepth == operation::kMatrixColumnsDepth, "named by the policy");
  if (!is_interleaved(batch) || !is_one_matrix(batch) || batch.n > Agent::kMostRanks * Agent::kDepth ||
      !operation::packs_columns(batch.n, batch.planned_problems(), sizeof(T))) {
    return {Code::unsupported, "cr-regpack: these systems do not share a matrix, or do not fit a block"};
  }
  MatrixColumnsParameters<T> p{};
  p.batch = batch;
  // Lines of 128 bytes if a block has enough threads, as long as every multiprocessor has work.
  p.units = Agent::kMostUnits;
  const auto ranks_for = [&](int units) {
    const int step = units < 32 ? 32 / units : 1;
    return static_cast<int>((batch.n + Agent::kDepth - 1) / Agent::kDepth + step - 1) / step * step;
  };
  const auto tiles_for = [&](int units) { return (batch.systems + units * Agent::kWidth - 1) / (units * Agent::kWidth); };
  while (p.units > Agent::kFewestUnits &&
         (p.units * ranks_for(p.units) > Agent::kMaxThreads || tiles_for(p.units) < device.limits().multiprocessors)) {
    p.units /= 2;
  }
  p.ranks = ranks_for(p.units);
  p.tiles = tiles_for(p.units);
  constexpr uintptr_t kBytes = 8;
  const auto whole = [&](const Strided<T>& array) {
    return reinterpret_cast<uintptr_t>(array.data) % kBytes == 0 && array.row_stride % Agent::kWidth == 0;
  };
  p.paired = whole(batch.rhs) && whole(batch.solution);
  LaunchShape shape;
  shape.threads = p.units * p.ranks;
  shape.shared_bytes = Agent::shared_bytes(p.units, p.ranks);
  if (static_cast<int64_t>(shape.shared_bytes) > device.limits().shared_bytes_per_block) {
    return {Code::unsupported, "cr-regpack: the matrix does not fit a multiprocessor"};
  }
  const int64_t most = int64_t{resident_blocks<Agent>(device, shape.threads, shape.shared_bytes)} * device.limits().multiprocessors;
  if (most < 1) return {Code::unsupported, "cr-regpack: the block does not fit a multiprocessor"};
  shape.blocks = p.tiles < most ? p.tiles : most;
  *used = {operation::Algorithm::cr_regpack, Agent::kDepth, p.ranks, 1};
  return launch<Agent>(device, shape, p);
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
