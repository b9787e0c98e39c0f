// swept.measure on the cpu backend.
#include "cuda/swept/measure.h"

#include <algorithm>
#include <chrono>

#include "cuda/core/operations.h"
#include "cuda/swept/measure_part.h"
#include "native/cpu/device.h"
#include "native/swept/kernels.h"

namespace warploom::cpu {
namespace {

using namespace ::warploom::swept;

constexpr int64_t kTaskPoints = 65536;

int64_t chunks_of(const MeasureParameters& p) { return (p.n + kChunk - 1) / kChunk; }

/// Combines the parts of a row's chunks, in the order of measure_part.h.
Part combine_chunks(const Part* parts, int64_t chunks) {
  Part lanes[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    lanes[lane] = no_points();
    for (int64_t chunk = lane; chunk < chunks; chunk += kLanes) lanes[lane] = combined(lanes[lane], parts[chunk]);
  }
  for (int level = 0; lane_distance(level) < kLanes; ++level) {
    const int distance = lane_distance(level);
    for (int lane = 0; lane + distance < kLanes; ++lane) lanes[lane] = combined(lanes[lane], lanes[lane + distance]);
  }
  return lanes[0];
}

template <class T>
Status measure(CpuDevice& device, const MeasureParameters& p, Control& control) {
  const T* const state = static_cast<const T*>(p.state.data) + p.state.offset;
  const SweptKernels<T>& kernels = kernels_of<T>(swept_kernels());
  const int64_t chunks = chunks_of(p), total = p.rows * chunks;
  Figures* const figures = p.report->rows.data;
  Workspace workspace(device);
  if (chunks > 1) WARPLOOM_TRY(workspace.reserve(total * static_cast<int64_t>(sizeof(Part))));
  Part* const parts = workspace.template as<Part>();
  const int64_t piece = std::max<int64_t>(1, kTaskPoints / std::min(p.n, kChunk));
  WARPLOOM_TRY(device.threads().run((total + piece - 1) / piece, [&](int64_t task, int) {
    for (int64_t i = task * piece; i < std::min(total, (task + 1) * piece); ++i) {
      const T* const row = state + i / chunks * p.n;
      const int64_t begin = i % chunks * kChunk;
      const Part part = kernels.measure_chunk(row + begin, std::min(kChunk, p.n - begin));
      if (chunks > 1) parts[i] = part;
      else figures[i] = figures_of(part, row[0], row[p.n - 1]);
    }
    return Status();
  }, control));
  if (chunks == 1) return {};
  for (int64_t row = 0; row < p.rows; ++row) {
    const T* const values = state + row * p.n;
    figures[row] = figures_of(combine_chunks(parts + row * chunks, chunks), values[0], values[p.n - 1]);
  }
  return {};
}

}  // namespace

Status swept_measure(Device& device, const MeasureParameters& p, Control& control) {
  if (p.rows == 0 || p.report == nullptr) return {};
  CpuDevice& cpu = static_cast<CpuDevice&>(device);
  const auto begin = std::chrono::steady_clock::now();
  const Status status = p.type == ScalarType::float32 ? measure<float>(cpu, p, control) : measure<double>(cpu, p, control);
  control.device_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return status;
}

int64_t swept_measure_workspace(const Device&, const MeasureParameters& p) {
  const int64_t chunks = chunks_of(p);
  return chunks > 1 ? p.rows * chunks * static_cast<int64_t>(sizeof(Part)) : 0;
}

}  // namespace warploom::cpu
