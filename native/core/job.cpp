#include "native/core/job.h"

#include <chrono>
#include <new>
#include <utility>

#include "native/core/moments.h"

namespace warploom {
namespace {
// Progress reports beyond this many undelivered ones are dropped: a busy event loop gets fewer, but never late ones.
constexpr int kReportsOnTheirWay = 64;
}  // namespace

class Job::Settlement final : public Letter {
 public:
  explicit Settlement(std::unique_ptr<Job> job) : job_(std::move(job)) {}
  void deliver(napi_env env) override { job_->deliver(env); }

 private:
  std::unique_ptr<Job> job_;
};

/// The job cannot settle, and so cannot be destroyed, before its earlier letters are delivered.
class Job::ProgressReport final : public Letter {
 public:
  ProgressReport(napi_ref kept, std::shared_ptr<std::atomic<int>> count, double done, double total)
      : kept_(kept), count_(std::move(count)), done_(done), total_(total) {}
  void deliver(napi_env env) override {
    count_->fetch_sub(1, std::memory_order_relaxed);
    napi_value kept = nullptr, report = nullptr, undefined = nullptr, arguments[2];
    napi_get_undefined(env, &undefined);
    napi_create_double(env, done_, &arguments[0]);
    napi_create_double(env, total_, &arguments[1]);
    if (napi_get_reference_value(env, kept_, &kept) != napi_ok || kept == nullptr) return;
    if (napi_get_element(env, kept, 0, &report) != napi_ok) return;
    napi_call_function(env, undefined, report, 2, arguments, nullptr);
  }

 private:
  napi_ref kept_;
  std::shared_ptr<std::atomic<int>> count_;
  double done_, total_;
};

napi_value Job::begin(napi_env env, napi_value kept) {
  mailbox_ = Environment::of(env)->mailbox();
  if (kept != nullptr) napi_create_reference(env, kept, 1, &kept_);
  napi_value promise = nullptr;
  napi_create_promise(env, &deferred_, &promise);
  mailbox_->hold(env);
  return promise;
}

void Job::dispatch(napi_env env, Session& session, std::unique_ptr<Job> job, JobSize size) {
  const auto begin = std::chrono::steady_clock::now();
  const bool allowed = size == JobSize::small || (size == JobSize::brief && job->mailbox_->has_time());
  const bool here = allowed && job->flag_->id == 0 && job->progress_ == nullptr && session.perform_here(*job);
  if (!here) return session.post(std::move(job));
  job->mailbox_->spend(std::chrono::steady_clock::now() - begin);
  if (job->mailbox_->settles_at_once()) return job->deliver(env);
  Job* const done = job.get();
  done->settle(std::move(job));
}

void Job::run(Session& session, Device& device) {
  if (cancelled()) {
    failure_ = Failure::cancelled();
    return;
  }
  attempt([&] { return work(session, device); });
  // No transfer may still use memory that others get next.
  if (failure_ && session.submission() != nullptr) session.submission()->abandon(Submission::kNone);
}

void Job::complete(Session& session, Device& device) {
  attempt([&] { return end_work(session, device); });
}

template <class Part>
void Job::attempt(Part part) {
  try {
    const Status status = part();
    if (!status.ok()) failure_ = Failure::from(status);
  } catch (const std::bad_alloc&) {
    failure_ = Failure::from(Status(Code::out_of_memory, "not enough host memory"));
  } catch (const std::exception& error) {
    failure_ = Failure::internal(error.what());
  }
}

void Job::settle(std::unique_ptr<Task> self) {
  std::unique_ptr<Job> job(static_cast<Job*>(self.release()));
  const std::shared_ptr<Mailbox> mailbox = mailbox_;
  Moments::note(Moment::settled);
  mailbox->post(std::make_unique<Settlement>(std::move(job)));
}

void Job::progress(double done, double total) {
  if (progress_ == nullptr) return;
  if (progress_->fetch_add(1, std::memory_order_relaxed) >= kReportsOnTheirWay) {
    progress_->fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  mailbox_->post(std::make_unique<ProgressReport>(kept_, progress_, done, total));
}

Failure Job::finish(napi_env env, napi_value, napi_value* result) {
  napi_get_undefined(env, result);
  return {};
}

void Job::deliver(napi_env env) {
  napi_value kept = nullptr, result = nullptr;
  if (kept_ != nullptr) napi_get_reference_value(env, kept_, &kept);
  if (!failure_ && cancelled()) failure_ = Failure::cancelled();  // it finished before it noticed
  if (!failure_) failure_ = finish(env, kept, &result);
  forget(*Environment::of(env));
  if (kept_ != nullptr) napi_delete_reference(env, kept_);
  if (deferred_ == nullptr) {
    // The promise could not be made because the environment was ending.
  } else if (failure_) {
    napi_reject_deferred(env, deferred_, make_error(env, failure_));
  } else {
    napi_resolve_deferred(env, deferred_, result);
  }
  mailbox_->let_go(env);
}

}  // namespace warploom
