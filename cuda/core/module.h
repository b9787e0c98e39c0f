// Device code that was compiled at run time: what a device that can run it can do in addition to Device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/core/status.h"

namespace warploom {

class Control;

/// A kernel of a module (WARPLOOM_KERNEL of module.cuh).
struct ModuleKernel {
  std::string name;
  const void* entry = nullptr;  ///< as the device launches it
  int registers = 0;            ///< per thread; 0 where that has no meaning
  int64_t shared_bytes = 0;     ///< per block, beside what a launch asks for
  int64_t local_bytes = 0;      ///< per thread: arrays and spilled registers
  int max_threads = 0;          ///< per block
  int64_t parameter_bytes = 0;
};

/// Plain data: it ends with ModuleHost::unload, or with the device.
struct LoadedModule {
  void* library = nullptr;
  std::vector<ModuleKernel> kernels;
  int64_t most_shared_bytes = 0;  ///< of a block, all of it
};

struct ModuleLaunch {
  int kernel = 0;
  int64_t blocks = 0;
  int threads = 0;
  int64_t shared_bytes = 0;
  bool cooperative = false;          ///< all blocks at once, so that Block::sync_grid works
  const void* parameters = nullptr;  ///< parameter_bytes of them
};

/// Used from the device's thread, but for resident_blocks().
class ModuleHost {
 public:
  static constexpr int64_t kMostParameterBytes = 4096;

  virtual ~ModuleHost() = default;
  /// `image`: a cubin, or a shared object on the shim. Code::invalid_argument where a kernel is missing.
  virtual Status load(const std::string& image, const std::vector<std::string>& names, LoadedModule* out) = 0;
  /// When none of its launches is under way any more.
  virtual void unload(const LoadedModule& module) = 0;
  /// One after the other, as one operation of the device; polls the control between them.
  virtual Status launch_all(const LoadedModule& module, const std::vector<ModuleLaunch>& launches, Control& control) = 0;
  /// Blocks that fit one multiprocessor at once. From any thread, once the kernel is loaded.
  virtual int resident_blocks(const ModuleKernel& kernel, int threads, int64_t shared_bytes) const = 0;
};

}  // namespace warploom
