// cub::DeviceScan, for comparison with scan.prefix: one long row directly, several rows by key (the row number).
#include "cuda/bench/cub_scan.h"

#ifndef WARPLOOM_SIMT
#include "cuda/core/device.cuh"

#if __has_include(<cub/device/device_scan.cuh>) && __has_include(<thrust/iterator/transform_iterator.h>)
#define WARPLOOM_HAS_CUB 1
#include <cub/device/device_scan.cuh>
#include <cub/version.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#endif

namespace warploom::cuda {

#ifdef WARPLOOM_HAS_CUB
namespace {

struct RowOf {
  int64_t n;
  WARPLOOM_HOST_DEVICE int64_t operator()(int64_t i) const { return i / n; }
};

template <class T>
cudaError_t scan(void* memory, size_t& bytes, const ::warploom::bench::CubScanParameters& p, cudaStream_t stream) {
  const T* const values = static_cast<const T*>(p.values.data);
  T* const result = static_cast<T*>(p.result.data);
  const int64_t count = p.batch * p.n;
  if (p.batch == 1) return cub::DeviceScan::InclusiveSum(memory, bytes, values, result, count, stream);
  const auto rows = thrust::make_transform_iterator(thrust::make_counting_iterator(int64_t{0}), RowOf{p.n});
  return cub::DeviceScan::InclusiveSumByKey(memory, bytes, rows, values, result, count, ::cuda::std::equal_to<>{}, stream);
}

}  // namespace
#endif

bool bench_cub_available(std::string* reason) {
#ifdef WARPLOOM_HAS_CUB
  *reason = "CUB " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION);
  return true;
#else
  *reason = "the CUDA toolkit of the build has no CUB";
  return false;
#endif
}

Status bench_cub_scan(Device& device, const ::warploom::bench::CubScanParameters& p) {
#ifdef WARPLOOM_HAS_CUB
  const auto stream = static_cast<cudaStream_t>(device.native_stream());
  const auto run = [&](void* memory, size_t& bytes) {
    return p.type == ScalarType::float64 ? scan<double>(memory, bytes, p, stream) : scan<float>(memory, bytes, p, stream);
  };
  size_t bytes = 0;
  cudaError_t error = run(nullptr, bytes);
  void* memory = nullptr;
  if (error == cudaSuccess) {
    WARPLOOM_TRY(device.allocate(static_cast<int64_t>(bytes), &memory));
    error = run(memory, bytes);
    device.release(memory);
  }
  if (error != cudaSuccess) return Status(Code::internal, std::string("cub::DeviceScan: ") + cudaGetErrorString(error));
  return {};
#else
  (void)device, (void)p;
  return Status(Code::unavailable, "the CUDA toolkit of the build has no CUB");
#endif
}

}  // namespace warploom::cuda
#endif
