// The cuda backend's GpuDevice. Every call of the CUDA runtime in the project stands here or in discovery.cu.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <tuple>
#include <unordered_map>

#include "cuda/core/cuda_call.h"
#include "cuda/core/cuda_device.h"
#include "cuda/core/memory.h"
#include "cuda/core/runtime.h"

namespace warploom::cuda {

FaultSeam& fault_seam() {
  static FaultSeam seam;
  return seam;
}

namespace {

constexpr int64_t kStagingBytes = int64_t{16} << 20;  // of each of two staging buffers
constexpr int64_t kDriverStaged = 64 << 10;           // the driver itself stages pageable copies up to here
constexpr auto kSpin = std::chrono::microseconds(200);

struct HostBuffer {
  void* memory = nullptr;
  cudaEvent_t used = nullptr;  ///< the last transfer that touches it
};

class CudaDevice final : public GpuDevice {
 public:
  explicit CudaDevice(int index) : index_(index) {}
  ~CudaDevice() override;
  Status start(const OpenOptions& options);

  const DeviceDescription& description() const override { return description_; }
  const GpuLimits& limits() const override { return limits_; }
  bool lost() const override { return lost_; }
  bool host_memory() const override { return false; }

  Status allocate(int64_t bytes, void** out) override;
  void release(void* memory) override;
  Status upload(void* device, const void* host, int64_t bytes) override;
  Status download(void* host, const void* device, int64_t bytes) override;
  Status copy(void* to, const void* from, int64_t bytes) override;
  Status fill_zero(void* device, int64_t bytes) override;
  Status allocate_pinned(int64_t bytes, void** out) override;
  void release_pinned(void* memory) override;
  Status synchronize() override;
  void trim() override { (void)give_back_pool(0); }
  MemoryUse memory_use() const override;

  Status launch_kernel(const void* kernel, int64_t blocks, int threads, size_t shared_bytes, bool cooperative,
                       void** arguments) override;
  int resident_blocks(const void* kernel, int threads, size_t shared_bytes) override;
  Status begin_operation(Control& control) override;
  Status end_operation(Control& control) override;
  Status measure(int calls, int repeats, const std::function<Status(int, Control&)>& body, double* seconds) override;
  void* native_stream() override { return stream_; }

 private:
  Status capture(int calls, const std::function<Status(int, Control&)>& body, cudaGraphExec_t* out);
  Status report(cudaError_t error, const char* what, int64_t requested = 0);
  Status use();
  cudaError_t raw_allocate(int64_t bytes, void** out);
  void raw_release(void* memory);
  Status give_back_pool(int64_t keep);
  Status prepare_staging();
  Status allow_shared(const void* kernel, size_t shared_bytes);
  Status wait(cudaEvent_t event);
  bool is_pinned(const void* host, int64_t bytes) const;

  int index_;
  DeviceDescription description_;
  GpuLimits limits_;
  std::atomic<bool> lost_{false};
  bool started_ = false;
  bool measuring_ = false;  ///< inside measure(): operations are neither timed nor waited for
  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;  ///< null: the device has no pools, plain cudaMalloc
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  HostBuffer staging_[2];
  MemoryLedger ledger_;
  SmallBlocks small_;
  mutable std::mutex pinned_mutex_;
  std::map<const char*, int64_t> pinned_;
  std::unordered_map<const void*, size_t> shared_allowed_;
  std::map<std::tuple<const void*, int, size_t>, int> resident_;
};

#define CUDA_TRY(name, ...) WARPLOOM_TRY(report(call([&] { return name(__VA_ARGS__); }), #name))

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

/// Before any call: this thread works on this device, which is still there.
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
  CUDA_TRY(cudaEventCreateWithFlags, &begin_, cudaEventBlockingSync);
  CUDA_TRY(cudaEventCreateWithFlags, &end_, cudaEventBlockingSync);
  if (pools != 0) {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = index_;
    CUDA_TRY(cudaMemPoolCreate, &pool_, &properties);
    uint64_t keep = UINT64_MAX;  // freed memory stays with the pool until trim()
    CUDA_TRY(cudaMemPoolSetAttribute, pool_, cudaMemPoolAttrReleaseThreshold, &keep);
  }
  return {};
}

CudaDevice::~CudaDevice() {
  if (!started_ || lost_ || exiting || !use().ok()) return;  // the driver frees what a lost context held
  call_always([&] { return stream_ != nullptr ? cudaStreamSynchronize(stream_) : cudaSuccess; });
  std::vector<void*> blocks;
  small_.drain(&blocks);
  for (void* block : blocks) raw_release(block);
  for (HostBuffer& buffer : staging_) {
    if (buffer.memory != nullptr) call_always([&] { return cudaFreeHost(buffer.memory); });
    if (buffer.used != nullptr) call_always([&] { return cudaEventDestroy(buffer.used); });
  }
  if (begin_ != nullptr) call_always([&] { return cudaEventDestroy(begin_); });
  if (end_ != nullptr) call_always([&] { return cudaEventDestroy(end_); });
  if (stream_ != nullptr) call_always([&] { return cudaStreamSynchronize(stream_); });
  if (pool_ != nullptr) call_always([&] { return cudaMemPoolDestroy(pool_); });
  if (stream_ != nullptr) call_always([&] { return cudaStreamDestroy(stream_); });
}

// --- memory ---

cudaError_t CudaDevice::raw_allocate(int64_t bytes, void** out) {
  const size_t size = static_cast<size_t>(bytes);
  return pool_ != nullptr ? call([&] { return cudaMallocFromPoolAsync(out, size, pool_, stream_); })
                          : call([&] { return cudaMalloc(out, size); });
}

void CudaDevice::raw_release(void* memory) {
  if (pool_ != nullptr) call_always([&] { return cudaFreeAsync(memory, stream_); });
  else call_always([&] { return cudaFree(memory); });
}

/// Frees what nobody uses; `keep` bytes may stay.
Status CudaDevice::give_back_pool(int64_t keep) {
  if (lost_) return {};
  WARPLOOM_TRY(use());
  std::vector<void*> blocks;
  small_.drain(&blocks);
  for (void* block : blocks) raw_release(block);
  CUDA_TRY(cudaStreamSynchronize, stream_);
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
  if (!small_.give_back(memory, size)) raw_release(memory);
}

MemoryUse CudaDevice::memory_use() const {
  MemoryUse use = ledger_.use();
  if (pool_ == nullptr) {
    use.pooled_bytes = small_.bytes();
    return use;
  }
  if (lost_ || exiting) return use;
  uint64_t reserved = 0;  // a question from any thread: not numbered
  if (cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved) == cudaSuccess) {
    use.pooled_bytes = std::max<int64_t>(0, static_cast<int64_t>(reserved) - use.in_use_bytes);
  }
  return use;
}

Status CudaDevice::allocate_pinned(int64_t bytes, void** out) {
  *out = nullptr;
  WARPLOOM_TRY(use());
  const size_t size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  WARPLOOM_TRY(report(call([&] { return cudaHostAlloc(out, size, cudaHostAllocDefault); }), "cudaHostAlloc", bytes));
  const std::lock_guard<std::mutex> lock(pinned_mutex_);
  pinned_[static_cast<char*>(*out)] = bytes;
  return {};
}

void CudaDevice::release_pinned(void* memory) {
  if (memory == nullptr) return;
  {
    const std::lock_guard<std::mutex> lock(pinned_mutex_);
    pinned_.erase(static_cast<char*>(memory));
  }
  if (!lost_ && !exiting && use().ok()) call_always([&] { return cudaFreeHost(memory); });
}

bool CudaDevice::is_pinned(const void* host, int64_t bytes) const {
  const std::lock_guard<std::mutex> lock(pinned_mutex_);
  const char* begin = static_cast<const char*>(host);
  auto after = pinned_.upper_bound(begin);
  if (after == pinned_.begin()) return false;
  --after;
  return begin + bytes <= after->first + after->second;
}

// --- transfers: the host side is free to change when a call returns ---

Status CudaDevice::prepare_staging() {
  for (HostBuffer& buffer : staging_) {
    if (buffer.memory == nullptr) CUDA_TRY(cudaHostAlloc, &buffer.memory, kStagingBytes, cudaHostAllocDefault);
    if (buffer.used == nullptr) {
      CUDA_TRY(cudaEventCreateWithFlags, &buffer.used, cudaEventBlockingSync | cudaEventDisableTiming);
    }
  }
  return {};
}

Status CudaDevice::upload(void* device, const void* host, int64_t bytes) {
  if (bytes == 0) return {};
  WARPLOOM_TRY(use());
  if (bytes <= kDriverStaged || is_pinned(host, bytes)) {
    CUDA_TRY(cudaMemcpyAsync, device, host, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream_);
    if (bytes <= kDriverStaged && !is_pinned(host, bytes)) return {};
    return synchronize();
  }
  WARPLOOM_TRY(prepare_staging());
  int turn = 0;
  for (int64_t at = 0; at < bytes; at += kStagingBytes, turn ^= 1) {
    const size_t size = static_cast<size_t>(std::min(kStagingBytes, bytes - at));
    HostBuffer& buffer = staging_[turn];
    WARPLOOM_TRY(wait(buffer.used));
    parallel_copy(buffer.memory, static_cast<const char*>(host) + at, size);
    CUDA_TRY(cudaMemcpyAsync, static_cast<char*>(device) + at, buffer.memory, size, cudaMemcpyHostToDevice, stream_);
    CUDA_TRY(cudaEventRecord, buffer.used, stream_);
  }
  return {};
}

Status CudaDevice::download(void* host, const void* device, int64_t bytes) {
  if (bytes == 0) return {};
  WARPLOOM_TRY(use());
  if (bytes <= kDriverStaged || is_pinned(host, bytes)) {
    CUDA_TRY(cudaMemcpyAsync, host, device, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, stream_);
    return synchronize();
  }
  WARPLOOM_TRY(prepare_staging());
  const int64_t chunks = (bytes + kStagingBytes - 1) / kStagingBytes;
  for (int64_t chunk = 0; chunk <= chunks; ++chunk) {
    if (chunk < chunks) {
      HostBuffer& buffer = staging_[chunk & 1];
      const size_t size = static_cast<size_t>(std::min(kStagingBytes, bytes - chunk * kStagingBytes));
      CUDA_TRY(cudaMemcpyAsync, buffer.memory, static_cast<const char*>(device) + chunk * kStagingBytes, size,
               cudaMemcpyDeviceToHost, stream_);
      CUDA_TRY(cudaEventRecord, buffer.used, stream_);
    }
    if (chunk > 0) {
      const int64_t at = (chunk - 1) * kStagingBytes;
      HostBuffer& buffer = staging_[(chunk - 1) & 1];
      WARPLOOM_TRY(wait(buffer.used));
      parallel_copy(static_cast<char*>(host) + at, buffer.memory,
                    static_cast<size_t>(std::min(kStagingBytes, bytes - at)));
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

/// Spins as long as a short operation lasts, then sleeps. One numbered call, however long it takes.
Status CudaDevice::wait(cudaEvent_t event) {
  return report(call([&] {
                  const auto begin = std::chrono::steady_clock::now();
                  cudaError_t state = cudaErrorNotReady;
                  while (state == cudaErrorNotReady && std::chrono::steady_clock::now() - begin < kSpin) {
                    state = cudaEventQuery(event);
                  }
                  return state == cudaErrorNotReady ? cudaEventSynchronize(event) : state;
                }),
                "cudaEventSynchronize");
}

Status CudaDevice::synchronize() {
  WARPLOOM_TRY(use());
  CUDA_TRY(cudaEventRecord, end_, stream_);
  return wait(end_);
}

// --- launches ---

/// Above 48 KiB a kernel must ask for its dynamic shared memory once.
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
                                 bool cooperative, void** arguments) {
  if (blocks == 0) return {};
  WARPLOOM_TRY(use());
  if (blocks < 0 || blocks > limits_.max_blocks) {
    return {Code::internal, "a grid of " + std::to_string(blocks) + " blocks"};
  }
  WARPLOOM_TRY(allow_shared(kernel, shared_bytes));
  const dim3 grid(static_cast<unsigned int>(blocks)), block(static_cast<unsigned int>(threads));
  if (cooperative) {
    CUDA_TRY(cudaLaunchCooperativeKernel, kernel, grid, block, arguments, shared_bytes, stream_);
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
  CUDA_TRY(cudaEventRecord, begin_, stream_);
  return {};
}

Status CudaDevice::end_operation(Control& control) {
  if (measuring_) return {};
  WARPLOOM_TRY(synchronize());
  float milliseconds = 0;
  CUDA_TRY(cudaEventElapsedTime, &milliseconds, begin_, end_);
  control.device_seconds = static_cast<double>(milliseconds) * 1e-3;
  return {};
}

// --- benchmarks ---

/// The calls as one graph; null when they cannot be captured, say because one waits for the device.
Status CudaDevice::capture(int calls, const std::function<Status(int, Control&)>& body, cudaGraphExec_t* out) {
  *out = nullptr;
  CUDA_TRY(cudaStreamBeginCapture, stream_, cudaStreamCaptureModeThreadLocal);
  Status status;
  Control control;
  for (int i = 0; i < calls && status.ok(); ++i) status = body(i, control);
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = call([&] { return cudaStreamEndCapture(stream_, &graph); });
  (void)cudaGetLastError();
  if (status.code() == Code::device_lost) return status;
  if (status.ok() && ended == cudaSuccess && graph != nullptr &&
      call([&] { return cudaGraphInstantiate(out, graph, 0); }) != cudaSuccess) {
    (void)cudaGetLastError();
    *out = nullptr;
  }
  if (graph != nullptr) call_always([&] { return cudaGraphDestroy(graph); });
  return {};
}

/// One graph of all calls, launched `repeats` times; where that cannot be captured, plain calls one after the
/// other between two events.
Status CudaDevice::measure(int calls, int repeats, const std::function<Status(int, Control&)>& body,
                           double* seconds) {
  WARPLOOM_TRY(synchronize());
  struct Guard {
    bool& flag;
    explicit Guard(bool& value) : flag(value) { flag = true; }
    ~Guard() { flag = false; }
  } guard(measuring_);
  cudaGraphExec_t graph = nullptr;
  WARPLOOM_TRY(capture(calls, body, &graph));
  const auto run = [&]() -> Status {
    if (graph != nullptr) return report(call([&] { return cudaGraphLaunch(graph, stream_); }), "cudaGraphLaunch");
    Control control;
    for (int i = 0; i < calls; ++i) WARPLOOM_TRY(body(i, control));
    return {};
  };
  Status status = run();  // the first launch of a graph uploads it
  for (int repeat = 0; repeat < repeats && status.ok(); ++repeat) {
    status = [&]() -> Status {
      CUDA_TRY(cudaEventRecord, begin_, stream_);
      WARPLOOM_TRY(run());
      WARPLOOM_TRY(synchronize());
      float milliseconds = 0;
      CUDA_TRY(cudaEventElapsedTime, &milliseconds, begin_, end_);
      seconds[repeat] = static_cast<double>(milliseconds) * 1e-3 / calls;
      return {};
    }();
  }
  if (graph != nullptr) call_always([&] { return cudaGraphExecDestroy(graph); });
  return status;
}

}  // namespace

Status open_device(int32_t index, const OpenOptions& options, std::unique_ptr<Device>* out) {
  auto device = std::make_unique<CudaDevice>(index);
  WARPLOOM_TRY(device->start(options));
  *out = std::move(device);
  return {};
}

}  // namespace warploom::cuda
