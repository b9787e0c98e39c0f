// The code of a module on its device, owned together by its JavaScript object and the launches that use it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cuda/core/module.h"
#include "native/core/array_memory.h"
#include "native/core/session.h"

namespace warploom {

/// Loaded by the job that loadModule() queues; unloaded behind the device's queued work when the last owner lets go.
class ModuleCode {
 public:
  explicit ModuleCode(std::shared_ptr<Session> owner) : session(std::move(owner)) {}
  ~ModuleCode();
  ModuleCode(const ModuleCode&) = delete;
  ModuleCode& operator=(const ModuleCode&) = delete;

  const std::shared_ptr<Session> session;
  LoadedModule loaded;         ///< written by the device's thread, read by JavaScript's once `ready`
  ModuleHost* host = nullptr;  ///< the device; for resident_blocks() while the session is open
  bool ready = false;          ///< JavaScript's thread only
};

/// One launch as JavaScript packed it.
struct PackedLaunch {
  ModuleLaunch launch;
  size_t parameters = 0;  ///< where they begin in the call's bytes
  /// Device arrays, and where their addresses go in the bytes.
  struct Slot {
    size_t place = 0;
    std::shared_ptr<ArrayMemory> array;
  };
  std::vector<Slot> arrays;
};

}  // namespace warploom
