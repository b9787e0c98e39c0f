// imaging.registration on the cpu backend: the same passes as on the GPU, with the same bits, on vectors and threads.
#include "cuda/imaging/registration.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <vector>

#include "cuda/core/operations.h"
#include "cuda/imaging/registration_report.h"
#include "cuda/imaging/warp_task.h"
#include "native/imaging/cosine_pass.h"
#include "native/imaging/quiet.h"

namespace warploom::cpu {
namespace {

using namespace ::warploom::imaging;

/// Rows per task in passes that visit points one by one.
constexpr int64_t kRowsPerTask = 16;

/// The sums of all pairs, in the order of registration_sums.h.
ImageSums total_of(const double* words, int64_t pairs, bool all) {
  ImageSums total = no_sums();
  for (int group = 0; group < kTotalLanes / kSumLanes; ++group) {
    ImageSums lanes[kSumLanes];
    for (int lane = 0; lane < kSumLanes; ++lane) {
      lanes[lane] = no_sums();
      for (int64_t p = group * kSumLanes + lane; p < pairs; p += kTotalLanes) {
        lanes[lane] = combined(lanes[lane], load_sums(all, words + p, pairs));
      }
    }
    for (int distance = kSumLanes / 2; distance > 0; distance /= 2) {
      for (int lane = 0; lane < distance; ++lane) lanes[lane] = combined(lanes[lane], lanes[lane + distance]);
    }
    total = group == 0 ? lanes[0] : combined(total, lanes[0]);
  }
  return total;
}

template <class R>
class Call {
 public:
  Call(CpuDevice& device, const RegistrationParameters& p, Control& control)
      : device_(device), p_(p), control_(control), quiet_(control), kernels_(imaging_kernels<R>().registration),
        axes_(dimensions_of(p.grid)), points_(points_of(p.grid)), field_memory_(device), trail_memory_(device), sums_memory_(device) {}

  Status run() {
    WARPLOOM_TRY(prepare());
    if (p_.measure == Measure::ncc) {
      WARPLOOM_TRY(run_rows(start_));
      measure_of(total_of(start_.sums, start_.pairs, true), true, state_);
    }
    WARPLOOM_TRY(find_step());
    WARPLOOM_TRY(p_.variant == RegistrationVariant::explicit_ ? march_explicit() : march_implicit());
    if (p_.report != nullptr) write_report(*p_.report, state_);
    return {};
  }

 private:
  Status prepare() {
    const bool is_explicit = p_.variant == RegistrationVariant::explicit_;
    const int64_t extents[3] = {p_.grid.nx, p_.grid.ny, p_.grid.nz};
    for (int a = 0; a < (is_explicit ? 1 : axes_); ++a) tables_.emplace_back(extents[a]);
    const AxisWeights w = weights_of(p_.grid, p_.spacing);
    const double squares[3] = {w.x * w.x, w.y * w.y, w.z * w.z};
    for (int a = 0; a < 3; ++a) {
      for (int64_t k = 0; k < extents[a]; ++k) lambda_[a].push_back(static_cast<R>(squares[a] * eigenvalue(k, extents[a])));
    }
    RowsTask<R>& task = start_;
    task.plan = tables_[0].plan;
    task.table = tables_[0].table.data();
    for (int a = 0; a < 3; ++a) task.extent[a] = static_cast<int32_t>(extents[a]);
    task.axes = axes_;
    task.channels = static_cast<int32_t>(p_.channels);
    task.share = static_cast<R>(1.0 / static_cast<double>(p_.channels));
    task.points = points_;
    task.rows = p_.grid.ny * p_.grid.nz;
    task.pairs = (task.rows + 1) / 2;
    WARPLOOM_TRY(field_memory_.reserve(axes_ * points_ * static_cast<int64_t>(sizeof(R))));
    WARPLOOM_TRY(sums_memory_.reserve(task.pairs * kNccSums * static_cast<int64_t>(sizeof(double))));
    field_ = field_memory_.template as<R>();
    task.sums = sums_memory_.template as<double>();
    task.reference = input_of<R>(p_.reference);
    task.image = input_of<R>(p_.image);
    task.displacement = p_.initial.data == nullptr ? nullptr : input_of<R>(p_.initial);
    task.inverse_factor = static_cast<R>(0.5 / static_cast<double>(p_.grid.nx));
    task.alpha = p_.alpha;
    task.factors = axis_factors<R>(p_.grid, p_.spacing);
    task.state = &state_;
    task.all_sums = p_.measure == Measure::ncc;
    const bool accelerate = p_.accelerate && !is_explicit;
    if (p_.report == nullptr) unasked_.resize(static_cast<size_t>(p_.iterations) + 1);
    if (accelerate) WARPLOOM_TRY(trail_memory_.reserve(axes_ * points_ * static_cast<int64_t>(sizeof(R))));
    evaluation_ = {task.all_sums, accelerate, p_.tolerance, static_cast<int32_t>(p_.iterations),
                   p_.report != nullptr ? p_.report->history.data : unasked_.data()};
    return {};
  }

  Status run_rows(const RowsTask<R>& task) {
    const int64_t lanes = kernels_.lanes;
    WARPLOOM_TRY(device_.reserve_scratch(kernels_.row_bytes(task.plan.m, axes_)));
    return device_.threads().run((task.pairs + lanes - 1) / lanes, [&](int64_t group, int worker) {
      kernels_.rows[axes_ - 2](task, group * lanes, device_.scratch(worker));
      return Status();
    }, quiet_);
  }

  Status evaluate(const RowsTask<R>& task) {
    WARPLOOM_TRY(run_rows(task));
    take_sums(state_, evaluation_, total_of(task.sums, task.pairs, task.all_sums));
    return {};
  }

  Status each_rows(const std::function<void(int64_t begin, int64_t end)>& body) {
    return device_.threads().run((start_.rows + kRowsPerTask - 1) / kRowsPerTask, [&](int64_t index, int) {
      body(index * kRowsPerTask, std::min(start_.rows, (index + 1) * kRowsPerTask));
      return Status();
    }, quiet_);
  }

  Status find_step() {
    double most = 0;
    std::mutex mutex;
    WARPLOOM_TRY(each_rows([&](int64_t begin, int64_t end) {
      const double found = kernels_.gradient(start_, begin, end);
      const std::lock_guard<std::mutex> lock(mutex);
      most = std::max(most, found);
    }));
    const double greatest = greatest_eigenvalue(p_.grid, p_.spacing);
    const double stiffness = p_.variant == RegistrationVariant::explicit_ ? p_.alpha * greatest * greatest : 0;
    state_.step = step_of(p_.step, p_.step_scale, stiffness, most * (1.0 / static_cast<double>(p_.channels)), state_);
    state_.weight = state_.step * p_.alpha;
    return {};
  }

  /// One of the passes between the two transforms along the rows.
  Status run_pass(int axis, LinesMode mode) {
    LinesTask<R> task;
    set_axis(task, axis, p_.grid.nx, p_.grid.ny, p_.grid.nz, axes_);
    tables_[static_cast<size_t>(axis)].give(task);
    task.from = task.to = field_;
    task.mode = mode;
    task.axis = lambda_[axes_ - 1].data();
    task.across = lambda_[0].data();
    task.along = axes_ == 3 ? lambda_[1].data() : nullptr;
    task.width = p_.grid.nx;
    task.weight = &state_.weight;
    return run_lines(device_, task, quiet_);
  }

  Status iterate(const RowsTask<R>& task) {
    WARPLOOM_TRY(evaluate(task));
    if (axes_ == 2) return run_pass(1, LinesMode::filter);
    WARPLOOM_TRY(run_pass(1, LinesMode::forward));
    WARPLOOM_TRY(run_pass(2, LinesMode::filter));
    return run_pass(1, LinesMode::inverse);
  }

  bool goes_on(int64_t done) {
    control_.progress(static_cast<double>(state_.last != 0 ? p_.iterations : done), static_cast<double>(p_.iterations));
    return done < p_.iterations && state_.last == 0;
  }

  Status march_implicit() {
    RowsTask<R> task = start_;
    task.trail = evaluation_.accelerate ? trail_memory_.template as<R>() : nullptr;
    for (int64_t done = 0; goes_on(done); ++done) {
      if (control_.cancelled()) return {Code::cancelled, "cancelled"};
      task.new_coefficients = field_;
      WARPLOOM_TRY(iterate(task));
      task.coefficients = field_;
    }
    task.new_coefficients = nullptr;
    task.trail = nullptr;
    task.result = output_of<R>(p_.result);
    return evaluate(task);
  }

  Status march_explicit() {
    R* const u = output_of<R>(p_.result);
    const size_t bytes = static_cast<size_t>(axes_ * points_) * sizeof(R);
    if (start_.displacement == nullptr) std::memset(u, 0, bytes);
    else std::memcpy(u, start_.displacement, bytes);
    RowsTask<R> task = start_;
    task.displacement = task.result = u;
    for (int64_t done = 0; goes_on(done); ++done) {
      if (control_.cancelled()) return {Code::cancelled, "cancelled"};
      WARPLOOM_TRY(each_rows([&](int64_t begin, int64_t end) { kernels_.laplacian(task, field_, begin, end); }));
      RowsTask<R> step = task;
      step.laplacian = field_;
      WARPLOOM_TRY(evaluate(step));
    }
    task.result = nullptr;
    return evaluate(task);
  }

  CpuDevice& device_;
  const RegistrationParameters& p_;
  Control& control_;
  Quiet quiet_;
  const RegistrationKernels<R>& kernels_;
  int axes_;
  int64_t points_;
  Workspace field_memory_, trail_memory_, sums_memory_;
  std::vector<AxisTable<R>> tables_;
  std::vector<R> lambda_[3];
  std::vector<::warploom::imaging::RegistrationEntry> unasked_;  // history for a call that does not report one
  RowsTask<R> start_;
  R* field_ = nullptr;
  RegistrationState state_ = first_state();
  Evaluation evaluation_ = {};
};

}  // namespace

Status imaging_registration(Device& device, const RegistrationParameters& p, Control& control) {
  const auto start = std::chrono::steady_clock::now();
  CpuDevice& cpu = static_cast<CpuDevice&>(device);
  const bool single = p.type == ScalarType::float32;
  WARPLOOM_TRY(single ? Call<float>(cpu, p, control).run() : Call<double>(cpu, p, control).run());
  control.device_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {};
}

int64_t imaging_registration_workspace(const Device&, const RegistrationParameters& p) {
  const int64_t pairs = (p.grid.ny * p.grid.nz + 1) / 2;
  const int64_t fields = p.accelerate && p.variant != RegistrationVariant::explicit_ ? 2 : 1;
  const int64_t field = dimensions_of(p.grid) * points_of(p.grid) * scalar_bytes(p.type);
  return fields * field + pairs * kNccSums * static_cast<int64_t>(sizeof(double));
}

}  // namespace warploom::cpu
