// The device memory of an array, shared by its JavaScript object and the calls that use it.
#pragma once
#include <cstdint>
#include <memory>

#include "native/core/session.h"

namespace warploom {

/// Device memory. Allocated at its first use; when the last owner lets go, released after the device's queued work.
class ArrayMemory {
 public:
  /// `zeroed`: filled with zeros; otherwise the contents are undefined.
  ArrayMemory(std::shared_ptr<Session> owner, int64_t size, bool zeroed);
  ~ArrayMemory();
  ArrayMemory(const ArrayMemory&) = delete;
  ArrayMemory& operator=(const ArrayMemory&) = delete;

  const std::shared_ptr<Session> session;
  const int64_t bytes;
  /// Stands for the memory on the JavaScript thread, which only needs to know what overlaps. No two arrays share an
  /// address, and it is not the address of any real memory. Null for empty arrays.
  char* const address;

  /// On the device's thread, before a task's work uses memory(). A failure is permanent: nothing may read contents that
  /// were never written.
  Status prepare(Device& device);
  /// As prepare(), for a task that only uploads so many bytes, or only downloads. Large transfers overlap with the work
  /// and the transfers of other arrays.
  Status prepare_upload(Device& device, int64_t size);
  Status prepare_download(Device& device);
  /// On the device's thread; null for empty arrays.
  char* memory() const { return memory_; }
  /// On the device's thread: makes prepare() fail, because the contents could not be provided.
  void refuse(const Status& status) { refusal_ = status; }

 private:
  Status allocate(Device& device);

  const bool zeroed_;
  char* memory_ = nullptr;
  int64_t worked_ = 0;   // last task whose work used the memory
  int64_t fetched_ = 0;  // last task that downloaded it
  Status refusal_;
};

}  // namespace warploom
