// One asynchronous call of JavaScript: its promise, cancellation, progress and outcome.
#pragma once
#include <atomic>
#include <memory>
#include <utility>

#include "cuda/core/backend.h"
#include "native/core/environment.h"
#include "native/core/error.h"
#include "native/core/session.h"

namespace warploom {

/// How long a job takes. small: less than handing it to the device's thread. brief: little enough to block the event
/// loop now and then. large: longer.
enum class JobSize { small, brief, large };

/// Base of every task that settles a promise. Derived classes do their device work in work(), and make the promise's
/// value in finish(). Destroyed on the JavaScript thread or, once the mailbox is closed, on any thread.
class Job : public Task, public Control {
 public:
  /// Makes the promise. `kept` are JavaScript values held until the job settles (may be null).
  napi_value begin(napi_env env, napi_value kept);
  void set_id(double id) { flag_->id = id; }
  /// Reports progress to kept[0], a function.
  void set_progress() { progress_ = std::make_shared<std::atomic<int>>(0); }

  /// Queues the job. If it is short, cannot be cancelled and finds the device idle, runs and settles it here instead.
  static void dispatch(napi_env env, Session& session, std::unique_ptr<Job> job, JobSize size);

  void run(Session& session, Device& device) final;
  void complete(Session& session, Device& device) final;
  void refuse(const Failure& failure) final { failure_ = failure; }
  void settle(std::unique_ptr<Task> self) final;
  std::shared_ptr<CancelFlag> cancel_flag() const final { return flag_; }

  bool cancelled() const final { return flag_->set.load(std::memory_order_relaxed); }
  void progress(double done, double total) final;

 protected:
  virtual Status work(Session& session, Device& device) = 0;
  /// For work() on a device with its own memory: submits what `body` submits as one call, whose mark goes to `*out`. If
  /// it fails half-way, nothing stays in flight.
  template <class Body>
  static Status submit(Submission& submission, Submission::Mark* out, const Body& body) {
    Submission::Mark mark = Submission::kNone;
    WARPLOOM_TRY(submission.begin(&mark));
    struct Attempt {
      Submission& submission;
      Submission::Mark mark;
      ~Attempt() {
        if (mark != Submission::kNone) submission.abandon(mark);
      }
    } attempt{submission, mark};
    WARPLOOM_TRY(body());
    WARPLOOM_TRY(submission.end(mark));
    *out = std::exchange(attempt.mark, Submission::kNone);
    return {};
  }
  /// If work() left a mark: does the rest once the mark is reached.
  virtual Status end_work(Session& session, Device& device) {
    (void)session, (void)device;
    return {};
  }
  /// On the JavaScript thread; a failure rejects the promise.
  virtual Failure finish(napi_env env, napi_value kept, napi_value* result);
  /// On the JavaScript thread, whatever the outcome.
  virtual void forget(Environment& environment) { (void)environment; }

 private:
  class Settlement;
  class ProgressReport;
  void deliver(napi_env env);
  template <class Part>
  void attempt(Part part);

  std::shared_ptr<Mailbox> mailbox_;
  napi_deferred deferred_ = nullptr;
  napi_ref kept_ = nullptr;
  Failure failure_;
  const std::shared_ptr<CancelFlag> flag_ = std::make_shared<CancelFlag>();
  std::shared_ptr<std::atomic<int>> progress_;  // undelivered reports
};

}  // namespace warploom
