#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/pivoting/gtsv_launch.cuh"

#include <algorithm>

#include "cuda/tridiagonal/pivoting/pivoting_full_agent.cuh"
#include "cuda/tridiagonal/pivoting/pivoting_segments_agent.cuh"
#include "cuda/tridiagonal/verify/problem_rows.cuh"
#include "cuda/tridiagonal/verify/verify.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {
namespace {

using ::warploom::tridiagonal::pivoting_shape;
using ::warploom::tridiagonal::PivotingShape;

/// Collects the problems that must be solved again.
struct Collected {
  Workspace memory;
  int32_t* list = nullptr;
  int32_t* count = nullptr;

  static Status make(GpuDevice& device, int64_t problems, Collected* out) {
    WARPLOOM_TRY(Workspace::make(device, (problems + 1) * static_cast<int64_t>(sizeof(int32_t)), &out->memory));
    out->count = out->memory.as<int32_t>();
    out->list = out->count + 1;
    return device.fill_zero(out->count, sizeof(int32_t));
  }
};

template <class T>
Status launch_pivoting(GpuDevice& device, const PivotingShape& shape, int64_t blocks,
                       const typename PivotingAgent<T>::Parameters& p, Used* used) {
  LaunchShape launch_shape;
  launch_shape.blocks = blocks;
  launch_shape.threads = shape.threads();
  launch_shape.shared_bytes = PivotingAgent<T>::shared_bytes(shape);
  if (used != nullptr) ++used->launches;
  return launch<PivotingAgent<T>>(device, launch_shape, p);
}

template <class Agent, class T>
Status launch_full(GpuDevice& device, const Batch<T>& batch, const PivotingShape& shape, const Collected& collected) {
  return launch<Agent>(device, Agent::launch_shape(batch, shape),
                       Agent::parameters(batch, shape, collected.list, collected.count));
}

template <class T>
Status solve_whole(GpuDevice& device, const Batch<T>& batch, const PivotingShape& shape, const Collected& collected,
                   Used* used) {
  using Chunks = PivotingFullAgent<T>;
  using Rows = PivotingFullAgent<T, 1>;
  if (Rows::takes(batch, shape)) {
    if (used != nullptr) ++used->launches;
    return Chunks::takes(batch, shape) ? launch_full<Chunks>(device, batch, shape, collected)
                                       : launch_full<Rows>(device, batch, shape, collected);
  }
  auto p = PivotingAgent<T>::parameters(batch, shape, collected.list, collected.count);
  return launch_pivoting<T>(device, shape, (batch.problems() + shape.systems - 1) / shape.systems, p, used);
}

/// Two passes over the rows: reduce every segment, solve for the outer values, substitute.
template <class T>
Status solve_segments(GpuDevice& device, const Batch<T>& batch, const PivotingShape& shape,
                      const Collected& collected, Used* used) {
  using R = RealOf<T>;
  const int64_t blocks = batch.problems() * shape.segments;
  if (blocks > device.limits().max_blocks) {
    return Status(Code::unsupported, "too many large systems for one launch of the pivoted solver", "batch");
  }
  const auto padded = [](int64_t bytes) { return (bytes + 255) / 256 * 256; };
  const int64_t outer_bytes = padded(blocks * static_cast<int64_t>(sizeof(OuterRows<T>)));
  const int64_t values_bytes = padded(blocks * static_cast<int64_t>(sizeof(OuterValues<T>)));
  const int64_t merge_bytes = padded(blocks * static_cast<int64_t>(sizeof(MergeRows<T>)));
  const int64_t sums_bytes = padded(blocks * static_cast<int64_t>(sizeof(ResidualSums<R>)));
  Workspace memory;
  WARPLOOM_TRY(Workspace::make(device, outer_bytes + values_bytes + merge_bytes + sums_bytes, &memory));

  auto p = PivotingAgent<T>::parameters(batch, shape, collected.list, collected.count);
  p.outer = memory.as<OuterRows<T>>();
  OuterValues<T>* const values = memory.as<OuterValues<T>>(outer_bytes);
  p.values = values;
  p.sums = memory.as<ResidualSums<R>>(outer_bytes + values_bytes + merge_bytes);
  p.mode = PivotingMode::reduce;
  WARPLOOM_TRY(launch_pivoting<T>(device, shape, blocks, p, used));

  using Top = SegmentTopAgent<T>;
  typename Top::Parameters top;
  top.segments = shape.segments;
  top.outer = p.outer;
  top.merges = memory.as<MergeRows<T>>(outer_bytes + values_bytes);
  top.values = values;
  LaunchShape top_shape;
  top_shape.blocks = batch.problems();
  while (top_shape.threads < Top::kMaxThreads && top_shape.threads < shape.segments) top_shape.threads *= 2;
  top_shape.shared_bytes = Top::shared_bytes(top_shape.threads);
  WARPLOOM_TRY(launch<Top>(device, top_shape, top));

  p.mode = PivotingMode::substitute;
  WARPLOOM_TRY(launch_pivoting<T>(device, shape, blocks, p, used));

  using Judge = SegmentJudgeAgent<T>;
  typename Judge::Parameters judge;
  judge.batch = batch;
  judge.segments = shape.segments;
  judge.sums = p.sums;
  judge.list = collected.list;
  judge.count = collected.count;
  LaunchShape judge_shape;
  judge_shape.threads = Judge::kMaxThreads;
  judge_shape.blocks = (batch.problems() + judge_shape.threads - 1) / judge_shape.threads;
  WARPLOOM_TRY(launch<Judge>(device, judge_shape, judge));
  if (used != nullptr) used->launches += 2;
  return {};
}

/// Corrections on the same segments, for problems that are not as accurate as rounding allows.
template <class T>
Status correct_segments(GpuDevice& device, const Batch<T>& batch, const PivotingShape& shape, const Collected& collected,
                        Used* used) {
  constexpr int kMost = 2;
  const auto solve = [&](const Batch<T>& correction) {
    WARPLOOM_TRY(device.fill_zero(collected.count, sizeof(int32_t)));
    return solve_segments(device, correction, shape, collected, used);
  };
  return refine_until<T>(device, batch, nullptr, kGoodError<RealOf<T>>, kMost, solve, used);
}

}  // namespace

template <class T>
Status solve_pivoting(GpuDevice& device, const Batch<T>& batch, Used* used) {
  const int64_t problems = batch.problems();
  const PivotingShape shape = pivoting_shape(static_cast<int>(sizeof(T)), batch.n);
  if (used != nullptr) {
    used->algorithm = operation::Algorithm::pivoting;
    used->depth = shape.depth;
    used->threads = static_cast<int>(std::min<int64_t>(shape.width * shape.segments, 2147483647));
  }
  if (problems == 0) return {};
  if (problems > 2147483647) {
    return Status(Code::unsupported, "the pivoted solver takes at most 2147483647 problems a call", "batch");
  }
  Collected collected;
  WARPLOOM_TRY(Collected::make(device, problems, &collected));
  Batch<T> kept = batch;
  Workspace rhs;
  if (shape.segments == 1) {
    WARPLOOM_TRY(solve_whole(device, batch, shape, collected, used));
  } else {
    // Segments are stored before the whole system's residual is known.
    WARPLOOM_TRY(keep_rhs(device, batch, &rhs, &kept));
    WARPLOOM_TRY(solve_segments(device, kept, shape, collected, used));
  }
  WARPLOOM_TRY(solve_gtsv<T>(device, kept, nullptr, {collected.list, collected.count}, {}, used));
  // Systems that fit a block are corrected on chip.
  return shape.segments == 1 ? Status() : correct_segments(device, kept, shape, collected, used);
}

#define WARPLOOM_INSTANTIATE(T) template Status solve_pivoting<T>(GpuDevice&, const Batch<T>&, Used*);
WARPLOOM_INSTANTIATE(float)
WARPLOOM_INSTANTIATE(double)
WARPLOOM_INSTANTIATE(Complex<float>)
WARPLOOM_INSTANTIATE(Complex<double>)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
