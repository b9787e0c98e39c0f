#include "native/core/host_block.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "native/core/traffic.h"

namespace warploom {
namespace {
// Large enough that a transfer runs at full rate, small enough that it begins early.
constexpr int64_t kPiece = int64_t{8} << 20;
constexpr size_t kLeaving = 2;  // pieces on their way, while the next is copied

Status no_memory() { return {Code::out_of_memory, "not enough host memory"}; }
}  // namespace

HostBlock::HostBlock(std::shared_ptr<Session> session, int64_t bytes, bool whole)
    : session_(std::move(session)), bytes_(bytes), step_(whole || bytes <= kPiece + kPiece / 2 ? bytes : kPiece) {
  pieces_.resize(static_cast<size_t>((bytes + step_ - 1) / step_));
}

HostBlock::~HostBlock() {
  for (const StagingBlock& piece : pieces_) session_->staging().give_back(piece);
  session_->staging().release(bytes_);
}

int64_t HostBlock::piece_bytes(size_t piece) const {
  return std::min(step_, bytes_ - static_cast<int64_t>(piece) * step_);
}

/// With a device, on its thread: page-locked where that can be had.
bool HostBlock::take_piece(size_t piece, Device* device) {
  if (pieces_[piece].memory == nullptr) {
    pieces_[piece] = session_->staging().take(piece_bytes(piece), device);
    if (!pieces_[piece].pinned) ++unpinned_;
  }
  return pieces_[piece].memory != nullptr;
}

bool HostBlock::take() {
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (!take_piece(i)) return false;
  }
  return true;
}

bool HostBlock::fill(const std::vector<BlockCopy>& copies) {
  for (const BlockCopy& copy : copies) Traffic::get().taken += copy.bytes;
  size_t next = 0;  // copy that is not done yet
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (!take_piece(i)) {
      raise(i, true);
      return false;
    }
    const int64_t begin = static_cast<int64_t>(i) * step_, end = begin + piece_bytes(i);
    std::vector<HostCopy> here;
    for (; next < copies.size() && copies[next].offset < end; ++next) {
      const BlockCopy& copy = copies[next];
      const int64_t from = std::max(begin, copy.offset), to = std::min(end, copy.offset + copy.bytes);
      if (to > from) here.push_back({pieces_[i].memory + (from - begin), copy.host + (from - copy.offset), to - from});
      if (copy.offset + copy.bytes > end) break;  // goes on in the next piece
    }
    copy_all(here);
    raise(i + 1, false);
  }
  return true;
}

void HostBlock::raise(size_t filled, bool failed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  filled_ = filled;
  failed_ = failed;
  raised_.notify_all();
}

/// Pieces filled by now: at least one more, or no more than that when filling failed.
size_t HostBlock::wait_filled(size_t more_than) {
  std::unique_lock<std::mutex> lock(mutex_);
  raised_.wait(lock, [&] { return filled_ > more_than || failed_; });
  return filled_;
}

Status HostBlock::upload(Device& device, char* to) {
  Submission* const submission = session_->submission();
  std::deque<std::pair<size_t, Submission::Mark>> leaving;  // pieces on their way
  Status status;
  const auto forget_first = [&] {
    const auto [piece, mark] = leaving.front();
    leaving.pop_front();
    const Status gone = submission->finish(mark, nullptr);
    session_->staging().give_back(std::exchange(pieces_[piece], {}));
    return gone;
  };
  for (size_t i = 0; i < pieces_.size() && status.ok(); ++i) {
    if (wait_filled(i) <= i) return no_memory();
    char* const place = to + static_cast<int64_t>(i) * step_;
    if (!pieces_[i].pinned || submission == nullptr) {
      status = device.upload(place, pieces_[i].memory, piece_bytes(i));
      if (pieces_.size() > 1) session_->staging().give_back(std::exchange(pieces_[i], {}));
      continue;
    }
    status = submission->upload_later(place, pieces_[i].memory, piece_bytes(i));
    if (pieces_.size() == 1 || !status.ok()) continue;
    Submission::Mark mark = Submission::kNone;
    status = submission->set(&mark);
    if (status.ok()) leaving.emplace_back(i, mark);
    if (status.ok() && leaving.size() > kLeaving) status = forget_first();
  }
  while (!leaving.empty()) {
    const Status gone = forget_first();
    if (status.ok()) status = gone;
  }
  return status;
}

Status HostBlock::download(Device& device, const char* from) {
  Submission* const submission = session_->submission();
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (!take_piece(i, submission != nullptr ? &device : nullptr)) return no_memory();
    const char* const place = from + static_cast<int64_t>(i) * step_;
    WARPLOOM_TRY(pieces_[i].pinned && submission != nullptr
                     ? submission->download_later(pieces_[i].memory, place, piece_bytes(i))
                     : device.download(pieces_[i].memory, place, piece_bytes(i)));
  }
  return {};
}

void HostBlock::copy_back(const BlockCopy& copy, std::vector<HostCopy>* out) const {
  for (int64_t at = copy.offset; at < copy.offset + copy.bytes;) {
    const size_t piece = static_cast<size_t>(at / step_);
    const int64_t within = at - static_cast<int64_t>(piece) * step_;
    const int64_t bytes = std::min(copy.offset + copy.bytes - at, piece_bytes(piece) - within);
    out->push_back({copy.host + (at - copy.offset), pieces_[piece].memory + within, bytes});
    at += bytes;
  }
}

void HostBlock::learn() {
  if (unpinned_ > 0 && !session_->host_memory()) session_->post_pinned_staging(piece_bytes(0), unpinned_);
}

}  // namespace warploom
