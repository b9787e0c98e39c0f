// solve_partition for one element type; the .cu files instantiate it.
#pragma once
#include <algorithm>

#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/inputs.cuh"
#include "cuda/tridiagonal/partition/one_pass_agent.cuh"
#include "cuda/tridiagonal/partition/one_pass_pair_agent.cuh"
#include "cuda/tridiagonal/partition/partition_agent.cuh"
#include "cuda/tridiagonal/partition/partition_policy.h"
#include "cuda/tridiagonal/regpack/regpack_interleaved_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Carves typed arrays out of one allocation: a first run measures, a second one assigns.
class Carver {
 public:
  explicit Carver(const Workspace* memory = nullptr) : memory_(memory) {}
  template <class V>
  V* take(int64_t count) {
    V* at = memory_ != nullptr ? memory_->template as<V>(used_) : nullptr;
    used_ += (count * static_cast<int64_t>(sizeof(V)) + 255) / 256 * 256;
    return at;
  }
  int64_t used() const { return used_; }

 private:
  const Workspace* memory_;
  int64_t used_ = 0;
};

/// One thread per item, grid-stride.
template <class Agent, class P>
Status launch_per_item(GpuDevice& device, const P& p, int64_t items) {
  LaunchShape shape;
  shape.threads = 256;
  const int64_t blocks = (items + 255) / 256, most = int64_t{device.limits().multiprocessors} * 8;
  shape.blocks = blocks < most ? blocks : most;
  return launch<Agent>(device, shape, p);
}

/// One cooperative launch. Code::unsupported if a system does not fit the chip, or if the problems need more phases
/// than the agent supports.
template <class Agent, class T>
Status solve_one_pass(GpuDevice& device, const Batch<T>& batch, Used* used) {
  using Exchange = typename Agent::Exchange;
  operation::OnePassShape shape = operation::one_pass_shape(
      batch.n, batch.planned_problems(), device.limits().multiprocessors, Agent::kMaxThreads / 32, Agent::kLeastWarps,
      Agent::kChunks * kChunkDepth<T> * 32,
      Exchange::kMostBlocks, [&](int warps) {
        const int threads = 32 * warps;
        return resident_blocks<Agent>(device, threads, Agent::shared_bytes(threads));
      });
  const bool fits = Agent::kManyPhases || shape.slots == batch.planned_problems();
  shape.slots = static_cast<int>(std::min<int64_t>(shape.slots, batch.problems()));
  const int64_t blocks = int64_t{shape.slots} * shape.blocks;
  OnePassParameters<T> p{};
  p.slots = shape.slots;
  if (blocks == 0 || !fits || !Exchange::place_mailbox(&p, device.mailbox(), blocks)) {
    return {Code::unsupported, "partition: the system does not fit on the chip in one pass"};
  }
  p.batch = batch;
  p.inputs = inputs_of(batch, false);
  p.blocks_per_system = shape.blocks;
  p.interface_width = 1;
  while (p.interface_width * Exchange::kMostBlocks / 32 < shape.blocks) p.interface_width *= 2;
  p.phases = static_cast<int>((batch.problems() + shape.slots - 1) / shape.slots);
  *used = {operation::Algorithm::partition, kChunkDepth<T>, shape.blocks * shape.warps * 32, 1};
  const int threads = 32 * shape.warps;
  return launch<Agent>(device, {blocks, threads, Agent::shared_bytes(threads), true}, p);
}

/// In one pass, with more than 32 blocks per system. If all problems fit the chip together, they use as many
/// multiprocessors as possible; otherwise as many problems as possible are solved at once, with fewer messages each.
template <class T>
Status solve_many_blocks(GpuDevice& device, const Batch<T>& batch, Used* used) {
  constexpr int kRows = kInterfaceDepth<T>;
  Status status = solve_one_pass<OnePassAgent<T, kRows>>(device, batch, used);
  if (status.code() != Code::unsupported) return status;
  status = solve_one_pass<OnePassPairAgent<T, kRows / 2>>(device, batch, used);
  if (status.code() != Code::unsupported) return status;
  return solve_one_pass<OnePassPairAgent<T, kRows>>(device, batch, used);
}

/// Memory for one row per chunk, and the solve of these rows, between two passes over memory: `reduce` fills p.records,
/// `substitute` reads p.reduced.solution.
template <class T, class Reduce, class Substitute>
Status solve_by_chunks(GpuDevice& device, PartitionParameters<T>& p, int threads, Used* used, const Reduce& reduce,
                       const Substitute& substitute) {
  p.chunks = (p.batch.n + p.rows - 1) / p.rows;
  const int64_t problems = p.batch.problems(), items = problems * p.chunks;
  Batch<T>& reduced = p.reduced;
  reduced.n = p.chunks;
  reduced.systems = problems;
  reduced.whole_systems = p.batch.planned_problems();
  const auto carve = [&](Carver carver) {
    p.verdicts = carver.take<int>(problems);
    const int64_t zeroed = carver.used();
    p.records = carver.take<ChunkRecord<T>>(items);
    for (auto* array : {&reduced.lower, &reduced.diagonal, &reduced.upper, &reduced.rhs, &reduced.solution}) {
      *array = {carver.take<T>(items), nullptr, p.chunks, 1, 0, false};
    }
    reduced.status = carver.take<int32_t>(problems);
    reduced.row = carver.take<int32_t>(problems);
    return std::make_pair(zeroed, carver.used());
  };
  const auto [zeroed, bytes] = carve(Carver());
  Workspace memory;
  WARPLOOM_TRY(Workspace::make(device, bytes, &memory));
  carve(Carver(&memory));
  WARPLOOM_TRY(device.fill_zero(memory.as<char>(), zeroed));
  WARPLOOM_TRY(reduce());
  WARPLOOM_TRY(launch_per_item<AssembleAgent<T>>(device, p, items));
  Used inner;
  const Status status = solve_cr_regpack(device, reduced, 0, &inner);
  if (status.code() == Code::unsupported) {
    WARPLOOM_TRY(solve_partition(device, reduced, &inner));
  } else if (!status.ok()) {
    return status;
  }
  WARPLOOM_TRY(substitute());
  *used = {operation::Algorithm::partition, kChunkDepth<T>, threads, 4 + inner.launches};
  return launch_per_item<VerdictAgent<T>>(device, p, problems);
}

template <class T>
Status solve_two_pass(GpuDevice& device, const Batch<T>& batch, Used* used) {
  PartitionParameters<T> p{};
  p.batch = batch;
  p.inputs = inputs_of(batch, false);
  LaunchShape shape;
  shape.threads = kChunkThreads<T> / operation::kTwoPassBlocks;
  p.rows = int64_t{shape.threads} * kChunkDepth<T>;
  using Reduce = ChunkAgent<T, false>;
  shape.shared_bytes = Reduce::shared_bytes(shape.threads);
  const int resident = resident_blocks<Reduce>(device, shape.threads, shape.shared_bytes);
  const int64_t most = int64_t{resident} * device.limits().multiprocessors;
  if (most < 1) return {Code::unsupported, "partition: the block does not fit a multiprocessor"};
  const int64_t items = batch.problems() * ((batch.n + p.rows - 1) / p.rows);
  shape.blocks = items < most ? items : most;
  return solve_by_chunks(device, p, shape.threads, used, [&] { return launch<Reduce>(device, shape, p); },
                         [&] { return launch<ChunkAgent<T, true>>(device, shape, p); });
}

/// Interleaved batches: both passes read lines of neighbouring systems. Memory traffic: the inputs twice and the
/// solution once. Bands that all systems share cost almost nothing (3 arrays, where the minimum is 2).
template <class T>
Status solve_interleaved_chunks(GpuDevice& device, const Batch<T>& batch, Used* used) {
  constexpr int kDepth = kChunkDepth<T>;
  using Reduce = InterleavedRegpackAgent<T, kDepth, Pass::reduce>;
  PartitionParameters<T> p{};
  p.batch = batch;
  InterleavedParameters<T> across{batch, operation::kAcrossWidth, operation::across_systems(sizeof(T))};
  p.rows = across.rows = int64_t{across.width} * kDepth;
  LaunchShape shape;
  shape.threads = across.systems * across.width;
  shape.shared_bytes = Reduce::shared_bytes(across.width, across.systems);
  across.tiles = (batch.systems + across.systems - 1) / across.systems;
  across.chunks = (batch.n + across.rows - 1) / across.rows;
  shape.blocks = across.tiles * across.chunks;
  if (shape.blocks > device.limits().max_blocks) return {Code::unsupported, "partition: more blocks than a grid has"};
  return solve_by_chunks(
      device, p, shape.threads, used,
      [&] {
        across.records = p.records;
        return launch<Reduce>(device, shape, across);
      },
      [&] {
        across.between = p.reduced.solution.data;
        across.verdicts = p.verdicts;
        return launch<InterleavedRegpackAgent<T, kDepth, Pass::substitute>>(device, shape, across);
      });
}

template <class T>
Status solve_partition(GpuDevice& device, const Batch<T>& batch, Used* used) {
  if (batch.problems() == 0) return {};
  if (is_interleaved(batch) && batch.systems >= operation::across_systems(sizeof(T))) {
    const Status status = solve_interleaved_chunks(device, batch, used);
    if (status.code() != Code::unsupported) return status;
  }
  if (batch.planned_problems() <= operation::kMostOnePassProblems) {
    Status status = solve_one_pass<OnePassAgent<T, 1>>(device, batch, used);
    if (status.code() != Code::unsupported) return status;
    status = solve_many_blocks(device, batch, used);
    if (status.code() != Code::unsupported) return status;
  }
  return solve_two_pass(device, batch, used);
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
