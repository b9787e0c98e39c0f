// Host memory that a call's arguments are copied into on the JavaScript thread.
#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "cuda/core/backend.h"

namespace warploom {

/// A block of host memory, 64-byte aligned, page-locked where the device profits and one was ready.
struct StagingBlock {
  char* memory = nullptr;
  int64_t bytes = 0;
  bool pinned = false;
};

/// Re-uses the blocks of earlier calls. take() never calls the device, so the JavaScript thread
/// never waits for it: where page-locked blocks pay, the device's thread makes them after a call
/// that had to do without, ready for the next one.
class Staging {
 public:
  ~Staging();
  /// A block of at least `bytes`, or one with null memory when the system has none.
  StagingBlock take(int64_t bytes);
  void give_back(StagingBlock block);
  /// On the device's thread, after a call that staged `bytes` in plain memory.
  void provide_pinned(Device& device, int64_t bytes);
  /// On the device's thread: frees all unused blocks.
  void trim(Device* device);

 private:
  std::mutex mutex_;
  std::vector<StagingBlock> free_;
  int64_t free_bytes_ = 0;
};

}  // namespace warploom
