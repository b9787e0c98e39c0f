// The cpu backend's threads where there are none: the calling thread does everything.
#include "native/cpu/thread_pool.h"

namespace warploom::cpu {

int available_cores() { return 1; }

ThreadPool::~ThreadPool() = default;

Status ThreadPool::run(int64_t tasks, const Task& task, Control& control, double progress_base, double progress_total) {
  for (int64_t i = 0; i < tasks; ++i) {
    if (control.cancelled()) return Status(Code::cancelled, "cancelled by the caller");
    WARPLOOM_TRY(task(i, 0));
    if (progress_total > 0) control.progress(progress_base + static_cast<double>(i + 1), progress_total);
  }
  return {};
}

}  // namespace warploom::cpu
