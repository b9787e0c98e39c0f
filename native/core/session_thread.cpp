// The device's own thread in a session: opening, the queue, and the calls in flight.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "native/core/process_state.h"
#include "native/core/session.h"

namespace warploom {
namespace {

// More calls would only wait on the device instead of in the queue.
constexpr size_t kMostInFlight = 64;
// Two calls may exceed this: large ones keep the device busy by themselves.
constexpr int64_t kMostWeight = int64_t{512} << 20;
// Waking the thread takes as long as a short call, so the thread stays awake between calls: a little longer than the
// usual pause if that is short, only briefly if it is long.
constexpr auto kAwake = std::chrono::microseconds(30), kLongestAwake = std::chrono::microseconds(400);
// Waiting for the device: spin as long as a short call lasts, then pause for a 32nd of the time waited so far.
constexpr auto kSpin = std::chrono::milliseconds(2);
constexpr auto kLongestPause = std::chrono::milliseconds(1);

[[noreturn]] void park() {
  for (;;) pause();
}

}  // namespace

void Session::serve(std::unique_ptr<Task> opened) {
  open_device(std::move(opened));
  serve_queue();
  const std::lock_guard<std::mutex> lock(mutex_);
  busy_ = false;
  quiet_.notify_all();
}

void Session::open_device(std::unique_ptr<Task> opened) {
  Status status;
  try {
    status = backend_.open(index_, options_, &device_);
  } catch (const std::exception& error) {
    status = Status(Code::internal, error.what());
  }
  const bool ok = status.ok() && device_ != nullptr;
  if (ok) {
    host_memory_ = device_->host_memory();
    const int64_t limit = device_->memory_use().limit_bytes;
    memory_bytes_ = limit > 0 ? limit : device_->description().memory_bytes;
    if (!device_->host_memory()) submission_ = dynamic_cast<Submission*>(device_.get());
    open_.store(true, std::memory_order_release);
    ProcessState::get().arm_exit_handler();
    opened->run(*this, *device_);
  } else {
    device_.reset();
    Failure failure = Failure::from(status.ok() ? Status(Code::internal, "the backend opened no device") : status);
    opened->refuse(failure);
    const std::lock_guard<std::mutex> lock(mutex_);
    unopened_ = std::move(failure);
  }
  Task* const task = opened.get();
  task->settle(std::move(opened));
}

void Session::serve_queue() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    if (in_flight_.empty()) {
      rest(lock);
      if (queue_.empty()) break;
    } else if (queue_.empty() || full()) {
      await_first(lock);
      continue;
    } else if (!queue_.front()->overlaps() || submission_->reached(in_flight_.front()->mark())) {
      complete_first(lock);
      continue;
    }
    std::unique_ptr<Task> task = std::move(queue_.front());
    queue_.pop_front();
    queued_ = queue_.size();
    if (task->counted()) --waiting_;
    perform(std::move(task), lock);
  }
  lock.unlock();
  submission_ = nullptr;
  device_.reset();
}

/// Waits until there is work, or none can come any more.
void Session::rest(std::unique_lock<std::mutex>& lock) {
  busy_ = false;
  quiet_.notify_all();
  std::optional<std::chrono::steady_clock::time_point> rest_began;
  if (submission_ != nullptr && queue_.empty()) {
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    const auto end = begin + (2 * usual_rest_ <= kLongestAwake ? std::max<std::chrono::steady_clock::duration>(2 * usual_rest_, kAwake)
                                                               : kAwake);
    while (queued_ == 0 && std::chrono::steady_clock::now() < end) {
    }
    lock.lock();
    rest_began = begin;
  }
  work_.wait(lock, [this] { return !here_ && (!queue_.empty() || (closing_ && pinned_alive_ == 0)); });
  if (rest_began) {
    const auto rested = std::min<std::chrono::steady_clock::duration>(std::chrono::steady_clock::now() - *rest_began, 8 * kLongestAwake);
    usual_rest_ += (rested - usual_rest_) / 8;
  }
  if (ProcessState::get().exiting()) {
    lock.unlock();
    park();
  }
  busy_ = true;
}

void Session::perform(std::unique_ptr<Task> task, std::unique_lock<std::mutex>& lock) {
  const bool refused = (lost_ || unopened_) && !task->closes();
  running_ = task.get();
  lock.unlock();
  if (refused) {
    task->refuse(unopened_ ? unopened_ : Failure::lost());
  } else if (device_ != nullptr) {
    task->number_ = ++tasks_;
    task->run(*this, *device_);
  }
  const bool lost = device_ != nullptr && device_->lost();
  lock.lock();
  lost_ = lost_ || lost;
  running_ = nullptr;
  if (task->mark() != Submission::kNone) {
    weight_ += task->weight();
    in_flight_.push_back(std::move(task));
    return;
  }
  // It failed and so ended at once: earlier tasks must settle first.
  while (task->counted() && !in_flight_.empty()) complete_first(lock);
  quiet_.notify_all();
  lock.unlock();
  Task* const settled = task.get();
  settled->settle(std::move(task));
  lock.lock();
}

/// Under mutex_: whether the next task has to wait for an earlier one.
bool Session::full() const {
  if (in_flight_.size() >= kMostInFlight) return true;
  return in_flight_.size() >= 2 && !queue_.empty() && weight_ + queue_.front()->weight() > kMostWeight;
}

void Session::complete_all() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!in_flight_.empty()) complete_first(lock);
}

/// Waits until the first task in flight has ended, or there is more to submit.
void Session::await_first(std::unique_lock<std::mutex>& lock) {
  const Submission::Mark mark = in_flight_.front()->mark();
  const bool no_more = full();
  const auto begin = std::chrono::steady_clock::now();
  lock.unlock();
  bool more = false;
  while (!submission_->reached(mark) && !more) {
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (waited > kSpin) {
      lock.lock();
      const auto pause = std::min<std::chrono::steady_clock::duration>(waited / 32, kLongestPause);
      if (no_more || queue_.empty()) work_.wait_for(lock, pause);
      lock.unlock();
    }
    more = !no_more && queued_ > 0;
  }
  lock.lock();
  if (!more) complete_first(lock);
}

/// Completes the first task in flight, waiting for it if necessary.
void Session::complete_first(std::unique_lock<std::mutex>& lock) {
  std::unique_ptr<Task> task = std::move(in_flight_.front());
  in_flight_.pop_front();
  weight_ -= task->weight();
  Task* const before = running_;
  running_ = task.get();
  lock.unlock();
  task->complete(*this, *device_);
  const bool lost = device_->lost();
  lock.lock();
  lost_ = lost_ || lost;
  running_ = before;
  quiet_.notify_all();
  lock.unlock();
  Task* const settled = task.get();
  settled->settle(std::move(task));
  lock.lock();
}

}  // namespace warploom
