// The cuda backend's GpuDevice. All calls to the CUDA runtime in the project are in .cu files of this folder, behind
// call() of cuda_call.h.
#include <algorithm>
#include <cstdlib>

#include "cuda/core/cuda_device_class.h"

namespace warploom::cuda {

FaultSeam& fault_seam() {
  static FaultSeam seam;
  return seam;
}

Status CudaDevice::report(cudaError_t error, const char* what, int64_t requested) {
  if (error == cudaSuccess) return {};
  if (is_sticky(error)) {
    lost_ = true;
    return {Code::device_lost, error_text(error, what)};
  }
  (void)cudaGetLastError();  // not sticky: the next call starts clean
  if (error == cudaErrorMemoryAllocation) {
    const MemoryUse use = ledger_.use();
    return Status::out_of_memory(requested, use.in_use_bytes,
                                 use.limit_bytes > 0 ? use.limit_bytes : description_.memory_bytes);
  }
  return {Code::internal, error_text(error, what)};
}

/// Before any call: makes this device current on this thread, and checks that it is not lost.
Status CudaDevice::use() {
  if (lost_) return {Code::device_lost, "the device was lost in an earlier call"};
  static thread_local int current = -1;
  if (current == index_) return {};
  CUDA_TRY(cudaSetDevice, index_);
  current = index_;
  return {};
}

Status CudaDevice::start(const OpenOptions& options) {
  description_ = describe_device(index_);
  if (!description_.available) return {Code::unavailable, description_.reason};
  static const int registered = std::atexit([] { exiting = true; });
  (void)registered;
  ledger_.set_limit(options.memory_limit_bytes);
  WARPLOOM_TRY(use());
  started_ = true;
  const auto attribute = [&](cudaDeviceAttr which, int* value) {
    return report(call([&] { return cudaDeviceGetAttribute(value, which, index_); }), "cudaDeviceGetAttribute");
  };
  int shared_block = 0, shared_multiprocessor = 0, pools = 0;
  WARPLOOM_TRY(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &shared_block));
  WARPLOOM_TRY(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, &shared_multiprocessor));
  WARPLOOM_TRY(attribute(cudaDevAttrMaxRegistersPerMultiprocessor, &limits_.registers_per_multiprocessor));
  WARPLOOM_TRY(attribute(cudaDevAttrMemoryPoolsSupported, &pools));
  limits_.compute_capability = description_.compute_capability;
  limits_.multiprocessors = description_.multiprocessors;
  limits_.l2_bytes = description_.l2_bytes;
  limits_.shared_bytes_per_block = shared_block;
  limits_.shared_bytes_per_multiprocessor = shared_multiprocessor;
  CUDA_TRY(cudaStreamCreateWithFlags, &stream_, cudaStreamNonBlocking);
  CUDA_TRY(cudaStreamCreateWithFlags, &down_, cudaStreamNonBlocking);
  CUDA_TRY(cudaEventCreate, &begin_);
  CUDA_TRY(cudaEventCreate, &end_);
  CUDA_TRY(cudaMalloc, &mailbox_, static_cast<size_t>(kMailboxBytes));
  CUDA_TRY(cudaMemsetAsync, mailbox_, 0, static_cast<size_t>(kMailboxBytes), stream_);
  if (pools != 0) {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = index_;
    CUDA_TRY(cudaMemPoolCreate, &pool_, &properties);
    CUDA_TRY(cudaStreamCreateWithFlags, &memory_stream_, cudaStreamNonBlocking);
    CUDA_TRY(cudaEventCreateWithFlags, &allocated_, cudaEventDisableTiming);
    uint64_t keep = UINT64_MAX;  // freed memory stays with the pool until trim()
    CUDA_TRY(cudaMemPoolSetAttribute, pool_, cudaMemPoolAttrReleaseThreshold, &keep);
  }
  return {};
}

CudaDevice::~CudaDevice() {
  if (!started_ || lost_ || exiting || !use().ok()) return;  // the driver frees what a lost context owned
  for (const cudaStream_t stream : {up_, second_, down_, stream_, memory_stream_}) {
    if (stream != nullptr) call_always([&] { return cudaStreamSynchronize(stream); });
  }
  unload_all();
  std::vector<void*> blocks;
  small_.drain(&blocks);
  for (void* block : blocks) raw_release(block);
  for (HostBuffer& buffer : staging_) {
    if (buffer.memory != nullptr) call_always([&] { return cudaFreeHost(buffer.memory); });
    if (buffer.used != nullptr) call_always([&] { return cudaEventDestroy(buffer.used); });
  }
  if (mailbox_ != nullptr) call_always([&] { return cudaFree(mailbox_); });
  for (const MarkEvents& events : marks_) destroy(events);
  for (const cudaEvent_t event : {begin_, end_, forked_, joined_, passed_, allocated_}) {
    if (event != nullptr) call_always([&] { return cudaEventDestroy(event); });
  }
  for (const cudaStream_t stream : {stream_, memory_stream_}) {
    if (stream != nullptr) call_always([&] { return cudaStreamSynchronize(stream); });
  }
  if (pool_ != nullptr) call_always([&] { return cudaMemPoolDestroy(pool_); });
  if (began_ != nullptr) call_always([&] { return cudaEventDestroy(began_); });
  for (const auto& turn : stage_ended_) {
    for (const cudaEvent_t event : turn) {
      if (event != nullptr) call_always([&] { return cudaEventDestroy(event); });
    }
  }
  for (const cudaStream_t stream : {up_, second_, down_, stream_, memory_stream_}) {
    if (stream != nullptr) call_always([&] { return cudaStreamDestroy(stream); });
  }
}

// --- memory ---

cudaError_t CudaDevice::raw_allocate(int64_t bytes, void** out) {
  static_assert(SmallBlocks::kLargest <= kOwnStream, "blocks that are handed out again while in use");
  const size_t size = static_cast<size_t>(bytes);
  if (pool_ == nullptr) return call([&] { return cudaMalloc(out, size); });
  if (bytes <= kOwnStream) return call([&] { return cudaMallocFromPoolAsync(out, size, pool_, stream_); });
  cudaError_t error = call([&] { return cudaMallocFromPoolAsync(out, size, pool_, memory_stream_); });
  if (error != cudaSuccess) return error;
  error = call([&] { return cudaEventRecord(allocated_, memory_stream_); });
  if (error == cudaSuccess) error = call([&] { return cudaStreamWaitEvent(stream_, allocated_, 0); });
  if (error != cudaSuccess) call_always([&] { return cudaFreeAsync(*out, memory_stream_); });
  return error;
}

void CudaDevice::raw_release(void* memory, int64_t bytes) {
  if (pool_ == nullptr) {
    call_always([&] { return cudaFree(memory); });
  } else if (bytes <= kOwnStream) {
    call_always([&] { return cudaFreeAsync(memory, stream_); });
  } else {
    call_always([&] { return cudaEventRecord(allocated_, stream_); });
    call_always([&] { return cudaStreamWaitEvent(memory_stream_, allocated_, 0); });
    call_always([&] { return cudaFreeAsync(memory, memory_stream_); });
  }
}

/// Frees unused memory; up to `keep` bytes may stay.
Status CudaDevice::give_back_pool(int64_t keep) {
  if (lost_) return {};
  WARPLOOM_TRY(use());
  std::vector<void*> blocks;
  small_.drain(&blocks);
  for (void* block : blocks) raw_release(block);
  CUDA_TRY(cudaStreamSynchronize, stream_);
  if (memory_stream_ != nullptr) CUDA_TRY(cudaStreamSynchronize, memory_stream_);
  if (pool_ != nullptr) CUDA_TRY(cudaMemPoolTrimTo, pool_, static_cast<size_t>(keep));
  return {};
}

Status CudaDevice::allocate(int64_t bytes, void** out) {
  *out = nullptr;
  WARPLOOM_TRY(use());
  if (bytes < 0) return {Code::internal, "allocation of a negative size"};
  const int64_t size = SmallBlocks::class_bytes(bytes);
  WARPLOOM_TRY(ledger_.claim(size));
  void* block = small_.take(size);
  if (block == nullptr) {
    cudaError_t error = raw_allocate(size, &block);
    if (error == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      const Status freed = give_back_pool(0);
      if (freed.ok()) error = raw_allocate(size, &block);
    }
    if (error != cudaSuccess) {
      ledger_.unclaim(size);
      return report(error, "allocation of device memory", bytes);
    }
  }
  ledger_.enter(block, size);
  *out = block;
  return {};
}

void CudaDevice::release(void* memory) {
  if (memory == nullptr) return;
  const int64_t size = ledger_.leave(memory);
  if (size < 0 || lost_ || exiting || !use().ok()) return;
  if (!small_.give_back(memory, size)) raw_release(memory, size);
}

MemoryUse CudaDevice::memory_use() const {
  MemoryUse use = ledger_.use();
  if (pool_ == nullptr) {
    use.pooled_bytes = small_.bytes();
    return use;
  }
  if (lost_ || exiting) return use;
  uint64_t reserved = 0;  // a query from any thread: not numbered
  if (cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved) == cudaSuccess) {
    use.pooled_bytes = std::max<int64_t>(0, static_cast<int64_t>(reserved) - use.in_use_bytes);
  }
  return use;
}

// --- launches ---

/// Above 48 KiB a kernel must request its dynamic shared memory once.
Status CudaDevice::allow_shared(const void* kernel, size_t shared_bytes) {
  if (shared_bytes <= 48 * 1024) return {};
  if (static_cast<int64_t>(shared_bytes) > limits_.shared_bytes_per_block) {
    return {Code::internal, std::to_string(shared_bytes) + " bytes of shared memory in a block; the device has " +
                                std::to_string(limits_.shared_bytes_per_block)};
  }
  size_t& allowed = shared_allowed_[kernel];
  if (shared_bytes <= allowed) return {};
  CUDA_TRY(cudaFuncSetAttribute, kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
           static_cast<int>(shared_bytes));
  allowed = shared_bytes;
  return {};
}

Status CudaDevice::launch_kernel(const void* kernel, int64_t blocks, int threads, size_t shared_bytes,
                                 LaunchKind kind, void** arguments) {
  if (blocks == 0) return {};
  WARPLOOM_TRY(use());
  if (blocks < 0 || blocks > limits_.max_blocks) {
    return {Code::internal, "a grid of " + std::to_string(blocks) + " blocks"};
  }
  WARPLOOM_TRY(allow_shared(kernel, shared_bytes));
  const dim3 grid(static_cast<unsigned int>(blocks)), block(static_cast<unsigned int>(threads));
  if (kind == LaunchKind::cooperative) {
    CUDA_TRY(cudaLaunchCooperativeKernel, kernel, grid, block, arguments, shared_bytes, stream_);
  } else if (kind == LaunchKind::overlapped) {
    cudaLaunchAttribute overlap;
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t configuration = {grid, block, shared_bytes, stream_, &overlap, 1};
    CUDA_TRY(cudaLaunchKernelExC, &configuration, kernel, arguments);
  } else {
    CUDA_TRY(cudaLaunchKernel, kernel, grid, block, arguments, shared_bytes, stream_);
  }
  return {};
}

int CudaDevice::resident_blocks(const void* kernel, int threads, size_t shared_bytes) {
  const auto key = std::make_tuple(kernel, threads, shared_bytes);
  const auto found = resident_.find(key);
  if (found != resident_.end()) return found->second;
  int blocks = 0;
  if (!use().ok() || !allow_shared(kernel, shared_bytes).ok()) return 0;
  const Status status = report(call([&] {
                                 return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads,
                                                                                      shared_bytes);
                               }),
                               "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  if (!status.ok()) return 0;
  return resident_[key] = blocks;
}

Status CudaDevice::begin_operation(Control&) {
  if (measuring_) return {};
  WARPLOOM_TRY(use());
  MarkEvents* const events = current_ != kNone ? &marks_[static_cast<size_t>(current_)] : nullptr;
  if (staged_) WARPLOOM_TRY(time_slice(*events));
  const cudaEvent_t begin = staged_ ? events->slices[events->timed_slices].begin : events != nullptr ? events->begin : begin_;
  CUDA_TRY(cudaEventRecord, begin, stream_);
  return {};
}

/// In a submitted call, finish() reports the time.
Status CudaDevice::end_operation(Control& control) {
  if (measuring_) return {};
  if (current_ != kNone) {
    WARPLOOM_TRY(use());
    MarkEvents& events = marks_[static_cast<size_t>(current_)];
    CUDA_TRY(cudaEventRecord, staged_ ? events.slices[events.timed_slices].end : events.end, stream_);
    if (staged_) ++events.timed_slices;
    else events.timed = true;
    return {};
  }
  WARPLOOM_TRY(synchronize());
  float milliseconds = 0;
  CUDA_TRY(cudaEventElapsedTime, &milliseconds, begin_, end_);
  control.device_seconds = static_cast<double>(milliseconds) * 1e-3;
  return {};
}

Status open_device(int32_t index, const OpenOptions& options, std::unique_ptr<Device>* out) {
  auto device = std::make_unique<CudaDevice>(index);
  WARPLOOM_TRY(device->start(options));
  *out = std::move(device);
  return {};
}

}  // namespace warploom::cuda
