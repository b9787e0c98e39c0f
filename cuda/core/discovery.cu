// Which CUDA devices exist or, in one line, why there are none. Creates no context.
#ifndef WARPLOOM_SIMT
#include <algorithm>
#include <cstdlib>

#include "cuda/core/cuda_call.h"
#include "cuda/core/cuda_device.h"

namespace warploom::cuda {

namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int driver_version() {
  int version = 0;
  return call([&] { return cudaDriverGetVersion(&version); }) == cudaSuccess ? version : 0;
}

/// One line that says why there is no device.
std::string no_device_reason(cudaError_t error) {
  const int driver = driver_version();
  const int runtime = CUDART_VERSION;
  if (driver == 0) return "no NVIDIA driver (libcuda.so.1 not found)";
  switch (error) {
    case cudaErrorInsufficientDriver:
      return "the driver supports CUDA " + version_text(driver) + ", this build needs " + version_text(runtime) +
             ": update the driver";
    case cudaErrorNoDevice:
      return std::getenv("CUDA_VISIBLE_DEVICES") != nullptr ? "no CUDA device (CUDA_VISIBLE_DEVICES may hide it)"
                                                            : "no CUDA device";
    default: return error_text(error, "no usable CUDA device");
  }
}

/// The oldest architecture that this build has code for, as 10 * capability.
int oldest_architecture() {
#ifdef __CUDA_ARCH_LIST__
  const int list[] = {__CUDA_ARCH_LIST__};
  int oldest = list[0];
  for (const int architecture : list) oldest = std::min(oldest, architecture);
  return oldest / 10;
#else
  return 0;
#endif
}

}  // namespace

int32_t device_count() {
  int count = 0;
  const cudaError_t error = call([&] { return cudaGetDeviceCount(&count); });
  if (error != cudaSuccess) (void)cudaGetLastError();
  return error == cudaSuccess && count > 0 ? count : 1;
}

DeviceDescription describe_device(int32_t index) {
  DeviceDescription description;
  int count = 0;
  cudaError_t error = call([&] { return cudaGetDeviceCount(&count); });
  if (error == cudaSuccess && count == 0) error = cudaErrorNoDevice;
  if (error != cudaSuccess) {
    description.reason = no_device_reason(error);
    (void)cudaGetLastError();
    return description;
  }
  if (index < 0 || index >= count) {
    description.reason = "no device " + std::to_string(index) + ": there are " + std::to_string(count);
    return description;
  }
  cudaDeviceProp properties;
  error = call([&] { return cudaGetDeviceProperties(&properties, index); });
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    description.reason = error_text(error, "cudaGetDeviceProperties");
    return description;
  }
  description.name = properties.name;
  description.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  description.compute_capability = properties.major * 10 + properties.minor;
  description.multiprocessors = properties.multiProcessorCount;
  description.l2_bytes = properties.l2CacheSize;
  description.driver = "driver " + version_text(driver_version()) + ", runtime " + version_text(CUDART_VERSION);
  if (description.compute_capability < oldest_architecture()) {
    description.reason = "compute capability " + std::to_string(description.compute_capability) +
                         " is older than this build's " + std::to_string(oldest_architecture());
    return description;
  }
  description.available = true;
  description.reason = "ready";
  return description;
}

}  // namespace warploom::cuda
#endif
