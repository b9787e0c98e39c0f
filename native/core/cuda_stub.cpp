// Stands in for the cuda backend where the build had no nvcc.
#include "native/core/stub_backend.h"

namespace warploom {
namespace {
constexpr stub::Absence kAbsence = {
    "cuda", "not compiled: the build found no nvcc (install the CUDA toolkit and run npm run build:native)"};
}  // namespace

const Backend& cuda_backend() {
  static const Backend backend = stub::make_backend<kAbsence>();
  return backend;
}

}  // namespace warploom
