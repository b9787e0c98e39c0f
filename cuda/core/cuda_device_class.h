// The class behind GpuDevice of the cuda backend; its functions are in runtime.cu, transfers.cu, submission.cu, fork.cu, graph.cu,
// modules.cu and measure.cu.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cuda/core/cuda_call.h"
#include "cuda/core/cuda_device.h"
#include "cuda/core/memory.h"
#include "cuda/core/module.h"
#include "cuda/core/runtime.h"
#include "cuda/core/submission.h"

namespace warploom::cuda {

struct HostBuffer {
  void* memory = nullptr;
  cudaEvent_t used = nullptr;  ///< the last transfer that uses it
};

struct EventPair {
  cudaEvent_t begin = nullptr, end = nullptr;
};

/// Events of a mark: around its call's operation, and after everything in it.
struct MarkEvents {
  cudaEvent_t begin = nullptr, end = nullptr, reached = nullptr;
  cudaEvent_t computed = nullptr;  ///< after the work whose results large downloads read
  std::vector<EventPair> slices;   ///< begin and end for each slice of a sliced call: a pool
  size_t timed_slices = 0;         ///< how many of those were recorded
  bool downloading = false;        ///< the call's downloads use their own stream
  bool sliced = false;
  bool timed = false;  ///< whether begin and end were recorded
  bool call = false;   ///< of a call, not just of a copy
};

/// For the number of resident blocks of a module's kernel (modules.cu).
struct Occupancy;

class CudaDevice final : public GpuDevice, public Submission, public ModuleHost {
 public:
  explicit CudaDevice(int index) : index_(index) {}
  ~CudaDevice() override;
  Status start(const OpenOptions& options);

  const DeviceDescription& description() const override { return description_; }
  const GpuLimits& limits() const override { return limits_; }
  void* mailbox() override { return mailbox_; }
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

  Status launch_kernel(const void* kernel, int64_t blocks, int threads, size_t shared_bytes, LaunchKind kind,
                       void** arguments) override;
  int resident_blocks(const void* kernel, int threads, size_t shared_bytes) override;
  Status replay(int64_t times, const std::function<Status()>& body) override;
  Status fork() override;
  Status aside(const std::function<Status()>& body) override;
  Status wait_aside() override;
  Status join() override;
  Status begin_operation(Control& control) override;
  Status end_operation(Control& control) override;
  Status measure(int calls, int repeats, const std::function<Status(int, Control&)>& body, double* seconds) override;
  void* native_stream() override { return stream_; }

  Status load(const std::string& image, const std::vector<std::string>& names, LoadedModule* out) override;
  void unload(const LoadedModule& module) override;
  Status launch_all(const LoadedModule& module, const std::vector<ModuleLaunch>& launches, int64_t times,
                    Control& control) override;
  int resident_blocks(const ModuleKernel& kernel, int threads, int64_t shared_bytes) const override;

  Status begin(Mark* out) override;
  Status upload_later(void* device, const void* host, int64_t bytes) override;
  Status download_later(void* host, const void* device, int64_t bytes) override;
  Status upload_aside(bool after_allocation, bool after_work, bool after_downloads) override;
  Status await_downloads() override;
  Status stage(Stage stage, int turn) override;
  Status end(Mark mark) override;
  void abandon(Mark mark) override;
  Status set(Mark* out) override;
  bool reached(Mark mark) override;
  Status finish(Mark mark, double* seconds) override;

 private:
  Status capture(const std::function<Status()>& body, cudaGraphExec_t* out);
  Status report(cudaError_t error, const char* what, int64_t requested = 0);
  Status use();
  Status take_mark(Mark* out);
  Status prepare_slices();
  Status prepare_uploads();
  Status follow(cudaStream_t later, cudaStream_t earlier);
  Status time_slice(MarkEvents& events);
  Status leave_stage();
  cudaStream_t stream_of(Stage stage) const;
  /// The stream that transfers use now.
  cudaStream_t lane() const { return staged_ ? stream_of(stage_) : uploading_ ? up_ : stream_; }
  void destroy(const MarkEvents& events);
  void wait_all();
  cudaError_t raw_allocate(int64_t bytes, void** out);
  void raw_release(void* memory, int64_t bytes = 0);
  Status give_back_pool(int64_t keep);
  Status prepare_staging();
  Status prepare_second();
  Status allow_shared(const void* kernel, size_t shared_bytes);
  Status list_kernels(void* library, std::map<std::string, const void*>* out);
  Status describe(const std::map<std::string, const void*>& kernels, const std::string& name, ModuleKernel* out);
  Status prepare_occupancy();
  void unload_all();
  Status wait(cudaEvent_t event);
  bool is_pinned(const void* host, int64_t bytes) const;
  bool map_pinned(int64_t bytes, void** out);

  int index_;
  DeviceDescription description_;
  GpuLimits limits_;
  std::atomic<bool> lost_{false};
  bool started_ = false;
  bool measuring_ = false;  ///< inside measure(): operations are neither timed nor waited for
  cudaStream_t stream_ = nullptr;
  cudaStream_t down_ = nullptr;   ///< for large downloads
  cudaStream_t second_ = nullptr; ///< for fork(); made by the first one
  cudaEvent_t forked_ = nullptr, joined_ = nullptr;
  cudaStream_t up_ = nullptr;     ///< for uploads of slices and large ones of arrays; made by the first one
  /// Allocates and frees large blocks of the pool: new memory waits for the work before its last release, not for all.
  cudaStream_t memory_stream_ = nullptr;
  cudaEvent_t allocated_ = nullptr;  ///< a point of one of the two streams that the other waits for at once
  cudaMemPool_t pool_ = nullptr;  ///< null: the device has no pools, plain cudaMalloc
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  std::vector<MarkEvents> marks_;  ///< by mark; the pool grows to the largest number in flight at once
  std::vector<Mark> free_marks_;
  Mark current_ = kNone;           ///< of the call between begin() and end()
  bool uploading_ = false;         ///< the current call's uploads use up_
  cudaEvent_t passed_ = nullptr;   ///< a point of one stream that another one waits for at once
  cudaEvent_t began_ = nullptr;    ///< before the first slice of the call
  cudaEvent_t stage_ended_[kTurns][3] = {};
  bool turn_used_[kTurns] = {};
  bool staged_ = false;            ///< the call is in slices: stage_ and turn_ are the current ones
  Stage stage_ = Stage::upload;
  int turn_ = 0;
  void* mailbox_ = nullptr;
  HostBuffer staging_[2];
  MemoryLedger ledger_;
  SmallBlocks small_;
  mutable std::mutex pinned_mutex_;
  struct PinnedMemory {
    int64_t bytes;
    int64_t mapped;  ///< bytes that were mapped and registered; 0: cudaHostAlloc
  };
  std::map<const char*, PinnedMemory> pinned_;
  std::unordered_map<const void*, size_t> shared_allowed_;
  std::map<std::tuple<const void*, int, size_t>, int> resident_;
  std::set<void*> libraries_;      ///< the loaded modules
  std::shared_ptr<const Occupancy> occupancy_;  ///< created by the first module
};

/// Returns from the enclosing function with the Status of a failed runtime call.
#define CUDA_TRY(name, ...) WARPLOOM_TRY(report(call([&] { return name(__VA_ARGS__); }), #name))

}  // namespace warploom::cuda
