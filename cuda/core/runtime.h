// GpuDevice: an open device of the cuda or the simt backend. Every CUDA runtime call of the project is in
// cuda/core/*.cu behind this class, so that faults can be injected in one place.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "cuda/core/backend.h"
#include "cuda/core/device.cuh"
#include "cuda/core/launch_shape.h"

namespace warploom::WARPLOOM_TARGET {

/// Properties that determine the shapes of kernels.
struct GpuLimits {
  int compute_capability = 90;
  int multiprocessors = 1;
  int64_t shared_bytes_per_block = 0;  ///< largest opt-in dynamic shared memory of a block
  int64_t shared_bytes_per_multiprocessor = 0;
  int registers_per_multiprocessor = 65536;
  int64_t l2_bytes = 0;
  int64_t max_blocks = 2147483647;
};

/// How the blocks of a launch start.
enum class LaunchKind {
  plain,
  cooperative,  ///< all at once, so that Block::sync_grid works
  /// while the previous launch still runs; the kernel itself waits for its end (programmatic dependent launch)
  overlapped,
};

class GpuDevice : public Device {
 public:
  virtual const GpuLimits& limits() const = 0;
  /// Device memory that lives as long as the device and starts as zeros. Blocks of cooperative launches exchange
  /// messages through it (device::post). Every launch continues from what the last one left, so that none has to clear
  /// it.
  virtual void* mailbox() = 0;
#ifdef WARPLOOM_SIMT
  virtual Status launch_blocks(int64_t blocks, int threads, size_t shared_bytes, bool cooperative,
                               const std::function<void(const device::Block&)>& body) = 0;
#else
  virtual Status launch_kernel(const void* kernel, int64_t blocks, int threads, size_t shared_bytes, LaunchKind kind,
                               void** arguments) = 0;
  virtual int resident_blocks(const void* kernel, int threads, size_t shared_bytes) = 0;
#endif
  /// Runs the launches of `body` `times` times. On a GPU `body` runs once, to record a graph that is launched
  /// repeatedly; so it must make the same launches each time, and neither allocate nor transfer. Elsewhere it runs
  /// `times` times.
  virtual Status replay(int64_t times, const std::function<Status()>& body) {
    for (int64_t i = 0; i < times; ++i) WARPLOOM_TRY(body());
    return {};
  }
  // A second stream of work, for operations that continue with the host's help while the first stream is busy. On
  // devices with only one stream, its work is done as soon as it is submitted.

  /// The second stream continues after everything submitted to the first so far.
  virtual Status fork() { return {}; }
  /// Sends the launches and copies of `body` to the second stream. `body` must not allocate.
  virtual Status aside(const std::function<Status()>& body) { return body(); }
  /// Waits for the second stream.
  virtual Status wait_aside() { return {}; }
  /// The first stream continues after everything submitted to the second so far.
  virtual Status join() { return {}; }
  /// Marks the start and end of an operation's device work; end writes Control::device_seconds.
  virtual Status begin_operation(Control& control) = 0;
  virtual Status end_operation(Control& control) = 0;
};

/// Device memory for the duration of one operation, from the pool; released in stream order.
class Workspace {
 public:
  Workspace() = default;
  Workspace(Workspace&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), memory_(std::exchange(other.memory_, nullptr)) {}
  Workspace& operator=(Workspace&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~Workspace() {
    if (memory_ != nullptr) device_->release(memory_);
  }
  static Status make(GpuDevice& device, int64_t bytes, Workspace* out) {
    Workspace workspace;
    workspace.device_ = &device;
    WARPLOOM_TRY(device.allocate(bytes, &workspace.memory_));
    *out = std::move(workspace);
    return {};
  }
  template <class T>
  T* as(int64_t byte_offset = 0) const {
    return reinterpret_cast<T*>(static_cast<char*>(memory_) + byte_offset);
  }

 private:
  GpuDevice* device_ = nullptr;
  void* memory_ = nullptr;
};

}  // namespace warploom::WARPLOOM_TARGET
