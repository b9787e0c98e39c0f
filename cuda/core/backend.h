// The interface between the addon and a backend: devices, their memory, and one function per line of
// operations.inc. cpu, cuda and simt each fill one Backend table.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cuda/core/status.h"
#include "cuda/core/types.h"

namespace warploom {

/// What `devices()` and `warploom info` show.
struct DeviceDescription {
  std::string name;
  bool available = false;
  std::string reason;             ///< one line: why it is available or not
  int64_t memory_bytes = 0;
  int32_t compute_capability = 0; ///< 90 for Hopper; 0 where not applicable
  int32_t multiprocessors = 0;    ///< cores, for the cpu backend
  int64_t l2_bytes = 0;
  std::string driver;             ///< driver and runtime versions; empty if there are none
};

struct OpenOptions {
  int64_t memory_limit_bytes = 0; ///< 0: no limit beyond the device's own
  int32_t threads = 0;            ///< cpu backend: worker threads, 0 = all cores
};

struct MemoryUse {
  int64_t in_use_bytes = 0;   ///< arrays and workspaces that the caller can still reach
  int64_t pooled_bytes = 0;   ///< held by the pool, free for reuse
  int64_t peak_bytes = 0;
  int64_t limit_bytes = 0;
};

/// Cancel flag, progress and timing of one call. Owned by the job; operations poll it between
/// launches (cuda) or chunks of systems (cpu).
class Control {
 public:
  virtual ~Control() = default;
  virtual bool cancelled() const { return false; }
  /// `done` of `total`, in units that the operation chooses; called on the device's job thread.
  virtual void progress(double done, double total) { (void)done; (void)total; }
  double device_seconds = 0;  ///< written by the backend: time of the operation proper, without transfers
};

/// An open device of one backend. Used from one thread at a time (its job thread), except
/// memory_use() and description(). After a sticky fault lost() is true and every call fails with
/// Code::device_lost without touching the device again.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceDescription& description() const = 0;
  virtual Status allocate(int64_t bytes, void** out) = 0;
  virtual void release(void* memory) = 0;
  virtual Status upload(void* device, const void* host, int64_t bytes) = 0;
  virtual Status download(void* host, const void* device, int64_t bytes) = 0;
  virtual Status copy(void* to, const void* from, int64_t bytes) = 0;
  virtual Status fill_zero(void* device, int64_t bytes) = 0;
  /// Host memory with full transfer speed; plain aligned memory where that makes no difference.
  virtual Status allocate_pinned(int64_t bytes, void** out) = 0;
  virtual void release_pinned(void* memory) = 0;
  virtual Status synchronize() = 0;
  /// Returns memory kept for reuse to the system.
  virtual void trim() = 0;
  virtual MemoryUse memory_use() const = 0;
  virtual bool lost() const { return false; }
  /// True when device memory is ordinary host memory (cpu, simt): uploads may be skipped.
  virtual bool host_memory() const = 0;

  // --- benchmarks ---
  /// Runs body(0)…body(calls-1) back to back, `repeats` times, and writes the seconds per call for each repeat. If
  /// possible, it does not wait for the device between calls: cuda captures them into one graph. Bodies must not
  /// transfer to or from host memory.
  virtual Status measure(int calls, int repeats, const std::function<Status(int call, Control&)>& body,
                         double* seconds) {
    for (int repeat = 0; repeat < repeats; ++repeat) {
      Control control;
      const auto start = std::chrono::steady_clock::now();
      for (int call = 0; call < calls; ++call) {
        if (Status status = body(call, control); !status.ok()) return status;
      }
      if (Status status = synchronize(); !status.ok()) return status;
      seconds[repeat] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
    }
    return {};
  }
  /// The stream (cudaStream_t) that operations and measure() use, for peers in benchmarks; null elsewhere.
  virtual void* native_stream() { return nullptr; }
};

}  // namespace warploom

#include "cuda/core/operations.h"

namespace warploom {

/// One backend. `count` and `describe` never fail: a backend that cannot run here has one
/// description with available = false and the reason.
struct Backend {
  const char* name;
  int32_t (*count)();
  DeviceDescription (*describe)(int32_t index);
  Status (*open)(int32_t index, const OpenOptions& options, std::unique_ptr<Device>* out);
  Operations operations;
};

const Backend& cpu_backend();
const Backend& cuda_backend();  ///< a table of "not compiled" entries if the build had no nvcc
const Backend& simt_backend();  ///< likewise if the build has no SIMT shim

}  // namespace warploom
