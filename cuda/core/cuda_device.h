// Discovery and opening of CUDA devices (runtime.cu), for the table in backend.cu.
#pragma once
#include <memory>

#include "cuda/core/backend.h"

namespace warploom::cuda {

/// The devices that the driver shows; 1 if there are none, so that describe_device(0) can say why.
int32_t device_count();
DeviceDescription describe_device(int32_t index);
Status open_device(int32_t index, const OpenOptions& options, std::unique_ptr<Device>* out);

}  // namespace warploom::cuda
