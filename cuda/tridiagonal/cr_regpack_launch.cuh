// solve_cr_regpack for one element type; the .cu files instantiate it.
#pragma once
#include <string>

#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/cr_regpack_agent.cuh"
#include "cuda/tridiagonal/inputs.cuh"
#include "cuda/tridiagonal/solve_policy.h"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Every staged band is the same for all systems.
template <class T>
bool shares_bands(const Inputs<T>& inputs) {
  bool shared = true;
  for (int k = 0; k < 3; ++k) {
    shared = shared && (inputs.transfer[k] == Transfer::constant || inputs.array[k].system_stride == 0);
  }
  return shared;
}

/// Launches Agent on `tiles` pieces of work for workers of `worker_threads` threads.
template <class Agent, class T>
Status launch_regpack(GpuDevice& device, RegpackParameters<T> p, int64_t tiles, int worker_threads,
                      int block_threads) {
  const int64_t workers_per_block = block_threads / worker_threads;
  LaunchShape shape;
  shape.threads = block_threads;
  shape.shared_bytes = Agent::shared_bytes(block_threads);
  const int resident = resident_blocks<Agent>(device, block_threads, shape.shared_bytes);
  if (resident < 1) {
    return {Code::unsupported, "cr-regpack: the block does not fit a multiprocessor"};
  }
  const int64_t most = int64_t{resident} * device.limits().multiprocessors;
  const auto blocks_for = [&](int64_t span) {
    return (tiles + span * workers_per_block - 1) / (span * workers_per_block);
  };
  if (p.batch.rhs_count > 1) {
    // Consecutive tiles share a matrix: long runs.
    p.span = (tiles + most * workers_per_block - 1) / (most * workers_per_block);
    shape.blocks = blocks_for(p.span);
  } else if (resident > 1 && !p.shared_bands && blocks_for(operation::kTilesPerWorker) > most) {
    p.span = operation::kTilesPerWorker;
    shape.blocks = blocks_for(p.span);
  } else {
    shape.blocks = blocks_for(1) < most ? blocks_for(1) : most;
  }
  if (shape.blocks > device.limits().max_blocks) {
    p.span = 0;
    shape.blocks = most;
  }
  return launch<Agent>(device, shape, p);
}

/// The full case of RegpackLane is compiled where lanes hold whole 16-byte chunks of real numbers.
template <class T, int kDepth>
inline constexpr bool kHasFull = !kIsComplex<T> && kDepth * sizeof(T) >= 16 && kDepth >= 4;

/// Uniform, and as long as the lanes hold.
template <class T>
bool is_full(const Batch<T>& batch, const Inputs<T>& inputs, int64_t capacity) {
  return capacity == batch.n && is_uniform(batch, inputs);
}

template <class T, int kDepth>
Status solve_by_warps(GpuDevice& device, RegpackParameters<T>& p) {
  while (p.width << p.systems_log2 < 32) ++p.systems_log2;
  const int64_t capacity = int64_t{p.width} * kDepth;
  p.inputs = inputs_of(p.batch, capacity == p.batch.n);
  p.merged = p.inputs.merged;
  p.shared_bands = shares_bands(p.inputs);
  const int64_t tiles = (p.batch.problems() + (1 << p.systems_log2) - 1) >> p.systems_log2;
  // A few warps per block; one where that spreads a small batch over more multiprocessors.
  const int warps = tiles >= 4 * int64_t{device.limits().multiprocessors} ? 4 : 1;
  if constexpr (kHasFull<T, kDepth>) {
    if (is_full(p.batch, p.inputs, capacity)) {
      return launch_regpack<WarpRegpackAgent<T, kDepth, true>>(device, p, tiles, 32, 32 * warps);
    }
  }
  return launch_regpack<WarpRegpackAgent<T, kDepth, false>>(device, p, tiles, 32, 32 * warps);
}

template <class T, int kDepth>
Status solve_by_blocks(GpuDevice& device, RegpackParameters<T>& p, int threads) {
  p.inputs = inputs_of(p.batch, false);
  p.shared_bands = shares_bands(p.inputs);
  if constexpr (kHasFull<T, kDepth>) {
    if (is_full(p.batch, p.inputs, int64_t{threads} * kDepth)) {
      return launch_regpack<BlockRegpackAgent<T, kDepth, true>>(device, p, p.batch.problems(), threads, threads);
    }
  }
  return launch_regpack<BlockRegpackAgent<T, kDepth, false>>(device, p, p.batch.problems(), threads, threads);
}

template <class T, int kDepth>
Status solve_cr_regpack_depth(GpuDevice& device, const Batch<T>& batch, Used* used) {
  constexpr int kMaxThreads = kRegpackThreads<T, kDepth>;
  const int64_t lanes = (batch.n + kDepth - 1) / kDepth;
  RegpackParameters<T> p{};
  p.full = full_batch(batch);
  p.width = 32;
  p.batch = batch;
  if (lanes <= 32) {
    p.width = 1;
    while (p.width < lanes) p.width *= 2;
    *used = {operation::Algorithm::cr_regpack, kDepth, p.width, 1};
    return solve_by_warps<T, kDepth>(device, p);
  }
  const int64_t threads = (lanes + 31) / 32 * 32;
  if (threads > kMaxThreads) {
    return {Code::unsupported,
            "cr-regpack: " + std::to_string(batch.n) + " unknowns need more than one block's registers at depth " +
                std::to_string(kDepth) + ", which holds " + std::to_string(kMaxThreads * kDepth),
            "depth"};
  }
  *used = {operation::Algorithm::cr_regpack, kDepth, static_cast<int>(threads), 1};
  return solve_by_blocks<T, kDepth>(device, p, static_cast<int>(threads));
}

template <class T>
Status solve_cr_regpack(GpuDevice& device, const Batch<T>& batch, int depth, Used* used) {
  if (batch.problems() == 0) return {};
  if (depth == 0) {
    depth = operation::regpack_depth(sizeof(T), batch.n, batch.problems(), device.limits().multiprocessors);
  }
  switch (depth) {
    case 2: return solve_cr_regpack_depth<T, 2>(device, batch, used);
    case 4: return solve_cr_regpack_depth<T, 4>(device, batch, used);
    case 8: return solve_cr_regpack_depth<T, 8>(device, batch, used);
    case 16:
      if constexpr (16 * sizeof(T) <= operation::kMaxRowBytes) {
        return solve_cr_regpack_depth<T, 16>(device, batch, used);
      }
      break;
    case 32:
      if constexpr (32 * sizeof(T) <= operation::kMaxRowBytes) {
        return solve_cr_regpack_depth<T, 32>(device, batch, used);
      }
      break;
    default:
      return {Code::invalid_argument, "cr-regpack: depth is 2, 4, 8, 16 or 32", "depth"};
  }
  return {Code::unsupported,
          "cr-regpack: " + std::to_string(depth) + " rows of this type need more registers than a thread has",
          "depth"};
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
