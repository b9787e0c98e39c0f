// Host memory into which call arguments are copied, and the limit on how much of it calls in flight may hold.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "cuda/core/backend.h"
#include "native/core/error.h"

namespace warploom {

/// A block of host memory, 64-byte aligned; page-locked if the device benefits and such a block was free.
struct StagingBlock {
  char* memory = nullptr;
  int64_t bytes = 0;
  bool pinned = false;
};

/// Reuses the blocks of earlier calls, whose pages are already mapped. take() never calls the device, so the JavaScript
/// thread never waits for it. Where page-locked blocks pay, the device's thread makes them after a call that had to do
/// without, ready for the next one.
class Staging {
 public:
  /// `limit`: bytes that calls in flight may hold; 0: half of the machine's memory.
  explicit Staging(int64_t limit);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Counts `bytes` for a call, or refuses them. `in_use`: bytes of arrays under the same limit; `held`: bytes the call
  /// already has.
  Failure reserve(int64_t bytes, int64_t in_use, int64_t held = 0);
  /// Whether `bytes` more fit within the limit.
  bool fits(int64_t bytes) const;
  int64_t reserved_bytes() const;
  void release(int64_t bytes);

  /// A block of at least `bytes`; its memory is null if the system has none. On the device's thread, pass `device` to
  /// allow a new page-locked block.
  StagingBlock take(int64_t bytes, Device* device = nullptr);
  void give_back(StagingBlock block);
  /// On the JavaScript thread, before take(): if enough page-locked blocks of this size are on their way to the device to
  /// keep the link busy, waits for one of them. Copying to other memory would not be faster. False if none came in time.
  bool await_pinned(int64_t bytes);
  /// On the device's thread: up to `count` more page-locked blocks of `bytes`, a few at a time.
  void provide_pinned(Device& device, int64_t bytes, int64_t count);
  // Large arrays of runs lie in page-locked blocks of their own, from the call to the end of the run, results until they
  // are collected. Where there was no block twice, the device's thread makes one for later runs.

  /// Sizes from which on an array is lent a block.
  static constexpr int64_t kLeastLent = int64_t{4} << 20;
  /// A page-locked block of at least `bytes` for an array; null memory if none is free.
  StagingBlock lend(int64_t bytes);
  /// Takes a lent block back. `keep`: for later arrays; otherwise the caller frees its memory.
  void take_back(const StagingBlock& block, bool keep);
  /// Blocks of one size, as many as arrays could have used at once.
  struct Wish {
    int64_t bytes;
    int64_t count;
  };
  /// What was asked for in vain more than once, told only once. The caller passes it to fulfil().
  std::vector<Wish> wishes();
  /// On the device's thread: makes up to two of the blocks that are still missing, in place of unused ones of other sizes
  /// if need be.
  void fulfil(const Wish& wish, Device& device);

  /// On the device's thread: frees all unused blocks.
  void trim(Device* device);
  /// Memory of unused blocks.
  int64_t free_bytes() const;
  /// The most bytes ever counted at once, including what was in use besides them.
  int64_t peak_bytes() const;

 private:
  using Blocks = std::map<int64_t, std::vector<StagingBlock>>;  // by size
  StagingBlock find(Blocks& blocks, int64_t bytes);
  StagingBlock make_pinned(Device& device, int64_t bytes);
  bool make_room(const Wish& wish, Device& device);

  const int64_t machine_;  // bytes of memory that the process may use
  const int64_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable given_back_;
  Blocks plain_, pinned_;
  int64_t plain_bytes_ = 0, pinned_bytes_ = 0;  // of unused blocks
  int64_t locked_bytes_ = 0;                    // of all page-locked blocks
  int64_t lent_bytes_ = 0;                      // of those that arrays have
  std::map<int64_t, int64_t> lent_;             // their number by size
  struct Missed {
    int times = 0;
    int64_t count = 0;  // that would have been in use
  };
  std::map<int64_t, Missed> missed_;  // by size
  int64_t reserved_ = 0, peak_ = 0;
};

}  // namespace warploom
