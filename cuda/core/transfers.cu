// Transfers of the cuda backend, page-locked memory and waiting.
#ifndef WARPLOOM_SIMT
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "cuda/core/cuda_device_class.h"
#include "cuda/core/host_memory.h"

namespace warploom::cuda {

namespace {
constexpr int64_t kStagingBytes = int64_t{16} << 20;  // for each of two staging buffers
constexpr int64_t kDriverStaged = 64 << 10;           // up to here the driver itself stages pageable copies
constexpr int64_t kMapped = int64_t{4} << 20;         // page-locked memory from here on is mapped, in large pages
constexpr size_t kLargePage = size_t{2} << 20;
constexpr auto kSpin = std::chrono::milliseconds(2);  // sleeping costs 60 us more, which is 3 % from here on
constexpr auto kLongestPause = std::chrono::milliseconds(1);
}  // namespace

Status CudaDevice::allocate_pinned(int64_t bytes, void** out) {
  *out = nullptr;
  WARPLOOM_TRY(use());
  const size_t size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  if (bytes >= kMapped && map_pinned(bytes, out)) return {};
  WARPLOOM_TRY(report(call([&] { return cudaHostAlloc(out, size, cudaHostAllocDefault); }), "cudaHostAlloc", bytes));
  const std::lock_guard<std::mutex> lock(pinned_mutex_);
  pinned_[static_cast<char*>(*out)] = {bytes, 0};
  return {};
}

/// Page-locks memory of the system's whose pages several threads have made; cudaHostAlloc makes them by one. False if
/// that does not go.
bool CudaDevice::map_pinned(int64_t bytes, void** out) {
  const int64_t size = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  const size_t mapped = static_cast<size_t>(size + kLargePage);
  void* const all = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return false;
  // Whole large pages only.
  char* const memory = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(all) + kLargePage - 1) / kLargePage * kLargePage);
  const size_t before = static_cast<size_t>(memory - static_cast<char*>(all));
  if (before > 0) munmap(all, before);
  if (before < kLargePage) munmap(memory + size, kLargePage - before);
  use_large_pages(memory, size);
  // A process that forks, as each start of a program does, would at once copy all pages that are locked.
  madvise(memory, static_cast<size_t>(size), MADV_DONTFORK);
  Populating::begin({{memory, size}}).reset();
  if (call([&] { return cudaHostRegister(memory, static_cast<size_t>(size), cudaHostRegisterDefault); }) != cudaSuccess) {
    cudaGetLastError();  // the caller tries another way
    munmap(memory, static_cast<size_t>(size));
    return false;
  }
  *out = memory;
  const std::lock_guard<std::mutex> lock(pinned_mutex_);
  pinned_[memory] = {bytes, size};
  return true;
}

void CudaDevice::release_pinned(void* memory) {
  if (memory == nullptr) return;
  int64_t mapped = 0;
  {
    const std::lock_guard<std::mutex> lock(pinned_mutex_);
    const auto found = pinned_.find(static_cast<char*>(memory));
    if (found != pinned_.end()) {
      mapped = found->second.mapped;
      pinned_.erase(found);
    }
  }
  if (lost_ || exiting || !use().ok()) return;
  if (mapped == 0) {
    call_always([&] { return cudaFreeHost(memory); });
    return;
  }
  cudaError_t error = cudaErrorUnknown;
  call_always([&] { return error = cudaHostUnregister(memory); });
  if (error == cudaSuccess) munmap(memory, static_cast<size_t>(mapped));
}

bool CudaDevice::is_pinned(const void* host, int64_t bytes) const {
  const std::lock_guard<std::mutex> lock(pinned_mutex_);
  const char* begin = static_cast<const char*>(host);
  auto after = pinned_.upper_bound(begin);
  if (after == pinned_.begin()) return false;
  --after;
  return begin + bytes <= after->first + after->second.bytes;
}

// --- transfers: when a call returns, the host memory may change ---

Status CudaDevice::prepare_staging() {
  for (HostBuffer& buffer : staging_) {
    if (buffer.memory == nullptr) CUDA_TRY(cudaHostAlloc, &buffer.memory, kStagingBytes, cudaHostAllocDefault);
    if (buffer.used == nullptr) {
      CUDA_TRY(cudaEventCreateWithFlags, &buffer.used, cudaEventDisableTiming);
    }
  }
  return {};
}

Status CudaDevice::upload(void* device, const void* host, int64_t bytes) {
  if (bytes == 0) return {};
  WARPLOOM_TRY(use());
  if (bytes <= kDriverStaged || is_pinned(host, bytes)) {
    CUDA_TRY(cudaMemcpyAsync, device, host, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, lane());
    if (bytes <= kDriverStaged && !is_pinned(host, bytes)) return {};
    return synchronize();
  }
  WARPLOOM_TRY(prepare_staging());
  int turn = 0;
  for (int64_t at = 0; at < bytes; at += kStagingBytes, turn ^= 1) {
    const size_t size = static_cast<size_t>(std::min(kStagingBytes, bytes - at));
    HostBuffer& buffer = staging_[turn];
    WARPLOOM_TRY(wait(buffer.used));
    copy_bytes(buffer.memory, static_cast<const char*>(host) + at, static_cast<int64_t>(size));
    CUDA_TRY(cudaMemcpyAsync, static_cast<char*>(device) + at, buffer.memory, size, cudaMemcpyHostToDevice, lane());
    CUDA_TRY(cudaEventRecord, buffer.used, lane());
  }
  return {};
}

Status CudaDevice::download(void* host, const void* device, int64_t bytes) {
  if (bytes == 0) return {};
  WARPLOOM_TRY(use());
  if (bytes <= kDriverStaged || is_pinned(host, bytes)) {
    CUDA_TRY(cudaMemcpyAsync, host, device, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, lane());
    return synchronize();
  }
  WARPLOOM_TRY(prepare_staging());
  const int64_t chunks = (bytes + kStagingBytes - 1) / kStagingBytes;
  for (int64_t chunk = 0; chunk <= chunks; ++chunk) {
    if (chunk < chunks) {
      HostBuffer& buffer = staging_[chunk & 1];
      const size_t size = static_cast<size_t>(std::min(kStagingBytes, bytes - chunk * kStagingBytes));
      WARPLOOM_TRY(wait(buffer.used));  // for an upload on another stream
      CUDA_TRY(cudaMemcpyAsync, buffer.memory, static_cast<const char*>(device) + chunk * kStagingBytes, size,
               cudaMemcpyDeviceToHost, lane());
      CUDA_TRY(cudaEventRecord, buffer.used, lane());
    }
    if (chunk > 0) {
      const int64_t at = (chunk - 1) * kStagingBytes;
      HostBuffer& buffer = staging_[(chunk - 1) & 1];
      WARPLOOM_TRY(wait(buffer.used));
      copy_bytes(static_cast<char*>(host) + at, buffer.memory, std::min(kStagingBytes, bytes - at));
    }
  }
  return {};
}

Status CudaDevice::copy(void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return {};
  WARPLOOM_TRY(use());
  CUDA_TRY(cudaMemcpyAsync, to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, stream_);
  return {};
}

Status CudaDevice::fill_zero(void* device, int64_t bytes) {
  if (bytes == 0) return {};
  WARPLOOM_TRY(use());
  CUDA_TRY(cudaMemsetAsync, device, 0, static_cast<size_t>(bytes), stream_);
  return {};
}

/// Spins as long as a short operation lasts, then repeatedly sleeps for a 32nd of the time waited so far. Events with
/// blocking synchronisation are no alternative: each one interrupts a core, whether it is waited for or not. One
/// numbered call, however long it takes.
Status CudaDevice::wait(cudaEvent_t event) {
  return report(call([&] {
                  const auto begin = std::chrono::steady_clock::now();
                  for (;;) {
                    const cudaError_t state = cudaEventQuery(event);
                    if (state != cudaErrorNotReady) return state;
                    const auto waited = std::chrono::steady_clock::now() - begin;
                    if (waited > kSpin) std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(waited / 32, kLongestPause));
                  }
                }),
                "cudaEventQuery");
}

Status CudaDevice::synchronize() {
  WARPLOOM_TRY(use());
  CUDA_TRY(cudaEventRecord, end_, lane());
  return wait(end_);
}

}  // namespace warploom::cuda
#endif
