#include "cuda/core/memory.h"

#include <algorithm>

namespace warploom {

Status MemoryLedger::claim(int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes < 0) return {Code::internal, "allocation of a negative size"};
  if (limit_ > 0 && bytes > limit_ - in_use_) return Status::out_of_memory(bytes, in_use_, limit_);
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  return {};
}

void MemoryLedger::unclaim(int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  in_use_ -= bytes;
}

void MemoryLedger::enter(void* block, int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  live_[block] = bytes;
}

int64_t MemoryLedger::leave(void* block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = live_.find(block);
  if (found == live_.end()) return -1;
  const int64_t bytes = found->second;
  live_.erase(found);
  in_use_ -= bytes;
  return bytes;
}

MemoryUse MemoryLedger::use() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  MemoryUse use;
  use.in_use_bytes = in_use_;
  use.peak_bytes = peak_;
  use.limit_bytes = limit_;
  return use;
}

int64_t SmallBlocks::class_bytes(int64_t bytes) {
  if (bytes > kLargest) return bytes;
  int64_t size = kSmallest;
  while (size < bytes) size *= 2;
  return size;
}

int SmallBlocks::class_of(int64_t class_bytes) {
  int index = 0;
  for (int64_t size = kSmallest; size < class_bytes; size *= 2) ++index;
  return index;
}

void* SmallBlocks::take(int64_t class_bytes) {
  if (class_bytes > kLargest) return nullptr;
  std::vector<void*>& list = free_[class_of(class_bytes)];
  if (list.empty()) return nullptr;
  void* block = list.back();
  list.pop_back();
  bytes_ -= class_bytes;
  return block;
}

bool SmallBlocks::give_back(void* block, int64_t class_bytes) {
  if (class_bytes > kLargest) return false;
  std::vector<void*>& list = free_[class_of(class_bytes)];
  if (list.size() == kPerClass) return false;
  list.push_back(block);
  bytes_ += class_bytes;
  return true;
}

void SmallBlocks::drain(std::vector<void*>* blocks) {
  for (std::vector<void*>& list : free_) {
    blocks->insert(blocks->end(), list.begin(), list.end());
    list.clear();
  }
  bytes_ = 0;
}

}  // namespace warploom
