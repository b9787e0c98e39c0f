// The second stream for an operation.
#ifndef WARPLOOM_SIMT
#include <utility>

#include "cuda/core/cuda_device_class.h"

namespace warploom::cuda {

Status CudaDevice::prepare_second() {
  if (second_ != nullptr) return {};
  if (forked_ == nullptr) CUDA_TRY(cudaEventCreateWithFlags, &forked_, cudaEventDisableTiming);
  if (joined_ == nullptr) CUDA_TRY(cudaEventCreateWithFlags, &joined_, cudaEventDisableTiming);
  CUDA_TRY(cudaStreamCreateWithFlags, &second_, cudaStreamNonBlocking);
  return {};
}

Status CudaDevice::fork() {
  WARPLOOM_TRY(use());
  WARPLOOM_TRY(prepare_second());
  CUDA_TRY(cudaEventRecord, forked_, stream_);
  CUDA_TRY(cudaStreamWaitEvent, second_, forked_, 0);
  return {};
}

Status CudaDevice::aside(const std::function<Status()>& body) {
  std::swap(stream_, second_);
  const Status status = body();
  std::swap(stream_, second_);
  return status;
}

Status CudaDevice::wait_aside() {
  if (second_ == nullptr) return {};
  WARPLOOM_TRY(use());
  CUDA_TRY(cudaEventRecord, joined_, second_);
  return wait(joined_);
}

Status CudaDevice::join() {
  WARPLOOM_TRY(use());
  CUDA_TRY(cudaEventRecord, joined_, second_);
  CUDA_TRY(cudaStreamWaitEvent, stream_, joined_, 0);
  return {};
}

}  // namespace warploom::cuda
#endif
