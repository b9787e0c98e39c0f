#include "native/core/host_block.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace warploom {
namespace {
// Large enough that a transfer runs at full rate, small enough that it begins early.
constexpr int64_t kPiece = int64_t{4} << 20;
constexpr int64_t kEverything = INT64_MAX;
}  // namespace

std::shared_ptr<HostBlock> HostBlock::take(const std::shared_ptr<Session>& session, int64_t bytes) {
  const StagingBlock block = session->staging().take(bytes);
  if (block.memory == nullptr) return nullptr;
  return std::shared_ptr<HostBlock>(new HostBlock(session, bytes, block));
}

HostBlock::~HostBlock() { session_->staging().give_back(block_); }

bool HostBlock::worth_overlapping() const { return !session_->host_memory() && bytes_ > 2 * kPiece; }

void HostBlock::fill(const std::vector<HostCopy>& copies) {
  for (const HostCopy& copy : copies) {
    for (int64_t done = 0; done < copy.bytes; done += kPiece) {
      const int64_t bytes = std::min(kPiece, copy.bytes - done);
      std::memcpy(block_.memory + copy.offset + done, copy.from + done, static_cast<size_t>(bytes));
      raise(copy.offset + done + bytes);
    }
  }
  raise(kEverything);
}

void HostBlock::raise(int64_t filled) {
  const std::lock_guard<std::mutex> lock(mutex_);
  filled_ = filled;
  raised_.notify_all();
}

Status HostBlock::upload(Device& device, char* to, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    int64_t ready = 0;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      raised_.wait(lock, [&] { return filled_ >= std::min(bytes, done + kPiece); });
      ready = std::min(bytes, filled_);
    }
    WARPLOOM_TRY(device.upload(to + done, block_.memory + done, ready - done));
    done = ready;
  }
  return {};
}

void HostBlock::learn() {
  if (!block_.pinned && !session_->host_memory()) session_->post_pinned_staging(bytes_);
}

}  // namespace warploom
