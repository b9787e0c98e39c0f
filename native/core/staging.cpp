#include "native/core/staging.h"

#include <algorithm>
#include <cstdlib>

namespace warploom {
namespace {

constexpr int64_t kSmallest = 4096;
constexpr int64_t kKeptBytes = int64_t{512} << 20;  // unused memory a session holds on to
constexpr size_t kKeptBlocks = 16;
constexpr int64_t kReadyBlocks = 2;  // one in use by the device while JavaScript fills the next

/// Sizes grow by quarters of a power of two, so that a block of a similar call fits again.
int64_t rounded(int64_t bytes) {
  int64_t size = kSmallest;
  while (size < bytes) size *= 2;
  if (size > kSmallest) {
    const int64_t quarter = size / 8;
    while (size - quarter >= bytes) size -= quarter;
  }
  return (size + 63) / 64 * 64;
}

}  // namespace

Staging::~Staging() {
  for (const StagingBlock& block : free_) {
    if (!block.pinned) std::free(block.memory);
  }
}

StagingBlock Staging::take(int64_t bytes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    size_t best = free_.size();
    for (size_t i = 0; i < free_.size(); ++i) {
      if (free_[i].bytes < bytes || free_[i].bytes / 4 > std::max(bytes, kSmallest)) continue;
      if (best == free_.size() || free_[i].bytes < free_[best].bytes) best = i;
    }
    if (best != free_.size()) {
      const StagingBlock block = free_[best];
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(best));
      free_bytes_ -= block.bytes;
      return block;
    }
  }
  StagingBlock block;
  block.bytes = rounded(bytes);
  block.memory = static_cast<char*>(std::aligned_alloc(64, static_cast<size_t>(block.bytes)));
  return block;
}

void Staging::give_back(StagingBlock block) {
  if (block.memory == nullptr) return;
  std::vector<StagingBlock> dropped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(block);
    free_bytes_ += block.bytes;
    // Oldest plain blocks go first; pinned ones can only be freed on the device's thread.
    for (size_t i = 0; i < free_.size() && (free_bytes_ > kKeptBytes || free_.size() > kKeptBlocks);) {
      if (free_[i].pinned) {
        ++i;
        continue;
      }
      free_bytes_ -= free_[i].bytes;
      dropped.push_back(free_[i]);
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (const StagingBlock& each : dropped) std::free(each.memory);
}

void Staging::provide_pinned(Device& device, int64_t bytes) {
  StagingBlock block;
  block.bytes = rounded(bytes);
  block.pinned = true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (free_bytes_ + block.bytes > kKeptBytes) return;
    int64_t ready = 0;
    for (const StagingBlock& each : free_) ready += each.pinned && each.bytes == block.bytes ? 1 : 0;
    if (ready >= kReadyBlocks) return;
  }
  void* memory = nullptr;
  if (!device.allocate_pinned(block.bytes, &memory).ok()) return;  // plain memory works as well
  block.memory = static_cast<char*>(memory);
  give_back(block);
}

void Staging::trim(Device* device) {
  std::vector<StagingBlock> blocks;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks.swap(free_);
    free_bytes_ = 0;
  }
  for (const StagingBlock& block : blocks) {
    if (!block.pinned) {
      std::free(block.memory);
    } else if (device != nullptr) {
      device->release_pinned(block.memory);
    }
  }
}

}  // namespace warploom
