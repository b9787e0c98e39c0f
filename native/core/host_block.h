// Staged bytes of one call: one part of its arguments or results, in transit between JavaScript and the device.
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

/// The bytes count against the session's limits for the lifetime of the block; their memory is allocated when needed.
/// If the device computes in the block, it is one piece. Otherwise it is a row of pieces, filled on the JavaScript
/// thread while the device's thread uploads the earlier ones. Uploaded pieces are reused, so a call of gigabytes needs
/// only a few of them.
class HostBlock {
 public:
  /// A block whose bytes session->reserve() has counted. `whole`: in one piece on any device.
  static std::shared_ptr<HostBlock> make(const std::shared_ptr<Session>& session, int64_t bytes, bool whole = false) {
    return std::shared_ptr<HostBlock>(new HostBlock(session, bytes, whole || session->host_memory()));
  }
  /// A block in pieces that end at `ends`, each transferred to a place of its own. Only `reserved` of its bytes were
  /// counted, because no more of it exists at once.
  static std::shared_ptr<HostBlock> make_in_pieces(const std::shared_ptr<Session>& session, std::vector<int64_t> ends,
                                                   int64_t reserved) {
    return std::shared_ptr<HostBlock>(new HostBlock(session, std::move(ends), reserved));
  }
  ~HostBlock();
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;

  int64_t bytes() const { return bytes_; }
  int64_t begin_of(size_t piece) const { return piece > 0 ? ends_[piece - 1] : 0; }
  /// Allocates all its memory now; false when the system has none left.
  bool take();
  /// On the device's thread: whether it is one piece of page-locked memory. Allocates that piece if necessary.
  bool page_locked(Device& device) { return pieces_.size() == 1 && take_piece(0, &device) && pieces_.front().pinned; }
  /// Memory of a block of one piece, after take().
  char* memory() const { return pieces_.front().memory; }
  /// True when it pays to queue the call before filling the block.
  bool worth_overlapping() const { return pieces_.size() > 1; }
  /// On the device's thread: a piece, once fill() has filled it; null if filling failed.
  char* await(size_t piece) { return wait_filled(piece) > piece ? pieces_[piece].memory : nullptr; }
  /// Whether fill() has already filled the piece.
  bool filled(size_t piece);
  /// On the JavaScript thread, once; copies ascend by offset. False when the system has no memory left; then upload()
  /// fails too.
  bool fill(const std::vector<BlockCopy>& copies);
  /// On the device's thread: uploads everything as fill() fills it. Page-locked pieces are only submitted, so the block
  /// must stay until a later mark is reached.
  Status upload(Device& device, char* to);
  /// On the device's thread: fills the block from the device, with the same rule for page-locked pieces.
  Status download(Device& device, const char* from);
  /// Uploads or downloads one piece. `*later`: it was only submitted, and drop() must wait for a later mark. Otherwise
  /// the transfer is complete (and an upload has already dropped the piece).
  Status upload_piece(size_t piece, Device& device, char* to, bool* later);
  Status download_piece(size_t piece, Device& device, const char* from);
  /// Gives a piece's memory to other calls.
  void drop(size_t piece);
  /// The same with all pieces, once nothing reads them any more.
  void drop_all();
  /// After the call, or after the download of the bytes in question: adds the copies that move part of the block to
  /// JavaScript's memory.
  void copy_back(const BlockCopy& copy, std::vector<HostCopy>* out) const;
  /// On the device's thread, after the call: provides page-locked memory for later calls if this one had none.
  /// Allocating it takes longer than many calls, so it waits until this one has settled.
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
