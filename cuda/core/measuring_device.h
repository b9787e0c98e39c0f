// A device that only counts memory: running an operation's host code on it answers a workspace query.
#pragma once
#include <cstring>
#include <map>

#include "cuda/core/runtime.h"

namespace warploom::WARPLOOM_TARGET {

/// Accepts every launch and transfer without doing it, and returns addresses that nothing may touch. Shape and limits
/// are those of the underlying device. Downloads read as zero, so the peak is that of a call that needs no repairs.
class MeasuringDevice final : public GpuDevice {
 public:
  explicit MeasuringDevice(GpuDevice& behind) : behind_(behind) {}
  /// The most bytes that were in use at once.
  int64_t peak_bytes() const { return peak_; }

  const DeviceDescription& description() const override { return behind_.description(); }
  Status allocate(int64_t bytes, void** out) override {
    const int64_t rounded = (bytes < 1 ? 1 : (bytes + 255) / 256) * 256;
    *out = reinterpret_cast<void*>(static_cast<uintptr_t>(next_));
    blocks_[*out] = rounded;
    next_ += static_cast<uint64_t>(rounded);
    in_use_ += rounded;
    peak_ = in_use_ > peak_ ? in_use_ : peak_;
    return {};
  }
  void release(void* memory) override {
    const auto found = blocks_.find(memory);
    if (found == blocks_.end()) return;
    in_use_ -= found->second;
    blocks_.erase(found);
  }
  Status upload(void*, const void*, int64_t) override { return {}; }
  Status download(void* host, const void*, int64_t bytes) override {
    std::memset(host, 0, static_cast<size_t>(bytes));
    return {};
  }
  Status copy(void*, const void*, int64_t) override { return {}; }
  Status fill_zero(void*, int64_t) override { return {}; }
  Status allocate_pinned(int64_t bytes, void** out) override { return behind_.allocate_pinned(bytes, out); }
  void release_pinned(void* memory) override { behind_.release_pinned(memory); }
  Status synchronize() override { return {}; }
  void trim() override {}
  MemoryUse memory_use() const override { return {in_use_, 0, peak_, 0}; }
  bool host_memory() const override { return false; }
  const GpuLimits& limits() const override { return behind_.limits(); }
  void* mailbox() override { return behind_.mailbox(); }
#ifdef WARPLOOM_SIMT
  Status launch_blocks(int64_t, int, size_t, bool, const std::function<void(const device::Block&)>&) override {
    return {};
  }
#else
  Status launch_kernel(const void*, int64_t, int, size_t, LaunchKind, void**) override { return {}; }
  int resident_blocks(const void* kernel, int threads, size_t shared_bytes) override {
    return behind_.resident_blocks(kernel, threads, shared_bytes);
  }
#endif
  Status replay(int64_t times, const std::function<Status()>& body) override { return times > 0 ? body() : Status(); }
  Status begin_operation(Control&) override { return {}; }
  Status end_operation(Control&) override { return {}; }

 private:
  GpuDevice& behind_;
  std::map<void*, int64_t> blocks_;
  uint64_t next_ = uint64_t{1} << 40;  // an address that no allocation of the process has
  int64_t in_use_ = 0, peak_ = 0;
};

}  // namespace warploom::WARPLOOM_TARGET
