// Threads of one open cpu device.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "cuda/core/backend.h"

namespace warploom::cpu {

/// A fixed set of threads that take tasks from a shared counter. The first run() with more than one task starts the
/// threads, and the destructor joins them; the calling thread works too.
class ThreadPool {
 public:
  /// Called as task(index, worker), worker in 0…threads()-1; worker 0 is the calling thread.
  using Task = std::function<Status(int64_t task, int worker)>;

  explicit ThreadPool(int threads) : threads_(threads) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// Runs each of the tasks 0…tasks-1 once, in no fixed order, and returns when all have ended. Between tasks the
  /// calling thread reports progress (as base + finished tasks, out of total) and polls for cancellation. After a
  /// failure or a cancellation no further task starts. Exceptions in a task become a Status.
  Status run(int64_t tasks, const Task& task, Control& control, double progress_base = 0,
             double progress_total = 0);

 private:
  void start();
  void worker(int index);
  void work(int index);
  void fail(const Status& status);

  const int threads_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  uint64_t generation_ = 0;  // of the current run; guarded by mutex_, as the next three
  int busy_ = 0;
  bool closing_ = false;
  Status failure_;
  const Task* task_ = nullptr;
  int64_t tasks_ = 0;
  Control* control_ = nullptr;
  double progress_base_ = 0, progress_total_ = 0;
  std::atomic<int64_t> next_{0}, finished_{0};
  std::atomic<bool> stop_{false};
};

/// Cores this process may run on.
int available_cores();

}  // namespace warploom::cpu
