// The host memory of one call's copied arguments, filled on the JavaScript thread while the device's
// thread may already upload it.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "native/core/session.h"

namespace warploom {

/// One piece of JavaScript's memory and its place in the block.
struct HostCopy {
  const char* from;
  int64_t offset;
  int64_t bytes;
};

class HostBlock {
 public:
  /// Null when the system has no memory left.
  static std::shared_ptr<HostBlock> take(const std::shared_ptr<Session>& session, int64_t bytes);
  ~HostBlock();

  char* memory() const { return block_.memory; }
  /// True when it pays to queue the call before filling the block.
  bool worth_overlapping() const;
  /// On the JavaScript thread, once; copies ascend by offset.
  void fill(const std::vector<HostCopy>& copies);
  /// On the device's thread: uploads the first `bytes`, following fill().
  Status upload(Device& device, char* to, int64_t bytes);
  /// On the device's thread, after the call: the next block of this size will be page-locked if this
  /// one was not. Making it takes longer than many calls, so it waits until this one has settled.
  void learn();

 private:
  HostBlock(std::shared_ptr<Session> session, int64_t bytes, StagingBlock block)
      : session_(std::move(session)), bytes_(bytes), block_(block) {}
  void raise(int64_t filled);

  std::shared_ptr<Session> session_;
  int64_t bytes_;
  StagingBlock block_;
  std::mutex mutex_;
  std::condition_variable raised_;
  int64_t filled_ = 0;
};

}  // namespace warploom
