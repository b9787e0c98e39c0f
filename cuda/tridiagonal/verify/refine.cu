#include "cuda/linear/row_walk_launch.cuh"

#include <algorithm>
#include <cmath>

#include "cuda/tridiagonal/verify/refine_agent.cuh"
#include "cuda/tridiagonal/verify/verify.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {
namespace {

/// Most corrections. Each gains as many digits as the matrix's condition leaves of the working precision.
constexpr int kLargestCount = 5;

/// The buffers of one refinement and the launches on them.
template <class T>
class Refinement {
 public:
  using Precise = PreciseOf<T>;
  using Agent = RefineAgent<T>;

  Refinement(GpuDevice& device, const Batch<T>& batch, const T* corners, double good_enough, Used* used)
      : device_(device), batch_(batch), corners_(corners), good_enough_(good_enough), used_(used), walk_(walk_of(batch)) {}

  Status allocate() {
    int64_t rows = 0;
    WARPLOOM_TRY(all_rows(device_, batch_, &rows));
    const int64_t entries = std::max<int64_t>(1, rows * batch_.rhs_count), problems = batch_.problems();
    const int64_t sum_bytes = padded(entries * static_cast<int64_t>(sizeof(Precise)));
    const int64_t correction_bytes = padded(entries * static_cast<int64_t>(sizeof(T)));
    const int64_t finding_bytes = padded(problems * walk_.segments * static_cast<int64_t>(sizeof(RefineFinding)));
    const int64_t state_bytes = padded(problems * static_cast<int64_t>(sizeof(RefineState)));
    const int64_t word_bytes = padded(problems * static_cast<int64_t>(sizeof(int32_t)));
    int64_t at = 0;
    const auto take = [&at](int64_t bytes) { return std::exchange(at, at + bytes); };
    const int64_t sum_at = take(sum_bytes), correction_at = take(correction_bytes);
    const int64_t finding_at = take(finding_bytes), state_at = take(state_bytes);
    const int64_t status_at = take(word_bytes), row_at = take(word_bytes), active_at = take(256);
    WARPLOOM_TRY(Workspace::make(device_, at, &memory_));
    correction_ = packed_like(batch_, rows, memory_.template as<T>(correction_at));
    sum_ = {memory_.template as<Precise>(sum_at), correction_.system_stride, correction_.row_stride,
            correction_.rhs_stride};
    findings_ = memory_.template as<RefineFinding>(finding_at);
    states_ = memory_.template as<RefineState>(state_at);
    active_ = memory_.template as<int32_t>(active_at);
    inner_ = batch_;
    inner_.rhs = inner_.solution = correction_;
    inner_.status = memory_.template as<int32_t>(status_at);
    inner_.row = memory_.template as<int32_t>(row_at);
    return {};
  }

  Status stream(RefineStep step, int iteration) {
    typename Agent::Parameters p;
    p.batch = batch_;
    p.corners = corners_;
    p.sum = sum_;
    p.correction = correction_;
    p.step = step;
    p.iteration = iteration;
    p.walk = walk_;
    p.findings = findings_;
    p.states = states_;
    if (used_ != nullptr) ++used_->launches;
    return launch<Agent>(device_, stream_shape(batch_.problems() * walk_.segments * walk_.width), p);
  }

  /// Measures the candidate of this iteration and decides; `active`: number of problems that need another correction.
  Status decide(int iteration, int32_t* active) {
    WARPLOOM_TRY(stream(RefineStep::measure, iteration));
    WARPLOOM_TRY(device_.fill_zero(active_, sizeof(int32_t)));
    typename RefineJudgeAgent<T>::Parameters p;
    p.batch = batch_;
    p.segments = walk_.segments;
    p.iteration = iteration;
    p.good_enough = good_enough_;
    p.findings = findings_;
    p.states = states_;
    p.active = active_;
    WARPLOOM_TRY(launch<RefineJudgeAgent<T>>(device_, stream_shape(batch_.problems()), p));
    if (used_ != nullptr) ++used_->launches;
    return device_.download(active, active_, sizeof(int32_t));
  }

  const Batch<T>& inner() const { return inner_; }

 private:
  static int64_t padded(int64_t bytes) { return (bytes + 255) / 256 * 256; }

  GpuDevice& device_;
  Batch<T> batch_, inner_;
  const T* corners_;
  double good_enough_;
  Used* used_;
  RowWalk walk_;
  Workspace memory_;
  PackedLines<Precise> sum_;
  Strided<T> correction_;
  RefineFinding* findings_ = nullptr;
  RefineState* states_ = nullptr;
  int32_t* active_ = nullptr;
};

}  // namespace

template <class T>
Status refine_until(GpuDevice& device, const Batch<T>& batch, const T* corners, double good_enough, int most,
                    const std::function<Status(const Batch<T>&)>& solve, Used* used) {
  if (batch.problems() == 0 || batch.n == 0) return {};
  Refinement<T> refinement(device, batch, corners, good_enough, used);
  WARPLOOM_TRY(refinement.allocate());
  WARPLOOM_TRY(refinement.stream(RefineStep::begin, 0));
  int32_t active = 0;
  WARPLOOM_TRY(refinement.decide(0, &active));
  if (active == 0) return {};
  for (int iteration = 1; active > 0 && iteration <= most; ++iteration) {
    WARPLOOM_TRY(refinement.stream(RefineStep::residual, iteration));
    WARPLOOM_TRY(solve(refinement.inner()));
    WARPLOOM_TRY(refinement.decide(iteration, &active));
    WARPLOOM_TRY(refinement.stream(RefineStep::apply, iteration));
  }
  return refinement.stream(RefineStep::round, 0);
}

template <class T>
Status refine(GpuDevice& device, const Batch<T>& batch, const Verification<T>& options,
              const std::function<Status(const Batch<T>&)>& solve, Used* used) {
  return refine_until<T>(device, batch, options.corners, kPreciseEnough<T>, kLargestCount, solve, used);
}

#define WARPLOOM_INSTANTIATE(T)                                                       \
  template Status refine_until<T>(GpuDevice&, const Batch<T>&, const T*, double, int, \
                                  const std::function<Status(const Batch<T>&)>&, Used*); \
  template Status refine<T>(GpuDevice&, const Batch<T>&, const Verification<T>&,      \
                            const std::function<Status(const Batch<T>&)>&, Used*);
WARPLOOM_INSTANTIATE(float)
WARPLOOM_INSTANTIATE(double)
WARPLOOM_INSTANTIATE(Complex<float>)
WARPLOOM_INSTANTIATE(Complex<double>)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
