// Small calls whose arrays stay in host memory, where the device reads and writes them over the link.
#include "native/core/call.h"

namespace warploom {
namespace {

// Largest arrays that stay in host memory, for operations that read them once. Measured on an H200: a copy each way
// takes 10 us more than the kernel alone; a kernel that itself reads and writes 4 KiB over the link takes 1 us more.
constexpr int64_t kNear = int64_t{64} << 10;

}  // namespace

/// Whether the device uses the call's arrays in host memory, which is then page-locked.
bool Call::stays_near(Device& device) {
  if (!once_ || device_bytes_ == 0 || device_bytes_ > kNear || plan_ != nullptr || parts_[kHeld].bytes > 0) return false;
  for (const Buffer& buffer : buffers_) {
    const bool fits = buffer.pinned != nullptr && reinterpret_cast<uintptr_t>(buffer.source) % kAlignment == 0;
    if (buffer.stays() && !fits) return false;
  }
  for (int i = 0; i < kParts; ++i) {
    const Part& part = parts_[static_cast<size_t>(i)];
    if (part.block != nullptr && !part.block->page_locked(device)) return false;
  }
  return true;
}

/// Whether a call with all its arrays on the device writes its report to host memory itself, because the one copy at
/// its end would take longer than the link. (Words that only the call sees are on the device.)
bool Call::reports_near(Device& device) {
  const Part& results = parts_[kResults];
  if (plan_ != nullptr || parts_[kHeld].bytes == 0 || results.bytes == 0 || results.bytes > kNear) return false;
  for (int i = 0; i < kParts; ++i) {
    if (i != kHeld && i != kResults && parts_[static_cast<size_t>(i)].bytes > 0) return false;
  }
  for (const Buffer& buffer : buffers_) {
    if (buffer.stays() || (buffer.part == kResults && !buffer.table)) return false;
  }
  return results.block->page_locked(device);
}

/// Points the parameters at host memory.
void Call::use_near() {
  for (int i = 0; i < kParts; ++i) {
    const Part& part = parts_[static_cast<size_t>(i)];
    if (part.block != nullptr) point(i, part.block->memory());
  }
  for (const Pointer& pointer : pointers_) {
    const Buffer& buffer = buffers_[pointer.buffer];
    if (buffer.stays()) *pointer.target = buffer.source;
  }
}

}  // namespace warploom
