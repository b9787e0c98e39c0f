#include "native/cpu/device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace warploom::cpu {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
#ifdef __linux__
constexpr int64_t kLargeGrain = kHugePage;
#else
constexpr int64_t kLargeGrain = kAlignment;
#endif
constexpr int64_t kParallelCopyBytes = int64_t{8} << 20;

int64_t rounded(int64_t bytes) {
  const int64_t grain = bytes >= kHugePage ? kLargeGrain : kAlignment;
  return (std::max<int64_t>(bytes, 1) + grain - 1) / grain * grain;
}

void* allocate_block(int64_t bytes) {
  const int64_t alignment = bytes >= kHugePage ? kLargeGrain : kAlignment;
  void* memory = std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(bytes));
#ifdef __linux__
  // Large arrays are read with many page-sized strides at once; huge pages save TLB misses.
  if (memory != nullptr && bytes >= kHugePage) {
    madvise(memory, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  }
#endif
  return memory;
}

struct NoControl final : Control {};

}  // namespace

CpuDevice::CpuDevice(DeviceDescription description, int64_t memory_limit_bytes, int threads)
    : description_(std::move(description)), threads_(threads) {
  // Half, because the process holds other data too, including the caller's own arrays.
  use_.limit_bytes = memory_limit_bytes > 0 ? memory_limit_bytes : description_.memory_bytes / 2;
  scratch_.assign(static_cast<size_t>(threads), nullptr);
}

CpuDevice::~CpuDevice() {
  trim();
  for (const auto& block : live_) std::free(block.first);
}

void CpuDevice::free_pooled(int64_t keep_bytes) {
  while (use_.pooled_bytes > keep_bytes && !pooled_.empty()) {
    const auto largest = std::prev(pooled_.end());
    use_.pooled_bytes -= largest->first;
    std::free(largest->second);
    pooled_.erase(largest);
  }
}

Status CpuDevice::allocate(int64_t bytes, void** out) {
  *out = nullptr;
  if (bytes < 0) return Status(Code::internal, "negative allocation");
  std::lock_guard<std::mutex> lock(mutex_);
  if (bytes > use_.limit_bytes - use_.in_use_bytes) {
    return Status::out_of_memory(bytes, use_.in_use_bytes, use_.limit_bytes);
  }
  int64_t size = rounded(bytes);
  void* memory = nullptr;
  const auto found = pooled_.lower_bound(size);
  if (found != pooled_.end() && found->first <= size + size / 4) {
    size = found->first;
    memory = found->second;
    use_.pooled_bytes -= size;
    pooled_.erase(found);
  } else {
    free_pooled(std::max<int64_t>(0, use_.limit_bytes - use_.in_use_bytes - size));
    memory = allocate_block(size);
    if (memory == nullptr) {
      free_pooled(0);
      memory = allocate_block(size);
    }
    if (memory == nullptr) {
      return Status::out_of_memory(bytes, use_.in_use_bytes, use_.limit_bytes);
    }
  }
  try {
    live_.emplace(memory, size);
  } catch (const std::bad_alloc&) {
    std::free(memory);
    return Status::out_of_memory(bytes, use_.in_use_bytes, use_.limit_bytes);
  }
  use_.in_use_bytes += size;
  use_.peak_bytes = std::max(use_.peak_bytes, use_.in_use_bytes);
  *out = memory;
  return {};
}

void CpuDevice::release(void* memory) {
  if (memory == nullptr) return;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = live_.find(memory);
  if (found == live_.end()) return;
  const int64_t size = found->second;
  live_.erase(found);
  use_.in_use_bytes -= size;
  try {
    pooled_.emplace(size, memory);
    use_.pooled_bytes += size;
  } catch (const std::bad_alloc&) {
    std::free(memory);
  }
}

Status CpuDevice::parallel_copy(void* to, const void* from, int64_t bytes) {
  if (bytes <= 0) return {};
  if (bytes < kParallelCopyBytes || thread_count() == 1) {
    std::memmove(to, from, static_cast<size_t>(bytes));
    return {};
  }
  const auto target = reinterpret_cast<uintptr_t>(to), source = reinterpret_cast<uintptr_t>(from);
  const auto distance = target > source ? target - source : source - target;
  if (distance < static_cast<uintptr_t>(bytes)) {  // overlapping: order matters
    std::memmove(to, from, static_cast<size_t>(bytes));
    return {};
  }
  const int64_t part = kParallelCopyBytes / 2;
  NoControl control;
  return threads_.run(
      (bytes + part - 1) / part,
      [=](int64_t task, int) {
        const int64_t begin = task * part, count = std::min(part, bytes - begin);
        std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                    static_cast<size_t>(count));
        return Status();
      },
      control);
}

Status CpuDevice::upload(void* device, const void* host, int64_t bytes) {
  return parallel_copy(device, host, bytes);
}
Status CpuDevice::download(void* host, const void* device, int64_t bytes) {
  return parallel_copy(host, device, bytes);
}
Status CpuDevice::copy(void* to, const void* from, int64_t bytes) {
  return parallel_copy(to, from, bytes);
}
Status CpuDevice::fill_zero(void* device, int64_t bytes) {
  if (bytes > 0) std::memset(device, 0, static_cast<size_t>(bytes));
  return {};
}

void CpuDevice::release_scratch() {
  for (void*& block : scratch_) {
    release(block);
    block = nullptr;
  }
  scratch_bytes_ = 0;
  std::lock_guard<std::mutex> lock(mutex_);
  scratch_total_ = 0;
}

Status CpuDevice::reserve_scratch(int64_t bytes_per_worker) {
  if (bytes_per_worker <= scratch_bytes_) return {};
  release_scratch();
  for (void*& block : scratch_) {
    WARPLOOM_TRY(allocate(bytes_per_worker, &block));
    std::lock_guard<std::mutex> lock(mutex_);
    scratch_total_ += live_.at(block);
  }
  scratch_bytes_ = bytes_per_worker;
  return {};
}

void CpuDevice::trim() {
  release_scratch();
  std::lock_guard<std::mutex> lock(mutex_);
  free_pooled(0);
}

MemoryUse CpuDevice::memory_use() const {
  std::lock_guard<std::mutex> lock(mutex_);
  MemoryUse use = use_;
  // Scratch belongs to the library: it can be reused, and the caller cannot reach it.
  use.in_use_bytes -= scratch_total_;
  use.pooled_bytes += scratch_total_;
  return use;
}

}  // namespace warploom::cpu
