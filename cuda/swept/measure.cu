// swept.measure on the GPU: one launch, or two if rows have several chunks.
#include "cuda/core/launch.cuh"
#include "cuda/core/operations.h"
#include "cuda/swept/measure.h"
#include "cuda/swept/measure_agent.cuh"

namespace warploom::WARPLOOM_TARGET {
namespace swept {
namespace {

using operation::MeasureParameters;

int64_t chunks_of(const MeasureParameters& p) { return (p.n + operation::kChunk - 1) / operation::kChunk; }

int64_t workspace_bytes(const MeasureParameters& p) {
  const int64_t chunks = chunks_of(p);
  return chunks > 1 ? p.rows * chunks * static_cast<int64_t>(sizeof(Part)) : 0;
}

/// Threads of the blocks that process a chunk: enough lanes for the points of the first one.
int threads_of(const MeasureParameters& p) {
  int threads = 32;
  while (threads < operation::kLanes && int64_t{threads} * operation::kSegment / operation::kSegmentLanes < p.n) threads *= 2;
  return threads;
}

template <class T>
Status measure(GpuDevice& device, const MeasureParameters& p, Control& control) {
  MeasureTask<T> task;
  task.state = static_cast<const T*>(p.state.data) + p.state.offset;
  task.n = p.n;
  task.chunks = chunks_of(p);
  task.figures = p.report->rows.data;
  const int64_t blocks = p.rows * task.chunks;
  if (blocks > device.limits().max_blocks) {
    return {Code::unsupported, "a state of this size needs " + std::to_string(blocks) + " blocks, more than a launch takes"};
  }
  Workspace workspace;
  if (task.chunks > 1) WARPLOOM_TRY(Workspace::make(device, workspace_bytes(p), &workspace));
  task.parts = workspace.template as<Part>();
  WARPLOOM_TRY(device.begin_operation(control));
  using ChunkAgent = MeasureChunkAgent<T>;
  WARPLOOM_TRY(launch<ChunkAgent>(device, {blocks, threads_of(p), ChunkAgent::shared_bytes(), false}, task));
  if (task.chunks > 1) {
    using RowAgent = MeasureRowAgent<T>;
    WARPLOOM_TRY(launch<RowAgent>(device, {p.rows, operation::kLanes, RowAgent::shared_bytes(), false}, task));
  }
  return device.end_operation(control);
}

}  // namespace
}  // namespace swept

Status swept_measure(Device& device, const ::warploom::swept::MeasureParameters& p, Control& control) {
  if (p.rows == 0 || p.report == nullptr) return {};
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  return p.type == ScalarType::float32 ? swept::measure<float>(gpu, p, control) : swept::measure<double>(gpu, p, control);
}

int64_t swept_measure_workspace(const Device&, const ::warploom::swept::MeasureParameters& p) {
  return swept::workspace_bytes(p);
}

}  // namespace warploom::WARPLOOM_TARGET
