#include "cuda/core/runtime.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cuda/core/fault.h"
#include "cuda/core/submission.h"
#include "simt/modules.h"
#include "simt/runtime.h"
#include "simt/transfers.h"

namespace warploom::simt {

FaultSeam& fault_seam() {
  static FaultSeam seam;
  return seam;
}

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kCanaryBytes = 0;  // the sanitizer's red zones do this better
#else
constexpr size_t kCanaryBytes = 64;
#endif
constexpr unsigned char kCanary = 0xc5;
constexpr const char* kChanged = "host memory changed while it was on its way to the device";

/// Memory of one allocation: canary, data (aligned to 256 as on CUDA), canary.
struct Allocation {
  unsigned char* base = nullptr;
  int64_t bytes = 0;
};
constexpr size_t kLead = kCanaryBytes == 0 ? 0 : 256;

class SimtDevice final : public GpuDevice, public Submission, public ModuleHost {
 public:
  SimtDevice(const OpenOptions& options, const Schedule& schedule) : limit_(options.memory_limit_bytes) {
    limits_.compute_capability = 90;
    limits_.multiprocessors = 4;
    limits_.shared_bytes_per_block = 232448;
    limits_.shared_bytes_per_multiprocessor = 233472;
    limits_.l2_bytes = int64_t{50} << 20;
    scheduler_.set_schedule(schedule);
    clear_mailbox();
  }
  ~SimtDevice() override {
    for (auto& entry : allocations_) std::free(entry.second.base);
  }

  const DeviceDescription& description() const override {
    static const DeviceDescription shared = describe_device();
    return shared;
  }
  const GpuLimits& limits() const override { return limits_; }
  void* mailbox() override { return mailbox_.get(); }
  bool lost() const override { return lost_; }
  bool host_memory() const override { return host_memory_; }
  void set_schedule(const Schedule& schedule) { scheduler_.set_schedule(schedule); }

  Status allocate(int64_t bytes, void** out) override {
    *out = nullptr;
    if (bytes < 0) return {Code::internal, "allocation of a negative size"};
    WARPLOOM_TRY(seam(bytes));
    const std::lock_guard<std::mutex> lock(mutex_);
    if (limit_ > 0 && bytes > limit_ - in_use_) return Status::out_of_memory(bytes, in_use_, limit_);
    Allocation allocation;
    allocation.bytes = bytes;
    void* memory = nullptr;
    if (posix_memalign(&memory, 256, kLead + static_cast<size_t>(bytes) + kCanaryBytes) != 0) {
      return Status::out_of_memory(bytes, in_use_, limit_);
    }
    allocation.base = static_cast<unsigned char*>(memory);
    std::memset(allocation.base, kCanary, kLead);
    fill_unwritten(allocation.base + kLead, static_cast<size_t>(bytes));
    std::memset(allocation.base + kLead + bytes, kCanary, kCanaryBytes);
    *out = allocation.base + kLead;
    allocations_[*out] = allocation;
    in_use_ += bytes;
    if (in_use_ > peak_) peak_ = in_use_;
    return {};
  }
  void release(void* memory) override {
    if (memory == nullptr) return;
    (void)fault_seam().next();
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = allocations_.find(memory);
    if (found == allocations_.end()) {
      note("memory released that this device does not hold");
      return;
    }
    check_canaries(found->second);
    if (transfers_.reads(found->second.base + kLead, found->second.bytes)) note("memory released while it was downloaded");
    in_use_ -= found->second.bytes;
    std::free(found->second.base);
    allocations_.erase(found);
  }
  Status upload(void* device, const void* host, int64_t bytes) override { return transfer(device, host, bytes); }
  Status download(void* host, const void* device, int64_t bytes) override { return transfer(host, device, bytes); }
  Status copy(void* to, const void* from, int64_t bytes) override { return transfer(to, from, bytes); }
  Status fill_zero(void* device, int64_t bytes) override {
    if (bytes == 0) return {};
    WARPLOOM_TRY(seam());
    std::memset(device, 0, static_cast<size_t>(bytes));
    return {};
  }
  Status allocate_pinned(int64_t bytes, void** out) override {
    *out = nullptr;
    WARPLOOM_TRY(seam(bytes));
    if (posix_memalign(out, 256, static_cast<size_t>(bytes)) != 0) return Status::out_of_memory(bytes, 0, 0);
    return {};
  }
  void release_pinned(void* memory) override { std::free(memory); }
  Status synchronize() override {
    WARPLOOM_TRY(seam());
    end_transfers(INT64_MAX);
    return defects();
  }
  void trim() override {}
  MemoryUse memory_use() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {in_use_, 0, peak_, limit_};
  }

  Status launch_blocks(int64_t blocks, int threads, size_t shared_bytes, bool cooperative,
                       const std::function<void(const device::Block&)>& body) override {
    if (blocks == 0) return {};
    WARPLOOM_TRY(seam());
    if (blocks < 0 || blocks > limits_.max_blocks) {
      return {Code::internal, "a grid of " + std::to_string(blocks) + " blocks"};
    }
    if (static_cast<int64_t>(shared_bytes) > limits_.shared_bytes_per_block) {
      return {Code::internal, std::to_string(shared_bytes) + " bytes of shared memory in a block"};
    }
    if (cooperative && blocks > int64_t{limits_.multiprocessors} * 2) {
      return {Code::internal, "a cooperative launch of more blocks than are resident"};
    }
    const Status status = scheduler_.run({blocks, threads, shared_bytes, cooperative, &body});
    if (!status.ok()) clear_mailbox();  // stopped half-way: later launches must not start from its leftovers
    return status;
  }
  // --- modules ---
  Status load(const std::string& image, const std::vector<std::string>& names, LoadedModule* out) override {
    WARPLOOM_TRY(seam());
    out->most_shared_bytes = limits_.shared_bytes_per_block;
    return modules_.load(image, names, out);
  }
  void unload(const LoadedModule& module) override {
    (void)fault_seam().next();
    modules_.unload(module.library);
  }
  Status launch_all(const LoadedModule& module, const std::vector<ModuleLaunch>& launches, int64_t times, Control& control) override {
    WARPLOOM_TRY(begin_operation(control));
    for (int64_t time = 0; time < times; ++time) {
      for (const ModuleLaunch& each : launches) {
        if (control.cancelled()) return {Code::cancelled, "the launches were cancelled"};
        const auto entry = reinterpret_cast<ModuleEntry>(const_cast<void*>(module.kernels[static_cast<size_t>(each.kernel)].entry));
        WARPLOOM_TRY(launch_blocks(each.blocks, each.threads, static_cast<size_t>(each.shared_bytes), each.cooperative,
                                   [&](const device::Block& block) { entry(block, each.parameters); }));
      }
    }
    return end_operation(control);
  }
  int resident_blocks(const ModuleKernel& kernel, int threads, int64_t shared_bytes) const override {
    return threads <= kernel.max_threads && shared_bytes <= limits_.shared_bytes_per_block ? 2 : 0;  // as in launch.cuh
  }
  // --- submission: launches and copies run at once, in order; the host sees their effects only at the marks ---
  Status begin(Mark* out) override {
    WARPLOOM_TRY(seam());
    *out = current_ = ++last_mark_;
    marks_[current_] = {};
    return {};
  }
  Status upload_later(void* device, const void* host, int64_t bytes) override {
    WARPLOOM_TRY(transfer(device, host, bytes));
    transfers_.up(order_ + 1, host, bytes);
    return {};
  }
  Status download_later(void* host, const void* device, int64_t bytes) override {
    WARPLOOM_TRY(seam());
    if (!transfers_.down(order_ + 1, host, device, bytes, !in_stages_)) note(kChanged);
    return {};
  }
  Status upload_aside(bool, bool, bool after_downloads) override {
    WARPLOOM_TRY(seam());
    return after_downloads ? await_downloads() : Status();
  }
  Status await_downloads() override {
    WARPLOOM_TRY(seam());
    transfers_.read_all();
    return {};
  }
  Status stage(Stage stage, int turn) override {
    WARPLOOM_TRY(seam());
    const auto next = [](Stage last) {
      return last == Stage::upload ? Stage::work : last == Stage::work ? Stage::download : Stage::upload;
    };
    if (current_ == kNone || turn < 0 || turn >= kTurns || stage != next(last_stage_[turn])) {
      return {Code::internal, "stages of a slice out of order"};
    }
    last_stage_[turn] = stage;
    in_stages_ = true;
    return {};
  }
  Status end(Mark mark) override {
    WARPLOOM_TRY(seam());
    for (Stage& stage : last_stage_) {
      if (stage != Stage::download) return {Code::internal, "a slice without its end"};
    }
    current_ = kNone;
    in_stages_ = false;
    place(mark);
    marks_[mark].call = true;
    fault_seam().enter();
    return {};
  }
  void abandon(Mark mark) override {
    current_ = kNone;
    in_stages_ = false;
    for (Stage& stage : last_stage_) stage = Stage::download;
    end_transfers(INT64_MAX);
    marks_.erase(mark);
  }
  Status set(Mark* out) override {
    WARPLOOM_TRY(seam());
    *out = ++last_mark_;
    place(*out);
    return {};
  }
  bool reached(Mark mark) override { return lost_ || std::chrono::steady_clock::now() >= marks_[mark].due; }
  Status finish(Mark mark, double* seconds) override {
    const Point point = marks_[mark];
    marks_.erase(mark);
    if (point.call) fault_seam().leave();
    if (lost_) return seam();
    std::this_thread::sleep_until(point.due);
    const Status status = seam();
    if (lost_) return status;
    end_transfers(point.order);
    if (seconds != nullptr) *seconds = point.seconds;
    return status.ok() ? defects() : status;
  }

  Status begin_operation(Control&) override {
    WARPLOOM_TRY(seam());
    begin_ = std::chrono::steady_clock::now();
    return {};
  }
  Status end_operation(Control& control) override {
    if (current_ != kNone) {
      WARPLOOM_TRY(seam());
      marks_[current_].seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
      return {};
    }
    WARPLOOM_TRY(synchronize());
    control.device_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    return {};
  }

 private:
  struct alignas(256) Mailbox {
    unsigned char bytes[kMailboxBytes];
  };
  void clear_mailbox() { std::memset(mailbox_.get(), 0, sizeof(Mailbox)); }
  /// One numbered runtime call; `bytes` as in the message, for calls that allocate memory.
  Status seam(int64_t bytes = 0) {
    if (lost_) return {Code::device_lost, "the device was lost in an earlier call; open it again"};
    const int error = fault_seam().next();
    if (error == 0) return {};
    if (error == fault::kOutOfMemory) {
      const MemoryUse use = memory_use();
      return Status::out_of_memory(bytes, use.in_use_bytes, use.limit_bytes);
    }
    if (error == fault::kIllegalAddress) {
      lost_ = true;
      return {Code::device_lost, "injected fault: the device is lost"};
    }
    return {Code::internal, "injected fault " + std::to_string(error)};
  }
  Status transfer(void* to, const void* from, int64_t bytes) {
    if (bytes == 0) return {};
    WARPLOOM_TRY(seam());
    std::memmove(to, from, static_cast<size_t>(bytes));
    return {};
  }
  void note(const std::string& defect) {
    if (noted_.empty()) noted_ = defect;
  }
  void check_canaries(const Allocation& allocation) {
    if (kCanaryBytes == 0) return;
    bool intact = true;
    for (size_t i = 0; i < kLead; ++i) intact = intact && allocation.base[i] == kCanary;
    const unsigned char* end = allocation.base + kLead + allocation.bytes;
    for (size_t i = 0; i < kCanaryBytes; ++i) intact = intact && end[i] == kCanary;
    if (!intact) {
      note("device code wrote outside an allocation of " + std::to_string(allocation.bytes) + " bytes");
    }
  }

  /// The state of a mark.
  struct Point {
    int64_t order = 0;
    std::chrono::steady_clock::time_point due{};
    double seconds = 0;
    bool call = false;
  };
  void place(Mark mark) {
    Point& point = marks_[mark];
    point.order = ++order_;
    last_due_ = std::max(last_due_, std::chrono::steady_clock::now() + delay_);
    point.due = last_due_;
  }
  void end_transfers(int64_t order) {
    if (!transfers_.end(order)) note(kChanged);
  }
  Status defects() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& entry : allocations_) check_canaries(entry.second);
    if (noted_.empty()) return {};
    Status status(Code::internal, noted_);
    noted_.clear();
    return status;
  }

  Scheduler scheduler_;
  ModuleSet modules_;
  std::map<Mark, Point> marks_;
  Transfers transfers_;
  Mark current_ = kNone, last_mark_ = kNone;
  int64_t order_ = 0;
  bool in_stages_ = false;
  Stage last_stage_[kTurns] = {Stage::download, Stage::download, Stage::download};
  std::chrono::steady_clock::time_point last_due_{};
  // WARPLOOM_SIMT_DELAY: milliseconds from the end of a call's submission to its mark, on a device with its own memory.
  const std::chrono::milliseconds delay_{std::getenv("WARPLOOM_SIMT_DELAY") != nullptr
                                             ? std::atoi(std::getenv("WARPLOOM_SIMT_DELAY")) : 0};
  const std::unique_ptr<Mailbox> mailbox_ = std::make_unique<Mailbox>();
  GpuLimits limits_;
  // WARPLOOM_SIMT_DISCRETE=1: arguments are transferred as for a GPU, through staging and device blocks.
  const bool host_memory_ = std::getenv("WARPLOOM_SIMT_DISCRETE") == nullptr;
  mutable std::mutex mutex_;
  std::unordered_map<void*, Allocation> allocations_;
  int64_t limit_, in_use_ = 0, peak_ = 0;
  std::atomic<bool> lost_{false};
  std::string noted_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace

DeviceDescription describe_device() {
  DeviceDescription description;
  description.name = "SIMT shim";
  description.available = true;
  description.reason = "device code on host fibers, for tests and debugging";
  description.compute_capability = 90;
  description.multiprocessors = 4;
  description.l2_bytes = int64_t{50} << 20;
  return description;
}

Status open_device(const OpenOptions& options, std::unique_ptr<Device>* out) {
  Schedule schedule;
  const char* order = std::getenv("WARPLOOM_SIMT_ORDER");
  if (order != nullptr && *order != 0 && !parse_schedule(order, &schedule)) {
    return {Code::invalid_argument, std::string("WARPLOOM_SIMT_ORDER is '") + order +
                                        "': want forward, reverse, random or random:SEED"};
  }
  *out = std::make_unique<SimtDevice>(options, schedule);
  return {};
}

void set_schedule(Device& device, const Schedule& schedule) {
  static_cast<SimtDevice&>(device).set_schedule(schedule);
}

}  // namespace warploom::simt
