// How the cuda backend calls the CUDA runtime: through call(), where faults are injected and nothing is called any
// more once the process is exiting. Included by .cu files of this folder only.
#pragma once
#include <cuda_runtime.h>

#include <atomic>
#include <string>

#include "cuda/core/fault.h"

namespace warploom::cuda {

inline std::atomic<bool> exiting{false};

/// One numbered runtime call.
template <class Function>
cudaError_t call(Function&& function) {
  if (exiting.load(std::memory_order_relaxed)) return cudaErrorCudartUnloading;
  const int injected = fault_seam().next();
  if (injected != 0) return static_cast<cudaError_t>(injected);
  return function();
}
/// Gives something back: injection never keeps it from happening.
template <class Function>
void call_always(Function&& function) {
  if (exiting.load(std::memory_order_relaxed)) return;
  (void)fault_seam().next();
  (void)function();
}

/// Errors after which the context is gone for good.
inline bool is_sticky(cudaError_t error) {
  switch (error) {
    case cudaErrorCudartUnloading:
    case cudaErrorDevicesUnavailable:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorUnknown: return true;
    default: return false;
  }
}

inline std::string error_text(cudaError_t error, const char* what) {
  return std::string(what) + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")";
}

}  // namespace warploom::cuda
