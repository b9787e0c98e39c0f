// An open device, the only thread that talks to it, and the bounded queue in front of that thread.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "cuda/core/backend.h"
#include "cuda/core/host_memory.h"
#include "cuda/core/module.h"
#include "cuda/core/submission.h"
#include "native/core/error.h"
#include "native/core/staging.h"

namespace warploom {

class Session;

/// Asks a call to end early. It outlives the call's work: cancelling takes effect until the promise settles.
struct CancelFlag {
  double id = 0;  ///< number by which the session's cancel() finds it; 0 = none
  std::atomic<bool> set{false};
};

/// One piece of work for a device's thread.
class Task {
 public:
  virtual ~Task() = default;
  /// On the device's thread.
  virtual void run(Session& session, Device& device) = 0;
  /// After run(): the mark that ends the task's work on the device; kNone if that has already ended.
  virtual Submission::Mark mark() const { return Submission::kNone; }
  /// On the device's thread, once the mark is reached or must be waited for.
  virtual void complete(Session& session, Device& device) { (void)session, (void)device; }
  /// Bytes that the task keeps on the device until it is complete.
  virtual int64_t weight() const { return 0; }
  /// Whether the task may run before earlier tasks have reached their marks.
  virtual bool overlaps() const { return false; }
  /// Called in place of run() when the device is lost, or when the call was cancelled before it began.
  virtual void refuse(const Failure& failure) { (void)failure; }
  /// Passes the finished task to whoever settles it. The default destroys it.
  virtual void settle(std::unique_ptr<Task> self) { (void)self; }
  /// Null if the task cannot be cancelled.
  virtual std::shared_ptr<CancelFlag> cancel_flag() const { return nullptr; }
  /// True while the task uses JavaScript's memory: the environment must outlive that.
  virtual bool borrows() const { return false; }
  /// Whether the task counts against the queue limit (releases of memory do not).
  virtual bool counted() const { return true; }
  /// Whether the task runs on a lost device too.
  virtual bool closes() const { return false; }

 private:
  friend class Session;
  int64_t number_ = 0;  ///< by the order in which tasks run
};

/// Page-locked memory shared by JavaScript and jobs; freed on the device's thread when the last owner lets go.
struct PinnedBlock {
  std::shared_ptr<Session> session;
  char* memory = nullptr;
  int64_t bytes = 0;
  StagingBlock lent;  ///< if its memory is lent by the session's staging(): the block to give back
  /// What fills it with an input: calls wait for what they read of it. Set before they are queued. May be null.
  std::shared_ptr<Copying> filling;
  ~PinnedBlock();
};

/// A session lives while something holds the pointer that open() returned (the device object, its arrays, its calls).
/// It is closed by close(), by its last holder, or when its environment ends. Its thread and the Device stay until the
/// last page-locked array is gone too.
class Session {
 public:
  /// Starts the thread, which opens the device, calls opened->run or ->refuse, then serves the queue. Calls may be
  /// queued at once; if opening fails, they are refused with the reason.
  static std::shared_ptr<Session> open(const Backend& backend, int32_t index, const OpenOptions& options,
                                       int64_t queue_limit, std::unique_ptr<Task> opened);

  const Backend& backend() const { return backend_; }
  /// Whether the device has been opened.
  bool is_open() const { return open_.load(std::memory_order_acquire); }
  /// Valid between is_open() and close(); the thread rules of Device apply.
  Device& device() const { return *device_; }
  /// Whether the device works in host memory; also true while it is being opened, because the answer is not known yet.
  bool host_memory() const { return host_memory_.load(std::memory_order_relaxed); }
  /// On the device's thread; null if the device works in host memory.
  Submission* submission() const { return submission_; }
  Staging& staging() { return staging_; }
  /// Bytes of its arrays that a sliced call processes at a time.
  int64_t slice_bytes() const;

  /// Says why a call cannot be queued now; no failure if it can.
  Failure admit() const;
  /// Whether the device is open and not about to be closed.
  bool stays_open() const;
  /// Counts bytes that a call stages or, on a device in host memory, works with, before any is copied;
  /// staging().release() returns them. Refused if these bytes, the calls in flight and, on a device in host memory, its
  /// arrays exceed the memory limit together. `held`: what the call has already been granted.
  Failure reserve(int64_t bytes, int64_t held = 0);
  void post(std::unique_ptr<Task> task);
  /// Runs a task on the calling thread if the device works in host memory and its thread is idle: for work that ends
  /// before the other thread would wake up. False: nothing was done; post() the task.
  bool perform_here(Task& task);
  /// Queues the last call; later ones are refused because the device is closed.
  void close(std::unique_ptr<Task> last);
  /// Cancels the call with this id. If it is waiting, it is refused at once; otherwise it is told to stop, even if its
  /// work is done.
  void cancel(double id);

  /// The size to report to the garbage collector for an array of `bytes`. The collector treats all reports as host
  /// memory, and starts a collection every 64 MB. So for a device with its own memory, all of that memory is reported
  /// as one GiB.
  int64_t told_bytes(int64_t bytes) const;
  /// On the device's thread: the number of the running task, in the order in which tasks run.
  int64_t task() const { return tasks_; }
  /// On the device's thread: whether nothing that a task submitted is in flight any more.
  bool is_over(int64_t task) const { return task < tasks_ && (in_flight_.empty() || task < in_flight_.front()->number_); }
  /// On the device's thread: allocates memory for arrays and calls. Retries once, after the calls in flight have ended
  /// and the pool was released.
  Status allocate(int64_t bytes, void** out);
  void release(void* memory);
  /// On the device's thread: releases all memory except page-locked arrays.
  void release_all();
  /// From any thread: released after the queued work.
  void post_release(void* memory);
  void post_release_pinned(void* memory);
  void take_back(const StagingBlock& lent);
  /// From any thread, when no launch of the module is in flight any more.
  void post_unload(LoadedModule module);
  /// Makes `count` page-locked staging blocks after the queued work.
  void post_pinned_staging(int64_t bytes, int64_t count);

  void add_pinned(const std::shared_ptr<PinnedBlock>& block);
  /// A page-locked block of the staging memory for an array of a run; null if none is free, or the device works in host
  /// memory.
  static std::shared_ptr<PinnedBlock> lend(const std::shared_ptr<Session>& session, int64_t bytes);
  /// From here on, calls treat a lent block as ordinary memory. It stays valid until its last owner lets go.
  void settle_lent(const PinnedBlock& block);
  /// A lent block that nobody uses serves again: calls use it in place.
  void lend_again(const std::shared_ptr<PinnedBlock>& block);
  /// Has the device's thread make the page-locked blocks that runs have missed, after the queued work.
  void post_lent();
  /// The session's page-locked block that holds all of [memory, memory + bytes), or null.
  std::shared_ptr<PinnedBlock> find_pinned(const char* memory, int64_t bytes);

  /// Environment teardown or exit: cancels the running call and drops the waiting ones.
  void stop();
  /// Waits until the thread is outside the device, or the deadline.
  void wait_quiet(std::chrono::steady_clock::time_point deadline);
  /// Waits, without limit, while a call runs that uses JavaScript's memory.
  void wait_returned();

 private:
  Session(const Backend& backend, int32_t index, const OpenOptions& options, int64_t queue_limit);
  void serve(std::unique_ptr<Task> opened);
  void open_device(std::unique_ptr<Task> opened);
  void serve_queue();
  void rest(std::unique_lock<std::mutex>& lock);
  void perform(std::unique_ptr<Task> task, std::unique_lock<std::mutex>& lock);
  void await_first(std::unique_lock<std::mutex>& lock);
  void complete_first(std::unique_lock<std::mutex>& lock);
  void complete_all();
  bool full() const;
  bool borrowed() const;
  void push(std::unique_ptr<Task> task);

  const Backend& backend_;
  const int32_t index_;
  const OpenOptions options_;
  const int64_t queue_limit_;
  const int64_t slice_bytes_;  // 0: chosen by the device
  std::unique_ptr<Device> device_;
  Submission* submission_ = nullptr;  // the same object
  std::atomic<bool> open_{false};
  std::atomic<bool> host_memory_{true};
  std::atomic<int64_t> memory_bytes_{0};  // of an open device
  Staging staging_;
  std::unordered_map<void*, int64_t> live_;  // memory of arrays and calls, with its bytes; device's thread only
  std::atomic<int64_t> live_bytes_{0};       // all of it

  mutable std::mutex mutex_;
  std::condition_variable work_;   // something was queued
  std::condition_variable quiet_;  // a task ended
  std::deque<std::unique_ptr<Task>> queue_;
  std::deque<std::unique_ptr<Task>> in_flight_;  // submitted, in order; changed by the device's thread
  int64_t weight_ = 0;                           // of all of them
  std::atomic<size_t> queued_{0};                // size of queue_
  std::chrono::steady_clock::duration usual_rest_{};  // between two tasks; device's thread only
  int64_t tasks_ = 0;  // that began to run; device's thread only
  Task* running_ = nullptr;
  // Flags of calls with an id; settled ones stay until the next one is added.
  std::vector<std::weak_ptr<CancelFlag>> cancellable_;
  int64_t waiting_ = 0;  // counted tasks in the queue
  bool busy_ = true;     // the thread is inside the device
  bool here_ = false;    // another thread is inside, in perform_here(): the device's thread stays out
  int64_t pinned_alive_ = 0;
  std::map<const char*, std::weak_ptr<PinnedBlock>> pinned_;
  bool closing_ = false;
  bool lost_ = false;
  Failure unopened_;  // why opening failed
};

}  // namespace warploom
