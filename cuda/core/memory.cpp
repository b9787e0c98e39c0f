#include "cuda/core/memory.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <thread>

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

void parallel_copy(void* to, const void* from, size_t bytes) {
  constexpr size_t kPerThread = size_t{4} << 20;
  constexpr size_t kMostThreads = 8;
  const size_t cores = std::max<size_t>(1, std::thread::hardware_concurrency() / 2);
  const size_t parts = std::min({kMostThreads, cores, bytes / kPerThread + 1});
  const size_t part = (bytes / parts + 63) & ~size_t{63};
  const auto copy = [=](size_t index) {
    const size_t begin = std::min(bytes, index * part), end = std::min(bytes, begin + part);
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, end - begin);
  };
  std::thread helpers[kMostThreads];
  size_t started = 1;
  try {
    for (; started < parts; ++started) helpers[started] = std::thread(copy, started);
  } catch (const std::system_error&) {  // no more threads to be had: this one does the rest
  }
  copy(0);
  for (size_t i = started; i < parts; ++i) copy(i);
  for (size_t i = 1; i < started; ++i) helpers[i].join();
  const size_t covered = std::min(bytes, parts * part);
  std::memcpy(static_cast<char*>(to) + covered, static_cast<const char*>(from) + covered, bytes - covered);
}

}  // namespace warploom
