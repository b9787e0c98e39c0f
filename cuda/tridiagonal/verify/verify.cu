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

template <class T>
Status verify(GpuDevice& device, const Batch<T>& batch, const Verification<T>& options, Used* used) {
  const int64_t problems = batch.problems();
  if (problems == 0) return {};
  if (problems > 2147483647) {
    return Status(Code::unsupported, "check takes at most 2147483647 problems a call", "batch");
  }
  const double tolerance = options.tolerance > 0 ? options.tolerance : kDefaultTolerance<T>;
  const RowWalk walk = measuring_walk(batch, options.corners);
  const int64_t findings_bytes = problems * walk.segments * static_cast<int64_t>(sizeof(RowsFinding));
  Workspace memory;
  WARPLOOM_TRY(Workspace::make(device, findings_bytes + (problems + 1) * static_cast<int64_t>(sizeof(int32_t)), &memory));
  int32_t* const count = memory.as<int32_t>(findings_bytes);
  WARPLOOM_TRY(device.fill_zero(count, sizeof(int32_t)));

  RowsFinding* const findings = memory.as<RowsFinding>();
  WARPLOOM_TRY(measure(device, batch, options.corners, walk, findings));

  typename JudgeAgent<T>::Parameters judge;
  judge.batch = batch;
  judge.segments = walk.segments;
  judge.findings = findings;
  judge.tolerance = tolerance;
  judge.backward_error = options.backward_error;
  judge.list = count + 1;
  judge.count = count;
  WARPLOOM_TRY(launch<JudgeAgent<T>>(device, stream_shape(problems), judge));
  if (used != nullptr) used->launches += 2;

  GtsvOptions again;
  again.tolerance = tolerance;
  again.backward_error = options.backward_error;
  again.flag = operation::kResolvedByPivoting;
  return solve_gtsv<T>(device, batch, options.corners, {judge.list, judge.count}, again, used);
}

#define WARPLOOM_INSTANTIATE(T)                                                        \
  template Status keep_rhs<T>(GpuDevice&, const Batch<T>&, Workspace*, Batch<T>*);     \
  template Status verify<T>(GpuDevice&, const Batch<T>&, const Verification<T>&, Used*);
WARPLOOM_INSTANTIATE(float)
WARPLOOM_INSTANTIATE(double)
WARPLOOM_INSTANTIATE(Complex<float>)
WARPLOOM_INSTANTIATE(Complex<double>)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
