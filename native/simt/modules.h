// The shim's modules: shared objects with device code.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda/core/module.h"

namespace warploom::simt {

namespace device {
class Block;
}
/// A module's kernel as the shim calls it.
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
  // Each module is a file in memory that stays open while it is loaded: the loader identifies files by name, and the name contains the
  // descriptor's number.
  std::unordered_map<void*, int> files_;
};

}  // namespace warploom::simt
