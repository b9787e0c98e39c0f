// How solve_matrix_rows and solve_matrix_columns launch, for one element type; the .cu files instantiate them.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/regpack/matrix_batch.cuh"
#include "cuda/tridiagonal/regpack/matrix_columns_agent.cuh"
#include "cuda/tridiagonal/regpack/matrix_rows_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class Agent, class T>
Status launch_matrix_blocks(GpuDevice& device, MatrixRowsParameters<T> p, int threads) {
  LaunchShape shape;
  shape.threads = threads;
  shape.shared_bytes = Agent::shared_bytes(threads, p.width);
  const int64_t most = int64_t{resident_blocks<Agent>(device, threads, shape.shared_bytes)} * device.limits().multiprocessors;
  if (most < 1 || static_cast<int64_t>(shape.shared_bytes) > device.limits().shared_bytes_per_block) {
    return {Code::unsupported, "cr-regpack: the matrix does not fit a multiprocessor"};
  }
  p.tiles_per_matrix = (p.per_matrix + p.per_tile - 1) / p.per_tile;
  p.tiles = p.tiles_per_matrix * (p.one_matrix ? 1 : p.batch.systems);
  shape.blocks = p.tiles < most ? p.tiles : most;
  if (!p.one_matrix) {
    p.span = (p.tiles + most - 1) / most;
    shape.blocks = (p.tiles + p.span - 1) / p.span;
  }
  return launch<Agent>(device, shape, p);
}

template <class T, int kDepth, bool kWide>
Status launch_matrix_depth(GpuDevice& device, MatrixRowsParameters<T> p, Used* used) {
  using Agent = MatrixRowsAgent<T, kDepth, kWide>;
  const int lanes = static_cast<int>((p.batch.n + kDepth - 1) / kDepth);
  p.width = 1;
  while (p.width < lanes && p.width < 32) p.width *= 2;
  const int threads = kWide ? (lanes + 31) / 32 * 32 : Agent::kMaxThreads;
  p.per_tile = kWide ? 1 : threads / p.width;
  *used = {operation::Algorithm::cr_regpack, kDepth, kWide ? threads : p.width, 1};
  return launch_matrix_blocks<Agent>(device, p, threads);
}

/// Batches whose rows lie_in_vectors, of any size.
template <class T>
Status launch_matrix_rows(GpuDevice& device, const Batch<T>& batch, Used* used) {
  MatrixRowsParameters<T> p{};
  p.batch = batch;
  p.one_matrix = is_one_matrix(batch);
  p.per_matrix = p.one_matrix ? batch.problems() : batch.rhs_count;
  if (operation::matrix_depth(batch.n) == 16) return launch_matrix_depth<T, 16, false>(device, p, used);
  return batch.n > 256 ? launch_matrix_depth<T, 8, true>(device, p, used) : launch_matrix_depth<T, 8, false>(device, p, used);
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
  // Lines of 128 bytes where a block has the threads, as long as every multiprocessor has something to do.
  p.units = Agent::kMostUnits;
  const auto ranks_for = [&](int units) {
    const int step = units < 32 ? 32 / units : 1;
    return static_cast<int>((batch.n + Agent::kDepth - 1) / Agent::kDepth + step - 1) / step * step;
  };
  const auto tiles_for = [&](int units) { return (batch.systems + units * Agent::kWidth - 1) / (units * Agent::kWidth); };
  while (p.units > 4 && (p.units * ranks_for(p.units) > Agent::kMaxThreads || tiles_for(p.units) < device.limits().multiprocessors)) {
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
