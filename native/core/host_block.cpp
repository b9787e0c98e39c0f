#include "native/core/host_block.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "native/core/traffic.h"

namespace warploom {
namespace {
// Large enough for transfers at full rate, small enough that the first one begins early.
constexpr int64_t kPiece = int64_t{8} << 20;
constexpr size_t kLeaving = 2;  // pieces in flight while the next is copied

Status no_memory() { return {Code::out_of_memory, "not enough host memory"}; }

std::vector<int64_t> equal_pieces(int64_t bytes, bool whole) {
  std::vector<int64_t> ends;
  for (int64_t end = kPiece; !whole && bytes > kPiece + kPiece / 2 && end < bytes; end += kPiece) ends.push_back(end);
  ends.push_back(bytes);
  return ends;
}
}  // namespace

HostBlock::HostBlock(std::shared_ptr<Session> session, int64_t bytes, bool whole)
    : HostBlock(std::move(session), equal_pieces(bytes, whole), bytes) {}

HostBlock::HostBlock(std::shared_ptr<Session> session, std::vector<int64_t> ends, int64_t reserved)
    : session_(std::move(session)), ends_(std::move(ends)), bytes_(ends_.back()), reserved_(reserved) {
  pieces_.resize(ends_.size());
}

HostBlock::~HostBlock() {
  for (const StagingBlock& piece : pieces_) session_->staging().give_back(piece);
  session_->staging().release(reserved_);
}

/// With a device, on its thread: takes page-locked memory if there is any.
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

/// False for a device with its own memory, and where more than a cacheful waits ahead of it.
bool HostBlock::soon_read() const {
  constexpr int64_t kCached = int64_t{64} << 20;
  return session_->host_memory() && session_->staging().reserved_bytes() <= kCached + reserved_;
}

bool HostBlock::fill(const std::vector<BlockCopy>& copies) {
  for (const BlockCopy& copy : copies) Traffic::get().taken += copy.bytes;
  const CopyFor purpose = soon_read() ? CopyFor::reading : CopyFor::storing;
  size_t next = 0;  // first copy that is not done yet
  bool is_patient = !session_->host_memory() && session_->is_open();
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (is_patient && piece_bytes(i) >= kPiece / 2) is_patient = session_->staging().await_pinned(piece_bytes(i));
    if (!take_piece(i)) {
      raise(i, true);
      return false;
    }
    const int64_t begin = begin_of(i), end = ends_[i];
    std::vector<HostCopy> here;
    for (; next < copies.size() && copies[next].offset < end; ++next) {
      const BlockCopy& copy = copies[next];
      const int64_t from = std::max(begin, copy.offset), to = std::min(end, copy.offset + copy.bytes);
      if (to > from) here.push_back({pieces_[i].memory + (from - begin), copy.host + (from - copy.offset), to - from});
      if (copy.offset + copy.bytes > end) break;  // continues in the next piece
    }
    copy_all(here, purpose);
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

/// Returns the number of filled pieces: at least `more_than` + 1, or fewer if filling failed.
size_t HostBlock::wait_filled(size_t more_than) {
  std::unique_lock<std::mutex> lock(mutex_);
  raised_.wait(lock, [&] { return filled_ > more_than || failed_; });
  return filled_;
}

bool HostBlock::filled(size_t piece) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return filled_ > piece || failed_;
}

void HostBlock::drop(size_t piece) { session_->staging().give_back(std::exchange(pieces_[piece], {})); }

void HostBlock::drop_all() {
  for (size_t piece = 0; piece < pieces_.size(); ++piece) drop(piece);
}

Status HostBlock::upload_piece(size_t piece, Device& device, char* to, bool* later) {
  Submission* const submission = session_->submission();
  *later = false;
  if (wait_filled(piece) <= piece) return no_memory();
  if (pieces_[piece].pinned && submission != nullptr) {
    WARPLOOM_TRY(submission->upload_later(to, pieces_[piece].memory, piece_bytes(piece)));
    *later = true;
    return {};
  }
  WARPLOOM_TRY(device.upload(to, pieces_[piece].memory, piece_bytes(piece)));
  if (pieces_.size() > 1) drop(piece);
  return {};
}

Status HostBlock::upload(Device& device, char* to) {
  Submission* const submission = session_->submission();
  std::deque<std::pair<size_t, Submission::Mark>> leaving;  // pieces in flight
  Status status;
  const auto forget_first = [&] {
    const auto [piece, mark] = leaving.front();
    leaving.pop_front();
    const Status gone = submission->finish(mark, nullptr);
    drop(piece);
    return gone;
  };
  for (size_t i = 0; i < pieces_.size() && status.ok(); ++i) {
    bool later = false;
    status = upload_piece(i, device, to + begin_of(i), &later);
    // The last ones stay until the block goes.
    if (!later || i + kLeaving >= pieces_.size() || !status.ok()) continue;
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

Status HostBlock::download_piece(size_t piece, Device& device, const char* from) {
  Submission* const submission = session_->submission();
  if (!take_piece(piece, submission != nullptr ? &device : nullptr)) return no_memory();
  return pieces_[piece].pinned && submission != nullptr
             ? submission->download_later(pieces_[piece].memory, from, piece_bytes(piece))
             : device.download(pieces_[piece].memory, from, piece_bytes(piece));
}

Status HostBlock::download(Device& device, const char* from) {
  for (size_t i = 0; i < pieces_.size(); ++i) WARPLOOM_TRY(download_piece(i, device, from + begin_of(i)));
  return {};
}

void HostBlock::copy_back(const BlockCopy& copy, std::vector<HostCopy>* out) const {
  size_t piece = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), copy.offset) - ends_.begin());
  for (int64_t at = copy.offset; at < copy.offset + copy.bytes; ++piece) {
    const int64_t within = at - begin_of(piece);
    const int64_t bytes = std::min(copy.offset + copy.bytes - at, piece_bytes(piece) - within);
    out->push_back({copy.host + (at - copy.offset), pieces_[piece].memory + within, bytes});
    at += bytes;
  }
}

void HostBlock::learn() {
  if (unpinned_ > 0 && !session_->host_memory()) session_->post_pinned_staging(piece_bytes(0), unpinned_);
}

}  // namespace warploom
