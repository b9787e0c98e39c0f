// The only state shared by all environments of the process: which sessions live, and whether the
// process is exiting. After exit has begun no thread of the addon calls a device again; what is
// still allocated then is left to the operating system.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace warploom {

class Session;

class ProcessState {
 public:
  static ProcessState& get();

  bool exiting() const { return exiting_.load(std::memory_order_acquire); }
  void add(const std::shared_ptr<Session>& session);
  /// Registers the exit handler again, so that it runs before those of libraries that a device's
  /// opening has loaded (the CUDA runtime registers its own).
  void arm_exit_handler();

 private:
  static void on_exit();
  std::mutex mutex_;
  std::vector<std::weak_ptr<Session>> sessions_;
  std::atomic<bool> exiting_{false};
};

/// Keeps the addon's code mapped for good: a device thread may outlive the worker that loaded it.
void pin_library();

}  // namespace warploom
