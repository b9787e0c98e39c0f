// imaging.denoise on the GPU: the iterations and checks of denoise_driver.h, in launches that stop on their own.
#include "cuda/imaging/denoise.h"

#include "cuda/core/operations.h"
#include "cuda/imaging/denoise_driver.h"
#include "cuda/imaging/denoise_policy.h"
#include "cuda/imaging/tv.cuh"

namespace warploom::WARPLOOM_TARGET {
namespace imaging {
namespace {

using operation::DenoiseMethod;
using operation::DenoiseParameters;
using operation::DenoiseState;
using operation::DenoiseVariant;

DenoiseVariant chosen(const DenoiseParameters& p) {
  if (p.variant != DenoiseVariant::automatic) return p.variant;
  if (p.method == DenoiseMethod::flow && !operation::is_even(p.grid, p.spacing)) return DenoiseVariant::direct;
  const bool alone = p.channels == 1 || !p.coupled;
  return alone && march_takes(p.grid) ? DenoiseVariant::march : DenoiseVariant::direct;
}

/// Layout of the workspace, in bytes.
struct Layout {
  int64_t elements = 0, stride = 0;  ///< of the image; distance between components of q
  int64_t u[2] = {}, q[2] = {}, bar = 0, steps = 0, state = 0, history = 0, parts = 0, survey = 0, counts = 0, bytes = 0;

  static Layout make(const DenoiseParameters& p) {
    Layout l;
    const int64_t scalar = scalar_bytes(p.type), axes = p.grid.nz == 1 ? 2 : 3;
    const bool flow = p.method == DenoiseMethod::flow, march = chosen(p) == DenoiseVariant::march;
    const auto place = [&](int64_t bytes) {
      const int64_t at = l.bytes;
      l.bytes += (bytes + 255) / 256 * 256;
      return at;
    };
    l.elements = points_of(p.grid) * p.channels;
    l.stride = (l.elements + 63) / 64 * 64;
    l.u[0] = place(l.stride * scalar);
    l.u[1] = flow || march ? place(l.stride * scalar) : l.u[0];
    if (!flow) l.q[0] = place(axes * l.stride * scalar);
    l.q[1] = !flow && march ? place(axes * l.stride * scalar) : l.q[0];
    if (!flow && !march) l.bar = place(l.stride * scalar);
    l.steps = place(p.iterations * 7 * scalar);
    l.state = place(sizeof(DenoiseState));
    l.history = place(most_checks(p) * static_cast<int64_t>(sizeof(operation::DenoiseEntry)));
    const auto shape = operation::SumShape::make(p.grid.nx, p.grid.ny, p.grid.nz, p.channels);
    l.parts = place(shape.parts * static_cast<int64_t>(sizeof(operation::SurveyPart)));
    l.survey = place(sizeof(operation::SurveyPart));
    l.counts = place(16);
    return l;
  }
};

template <class T>
class GpuBackend final : public operation::DenoiseBackend {
 public:
  GpuBackend(GpuDevice& device, const DenoiseParameters& p, const Layout& layout, const Workspace& workspace)
      : device_(device), p_(p), layout_(layout), variant_(chosen(p)), flow_(p.method == DenoiseMethod::flow),
        group_(p.coupled ? p.channels : 1), f_(static_cast<T*>(p.image.data) + p.image.offset), weights_(weights_of(p.grid, p.spacing)) {
    for (int i = 0; i < 2; ++i) {
      u_[i] = workspace.as<T>(layout.u[i]);
      q_[i] = workspace.as<T>(layout.q[i]);
    }
    bar_ = workspace.as<T>(layout.bar);
    steps_ = workspace.as<operation::TvStep<T>>(layout.steps);
    state_ = workspace.as<DenoiseState>(layout.state);
    history_ = workspace.as<operation::DenoiseEntry>(layout.history);
    parts_ = workspace.as<void>(layout.parts);
    survey_ = workspace.as<operation::SurveyPart>(layout.survey);
    counts_ = workspace.as<int64_t>(layout.counts);
  }

  Status survey(operation::SurveyPart* out) override {
    SumTask<T> task = sum_task(p_.channels);
    task.survey = survey_;
    WARPLOOM_TRY((launch_sum<T, SurveySum<T>>(device_, task)));
    return device_.download(out, survey_, sizeof(*out));
  }

  Status count_details(double limit, int64_t* all, int64_t* below) override {
    DetailTask<T> task;
    task.shape = operation::DetailShape::make(p_.grid.nx, p_.grid.ny, p_.grid.nz, p_.channels);
    task.image = f_;
    task.limit = limit;
    task.counts = counts_;
    int64_t counts[2] = {};
    if (task.shape.count > 0) {
      WARPLOOM_TRY(device_.fill_zero(counts_, sizeof(counts)));
      const int64_t most = 8 * int64_t{device_.limits().multiprocessors}, wanted = (task.shape.count + 255) / 256;
      WARPLOOM_TRY(launch<DetailAgent<T>>(device_, {wanted < most ? wanted : most, 256, 0, false}, task));
      WARPLOOM_TRY(device_.download(counts, counts_, sizeof(counts)));
    }
    *all = counts[0];
    *below = counts[1];
    return {};
  }

  Status begin(const DenoiseState& state, const std::vector<operation::TvStep<double>>& steps, const operation::TvBounds<double>& bounds,
               double fill, bool first) override {
    bounds_ = bounds;
    weight_ = state.weight;
    step_count_ = static_cast<int64_t>(steps.size());
    host_steps_.clear();
    for (const auto& s : steps) {
      host_steps_.push_back({static_cast<T>(s.keep), static_cast<T>(s.pull), static_cast<T>(s.data), static_cast<T>(s.rise),
                             static_cast<T>(s.tau), static_cast<T>(s.theta), static_cast<T>(s.s)});
    }
    if (step_count_ > 0) {
      WARPLOOM_TRY(device_.upload(steps_, host_steps_.data(), step_count_ * static_cast<int64_t>(sizeof(operation::TvStep<T>))));
    }
    host_state_ = state;
    WARPLOOM_TRY(device_.upload(state_, &host_state_, sizeof(state)));
    const int64_t image = layout_.elements * static_cast<int64_t>(sizeof(T)), axes = p_.grid.nz == 1 ? 2 : 3;
    if (first) {
      WARPLOOM_TRY(launch<StartAgent<T>>(device_, {(layout_.elements + 255) / 256, 256, 0, false}, {f_, u_[0], static_cast<T>(fill),
          layout_.elements}));
      return flow_ ? Status() : device_.fill_zero(q_[0], axes * layout_.stride * static_cast<int64_t>(sizeof(T)));
    }
    if (result_ == u_[0]) return {};
    WARPLOOM_TRY(device_.copy(u_[0], result_, image));
    return flow_ ? Status() : device_.copy(q_[0], q_[1], axes * layout_.stride * static_cast<int64_t>(sizeof(T)));
  }

  Status run(DenoiseState* state, operation::DenoiseEntry* history) override {
    const int64_t axes = flow_ ? 0 : p_.grid.nz == 1 ? 2 : 3;
    const int64_t bytes = layout_.elements * static_cast<int64_t>(sizeof(T)) * (3 + 2 * axes);
    const int64_t left = (state->limit - state->iterations + p_.check_every - 1) / p_.check_every;
    const int64_t chunks = std::min(left, operation::denoise_policy::chunks_at_once(bytes, p_.check_every));
    const auto chunk = [&]() -> Status {
      for (int64_t i = 0; i < p_.check_every; ++i) WARPLOOM_TRY(iterate(i));
      return check();
    };
    if (operation::denoise_policy::iteration_seconds(bytes) < operation::denoise_policy::kGraphBelow) {
      WARPLOOM_TRY(device_.replay(chunks, chunk));
    } else {
      for (int64_t i = 0; i < chunks; ++i) WARPLOOM_TRY(chunk());
    }
    const int64_t before = state->checks;
    WARPLOOM_TRY(device_.download(state, state_, sizeof(*state)));
    result_ = u_[state->iterations & 1];
    constexpr int64_t kBytes = sizeof(operation::DenoiseEntry);
    return device_.download(history + before, history_ + before, (state->checks - before) * kBytes);
  }

  /// The image of the latest solution.
  const T* result() const { return result_; }
  DenoiseVariant variant() const { return variant_; }

 private:
  Status iterate(int64_t ahead) {
    if (flow_) {
      CurvatureTask<T> task;
      task.u = u_[0];
      task.result = u_[1];
      task.f = f_;
      task.eps16 = static_cast<T>(16 * p_.eps);
      task.axes = operation::axis_factors<T>(p_.grid, p_.spacing);
      task.even = operation::is_even(p_.grid, p_.spacing);
      task.channels = group_;
      task.weight4 = static_cast<T>(4 * weight_);
      task.dt = static_cast<T>(p_.dt != 0 ? p_.dt : operation::stable_step(p_, weight_));
      task.state = state_;
      task.ahead = ahead;
      return variant_ == DenoiseVariant::march ? march_flow(device_, p_.grid, p_.channels, task)
                                               : direct_flow(device_, p_.grid, p_.channels / group_, task);
    }
    TvTask<T> task;
    task.f = f_;
    for (int i = 0; i < 2; ++i) {
      task.u[i] = u_[i];
      task.q[i] = q_[i];
    }
    task.bar = bar_;
    task.total = layout_.stride;
    task.channels = group_;
    task.steps = steps_;
    task.step_count = step_count_;
    task.state = state_;
    task.ahead = ahead;
    task.impulse = p_.noise == operation::NoiseKind::impulse;
    task.weights = operation::tv_weights<T>(weights_);
    return variant_ == DenoiseVariant::march ? march_tv(device_, p_.grid, p_.channels, task) : direct_tv(device_, p_.grid, p_.channels,
        task);
  }

  SumTask<T> sum_task(int64_t groups) const {
    SumTask<T> task;
    task.shape = operation::SumShape::make(p_.grid.nx, p_.grid.ny, p_.grid.nz, groups);
    task.points = points_of(p_.grid);
    task.channels = p_.channels / groups;
    task.f = f_;
    task.parts = parts_;
    return task;
  }

  Status check() {
    SumTask<T> task = sum_task(p_.channels / group_);
    for (int i = 0; i < 2; ++i) {
      task.u[i] = u_[i];
      task.q[i] = q_[i];
    }
    task.total = layout_.stride;
    task.bounds = bounds_;
    task.weight = weight_ * weights_.x;
    task.weights = operation::tv_weights<T>(weights_);
    task.impulse = p_.noise == operation::NoiseKind::impulse;
    task.flow = flow_;
    task.state = state_;
    task.history = history_;
    return launch_sum<T, TvSum<T>>(device_, task);
  }

  GpuDevice& device_;
  const DenoiseParameters& p_;
  const Layout& layout_;
  const DenoiseVariant variant_;
  const bool flow_;
  const int64_t group_;  ///< components that share a norm
  T *f_, *u_[2], *q_[2], *bar_;
  const T* result_ = nullptr;
  operation::TvStep<T>* steps_;
  DenoiseState* state_;
  operation::DenoiseEntry* history_;
  void* parts_;
  operation::SurveyPart* survey_;
  int64_t* counts_;
  std::vector<operation::TvStep<T>> host_steps_;
  DenoiseState host_state_{};
  operation::TvBounds<double> bounds_{};
  double weight_ = 0;
  const operation::AxisWeights weights_;
  int64_t step_count_ = 0;
};

Status refuse_variant(const DenoiseParameters& p) {
  if (p.variant != DenoiseVariant::march) return {};
  if (p.coupled && p.channels > 1) return {Code::unsupported, "variant march takes one component, or components that are not coupled",
      "variant"};
  if (p.method == DenoiseMethod::flow && !operation::is_even(p.grid, p.spacing)) {
    return {Code::unsupported, "variant march of the flow takes points that are equally far apart", "variant"};
  }
  if (!march_takes(p.grid)) return {Code::unsupported, "variant march takes planes of less than 2^31 points", "variant"};
  return {};
}

template <class T>
Status run_denoise(GpuDevice& device, const DenoiseParameters& p, Control& control) {
  WARPLOOM_TRY(refuse_variant(p));
  const Layout layout = Layout::make(p);
  Workspace workspace;
  WARPLOOM_TRY(Workspace::make(device, layout.bytes, &workspace));
  GpuBackend<T> backend(device, p, layout, workspace);
  WARPLOOM_TRY(device.begin_operation(control));
  WARPLOOM_TRY(denoise(p, backend, control));
  WARPLOOM_TRY(device.copy(static_cast<T*>(p.result.data) + p.result.offset, backend.result(),
      layout.elements * static_cast<int64_t>(sizeof(T))));
  if (p.report != nullptr) p.report->variant = backend.variant();
  return device.end_operation(control);
}

}  // namespace
}  // namespace imaging

Status imaging_denoise(Device& device, const ::warploom::imaging::DenoiseParameters& p, Control& control) {
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  return p.type == ScalarType::float32 ? imaging::run_denoise<float>(gpu, p, control) : imaging::run_denoise<double>(gpu, p, control);
}

int64_t imaging_denoise_workspace(const Device&, const ::warploom::imaging::DenoiseParameters& p) { return imaging::Layout::make(p).bytes; }

}  // namespace warploom::WARPLOOM_TARGET
