// solve_partition for one element type; the .cu files instantiate it.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/inputs.cuh"
#include "cuda/tridiagonal/one_pass_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Carves typed arrays out of one allocation: first measured, then placed.
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

/// One cooperative launch. Code::unsupported when a system does not fit the chip.
template <class T, int kChunks>
Status solve_one_pass(GpuDevice& device, const Batch<T>& batch, Used* used) {
  using Agent = OnePassAgent<T, kChunks>;
  const int64_t rows = int64_t{kChunkRows<T>} * kChunks;
  const int64_t blocks = (batch.n + rows - 1) / rows;
  const int resident = resident_blocks<Agent>(device, Agent::kMaxThreads, Agent::kSharedBytes);
  const int64_t most = int64_t{resident} * device.limits().multiprocessors;
  if (blocks > most || blocks > kMaxInterfaceRows) {
    return {Code::unsupported, "partition: the system does not fit on the chip in one pass"};
  }
  OnePassParameters<T> p{};
  p.batch = batch;
  p.inputs = inputs_of(batch, false);
  p.blocks_per_system = static_cast<int>(blocks);
  const int64_t slots = most / blocks;
  p.slots = static_cast<int>(slots < batch.problems() ? slots : batch.problems());
  const auto carve = [&](Carver carver) {
    p.barrier = carver.take<unsigned int>(1);
    p.verdicts = carver.take<int>(batch.problems());
    p.finished = carver.take<int>(p.slots);
    p.records = carver.take<T>(int64_t{2} * p.slots * 7 * kMaxInterfaceRows);
    return carver.used();
  };
  Workspace memory;
  WARPLOOM_TRY(Workspace::make(device, carve(Carver()), &memory));
  carve(Carver(&memory));
  WARPLOOM_TRY(device.fill_zero(p.barrier, sizeof(unsigned int)));
  *used = {operation::Algorithm::partition, kChunkDepth<T>, static_cast<int>(blocks) * kChunkThreads<T>, 1};
  const LaunchShape shape{p.slots * blocks, Agent::kMaxThreads, Agent::kSharedBytes, true};
  return launch<Agent>(device, shape, p);
}

/// Two passes over memory around the solve of one row per chunk.
template <class T>
Status solve_two_pass(GpuDevice& device, const Batch<T>& batch, Used* used) {
  PartitionParameters<T> p{};
  p.batch = batch;
  p.inputs = inputs_of(batch, false);
  p.chunks = (batch.n + kChunkRows<T> - 1) / kChunkRows<T>;
  const int64_t problems = batch.problems(), items = problems * p.chunks;
  Batch<T>& reduced = p.reduced;
  reduced.n = p.chunks;
  reduced.systems = problems;
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

  using Reduce = ChunkAgent<T, false>;
  LaunchShape shape;
  shape.threads = Reduce::kMaxThreads;
  shape.shared_bytes = Reduce::kSharedBytes;
  const int resident = resident_blocks<Reduce>(device, shape.threads, shape.shared_bytes);
  const int64_t most = int64_t{resident} * device.limits().multiprocessors;
  if (most < 1) return {Code::unsupported, "partition: the block does not fit a multiprocessor"};
  shape.blocks = items < most ? items : most;
  WARPLOOM_TRY(launch<Reduce>(device, shape, p));
  WARPLOOM_TRY(launch_per_item<AssembleAgent<T>>(device, p, items));
  Used inner;
  const Status status = solve_cr_regpack(device, reduced, 0, &inner);
  if (status.code() == Code::unsupported) {
    WARPLOOM_TRY(solve_partition(device, reduced, &inner));
  } else if (!status.ok()) {
    return status;
  }
  WARPLOOM_TRY((launch<ChunkAgent<T, true>>(device, shape, p)));
  *used = {operation::Algorithm::partition, kChunkDepth<T>, kChunkThreads<T>, 4 + inner.launches};
  return launch_per_item<VerdictAgent<T>>(device, p, problems);
}

template <class T>
Status solve_partition(GpuDevice& device, const Batch<T>& batch, Used* used) {
  if (batch.problems() == 0) return {};
  if constexpr (!kIsComplex<T>) {
    const Status one = solve_one_pass<T, 1>(device, batch, used);
    if (one.code() != Code::unsupported) return one;
    // Twice the rows per block; float32 has not the registers for it.
    if constexpr (sizeof(T) == 8) {
      const Status two = solve_one_pass<T, 2>(device, batch, used);
      if (two.code() != Code::unsupported) return two;
    }
  }
  return solve_two_pass(device, batch, used);
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
