// How the cuda backend calls the CUDA runtime: through call(), where faults are injected. Once the process is exiting,
// call() no longer calls the runtime. Included only by .cu files of this folder.
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
/// A call that releases something; fault injection never prevents it.
template <class Function>
void call_always(Function&& function) {
  if (exiting.load(std::memory_order_relaxed)) return;
  (void)fault_seam().next();
  (void)function();
}

/// Errors after which the context is unusable for good.
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
