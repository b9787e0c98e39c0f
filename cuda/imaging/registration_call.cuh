// One call of imaging.registration on the GPU.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cuda/core/operations.h"
#include "cuda/imaging/cosine_launch.cuh"
#include "cuda/imaging/registration.h"
#include "cuda/imaging/registration_agent.cuh"
#include "cuda/imaging/registration_policy.h"
#include "cuda/imaging/registration_report.h"
#include "cuda/imaging/registration_setup.cuh"
#include "cuda/imaging/warp_task.h"

namespace warploom::WARPLOOM_TARGET::imaging {

using operation::RegistrationParameters;

/// Divides the memory of a call into consecutive parts.
class Cutter {
 public:
  /// Returns where the next `bytes` begin.
  int64_t take(int64_t bytes) {
    const int64_t begin = end_;
    end_ += (bytes + 255) / 256 * 256;
    return begin;
  }
  int64_t bytes() const { return end_; }

 private:
  int64_t end_ = 0;
};

template <class T, int kAxes>
class RegistrationCall {
 public:
  RegistrationCall(GpuDevice& device, const RegistrationParameters& p, Control& control)
      : device_(device), p_(p), control_(control), grid_(operation::small_grid(p.grid)), points_(points_of(p.grid)) {}

  Status run() {
    WARPLOOM_TRY(prepare());
    WARPLOOM_TRY(device_.begin_operation(control_));
    if (p_.measure == operation::Measure::ncc) WARPLOOM_TRY(launch_rows(start_, Purpose::factors));
    WARPLOOM_TRY(find_step());
    WARPLOOM_TRY(explicit_ ? march_explicit() : march_implicit());
    WARPLOOM_TRY(device_.end_operation(control_));
    return report();
  }

 private:
  static constexpr int64_t kParts = 512;

  Status prepare() {
    explicit_ = p_.variant == operation::RegistrationVariant::explicit_;
    const int64_t field = kAxes * points_ * static_cast<int64_t>(sizeof(T));
    const int64_t rows = p_.grid.ny * p_.grid.nz, pairs = (rows + 1) / 2;
    const int64_t extents[3] = {p_.grid.nx, p_.grid.ny, p_.grid.nz};
    Cutter cut;
    const int64_t field_at = cut.take(field), sums_at = cut.take(pairs * operation::kNccSums * 8), parts_at = cut.take(kParts * 8);
    const int64_t trail_at = p_.accelerate && !explicit_ ? cut.take(field) : 0;
    const int64_t warped_at = cut.take(p_.channels > 1 ? p_.channels * points_ * static_cast<int64_t>(sizeof(T)) : 0);
    const int64_t history_at = cut.take((p_.iterations + 1) * sizeof(operation::RegistrationEntry));
    const int64_t state_at = cut.take(sizeof(RegistrationState));
    const int64_t tickets_at = cut.take(sizeof(int32_t)), lambda_at = cut.take((extents[0] + extents[1] + extents[2]) * sizeof(T));
    WARPLOOM_TRY(Workspace::make(device_, cut.bytes(), &memory_));
    field_ = memory_.template as<T>(field_at);
    parts_ = memory_.template as<double>(parts_at);
    if (p_.channels > 1) start_.warped = memory_.template as<T>(warped_at);
    state_ = memory_.template as<RegistrationState>(state_at);
    lambda_[0] = memory_.template as<T>(lambda_at);
    lambda_[1] = lambda_[0] + extents[0];
    lambda_[2] = lambda_[1] + extents[1];
    if (p_.accelerate && !explicit_) trail_ = memory_.template as<T>(trail_at);
    evaluation_ = {p_.measure == operation::Measure::ncc, trail_ != nullptr, p_.tolerance, static_cast<int32_t>(p_.iterations),
                   memory_.template as<operation::RegistrationEntry>(history_at)};
    WARPLOOM_TRY(tables_.prepare(device_, extents, explicit_ ? 1 : kAxes));
    WARPLOOM_TRY(upload(extents, memory_.template as<int32_t>(tickets_at)));
    return prepare_rows(rows, pairs, memory_.template as<double>(sums_at), memory_.template as<int32_t>(tickets_at));
  }

  Status upload(const int64_t (&extents)[3], int32_t* tickets) {
    std::vector<T> lambda;
    const operation::AxisWeights w = weights_of(p_.grid, p_.spacing);
    const double squares[3] = {w.x * w.x, w.y * w.y, w.z * w.z};
    for (int a = 0; a < 3; ++a) {
      for (int64_t k = 0; k < extents[a]; ++k) lambda.push_back(static_cast<T>(squares[a] * operation::eigenvalue(k, extents[a])));
    }
    const RegistrationState state = operation::first_state();
    WARPLOOM_TRY(device_.upload(lambda_[0], lambda.data(), static_cast<int64_t>(lambda.size() * sizeof(T))));
    WARPLOOM_TRY(device_.upload(state_, &state, sizeof(state)));
    WARPLOOM_TRY(device_.fill_zero(tickets, sizeof(int32_t)));
    return device_.synchronize();  // the sources of the uploads end with this function
  }

  Status prepare_rows(int64_t rows, int64_t pairs, double* sums, int32_t* tickets) {
    constexpr size_t kEntry = sizeof(Pair<T>);
    const size_t shared = static_cast<size_t>(device_.limits().shared_bytes_per_block);
    RowsTask<T>& task = start_.task;
    task.plan = tables_.plan(0);
    task.table = tables_.table(0);
    for (int a = 0; a < 3; ++a) task.extent[a] = grid_.extent[a];
    task.axes = kAxes;
    task.channels = static_cast<int32_t>(p_.channels);
    task.share = static_cast<T>(1.0 / static_cast<double>(p_.channels));
    task.points = points_;
    task.rows = rows;
    task.pairs = pairs;
    task.reference = operation::input_of<T>(p_.reference);
    task.image = operation::input_of<T>(p_.image);
    task.displacement = p_.initial.data == nullptr ? nullptr : operation::input_of<T>(p_.initial);
    task.inverse_factor = static_cast<T>(0.5 / static_cast<double>(p_.grid.nx));
    task.alpha = p_.alpha;
    task.factors = operation::axis_factors<T>(p_.grid, p_.spacing);
    task.state = state_;
    task.sums = sums;
    task.all_sums = evaluation_.ncc;
    start_.evaluation = evaluation_;
    start_.tickets = tickets;
    const int fitting = policy::groups_of(task.plan.m, kAxes, kEntry, pairs, shared);
    start_.groups = std::max(fitting, 1);
    start_.pitch = policy::pitch_of(start_.groups * kAxes);
    start_.tiles = (pairs + start_.groups - 1) / start_.groups;
    shape_.threads = policy::row_threads(task.plan.n, task.plan.m, kAxes, start_.groups, policy::kLineThreads);
    shape_.blocks = std::min(start_.tiles, device_.limits().max_blocks);
    shape_.shared_bytes = policy::tile_bytes(task.plan.m, start_.groups * kAxes, kEntry);
    if (fitting == 0) {
      shape_.blocks = std::min(shape_.blocks, policy::kScratchBlocks);
      WARPLOOM_TRY(Workspace::make(device_, shape_.blocks * static_cast<int64_t>(shape_.shared_bytes), &scratch_));
      start_.scratch = scratch_.template as<Pair<T>>();
      shape_.shared_bytes = 0;
    }
    shape_.shared_bytes = std::max(shape_.shared_bytes, RowsAgent<T, kAxes, false>::kTotalBytes);
    return {};
  }

  Status launch_rows(TiledRows<T> rows, Purpose purpose) {
    rows.purpose = purpose;
    rows.moves = rows.task.moves();
    return p_.channels > 1 ? launch<RowsAgent<T, kAxes, true>>(device_, shape_, rows)
                           : launch<RowsAgent<T, kAxes, false>>(device_, shape_, rows);
  }

  Status find_step() {
    const int64_t blocks = std::min((points_ + 255) / 256, kParts);
    const double most = operation::greatest_eigenvalue(p_.grid, p_.spacing);
    const double stiffness = explicit_ ? p_.alpha * most * most : 0;
    WARPLOOM_TRY((launch<GradientAgent<T, kAxes>>(device_, {blocks, 256, 64, false},
                                               {grid_, points_, start_.task.channels, start_.task.image, parts_, start_.task.factors})));
    return launch<StepAgent>(device_, {1, 256, 64, false},
                             {parts_, blocks, p_.step, p_.step_scale, stiffness, p_.alpha, 1.0 / static_cast<double>(p_.channels), state_});
  }

  /// The passes between the two transforms along the rows.
  Status prepare_passes() {
    const int last = kAxes - 1;
    for (int i = 0; i < (kAxes == 3 ? 3 : 1); ++i) {
      const int axis = i == 1 || kAxes == 2 ? last : 1;
      LinesTask<T> task;
      operation::set_axis(task, axis, p_.grid.nx, p_.grid.ny, p_.grid.nz, kAxes);
      task.plan = tables_.plan(axis);
      task.table = tables_.table(axis);
      task.from = task.to = field_;
      task.mode = axis == last ? LinesMode::filter : i == 0 ? LinesMode::forward : LinesMode::inverse;
      task.axis = lambda_[last];
      task.across = lambda_[0];
      task.along = kAxes == 3 ? lambda_[1] : nullptr;
      task.width = p_.grid.nx;
      task.weight = &state_->weight;
      task.finished = &state_->finished;
      WARPLOOM_TRY(passes_[i].prepare(device_, task));
    }
    return {};
  }

  Status iterate(const TiledRows<T>& rows) {
    WARPLOOM_TRY(launch_rows(rows, Purpose::iterate));
    for (int i = 0; i < (kAxes == 3 ? 3 : 1); ++i) WARPLOOM_TRY(passes_[i].launch(device_));
    return {};
  }

  Status march_implicit() {
    TiledRows<T> end = start_;
    end.task.result = operation::output_of<T>(p_.result);
    if (p_.iterations == 0) return launch_rows(end, Purpose::conclude);
    WARPLOOM_TRY(prepare_passes());
    TiledRows<T> first = start_, next = start_;
    first.task.new_coefficients = next.task.new_coefficients = field_;
    next.task.coefficients = end.task.coefficients = field_;
    first.task.trail = next.task.trail = trail_;
    WARPLOOM_TRY(iterate(first));
    WARPLOOM_TRY(repeat(1, [&] { return iterate(next); }));
    return launch_rows(end, Purpose::conclude);
  }

  Status march_explicit() {
    T* const u = operation::output_of<T>(p_.result);
    const int64_t bytes = kAxes * points_ * static_cast<int64_t>(sizeof(T));
    WARPLOOM_TRY(p_.initial.data == nullptr ? device_.fill_zero(u, bytes) : device_.copy(u, start_.task.displacement, bytes));
    TiledRows<T> next = start_, end = start_;
    next.task.displacement = end.task.displacement = next.task.result = u;
    next.task.laplacian = field_;
    const int64_t blocks = std::min((points_ + 255) / 256, device_.limits().max_blocks);
    WARPLOOM_TRY(repeat(0, [&] {
      WARPLOOM_TRY((launch<LaplacianAgent<T, kAxes>>(device_, {blocks, 256, 0, false},
                                                  {grid_, points_, u, field_, state_, start_.task.factors})));
      return launch_rows(next, Purpose::iterate);
    }));
    return launch_rows(end, Purpose::conclude);
  }

  /// Runs the iterations from number `done` on in portions; after each, the host checks the state.
  template <class Body>
  Status repeat(int64_t done, const Body& body) {
    while (done < p_.iterations) {
      if (control_.cancelled()) return {Code::cancelled, "cancelled"};
      const int64_t portion = std::min(p_.iterations - done, policy::portion(points_));
      WARPLOOM_TRY(device_.replay(portion, body));
      done += portion;
      RegistrationState state;
      WARPLOOM_TRY(device_.download(&state, state_, sizeof(state)));
      WARPLOOM_TRY(device_.synchronize());
      control_.progress(static_cast<double>(state.last != 0 ? p_.iterations : done), static_cast<double>(p_.iterations));
      if (state.last != 0) break;
    }
    return {};
  }

  Status report() {
    if (p_.report == nullptr) return {};
    operation::RegistrationReport& report = *p_.report;
    RegistrationState state;
    WARPLOOM_TRY(device_.download(&state, state_, sizeof(state)));
    const int64_t bytes = (p_.iterations + 1) * static_cast<int64_t>(sizeof(operation::RegistrationEntry));
    WARPLOOM_TRY(device_.download(report.history.data, evaluation_.history, bytes));
    WARPLOOM_TRY(device_.synchronize());
    operation::write_report(report, state);
    return {};
  }

  GpuDevice& device_;
  const RegistrationParameters& p_;
  Control& control_;
  operation::SmallGrid grid_;
  int64_t points_;
  bool explicit_ = false;
  Workspace memory_, scratch_;
  AxisTables<T> tables_;
  LinesPass<T> passes_[3];
  TiledRows<T> start_;
  LaunchShape shape_;
  operation::Evaluation evaluation_ = {};
  T *field_ = nullptr, *trail_ = nullptr, *lambda_[3] = {nullptr, nullptr, nullptr};
  double* parts_ = nullptr;
  RegistrationState* state_ = nullptr;
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
