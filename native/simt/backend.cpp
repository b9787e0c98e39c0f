// The simt backend's table of operations.
#include "cuda/core/device.cuh"
#include "simt/runtime.h"

namespace warploom {

const Backend& simt_backend() {
  static const Backend backend = {
      "simt",
      [] { return int32_t{1}; },
      [](int32_t) { return simt::describe_device(); },
      [](int32_t index, const OpenOptions& options, std::unique_ptr<Device>* out) {
        if (index != 0) return Status(Code::invalid_argument, "the simt backend has one device", "index");
        return simt::open_device(options, out);
      },
      Operations{
#define WARPLOOM_OPERATION(domain, name, Parameters) &simt::domain##_##name, &simt::domain##_##name##_workspace,
#include "cuda/core/operations.inc"
#undef WARPLOOM_OPERATION
      },
  };
  return backend;
}

}  // namespace warploom
