#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/pivoting/gtsv_launch.cuh"

#include <algorithm>
#include <cmath>

#include "cuda/linear/row_walk_launch.cuh"
#include "cuda/tridiagonal/verify/verify.cuh"
#include "cuda/tridiagonal/verify/verify_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {
template <class T>
Status keep_rhs(GpuDevice& device, const Batch<T>& batch, Workspace* memory, Batch<T>* kept) {
  *kept = batch;
  if (batch.rhs.data != batch.solution.data || batch.problems() == 0 || batch.n == 0) return {};
  int64_t rows = 0;
  WARPLOOM_TRY(all_rows(device, batch, &rows));
  const int64_t entries = rows * batch.rhs_count;
  if (entries == 0) return {};
  WARPLOOM_TRY(Workspace::make(device, entries * static_cast<int64_t>(sizeof(T)), memory));
  const Strided<T> copy = packed_like(batch, rows, memory->as<T>());
  typename CopyLinesAgent<T>::Parameters p;
  p.batch = batch;
  p.batch.solution = copy;
  const RowWalk walk = walk_of(batch);
  p.walk = walk;
  WARPLOOM_TRY(launch<CopyLinesAgent<T>>(device, stream_shape(batch.problems() * walk.segments * walk.width), p));
  kept->rhs = copy;
  return {};
}

namespace {

/// The launch that fills findings[segment][problem]; `walk` comes from measuring_walk.
template <class T>
Status measure(GpuDevice& device, const Batch<T>& batch, const T* corners, const RowWalk& walk, RowsFinding* findings) {
  const LaunchShape shape = stream_shape(batch.problems() * walk.segments * walk.width);
  if (MeasureChunksAgent<T, true>::takes(batch, corners)) {
    return launch<MeasureChunksAgent<T, true>>(device, shape, {full_batch(batch), walk, findings});
  }
  if (MeasureChunksAgent<T, false>::takes(batch, corners)) {
    return launch<MeasureChunksAgent<T, false>>(device, shape, {full_batch(batch), walk, findings});
  }
  return launch<MeasureAgent<T>>(device, shape, {batch, corners, walk, findings});
}
template <class T>
RowWalk measuring_walk(const Batch<T>& batch, const T* corners) {
  const bool by_chunks = MeasureChunksAgent<T, true>::takes(batch, corners) || MeasureChunksAgent<T, false>::takes(batch, corners);
  return by_chunks ? row_walk(MeasureChunksAgent<T, false>::chunks_of(batch.n), 1, 1, false) : walk_of(batch);
}

}  // namespace

/// Judges the problems of a call, and solves those that fail again.
template <class T>
class Trial {
 public:
  Trial(GpuDevice& device, const Batch<T>& batch, const Verification<T>& options)
      : device_(device), batch_(batch), options_(options) {}

  /// Memory for the list, and for `findings_bytes` of findings before it.
  Status begin(int64_t findings_bytes) {
    if (batch_.problems() > 2147483647) {
      return Status(Code::unsupported, "check takes at most 2147483647 problems a call", "batch");
    }
    const int64_t words = (batch_.problems() + 1) * static_cast<int64_t>(sizeof(int32_t));
    WARPLOOM_TRY(Workspace::make(device_, findings_bytes + words, &memory_));
    int32_t* const count = memory_.as<int32_t>(findings_bytes);
    const double tolerance = options_.tolerance > 0 ? options_.tolerance : kDefaultTolerance<T>;
    judging_ = {tolerance, options_.backward_error, count + 1, count};
    return device_.fill_zero(count, sizeof(int32_t));
  }
  RowsFinding* findings() const { return memory_.template as<RowsFinding>(); }
  const Judging& judging() const { return judging_; }

  Status solve_again(Used* used) {
    GtsvOptions again;
    again.tolerance = judging_.tolerance;
    again.backward_error = judging_.backward_error;
    again.flag = operation::kResolvedByPivoting;
    return solve_gtsv<T>(device_, batch_, options_.corners, {judging_.list, judging_.count}, again, used);
  }

 private:
  GpuDevice& device_;
  const Batch<T>& batch_;
  const Verification<T>& options_;
  Workspace memory_;
  Judging judging_{};
};

template <class T>
Status verify(GpuDevice& device, const Batch<T>& batch, const Verification<T>& options, Used* used) {
  const int64_t problems = batch.problems();
  if (problems == 0) return {};
  const RowWalk walk = measuring_walk(batch, options.corners);
  Trial<T> trial(device, batch, options);
  WARPLOOM_TRY(trial.begin(problems * walk.segments * static_cast<int64_t>(sizeof(RowsFinding))));
  WARPLOOM_TRY(measure(device, batch, options.corners, walk, trial.findings()));
  WARPLOOM_TRY(launch<JudgeAgent<T>>(device, stream_shape(problems),
                                     {batch, walk.segments, trial.findings(), trial.judging()}));
  if (used != nullptr) used->launches += 2;
  return trial.solve_again(used);
}

template <class T>
Status solve_verified(GpuDevice& device, const Batch<T>& batch, int depth, const Verification<T>& options, Used* used) {
  if (batch.problems() == 0) return {};
  depth = checked_depth(device, batch, depth);
  if (depth == 0) return {Code::unsupported, "cr-regpack: these answers are measured apart"};
  Trial<T> trial(device, batch, options);
  WARPLOOM_TRY(trial.begin(0));
  WARPLOOM_TRY(solve_cr_regpack_checked(device, batch, depth, trial.judging(), used));
  return trial.solve_again(used);
}

#define WARPLOOM_INSTANTIATE(T)                                                        \
  template Status keep_rhs<T>(GpuDevice&, const Batch<T>&, Workspace*, Batch<T>*);     \
  template Status verify<T>(GpuDevice&, const Batch<T>&, const Verification<T>&, Used*); \
  template Status solve_verified<T>(GpuDevice&, const Batch<T>&, int, const Verification<T>&, Used*);
WARPLOOM_INSTANTIATE(float)
WARPLOOM_INSTANTIATE(double)
WARPLOOM_INSTANTIATE(Complex<float>)
WARPLOOM_INSTANTIATE(Complex<double>)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
