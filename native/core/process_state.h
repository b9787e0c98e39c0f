// The only state shared by all environments of the process: which sessions are alive, and whether the process is
// exiting. Once exit has begun, no thread of the addon calls a device again; the operating system frees whatever is
// still allocated.
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
  /// Registers the exit handler again, so that it runs before the handlers of libraries loaded when a device was opened
  /// (the CUDA runtime registers its own).
  void arm_exit_handler();

 private:
  static void on_exit();
  std::mutex mutex_;
  std::vector<std::weak_ptr<Session>> sessions_;
  std::atomic<bool> exiting_{false};
};

/// Keeps the addon's code mapped for the rest of the process: a device thread may outlive the worker that loaded it.
void pin_library();

}  // namespace warploom
