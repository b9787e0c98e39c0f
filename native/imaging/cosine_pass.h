// Passes of cosine transforms on the threads of a cpu device.
#pragma once
#include <algorithm>
#include <vector>

#include "cuda/imaging/cosine_lines.h"
#include "cuda/imaging/cosine_table.h"
#include "native/cpu/device.h"
#include "native/imaging/kernels.h"

namespace warploom::cpu {

/// The fewest points in a task of a pass.
inline constexpr int64_t kLeastTaskPoints = 1 << 14;

/// Plan and table of one axis.
template <class R>
struct AxisTable {
  ::warploom::imaging::CosinePlan plan;
  std::vector<R> table;
  explicit AxisTable(int64_t extent)
      : plan(::warploom::imaging::cosine_plan(extent)), table(::warploom::imaging::cosine_table<R>(plan)) {}
  void give(::warploom::imaging::LinesTask<R>& task) const {
    task.plan = plan;
    task.table = table.data();
  }
};

template <class R>
Status run_lines(CpuDevice& device, const ::warploom::imaging::LinesTask<R>& task, Control& control) {
  const RegistrationKernels<R>& kernels = imaging_kernels<R>().registration;
  WARPLOOM_TRY(device.reserve_scratch(kernels.line_bytes(task.plan.m)));
  const int64_t groups = ((task.lines + 1) / 2 + kernels.lanes - 1) / kernels.lanes, all = groups * task.components;
  const int64_t piece = std::max<int64_t>(1, kLeastTaskPoints / (2 * int64_t{kernels.lanes} * task.plan.m));
  return device.threads().run((all + piece - 1) / piece, [&](int64_t index, int worker) {
    for (int64_t i = index * piece; i < std::min(all, (index + 1) * piece); ++i) {
      kernels.lines(task, i / groups, i % groups * kernels.lanes, device.scratch(worker));
    }
    return Status();
  }, control);
}

}  // namespace warploom::cpu
