// solve_cr_regpack for one element type; the .cu files instantiate it.
#pragma once
#include <string>

#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/inputs.cuh"
#include "cuda/tridiagonal/solve_policy.h"
#include "cuda/tridiagonal/regpack/cr_regpack_agent.cuh"
#include "cuda/tridiagonal/regpack/matrix_batch.cuh"
#include "cuda/tridiagonal/regpack/regpack_direct_agent.cuh"
#include "cuda/tridiagonal/regpack/regpack_interleaved_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Whether every staged band is the same for all systems.
template <class T>
bool shares_bands(const Inputs<T>& inputs) {
  bool shared = true;
  for (int k = 0; k < 3; ++k) {
    shared = shared && (inputs.transfer[k] == Transfer::constant || inputs.array[k].system_stride == 0);
  }
  return shared;
}

/// Launches Agent on `tiles` pieces of work for workers of `worker_threads` threads.
template <class Agent>
Status launch_regpack(GpuDevice& device, typename Agent::Parameters p, int64_t tiles, int worker_threads,
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

/// Depths whose rows are eliminated in two halves (RegpackLane::kHalves), under separate names in the kernel budget:
/// their registers are full, and complex128 at depth 32 keeps part of its rows in local memory.
template <class T, int kDepth>
struct DeepWarpRegpackAgent : WarpRegpackAgent<T, kDepth, false> {};
template <class T, int kDepth>
struct DeepBlockRegpackAgent : BlockRegpackAgent<T, kDepth, false> {};

/// The paper's largest block, 4096 rows at depth 4 (Table 1): as many threads as a block may have, with 64 registers
/// each.
template <class T, int kDepth>
struct WideBlockRegpackAgent : BlockRegpackAgent<T, kDepth, true> {
  static constexpr int kMaxThreads = 1024;
};
template <class T, int kDepth>
inline constexpr bool kHasWide = sizeof(T) == 4 && kDepth == 4;

template <class T, int kDepth>
using GeneralWarpAgent = std::conditional_t<RegpackLane<T, kDepth>::kHalves, DeepWarpRegpackAgent<T, kDepth>,
                                            WarpRegpackAgent<T, kDepth, false>>;
template <class T, int kDepth>
using GeneralBlockAgent = std::conditional_t<RegpackLane<T, kDepth>::kHalves, DeepBlockRegpackAgent<T, kDepth>,
                                             BlockRegpackAgent<T, kDepth, false>>;

/// The full case of RegpackLane is compiled if lanes hold whole 16-byte chunks of real numbers.
template <class T, int kDepth>
inline constexpr bool kHasFull =
    !kIsComplex<T> && kDepth % 2 == 0 && kDepth >= 4 && kDepth * sizeof(T) >= 16 && !RegpackLane<T, kDepth>::kHalves;

/// Whether the batch is uniform, and its systems are exactly as long as the lanes hold.
template <class T>
bool is_full(const Batch<T>& batch, const Inputs<T>& inputs, int64_t capacity) {
  return capacity == batch.n && is_uniform(batch, inputs);
}

/// Whether FullSpanLane supports the batch: each system has at least a warp, or they are contiguous (`merged`).
/// Compiled at the depth that most systems get.
template <class T>
bool is_full_span(const Batch<T>& batch, const Inputs<T>& inputs, bool whole_warps) {
  bool result = is_uniform_anywhere(batch, inputs) && (whole_warps || inputs.merged);
  for (const auto& array : inputs.array) {
    result = result && (reinterpret_cast<uintptr_t>(array.data) ^ reinterpret_cast<uintptr_t>(inputs.array[3].data)) % 16 == 0;
  }
  return result;
}
template <class T, int kDepth>
inline constexpr bool kHasFullSpan = !kIsComplex<T> && kDepth == 17;

/// Launches one warp per tile: Full for what it supports (void: nothing), General for anything else.
template <class Full, class General, int kDepth, class T>
Status launch_by_warps(GpuDevice& device, RegpackParameters<T>& p) {
  while (p.width << p.systems_log2 < 32) ++p.systems_log2;
  const int64_t capacity = int64_t{p.width} * kDepth;
  p.inputs = inputs_of(p.batch, kDepth % 2 == 1 || capacity == p.batch.n);
  p.merged = p.inputs.merged;
  p.shared_bands = shares_bands(p.inputs);
  const int64_t tiles = (p.batch.problems() + (1 << p.systems_log2) - 1) >> p.systems_log2;
  // A few warps per block, or one if that spreads a small batch over more multiprocessors.
  constexpr int kMost = General::kMaxThreads / 32;
  const int warps = tiles >= 4 * int64_t{device.limits().multiprocessors} ? kMost : 1;
  if constexpr (!std::is_void_v<Full>) {
    const bool full = kDepth % 2 == 0 ? is_full(p.batch, p.inputs, capacity) : is_full_span(p.batch, p.inputs, p.width == 32);
    if (full) return launch_regpack<Full>(device, p, tiles, 32, 32 * warps);
  }
  return launch_regpack<General>(device, p, tiles, 32, 32 * warps);
}

template <class T, int kDepth>
Status solve_by_warps(GpuDevice& device, RegpackParameters<T>& p) {
  using Full = std::conditional_t<kHasFull<T, kDepth> || kHasFullSpan<T, kDepth>, WarpRegpackAgent<T, kDepth, true>, void>;
  return launch_by_warps<Full, GeneralWarpAgent<T, kDepth>, kDepth>(device, p);
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
  if constexpr (kHasFullSpan<T, kDepth>) {
    if (is_full_span(p.batch, p.inputs, true)) {
      return launch_regpack<BlockRegpackAgent<T, kDepth, true>>(device, p, p.batch.problems(), threads, threads);
    }
  }
  return launch_regpack<GeneralBlockAgent<T, kDepth>>(device, p, p.batch.problems(), threads, threads);
}

/// Whether DirectRegpackAgent can read the batch: uniform, with systems that end with a 16-byte vector.
template <class T>
bool reads_direct(const Batch<T>& batch) {
  return !kIsComplex<T> && batch.n % (16 / static_cast<int64_t>(sizeof(T))) == 0 &&
         is_uniform(batch, inputs_of(batch, false));
}

/// Most warps per system of DirectRegpackAgent; 0: not compiled.
template <class T, int kDepth>
inline constexpr int kDirectWarps =
    kIsComplex<T> || kDepth % 2 == 1 ? 0 : operation::direct_warps(sizeof(T), kDepth, false);

template <class Agent>
Status launch_direct(GpuDevice& device, const typename Agent::Parameters& p, int threads) {
  LaunchShape shape;
  shape.threads = threads;
  shape.shared_bytes = Agent::shared_bytes(threads);
  shape.blocks = (int64_t{p.full.systems} + (1 << p.systems_log2) - 1) >> p.systems_log2;
  return launch<Agent>(device, shape, p);
}

/// Uniform batches of systems that need at most kDirectWarps warps each; `width` lanes per system if one warp is
/// enough. So far `p` only describes the problem.
template <class T, int kDepth, bool kChecks = false>
Status solve_direct(GpuDevice& device, typename DirectRegpackAgent<T, kDepth, 1, kChecks>::Parameters p, int64_t lanes, int width) {
  p.width = width;
  if constexpr (kDirectWarps<T, kDepth> > 2) {
    if (lanes > 64) return launch_direct<DirectRegpackAgent<T, kDepth, 4, kChecks>>(device, p, 128);
  }
  if (lanes > 32) return launch_direct<DirectRegpackAgent<T, kDepth, 2, kChecks>>(device, p, 64);
  const bool few = int64_t{p.full.systems} * width < int64_t{device.limits().multiprocessors} * 512;
  const int threads = few ? 64 : 128;
  while (p.width << p.systems_log2 < threads) ++p.systems_log2;
  return launch_direct<DirectRegpackAgent<T, kDepth, 1, kChecks>>(device, p, threads);
}

/// Interleaved batches of systems, with `width` lanes each.
template <class T, int kDepth>
Status solve_interleaved(GpuDevice& device, const Batch<T>& batch, int width) {
  using Agent = InterleavedRegpackAgent<T, kDepth>;
  // At least two neighbouring sectors, and eight warps if registers allow.
  InterleavedParameters<T> p{batch, width, 64 / static_cast<int>(sizeof(T))};
  while (p.systems * width < 256) p.systems *= 2;
  while (p.systems * width > Agent::kMaxThreads) p.systems /= 2;
  LaunchShape shape;
  shape.threads = p.systems * width;
  shape.shared_bytes = Agent::shared_bytes(width, p.systems);
  shape.blocks = (batch.systems + p.systems - 1) / p.systems;
  return launch<Agent>(device, shape, p);
}

template <class T, int kDepth>
Status solve_cr_regpack_depth(GpuDevice& device, const Batch<T>& batch, Used* used) {
  constexpr int kMaxThreads = kRegpackThreads<T, kDepth>;
  const int64_t lanes = (batch.n + kDepth - 1) / kDepth;
  int width = 1;
  while (width < lanes && width < 32) width *= 2;
  if constexpr (!kIsComplex<T>) {
    if (kDepth == operation::matrix_depth(batch.n)) {
      const Status status = solve_matrix_rows(device, batch, used);
      if (status.code() != Code::unsupported) return status;
    }
  }
  if constexpr (kDirectWarps<T, kDepth> > 0) {
    if (operation::reads_vectors(sizeof(T), batch.n, kDepth) && reads_direct(batch)) {
      *used = {operation::Algorithm::cr_regpack, kDepth, static_cast<int>(lanes <= 32 ? width : lanes), 1};
      return solve_direct<T, kDepth>(device, {full_batch(batch), width, 0}, lanes, width);
    }
  }
  if constexpr (!RegpackLane<T, kDepth>::kHalves && kDepth % 2 == 0 && kDepth >= 4) {
    if (lanes <= 32 && is_interleaved(batch)) {
      *used = {operation::Algorithm::cr_regpack, kDepth, width, 1};
      return solve_interleaved<T, kDepth>(device, batch, width);
    }
  }
  RegpackParameters<T> p{};
  p.full = full_batch(batch);
  p.width = width;
  p.batch = batch;
  if (lanes <= 32) {
    *used = {operation::Algorithm::cr_regpack, kDepth, p.width, 1};
    return solve_by_warps<T, kDepth>(device, p);
  }
  const int64_t threads = (lanes + 31) / 32 * 32;
  if (threads > kMaxThreads) {
    if constexpr (kHasWide<T, kDepth>) {
      p.inputs = inputs_of(batch, false);
      if (threads <= WideBlockRegpackAgent<T, kDepth>::kMaxThreads && is_full(batch, p.inputs, threads * kDepth)) {
        *used = {operation::Algorithm::cr_regpack, kDepth, static_cast<int>(threads), 1};
        return launch_regpack<WideBlockRegpackAgent<T, kDepth>>(device, p, batch.problems(), static_cast<int>(threads),
                                                                static_cast<int>(threads));
      }
    }
    return {Code::unsupported,
            "cr-regpack: " + std::to_string(batch.n) + " unknowns need more than one block's registers at depth " +
                std::to_string(kDepth) + ", which holds " + std::to_string(kMaxThreads * kDepth),
            "depth"};
  }
  *used = {operation::Algorithm::cr_regpack, kDepth, static_cast<int>(threads), 1};
  return solve_by_blocks<T, kDepth>(device, p, static_cast<int>(threads));
}

/// The policy's depth.
template <class T>
int depth_for(GpuDevice& device, const Batch<T>& batch) {
  const GpuLimits& limits = device.limits();
  if (takes_matrix_rows(batch, limits.multiprocessors)) return operation::matrix_depth(batch.n);
  const bool direct = reads_direct(batch);
  const auto access = direct                  ? operation::Access::direct
                      : is_interleaved(batch) ? operation::Access::interleaved
                                              : operation::Access::staged;
  int even = operation::regpack_depth(access, sizeof(T), batch.n, batch.planned_problems(), limits.multiprocessors,
                                      limits.compute_capability);
  if (operation::is_small(batch.n, batch.planned_problems(), limits.multiprocessors)) return even;
  if (direct) even = operation::vector_depth(sizeof(T), batch.n, even);
  bool aligned = false;
  if (kIsComplex<T> || !moves_spans(batch, &aligned)) return even;
  if (direct && operation::reads_vectors(sizeof(T), batch.n, even)) return even;
  return operation::span_depth(sizeof(T), batch.n, even, aligned);
}

/// The depth of the kernels that check answers of systems that are not whole vectors.
inline constexpr int kCheckedSpan = 17;

template <class T>
int checked_depth(GpuDevice& device, const Batch<T>& batch, int depth) {
  if constexpr (!kIsComplex<T>) {
    if (takes_matrix_rows(batch, device.limits().multiprocessors)) return 0;
    if (depth == 0) depth = depth_for(device, batch);
    const bool vectors = (depth == 4 && kDirectWarps<T, 4> > 0) || (depth == 8 && kDirectWarps<T, 8> > 0) ||
                         (depth == 16 && kDirectWarps<T, 16> > 0);
    if (vectors) return operation::reads_vectors(sizeof(T), batch.n, depth) && reads_direct(batch) ? depth : 0;
    if (depth != kCheckedSpan || batch.n > 32 * kCheckedSpan) return 0;
    return is_full_span(batch, inputs_of(batch, true), batch.n > 16 * kCheckedSpan) ? depth : 0;
  }
  return 0;
}

template <class T, int kDepth>
Status solve_checked_vectors(GpuDevice& device, const Batch<T>& batch, const Judging& judging, int64_t lanes, int width) {
  if constexpr (kDirectWarps<T, kDepth> > 0) {
    CheckedDirectParameters<T> p{};
    p.full = full_batch(batch);
    p.judging = judging;
    return solve_direct<T, kDepth, true>(device, p, lanes, width);
  }
  return {Code::internal, "cr-regpack: no kernel judges these answers"};
}

template <class T>
Status solve_checked_spans(GpuDevice& device, const Batch<T>& batch, const Judging& judging, int width) {
  using Agent = CheckedWarpRegpackAgent<T, kCheckedSpan>;
  CheckedRegpackParameters<T> p{};
  p.full = full_batch(batch);
  p.batch = batch;
  p.judging = judging;
  p.width = width;
  while (p.width << p.systems_log2 < 32) ++p.systems_log2;
  p.inputs = inputs_of(batch, true);
  p.merged = p.inputs.merged;
  const int64_t tiles = (batch.problems() + (1 << p.systems_log2) - 1) >> p.systems_log2;
  const int warps = tiles >= 4 * int64_t{device.limits().multiprocessors} ? Agent::kMaxThreads / 32 : 1;
  return launch_regpack<Agent>(device, p, tiles, 32, 32 * warps);
}

template <class T>
Status solve_cr_regpack_checked(GpuDevice& device, const Batch<T>& batch, int depth, const Judging& judging, Used* used) {
  if constexpr (!kIsComplex<T>) {
    const int64_t lanes = (batch.n + depth - 1) / depth;
    int width = 1;
    while (width < lanes && width < 32) width *= 2;
    *used = {operation::Algorithm::cr_regpack, depth, static_cast<int>(lanes <= 32 ? width : lanes), 1};
    switch (depth) {
      case 4: return solve_checked_vectors<T, 4>(device, batch, judging, lanes, width);
      case 8: return solve_checked_vectors<T, 8>(device, batch, judging, lanes, width);
      case 16: return solve_checked_vectors<T, 16>(device, batch, judging, lanes, width);
      default: return solve_checked_spans(device, batch, judging, width);
    }
  }
  return {Code::internal, "cr-regpack: no kernel judges these answers"};
}

// Depths that no policy chooses, for callers who request them: cr_regpack_experiments_*.cu.
WARPLOOM_OPTIONAL Status solve_cr_regpack_experiment(GpuDevice&, const Batch<float>&, int depth, Used*);
WARPLOOM_OPTIONAL Status solve_cr_regpack_experiment(GpuDevice&, const Batch<double>&, int depth, Used*);
WARPLOOM_OPTIONAL Status solve_cr_regpack_experiment(GpuDevice&, const Batch<Complex<float>>&, int depth, Used*);
WARPLOOM_OPTIONAL Status solve_cr_regpack_experiment(GpuDevice&, const Batch<Complex<double>>&, int depth, Used*);

template <class T>
Status solve_cr_regpack(GpuDevice& device, const Batch<T>& batch, int depth, Used* used) {
  if (batch.problems() == 0) return {};
  if constexpr (!kIsComplex<T>) {
    if (depth == 0 || depth == operation::kMatrixColumnsDepth) {
      const Status status = solve_matrix_columns(device, batch, used);
      if (status.code() != Code::unsupported) return status;
    }
  }
  if (depth == 0) depth = depth_for(device, batch);
  if constexpr (!kIsComplex<T>) {
    switch (depth) {
      case 9: return solve_cr_regpack_depth<T, 9>(device, batch, used);
      case 13: return solve_cr_regpack_depth<T, 13>(device, batch, used);
      case 17: return solve_cr_regpack_depth<T, 17>(device, batch, used);
      default: break;
    }
  }
  switch (depth) {
    case 4: return solve_cr_regpack_depth<T, 4>(device, batch, used);
    case 8: return solve_cr_regpack_depth<T, 8>(device, batch, used);
    case 16: return solve_cr_regpack_depth<T, 16>(device, batch, used);
    case 2:
    case 32:
      if (!WARPLOOM_HAS(solve_cr_regpack_experiment, Status (*)(GpuDevice&, const Batch<T>&, int, Used*))) {
        return not_in_this_build(depth == 2 ? "cr-regpack at depth 2" : "cr-regpack at depth 32", "depth");
      }
      return solve_cr_regpack_experiment(device, batch, depth, used);
    case 9: case 13: case 17:
      return {Code::unsupported, "cr-regpack: the depths 9, 13 and 17 take real numbers", "depth"};
    default: return {Code::invalid_argument, "cr-regpack: depth is 2, 4, 8, 9, 13, 16, 17 or 32", "depth"};
  }
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
