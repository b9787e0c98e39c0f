// Staged bytes of one call: one part of its arguments or results, on their way between JavaScript and the device.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/core/host_memory.h"
#include "native/core/session.h"

namespace warploom {

/// A piece of JavaScript's memory and its place in a block.
struct BlockCopy {
  char* host;
  int64_t offset;
  int64_t bytes;
};

/// The bytes count against the session's limits for as long as the block is there; their memory is taken when it is needed.
/// It is one piece where the device computes in it. Otherwise it is a row of pieces, filled on the JavaScript thread
/// while the device's thread uploads the earlier ones, which serve again as soon as they have gone: then a call of
/// gigabytes takes a few of them.
class HostBlock {
 public:
  /// A block of bytes that session->reserve() has counted. `whole`: in one piece whatever the device.
  static std::shared_ptr<HostBlock> make(const std::shared_ptr<Session>& session, int64_t bytes, bool whole = false) {
    return std::shared_ptr<HostBlock>(new HostBlock(session, bytes, whole || session->host_memory()));
  }
  /// In pieces that end at `ends`, each of which goes to a place of its own; `reserved` of its bytes were counted, because no
  /// more of it is there at once.
  static std::shared_ptr<HostBlock> make_in_pieces(const std::shared_ptr<Session>& session, std::vector<int64_t> ends,
                                                   int64_t reserved) {
    return std::shared_ptr<HostBlock>(new HostBlock(session, std::move(ends), reserved));
  }
  ~HostBlock();
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;

  int64_t bytes() const { return bytes_; }
  int64_t begin_of(size_t piece) const { return piece > 0 ? ends_[piece - 1] : 0; }
  /// All its memory now; false when the system has none.
  bool take();
  /// On the device's thread: whether it is one piece of page-locked memory, which is made where there was none yet.
  bool page_locked(Device& device) { return pieces_.size() == 1 && take_piece(0, &device) && pieces_.front().pinned; }
  /// Memory of a block of one piece, after take().
  char* memory() const { return pieces_.front().memory; }
  /// True when it pays to queue the call before filling the block.
  bool worth_overlapping() const { return pieces_.size() > 1; }
  /// On the device's thread: a piece, when fill() has filled it; null when it could not.
  char* await(size_t piece) { return wait_filled(piece) > piece ? pieces_[piece].memory : nullptr; }
  /// Whether fill() has filled the piece.
  bool filled(size_t piece);
  /// On the JavaScript thread, once; copies ascend by offset. False when the system has no memory left: upload() then
  /// fails as well.
  bool fill(const std::vector<BlockCopy>& copies);
  /// On the device's thread: uploads it all, following fill(). Page-locked pieces are only submitted: the block has to stay
  /// until a mark behind them is reached.
  Status upload(Device& device, char* to);
  /// On the device's thread: fills it from the device, likewise.
  Status download(Device& device, const char* from);
  /// One piece of either. `*later`: it was only submitted, and drop() has to wait for a mark behind it; else nothing more is
  /// to come of it (an upload has dropped it already).
  Status upload_piece(size_t piece, Device& device, char* to, bool* later);
  Status download_piece(size_t piece, Device& device, const char* from);
  /// Gives a piece's memory to other calls.
  void drop(size_t piece);
  /// After the call, or after the download of what is copied: adds the copies that bring part of it to JavaScript's memory.
  void copy_back(const BlockCopy& copy, std::vector<HostCopy>* out) const;
  /// On the device's thread, after the call: later calls will find page-locked memory where this one did not.
  /// Making it takes longer than many calls, so it waits until this one has settled.
  void learn();

 private:
  HostBlock(std::shared_ptr<Session> session, int64_t bytes, bool whole);
  HostBlock(std::shared_ptr<Session> session, std::vector<int64_t> ends, int64_t reserved);
  int64_t piece_bytes(size_t piece) const { return ends_[piece] - begin_of(piece); }
  bool take_piece(size_t piece, Device* device = nullptr);
  bool soon_read() const;
  void raise(size_t filled, bool failed);
  size_t wait_filled(size_t more_than);

  const std::shared_ptr<Session> session_;
  const std::vector<int64_t> ends_;  // of the pieces
  const int64_t bytes_, reserved_;
  std::vector<StagingBlock> pieces_;
  int64_t unpinned_ = 0;  // pieces that were not page-locked
  std::mutex mutex_;
  std::condition_variable raised_;
  size_t filled_ = 0;  // pieces
  bool failed_ = false;
};

}  // namespace warploom
