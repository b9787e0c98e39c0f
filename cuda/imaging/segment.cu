// imaging.segment on the GPU.
#include "cuda/imaging/segment_call.cuh"

namespace warploom::WARPLOOM_TARGET {

Status imaging_segment(Device& device, const ::warploom::imaging::SegmentParameters& p, Control& control) {
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  return p.type == ScalarType::float32 ? imaging::segmentation::SegmentCall<float>(gpu, p, control).run() : imaging::segmentation::SegmentCall<double>(gpu, p, control).run();
}

int64_t imaging_segment_workspace(const Device&, const ::warploom::imaging::SegmentParameters& p) {
  return p.type == ScalarType::float32 ? imaging::segmentation::segment_workspace<float>(p) : imaging::segmentation::segment_workspace<double>(p);
}

}  // namespace warploom::WARPLOOM_TARGET
