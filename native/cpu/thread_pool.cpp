#include "native/cpu/thread_pool.h"

#include <csignal>
#include <exception>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <system_error>

namespace warploom::cpu {

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    const int count = CPU_COUNT(&set);
    if (count > 0) return count;
  }
  const unsigned count = std::thread::hardware_concurrency();
  return count > 0 ? static_cast<int>(count) : 1;
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : workers_) thread.join();
}

void ThreadPool::start() {
  if (!workers_.empty()) return;
  // Signals belong to the host program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    workers_.reserve(static_cast<size_t>(threads_ - 1));
    for (int i = 1; i < threads_; ++i) workers_.emplace_back(&ThreadPool::worker, this, i);
  } catch (const std::system_error&) {
    // The system grants no more threads; the calling thread and those already started do the work.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ThreadPool::fail(const Status& status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (failure_.ok()) failure_ = status;
  stop_.store(true, std::memory_order_relaxed);
}

void ThreadPool::work(int index) {
  while (!stop_.load(std::memory_order_relaxed)) {
    if (index == 0 && control_->cancelled()) {
      fail(Status(Code::cancelled, "cancelled by the caller"));
      return;
    }
    const int64_t task = next_.fetch_add(1, std::memory_order_relaxed);
    if (task >= tasks_) return;
    try {
      const Status status = (*task_)(task, index);
      if (!status.ok()) fail(status);
    } catch (const std::bad_alloc&) {
      fail(Status(Code::out_of_memory, "not enough host memory"));
    } catch (const std::exception& error) {
      fail(Status(Code::internal, error.what()));
    }
    const int64_t done = finished_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (index == 0 && progress_total_ > 0) {
      control_->progress(progress_base_ + static_cast<double>(done), progress_total_);
    }
  }
}

void ThreadPool::worker(int index) {
  uint64_t seen = 0;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return closing_ || generation_ != seen; });
    if (closing_) return;
    seen = generation_;
    // The run ended before this thread woke up, and nobody waits for the thread: skip it.
    if (task_ == nullptr) continue;
    ++busy_;
    lock.unlock();
    work(index);
    lock.lock();
    if (--busy_ == 0) idle_.notify_all();
  }
}

Status ThreadPool::run(int64_t tasks, const Task& task, Control& control, double progress_base,
                       double progress_total) {
  if (tasks <= 0) return {};
  const bool alone = threads_ == 1 || tasks == 1;
  if (!alone) start();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    failure_ = Status();
    task_ = &task;
    tasks_ = tasks;
    control_ = &control;
    progress_base_ = progress_base;
    progress_total_ = progress_total;
    next_.store(0, std::memory_order_relaxed);
    finished_.store(0, std::memory_order_relaxed);
    stop_.store(false, std::memory_order_relaxed);
    if (!alone) ++generation_;
  }
  if (!alone) wake_.notify_all();
  work(0);
  std::unique_lock<std::mutex> lock(mutex_);
  idle_.wait(lock, [&] { return busy_ == 0; });
  task_ = nullptr;
  return failure_;
}

}  // namespace warploom::cpu
