// imaging.segment on the cpu backend: chunks on all cores.
#include "cuda/imaging/segment.h"

#include <algorithm>
#include <chrono>

#include "cuda/core/operations.h"
#include "native/cpu/device.h"

namespace warploom::cpu {
namespace {

constexpr int64_t kChunk = int64_t{1} << 16;

template <class T>
Status run_segment(CpuDevice& device, const ::warploom::imaging::SegmentParameters& p, Control& control) {
  const T* const values = static_cast<const T*>(p.values.data) + p.values.offset;
  T* const result = static_cast<T*>(p.result.data) + p.result.offset;
  const T factor = static_cast<T>(p.factor);
  return device.threads().run((p.n + kChunk - 1) / kChunk, [=](int64_t chunk, int) {
    const int64_t end = std::min(p.n, (chunk + 1) * kChunk);
    for (int64_t i = chunk * kChunk; i < end; ++i) result[i] = factor * values[i];
    return Status();
  }, control);
}

}  // namespace

Status imaging_segment(Device& device, const ::warploom::imaging::SegmentParameters& p, Control& control) {
  if (p.n == 0) return {};
  const auto start = std::chrono::steady_clock::now();
  CpuDevice& cpu = static_cast<CpuDevice&>(device);
  WARPLOOM_TRY(p.type == ScalarType::float32 ? run_segment<float>(cpu, p, control)
                                             : run_segment<double>(cpu, p, control));
  control.device_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {};
}

int64_t imaging_segment_workspace(const Device&, const ::warploom::imaging::SegmentParameters&) { return 0; }

}  // namespace warploom::cpu
