// imaging.registration on the GPU.
#include "cuda/core/measuring_device.h"
#include "cuda/imaging/registration_call.cuh"

namespace warploom::WARPLOOM_TARGET {
namespace imaging {
namespace {

template <class T>
Status run(GpuDevice& device, const RegistrationParameters& p, Control& control) {
  return p.grid.nz > 1 ? RegistrationCall<T, 3>(device, p, control).run() : RegistrationCall<T, 2>(device, p, control).run();
}

}  // namespace
}  // namespace imaging

Status imaging_registration(Device& device, const ::warploom::imaging::RegistrationParameters& p, Control& control) {
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  return p.type == ScalarType::float32 ? imaging::run<float>(gpu, p, control) : imaging::run<double>(gpu, p, control);
}

int64_t imaging_registration_workspace(const Device& device, const ::warploom::imaging::RegistrationParameters& p) {
  ::warploom::imaging::RegistrationParameters unseen = p;
  unseen.report = nullptr;
  MeasuringDevice measuring(static_cast<GpuDevice&>(const_cast<Device&>(device)));
  Control control;
  (void)imaging_registration(measuring, unseen, control);
  return measuring.peak_bytes();
}

}  // namespace warploom::WARPLOOM_TARGET
