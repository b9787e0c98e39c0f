// imaging.segment on the GPU.
#include "cuda/imaging/segment_call.cuh"

namespace warploom::WARPLOOM_TARGET {

Status imaging_segment(Device& device, const ::warploom::imaging::SegmentParameters& p, Control& control) {
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  if (p.type == ScalarType::float32) return imaging::segmentation::SegmentCall<float>(gpu, p, control).run();
  return imaging::segmentation::SegmentCall<double>(gpu, p, control).run();
}

int64_t imaging_segment_workspace(const Device&, const ::warploom::imaging::SegmentParameters& p) {
  using namespace imaging::segmentation;
  return p.type == ScalarType::float32 ? segment_workspace<float>(p) : segment_workspace<double>(p);
}

}  // namespace warploom::WARPLOOM_TARGET
