// The open device of the cpu backend: aligned host memory with a byte limit, and threads.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "cuda/core/backend.h"
#include "native/cpu/thread_pool.h"

namespace warploom::cpu {

/// Alignment of every block: one cache line, which is also the widest vector.
inline constexpr int64_t kAlignment = 64;

class CpuDevice : public Device {
 public:
  CpuDevice(DeviceDescription description, int64_t memory_limit_bytes, int threads);
  ~CpuDevice() override;

  const DeviceDescription& description() const override { return description_; }
  Status allocate(int64_t bytes, void** out) override;
  void release(void* memory) override;
  Status upload(void* device, const void* host, int64_t bytes) override;
  Status download(void* host, const void* device, int64_t bytes) override;
  Status copy(void* to, const void* from, int64_t bytes) override;
  Status fill_zero(void* device, int64_t bytes) override;
  Status allocate_pinned(int64_t bytes, void** out) override { return allocate(bytes, out); }
  void release_pinned(void* memory) override { release(memory); }
  Status synchronize() override { return {}; }
  void trim() override;
  MemoryUse memory_use() const override;
  bool host_memory() const override { return true; }

  ThreadPool& threads() { return threads_; }
  int thread_count() const { return threads_.threads(); }

  /// Gives every worker at least `bytes` of scratch memory, kept until trim().
  Status reserve_scratch(int64_t bytes_per_worker);
  /// Scratch of one worker, aligned; contents undefined between operations.
  void* scratch(int worker) const { return scratch_[static_cast<size_t>(worker)]; }

 private:
  Status parallel_copy(void* to, const void* from, int64_t bytes);
  void free_pooled(int64_t keep_bytes);
  void release_scratch();

  DeviceDescription description_;
  ThreadPool threads_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, int64_t> live_;
  std::multimap<int64_t, void*> pooled_;
  MemoryUse use_;
  std::vector<void*> scratch_;
  int64_t scratch_bytes_ = 0;   // per worker
  int64_t scratch_total_ = 0;   // of all workers; guarded by mutex_
};

/// Device memory for the duration of one operation.
class Workspace {
 public:
  explicit Workspace(Device& device) : device_(device) {}
  ~Workspace() {
    if (memory_ != nullptr) device_.release(memory_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  Status reserve(int64_t bytes) { return device_.allocate(bytes, &memory_); }
  template <class T>
  T* as(int64_t byte_offset = 0) const {
    return reinterpret_cast<T*>(static_cast<char*>(memory_) + byte_offset);
  }

 private:
  Device& device_;
  void* memory_ = nullptr;
};

}  // namespace warploom::cpu
