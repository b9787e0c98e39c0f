// Device code that is compiled at run time: the interface of devices that can load and launch it.
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
  int registers = 0;            ///< per thread; 0 if not applicable
  int64_t shared_bytes = 0;     ///< static, per block
  int64_t local_bytes = 0;      ///< per thread: spilled registers and local arrays
  int max_threads = 0;          ///< per block
  int64_t parameter_bytes = 0;
};

/// Plain data; valid until ModuleHost::unload, or until the device is destroyed.
struct LoadedModule {
  void* library = nullptr;
  std::vector<ModuleKernel> kernels;
  int64_t most_shared_bytes = 0;  ///< limit on a block's shared memory, static and dynamic
};

struct ModuleLaunch {
  int kernel = 0;
  int64_t blocks = 0;
  int threads = 0;
  int64_t shared_bytes = 0;          ///< dynamic, per block
  bool cooperative = false;          ///< all blocks run at once, so Block::sync_grid works
  const void* parameters = nullptr;  ///< the kernel's parameter_bytes bytes
};

/// Called on the device's thread, except for resident_blocks().
class ModuleHost {
 public:
  static constexpr int64_t kMostParameterBytes = 4096;

  virtual ~ModuleHost() = default;
  /// `image`: a cubin, or a shared object for the shim. Fails with Code::invalid_argument if a kernel is missing.
  virtual Status load(const std::string& image, const std::vector<std::string>& names, LoadedModule* out) = 0;
  /// Only when none of the module's launches is in flight.
  virtual void unload(const LoadedModule& module) = 0;
  /// Launches the kernels one after another, the whole list `times` times, as one operation; polls `control` in between. On a GPU a list
  /// that is repeated becomes a graph.
  virtual Status launch_all(const LoadedModule& module, const std::vector<ModuleLaunch>& launches, int64_t times, Control& control) = 0;
  /// Blocks that a multiprocessor can run at once. May be called on any thread once the kernel is loaded.
  virtual int resident_blocks(const ModuleKernel& kernel, int threads, int64_t shared_bytes) const = 0;
};

}  // namespace warploom
