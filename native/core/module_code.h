// A module's code on its device, shared by its JavaScript object and the launches that use it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cuda/core/module.h"
#include "native/core/array_memory.h"
#include "native/core/session.h"

namespace warploom {

/// Loaded by the job that loadModule() queues; unloaded after the device's queued work when the last owner releases it.
class ModuleCode {
 public:
  explicit ModuleCode(std::shared_ptr<Session> owner) : session(std::move(owner)) {}
  ~ModuleCode();
  ModuleCode(const ModuleCode&) = delete;
  ModuleCode& operator=(const ModuleCode&) = delete;

  const std::shared_ptr<Session> session;
  LoadedModule loaded;         ///< written on the device's thread, read on the JavaScript thread once `ready`
  ModuleHost* host = nullptr;  ///< the device; valid while the session is open
  bool ready = false;          ///< JavaScript thread only
};

/// One launch as JavaScript packed it.
struct PackedLaunch {
  ModuleLaunch launch;
  size_t parameters = 0;  ///< offset of its parameters in the call's bytes
  /// A device array, and the offset in the call's bytes where its address belongs.
  struct Slot {
    size_t place = 0;
    std::shared_ptr<ArrayMemory> array;
  };
  std::vector<Slot> arrays;
};

}  // namespace warploom
