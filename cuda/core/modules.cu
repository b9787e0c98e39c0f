// Modules: device code that is compiled at run time.
#ifndef WARPLOOM_SIMT
#include <cuda_occupancy.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cuda/core/cuda_device_class.h"

namespace warploom::cuda {

/// Input of NVIDIA's occupancy formulas. They need no device, so the JavaScript thread may use them.
struct Occupancy {
  cudaOccDeviceProp device;
};

Status CudaDevice::prepare_occupancy() {
  if (occupancy_ != nullptr) return {};
  cudaDeviceProp properties;
  CUDA_TRY(cudaGetDeviceProperties, &properties, index_);
  occupancy_ = std::make_shared<const Occupancy>(Occupancy{cudaOccDeviceProp(properties)});
  return {};
}

#if CUDART_VERSION >= 12080

Status CudaDevice::load(const std::string& image, const std::vector<std::string>& names, LoadedModule* out) {
  WARPLOOM_TRY(use());
  WARPLOOM_TRY(prepare_occupancy());
  cudaLibrary_t library = nullptr;
  CUDA_TRY(cudaLibraryLoadData, &library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  libraries_.insert(library);
  out->library = library;
  out->most_shared_bytes = limits_.shared_bytes_per_block;
  std::map<std::string, const void*> kernels;
  Status status = list_kernels(library, &kernels);
  for (const std::string& name : names) {
    if (!status.ok()) break;
    ModuleKernel kernel;
    status = describe(kernels, name, &kernel);
    out->kernels.push_back(kernel);
  }
  if (!status.ok()) unload(*out);
  return status;
}

/// The kernels of a library by name. A search by name would fail where there is none, which tools report as an error.
Status CudaDevice::list_kernels(void* library, std::map<std::string, const void*>* out) {
  unsigned count = 0;
  CUDA_TRY(cudaLibraryGetKernelCount, &count, static_cast<cudaLibrary_t>(library));
  std::vector<cudaKernel_t> kernels(count);
  CUDA_TRY(cudaLibraryEnumerateKernels, kernels.data(), count, static_cast<cudaLibrary_t>(library));
  for (cudaKernel_t kernel : kernels) {
    const char* name = nullptr;
    const void* entry = reinterpret_cast<const void*>(kernel);
    CUDA_TRY(cudaFuncGetName, &name, entry);
    out->emplace(name, entry);
  }
  return {};
}

Status CudaDevice::describe(const std::map<std::string, const void*>& kernels, const std::string& name,
                            ModuleKernel* out) {
  const auto found = kernels.find(name);
  if (found == kernels.end()) {
    return {Code::invalid_argument, "expected kernels of the text (WARPLOOM_KERNEL), received '" + name + "'", "kernels"};
  }
  const void* entry = found->second;
  cudaFuncAttributes attributes;
  CUDA_TRY(cudaFuncGetAttributes, &attributes, entry);
  size_t offset = 0, bytes = 0;
  CUDA_TRY(cudaFuncGetParamInfo, entry, 0, &offset, &bytes);
  out->name = name;
  out->entry = entry;
  out->registers = attributes.numRegs;
  out->shared_bytes = static_cast<int64_t>(attributes.sharedSizeBytes);
  out->local_bytes = static_cast<int64_t>(attributes.localSizeBytes);
  out->max_threads = attributes.maxThreadsPerBlock;
  const auto bounds = kernels.find(name + "_threads");  // of WARPLOOM_MAX_REGISTERS
  if (bounds != kernels.end()) {
    CUDA_TRY(cudaFuncGetAttributes, &attributes, bounds->second);
    out->max_threads = std::min(out->max_threads, attributes.maxThreadsPerBlock);
  }
  out->parameter_bytes = static_cast<int64_t>(bytes);
  return {};
}

void CudaDevice::unload(const LoadedModule& module) {
  if (libraries_.erase(module.library) == 0) return;
  for (const ModuleKernel& kernel : module.kernels) {
    shared_allowed_.erase(kernel.entry);
    for (auto at = resident_.begin(); at != resident_.end();) {
      at = std::get<0>(at->first) == kernel.entry ? resident_.erase(at) : std::next(at);
    }
  }
  if (lost_ || exiting || !use().ok()) return;
  call_always([&] { return cudaLibraryUnload(static_cast<cudaLibrary_t>(module.library)); });
}

void CudaDevice::unload_all() {
  for (void* const library : libraries_) call_always([&] { return cudaLibraryUnload(static_cast<cudaLibrary_t>(library)); });
  libraries_.clear();
}

#else

Status CudaDevice::load(const std::string&, const std::vector<std::string>&, LoadedModule*) {
  return {Code::not_compiled, "this build runs no modules: they need an addon that was built with CUDA 12.8 or later"};
}
Status CudaDevice::list_kernels(void*, std::map<std::string, const void*>*) { return {}; }
Status CudaDevice::describe(const std::map<std::string, const void*>&, const std::string&, ModuleKernel*) { return {}; }
void CudaDevice::unload(const LoadedModule&) {}
void CudaDevice::unload_all() {}

#endif

Status CudaDevice::launch_all(const LoadedModule& module, const std::vector<ModuleLaunch>& launches, int64_t times, Control& control) {
  WARPLOOM_TRY(begin_operation(control));
  const auto cancelled = [&] { return control.cancelled() ? Status(Code::cancelled, "the launches were cancelled") : Status(); };
  const auto list = [&]() -> Status {
    for (const ModuleLaunch& each : launches) {
      WARPLOOM_TRY(cancelled());
      void* arguments[] = {const_cast<void*>(each.parameters)};
      WARPLOOM_TRY(launch_kernel(module.kernels[static_cast<size_t>(each.kernel)].entry, each.blocks, each.threads,
                                 static_cast<size_t>(each.shared_bytes),
                                 each.cooperative ? LaunchKind::cooperative : LaunchKind::plain, arguments));
    }
    return {};
  };
  constexpr int64_t kReplays = 256;  // between two polls
  for (int64_t done = 0; done < times; done += kReplays) {
    WARPLOOM_TRY(cancelled());
    WARPLOOM_TRY(replay(std::min(kReplays, times - done), list));
  }
  return end_operation(control);
}

int CudaDevice::resident_blocks(const ModuleKernel& kernel, int threads, int64_t shared_bytes) const {
  if (threads > kernel.max_threads || shared_bytes + kernel.shared_bytes > limits_.shared_bytes_per_block) return 0;
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = kernel.max_threads;
  attributes.numRegs = kernel.registers;
  attributes.sharedSizeBytes = static_cast<size_t>(kernel.shared_bytes);
  attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = static_cast<size_t>(shared_bytes);  // launch_kernel sets this limit
  attributes.numBlockBarriers = 1;
  const cudaOccDeviceState state;
  cudaOccResult result;
  const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &occupancy_->device, &attributes, &state, threads,
                                                                     static_cast<size_t>(shared_bytes));
  return error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : 0;
}

}  // namespace warploom::cuda
#endif
