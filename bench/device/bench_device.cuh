// A GpuDevice without Node: one stream, plain allocations, so that solvers can be captured in graphs
// and timed exactly as the product launches them.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "cuda/core/launch.cuh"

#define BENCH_CUDA(expression)                                                                  \
  do {                                                                                          \
    const cudaError_t error_ = (expression);                                                    \
    if (error_ != cudaSuccess) {                                                                \
      std::fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, #expression,                   \
                   cudaGetErrorString(error_));                                                 \
      std::exit(1);                                                                             \
    }                                                                                           \
  } while (0)

namespace warploom::bench {

class BenchDevice final : public cuda::GpuDevice {
 public:
  BenchDevice() {
    cudaDeviceProp properties;
    BENCH_CUDA(cudaGetDeviceProperties(&properties, 0));
    description_.name = properties.name;
    limits_.compute_capability = properties.major * 10 + properties.minor;
    limits_.multiprocessors = properties.multiProcessorCount;
    limits_.shared_bytes_per_block = static_cast<int64_t>(properties.sharedMemPerBlockOptin);
    limits_.shared_bytes_per_multiprocessor = static_cast<int64_t>(properties.sharedMemPerMultiprocessor);
    limits_.registers_per_multiprocessor = properties.regsPerMultiprocessor;
    limits_.l2_bytes = properties.l2CacheSize;
    BENCH_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    BENCH_CUDA(cudaMalloc(&mailbox_, cuda::kMailboxBytes));
    BENCH_CUDA(cudaMemset(mailbox_, 0, cuda::kMailboxBytes));
  }
  const DeviceDescription& description() const override { return description_; }
  const cuda::GpuLimits& limits() const override { return limits_; }
  void* mailbox() override { return mailbox_; }

  /// Freed blocks are kept by size, so that a warmed-up solve allocates nothing and can be captured.
  Status allocate(int64_t bytes, void** out) override {
    auto& list = free_[bytes];
    if (!list.empty()) {
      *out = list.back();
      list.pop_back();
    } else if (cudaMalloc(out, static_cast<size_t>(bytes)) != cudaSuccess) {
      return Status::out_of_memory(bytes, 0, 0);
    }
    sizes_[*out] = bytes;
    return {};
  }
  void release(void* memory) override { free_[sizes_[memory]].push_back(memory); }
  Status upload(void* to, const void* from, int64_t bytes) override {
    return check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
  }
  Status download(void* to, const void* from, int64_t bytes) override {
    WARPLOOM_TRY(check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream)));
    return synchronize();
  }
  Status copy(void* to, const void* from, int64_t bytes) override {
    return check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
  }
  Status fill_zero(void* memory, int64_t bytes) override {
    return check(cudaMemsetAsync(memory, 0, bytes, stream));
  }
  Status allocate_pinned(int64_t, void**) override { return {Code::unsupported, "not in the benchmark"}; }
  void release_pinned(void*) override {}
  Status synchronize() override { return check(cudaStreamSynchronize(stream)); }
  void trim() override {}
  MemoryUse memory_use() const override { return {}; }
  bool host_memory() const override { return false; }

  Status launch_kernel(const void* kernel, int64_t blocks, int threads, size_t shared_bytes,
                       cuda::LaunchKind kind, void** arguments) override {
    WARPLOOM_TRY(allow_shared(kernel, shared_bytes));
    const dim3 grid(static_cast<unsigned int>(blocks)), block(threads);
    if (kind == cuda::LaunchKind::plain) return check(cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream));
    if (kind == cuda::LaunchKind::cooperative) {
      return check(cudaLaunchCooperativeKernel(kernel, grid, block, arguments, shared_bytes, stream));
    }
    cudaLaunchAttribute overlap;
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t configuration = {grid, block, shared_bytes, stream, &overlap, 1};
    return check(cudaLaunchKernelExC(&configuration, kernel, arguments));
  }
  int resident_blocks(const void* kernel, int threads, size_t shared_bytes) override {
    const auto key = std::make_pair(kernel, std::make_pair(threads, shared_bytes));
    const auto found = resident_.find(key);
    if (found != resident_.end()) return found->second;
    int blocks = 0;
    if (!allow_shared(kernel, shared_bytes).ok() ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes) !=
            cudaSuccess) {
      cudaGetLastError();
      blocks = 0;
    }
    return resident_[key] = blocks;
  }
  Status replay(int64_t times, const std::function<Status()>& body) override {
    cudaStreamCaptureStatus capturing;
    WARPLOOM_TRY(check(cudaStreamIsCapturing(stream, &capturing)));
    if (times < 2 || capturing != cudaStreamCaptureStatusNone) return GpuDevice::replay(times, body);
    cudaGraph_t graph;
    cudaGraphExec_t launches;
    WARPLOOM_TRY(check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)));
    WARPLOOM_TRY(body());
    WARPLOOM_TRY(check(cudaStreamEndCapture(stream, &graph)));
    WARPLOOM_TRY(check(cudaGraphInstantiate(&launches, graph, 0)));
    for (int64_t i = 0; i < times; ++i) WARPLOOM_TRY(check(cudaGraphLaunch(launches, stream)));
    WARPLOOM_TRY(check(cudaGraphExecDestroy(launches)));
    return check(cudaGraphDestroy(graph));
  }
  Status begin_operation(Control&) override { return {}; }
  Status end_operation(Control&) override { return {}; }

  cudaStream_t stream = nullptr;

 private:
  static Status check(cudaError_t error) {
    if (error == cudaSuccess) return {};
    return {Code::internal, cudaGetErrorString(error)};
  }
  Status allow_shared(const void* kernel, size_t bytes) {
    size_t& allowed = allowed_[kernel];
    if (bytes <= allowed) return {};
    const Status status = check(cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
    if (status.ok()) allowed = bytes;
    return status;
  }

  DeviceDescription description_;
  cuda::GpuLimits limits_;
  void* mailbox_ = nullptr;
  std::map<int64_t, std::vector<void*>> free_;
  std::map<void*, int64_t> sizes_;
  std::map<const void*, size_t> allowed_;
  std::map<std::pair<const void*, std::pair<int, size_t>>, int> resident_;
};

inline void require(const Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, status.message().c_str());
  std::exit(1);
}

}  // namespace warploom::bench
