// The device memory of an array, owned together by its JavaScript object and the calls that use it.
#pragma once
#include <cstdint>
#include <memory>

#include "native/core/session.h"

namespace warploom {

/// Device memory, allocated with its first use and released behind the device's queued work when the last
/// owner lets go.
class ArrayMemory {
 public:
  /// `zeroed`: of zeros, else of what was there.
  ArrayMemory(std::shared_ptr<Session> owner, int64_t size, bool zeroed);
  ~ArrayMemory();
  ArrayMemory(const ArrayMemory&) = delete;
  ArrayMemory& operator=(const ArrayMemory&) = delete;

  const std::shared_ptr<Session> session;
  const int64_t bytes;
  /// Stands for the memory on the JavaScript thread, which only asks what overlaps: no two arrays share an
  /// address, and no memory has one. Null for empty arrays.
  char* const address;

  /// On the device's thread, before memory(). One that failed fails for good: nothing may read what was not written.
  Status prepare(Device& device);
  /// On the device's thread; null for empty arrays.
  char* memory() const { return memory_; }
  /// On the device's thread: its contents could not be had.
  void refuse(const Status& status) { refusal_ = status; }

 private:
  const bool zeroed_;
  char* memory_ = nullptr;
  Status refusal_;
};

}  // namespace warploom
