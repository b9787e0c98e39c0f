// Bookkeeping of device memory that needs no CUDA: what is in use, and which small blocks can be reused.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "cuda/core/backend.h"

namespace warploom {

/// Blocks handed out, under a byte limit. Safe from any thread.
class MemoryLedger {
 public:
  void set_limit(int64_t bytes) { limit_ = bytes; }
  int64_t limit() const { return limit_; }
  /// Reserves `bytes` before the block exists; out_of_memory if that would exceed the limit.
  Status claim(int64_t bytes);
  /// Undoes claim() if the block could not be allocated.
  void unclaim(int64_t bytes);
  void enter(void* block, int64_t bytes);
  /// Bytes of a block that is returned; -1 if it was never handed out.
  int64_t leave(void* block);
  MemoryUse use() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<void*, int64_t> live_;
  int64_t in_use_ = 0, peak_ = 0, limit_ = 0;
};

/// Free blocks of up to 1 MiB, in classes of powers of two. One stream orders all uses of a device's memory, so a block
/// may be handed out again while earlier work on it is still queued.
class SmallBlocks {
 public:
  static constexpr int64_t kSmallest = 512, kLargest = int64_t{1} << 20;
  /// Bytes of the class that holds `bytes`; `bytes` itself above kLargest.
  static int64_t class_bytes(int64_t bytes);
  /// A free block of that class, or null.
  void* take(int64_t class_bytes);
  /// False if the class is full; then the caller must really free the block.
  bool give_back(void* block, int64_t class_bytes);
  /// Moves the blocks of all classes into `blocks`.
  void drain(std::vector<void*>* blocks);
  int64_t bytes() const { return bytes_; }

 private:
  static constexpr int kClasses = 12;
  static constexpr size_t kPerClass = 64;
  static int class_of(int64_t class_bytes);
  std::vector<void*> free_[kClasses];
  int64_t bytes_ = 0;
};

}  // namespace warploom
