// Modules of the shim: shared objects with device code.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda/core/module.h"

namespace warploom::simt {

/// Kernels of a module as the shim calls them.
namespace device {
class Block;
}
using ModuleEntry = void (*)(const device::Block&, const void* parameters);

/// The loaded modules of a device.
class ModuleSet {
 public:
  ModuleSet() = default;
  ~ModuleSet();
  ModuleSet(const ModuleSet&) = delete;
  ModuleSet& operator=(const ModuleSet&) = delete;
  Status load(const std::string& image, const std::vector<std::string>& names, LoadedModule* out);
  void unload(void* library);

 private:
  // Each is a file in memory, kept open while it is loaded: the loader tells files apart by name, and the name has the number.
  std::unordered_map<void*, int> files_;
};

}  // namespace warploom::simt
