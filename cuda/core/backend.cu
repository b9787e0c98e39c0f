// The cuda backend's table of operations.
#ifndef WARPLOOM_SIMT
#include "cuda/core/cuda_device.h"

namespace warploom {

const Backend& cuda_backend() {
  static const Backend backend = {
      "cuda",
      &cuda::device_count,
      &cuda::describe_device,
      &cuda::open_device,
      Operations{
#define WARPLOOM_OPERATION(domain, name, Parameters) &cuda::domain##_##name, &cuda::domain##_##name##_workspace,
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION
      },
  };
  return backend;
}

}  // namespace warploom
#endif
