#include "native/core/staging.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "cuda/core/host_memory.h"
#include "native/core/traffic.h"

namespace warploom {
namespace {

constexpr int64_t kSmallest = 4096;
constexpr int64_t kMapped = int64_t{1} << 20;    // from here on, taken straight from the system
constexpr int64_t kPinnedAtOnce = 4;             // making one of some MB takes milliseconds, during which no call runs
constexpr int64_t kOnTheirWay = 8;               // page-locked blocks in flight that keep both ways of the link busy
constexpr auto kPatience = std::chrono::milliseconds(2);
constexpr int64_t kMostLent = int64_t{4} << 30;  // of arrays that have page-locked blocks, and unused blocks
// Blocks of one size for arrays: a run's input and result, results that are being looked at, and those that the garbage
// collector has not found yet. It does not look before there is some memory of that kind.
constexpr int64_t kMostAlike = 8, kUncollected = int64_t{512} << 20;
// Blocks that are made after a run, which holds up the next one: as few as possible, but two serve its input and result.
constexpr int kMadeAtOnce = 2;
constexpr int64_t kPieces = int64_t{12} << 20;   // up to here, unused blocks may be pieces of calls
constexpr size_t kMostMissed = 64;
constexpr int64_t kLoose = int64_t{64} << 10;    // small blocks may serve any size that fits

/// Sizes grow by eighths of a power of two, so that a block fits later calls of similar size.
int64_t rounded(int64_t bytes) {
  int64_t size = kSmallest;
  while (size < bytes) size *= 2;
  const int64_t eighth = size / 16;
  while (size > kSmallest && size - eighth >= bytes) size -= eighth;
  return (size + 63) / 64 * 64;
}

int64_t most_alike(int64_t bytes) { return std::max(kMostAlike, kUncollected / bytes); }

/// Maps ordinary pages. Huge pages can cost ten times what they save at the first touch if memory is fragmented, and
/// they do not speed up copying.
char* map_block(int64_t bytes) {
  void* const memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED ? static_cast<char*>(memory) : nullptr;
}

StagingBlock make_plain(int64_t bytes) {
  StagingBlock block;
  block.bytes = rounded(bytes);
  if (block.bytes >= kMapped) {
    block.bytes = (block.bytes + kSmallest - 1) / kSmallest * kSmallest;
    block.memory = map_block(block.bytes);
  } else {
    block.memory = static_cast<char*>(std::aligned_alloc(64, static_cast<size_t>(block.bytes)));
  }
  if (block.memory != nullptr) Traffic::get().fresh += block.bytes;
  return block;
}

void free_plain(const StagingBlock& block) {
  if (block.bytes >= kMapped) {
    munmap(block.memory, static_cast<size_t>(block.bytes));
  } else {
    std::free(block.memory);
  }
}

}  // namespace

Staging::Staging(int64_t limit) : machine_(host_memory_bytes()), limit_(limit > 0 ? limit : machine_ / 2) {}

Staging::~Staging() {
  for (const auto& [size, blocks] : plain_) {
    for (const StagingBlock& block : blocks) free_plain(block);
  }
}

Failure Staging::reserve(int64_t bytes, int64_t in_use, int64_t held) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes + held > limit_ - in_use) return Failure::from(Status::out_of_memory(bytes + held, in_use, limit_));
  if (bytes > limit_ - in_use - reserved_) return Failure::queue_full_bytes(bytes + held, reserved_ - held + in_use, limit_);
  reserved_ += bytes;
  peak_ = std::max(peak_, reserved_ + in_use);
  return {};
}

bool Staging::fits(int64_t bytes) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes <= limit_ - reserved_;
}

void Staging::release(int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reserved_ -= bytes;
}

/// Under mutex_: the smallest block that holds `bytes` without much waste; null memory if there is none.
StagingBlock Staging::find(Blocks& blocks, int64_t bytes) {
  const auto at = blocks.lower_bound(bytes);
  if (at == blocks.end() || at->first > std::max(kLoose, bytes + bytes / 2)) return {};
  const StagingBlock block = at->second.back();
  at->second.pop_back();
  if (at->second.empty()) blocks.erase(at);
  return block;
}

StagingBlock Staging::take(int64_t bytes, Device* device) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    StagingBlock block = find(pinned_, bytes);
    if (block.memory != nullptr) {
      pinned_bytes_ -= block.bytes;
      return block;
    }
  }
  if (device != nullptr) {
    const StagingBlock block = make_pinned(*device, bytes);
    if (block.memory != nullptr) return block;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const StagingBlock block = find(plain_, bytes);
    if (block.memory != nullptr) {
      plain_bytes_ -= block.bytes;
      return block;
    }
  }
  return make_plain(bytes);
}

bool Staging::await_pinned(int64_t bytes) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto is_there = [&] {
    const auto at = pinned_.lower_bound(bytes);
    return at != pinned_.end() && at->first <= std::max(kLoose, bytes + bytes / 2);
  };
  if (is_there()) return true;
  if (locked_bytes_ - pinned_bytes_ - lent_bytes_ < kOnTheirWay * bytes) return true;
  return given_back_.wait_for(lock, kPatience, is_there);
}

void Staging::give_back(StagingBlock block) {
  if (block.memory == nullptr) return;
  std::vector<StagingBlock> dropped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    (block.pinned ? pinned_ : plain_)[block.bytes].push_back(block);
    (block.pinned ? pinned_bytes_ : plain_bytes_) += block.bytes;
    if (block.pinned) given_back_.notify_one();
    // The largest go first, because their size fits the fewest calls. Page-locked blocks can only be freed on the
    // device's thread.
    while (plain_bytes_ > machine_ / 4) {
      const auto largest = std::prev(plain_.end());
      plain_bytes_ -= largest->first;
      dropped.push_back(largest->second.back());
      largest->second.pop_back();
      if (largest->second.empty()) plain_.erase(largest);
    }
  }
  for (const StagingBlock& each : dropped) free_plain(each);
}

/// Returns null memory if no more can be page-locked; plain memory works as well.
StagingBlock Staging::make_pinned(Device& device, int64_t bytes) {
  StagingBlock block;
  block.bytes = rounded(bytes);
  block.pinned = true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (locked_bytes_ + block.bytes > machine_ / 8) return {};
    locked_bytes_ += block.bytes;
  }
  void* memory = nullptr;
  if (device.allocate_pinned(block.bytes, &memory).ok()) {
    block.memory = static_cast<char*>(memory);
    return block;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  locked_bytes_ -= block.bytes;
  return {};
}

void Staging::provide_pinned(Device& device, int64_t bytes, int64_t count) {
  for (count = std::min(count, kPinnedAtOnce); count > 0; --count) {
    StagingBlock old;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto ready = pinned_.find(rounded(bytes));
      if (ready != pinned_.end() && static_cast<int64_t>(ready->second.size()) >= kPinnedAtOnce) return;
      // Otherwise the block that it replaces would stay unused forever.
      old = find(plain_, bytes);
      plain_bytes_ -= old.bytes;
    }
    if (old.memory != nullptr) free_plain(old);
    const StagingBlock block = make_pinned(device, bytes);
    if (block.memory == nullptr) return;
    give_back(block);
  }
}

StagingBlock Staging::lend(int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const int64_t most = std::min(kMostLent, limit_);
  if (lent_bytes_ + bytes > most) return {};
  const StagingBlock block = find(pinned_, bytes);
  if (block.memory != nullptr) {
    pinned_bytes_ -= block.bytes;
    lent_bytes_ += block.bytes;
    ++lent_[block.bytes];
    return block;
  }
  if (missed_.size() >= kMostMissed) missed_.clear();
  const int64_t size = rounded(bytes);
  Missed& missed = missed_[size];
  ++missed.times;
  const auto lent = lent_.find(size);
  // One more than would have done this time: it is missed next, most likely.
  missed.count = std::min(most_alike(size), std::max(missed.count, (lent != lent_.end() ? lent->second : 0) + 2));
  return {};
}

void Staging::take_back(const StagingBlock& block, bool keep) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    lent_bytes_ -= block.bytes;
    const auto lent = lent_.find(block.bytes);
    if (--lent->second == 0) lent_.erase(lent);
    if (!keep) locked_bytes_ -= block.bytes;
  }
  if (keep) give_back(block);
}

std::vector<Staging::Wish> Staging::wishes() {
  std::vector<Wish> wishes;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [size, missed] : missed_) {
    if (missed.times < 2) continue;
    wishes.push_back({size, missed.count});
    missed = {1, 0};
  }
  return wishes;
}

void Staging::fulfil(const Wish& wish, Device& device) {
  for (int made = 0; made < kMadeAtOnce && make_room(wish, device); ++made) {
    const StagingBlock block = make_pinned(device, wish.bytes);
    if (block.memory == nullptr) return;
    give_back(block);
  }
}

/// Whether one more of the blocks may be made; frees unused ones of other sizes for it.
bool Staging::make_room(const Wish& wish, Device& device) {
  const int64_t bytes = wish.bytes;
  const int64_t most = std::min(kMostLent, limit_);
  for (;;) {
    StagingBlock other;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto lent = lent_.find(bytes);
      const auto free = pinned_.find(bytes);
      const int64_t there = (lent != lent_.end() ? lent->second : 0) +
                            (free != pinned_.end() ? static_cast<int64_t>(free->second.size()) : 0);
      if (there >= wish.count) return false;
      int64_t large = lent_bytes_;
      for (const auto& [size, blocks] : pinned_) large += size > kPieces ? size * static_cast<int64_t>(blocks.size()) : 0;
      if (large + bytes <= most && locked_bytes_ + bytes <= machine_ / 8) return true;
      if (pinned_.empty()) return false;
      const int64_t largest = std::prev(pinned_.end())->first;
      if (largest <= kPieces || largest == bytes) return false;
      other = find(pinned_, largest);
      pinned_bytes_ -= other.bytes;
      locked_bytes_ -= other.bytes;
    }
    device.release_pinned(other.memory);
  }
}

void Staging::trim(Device* device) {
  Blocks plain, pinned;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    plain.swap(plain_);
    if (device != nullptr) pinned.swap(pinned_);
    plain_bytes_ = 0;
    if (device != nullptr) locked_bytes_ -= std::exchange(pinned_bytes_, 0);
  }
  for (const auto& [size, blocks] : plain) {
    for (const StagingBlock& block : blocks) free_plain(block);
  }
  for (const auto& [size, blocks] : pinned) {
    for (const StagingBlock& block : blocks) device->release_pinned(block.memory);
  }
}

int64_t Staging::free_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return plain_bytes_ + pinned_bytes_;
}

int64_t Staging::reserved_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return reserved_;
}

int64_t Staging::peak_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return peak_;
}

}  // namespace warploom
