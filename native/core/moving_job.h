// Jobs that move bytes between the host and a device array.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "native/core/array_memory.h"
#include "native/core/host_block.h"
#include "native/core/job.h"
#include "native/core/typed_array.h"

namespace warploom {

/// The host side of one transfer: JavaScript's own memory if it is sure to stay, otherwise a block.
struct HostSide {
  std::shared_ptr<HostBlock> block;
  std::shared_ptr<PinnedBlock> pinned;
  char* memory = nullptr;
  bool direct = false;
  bool shared = false;
  bool owned = false;  ///< like Buffer::owned for calls

  static Failure make(const std::shared_ptr<Session>& session, const TypedArray& array, HostSide* out, bool owned = false) {
    out->pinned = session->find_pinned(array.data, array.bytes);
    out->shared = array.shared || (owned && session->host_memory());
    out->direct = out->pinned != nullptr || out->shared || array.bytes == 0;
    out->memory = array.data;
    if (out->direct) return {};
    Failure failure = session->reserve(array.bytes);
    if (failure) return failure;
    out->block = HostBlock::make(session, array.bytes);
    out->owned = owned;
    return {};
  }
};

/// A job that moves bytes between the host and an array. On a device with its own memory the bytes move while later
/// jobs run.
class MovingJob : public Job {
 public:
  std::shared_ptr<ArrayMemory> array;
  Submission::Mark mark() const override { return mark_; }
  bool overlaps() const override { return true; }

 protected:
  Status work(Session& session, Device& device) override {
    if (session.submission() == nullptr) {
      WARPLOOM_TRY(move(session, device));
      WARPLOOM_TRY(device.synchronize());
      return arrived();
    }
    return submit(*session.submission(), &mark_, [&] { return move(session, device); });
  }
  Status end_work(Session& session, Device&) override {
    const Status status = session.submission()->finish(std::exchange(mark_, Submission::kNone), nullptr);
    return status.ok() ? arrived() : status;
  }
  virtual Status move(Session& session, Device& device) = 0;
  /// Once the bytes are where they belong.
  virtual Status arrived() { return {}; }

  Status upload(Session& session, Device& device, const HostSide& side, int64_t offset, int64_t bytes) const {
    WARPLOOM_TRY(array->prepare_upload(device, bytes));
    char* const to = array->memory() + offset;
    if (side.block != nullptr) return side.block->upload(device, to);
    if (side.pinned == nullptr || session.submission() == nullptr) return device.upload(to, side.memory, bytes);
    Submission& submission = *session.submission();
    const std::shared_ptr<Copying>& filling = side.pinned->filling;
    if (filling == nullptr) return submission.upload_later(to, side.memory, bytes);
    const int64_t begin = side.memory - side.pinned->memory;
    for (int64_t at = 0; at < bytes; at += kPiece) {
      const int64_t size = std::min(kPiece, bytes - at);
      filling->await(begin + at, begin + at + size);
      WARPLOOM_TRY(submission.upload_later(to + at, side.memory + at, size));
    }
    return {};
  }

 private:
  /// Of memory that is being filled: large enough for the link's full rate.
  static constexpr int64_t kPiece = int64_t{4} << 20;

  Submission::Mark mark_ = Submission::kNone;
};

}  // namespace warploom
