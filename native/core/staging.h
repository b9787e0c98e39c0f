// Host memory that the arguments of calls are copied into, and how much of it the calls in flight may hold.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "cuda/core/backend.h"
#include "native/core/error.h"

namespace warploom {

/// A block of host memory, 64-byte aligned, page-locked where the device profits and one was ready.
struct StagingBlock {
  char* memory = nullptr;
  int64_t bytes = 0;
  bool pinned = false;
};

/// Re-uses the blocks of earlier calls, whose pages are there already. take() never calls the device, so the
/// JavaScript thread never waits for it: where page-locked blocks pay, the device's thread makes them after a call
/// that had to do without, ready for the next one.
class Staging {
 public:
  /// `limit`: bytes that calls in flight may hold; 0: half of the machine's memory.
  explicit Staging(int64_t limit);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Counts `bytes` for a call, or refuses them. `in_use`: what arrays take of the same limit; `held`: what the call has already.
  Failure reserve(int64_t bytes, int64_t in_use, int64_t held = 0);
  /// Whether `bytes` more fit beside what is counted.
  bool fits(int64_t bytes) const;
  int64_t reserved_bytes() const;
  void release(int64_t bytes);

  /// A block of at least `bytes`, or one with null memory when the system has none. On the device's thread it may be made
  /// page-locked, by `device`.
  StagingBlock take(int64_t bytes, Device* device = nullptr);
  void give_back(StagingBlock block);
  /// On the device's thread: up to `count` more page-locked blocks of `bytes`, a few at a time.
  void provide_pinned(Device& device, int64_t bytes, int64_t count);
  /// On the device's thread: frees all unused blocks.
  void trim(Device* device);
  /// Memory of unused blocks.
  int64_t free_bytes() const;
  /// Most bytes that were counted at once, with what was in use beside them.
  int64_t peak_bytes() const;

 private:
  using Blocks = std::map<int64_t, std::vector<StagingBlock>>;  // by size
  StagingBlock find(Blocks& blocks, int64_t bytes);
  StagingBlock make_pinned(Device& device, int64_t bytes);

  const int64_t machine_;  // bytes of memory that the process may use
  const int64_t limit_;
  mutable std::mutex mutex_;
  Blocks plain_, pinned_;
  int64_t plain_bytes_ = 0, pinned_bytes_ = 0;  // of unused blocks
  int64_t locked_bytes_ = 0;                    // of all page-locked blocks
  int64_t reserved_ = 0, peak_ = 0;
};

}  // namespace warploom
