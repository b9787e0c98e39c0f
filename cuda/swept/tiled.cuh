// The variant `tiled`: choice of the tiles' shape, and the launches of a march.
#pragma once
#include <algorithm>

#include "cuda/swept/tiled_agent.cuh"
#include "cuda/swept/tiled_policy.h"

namespace warploom::WARPLOOM_TARGET::swept {

/// The launches of a march with tiles of one shape.
template <class Equation, class Tuned>
class TiledMarch {
 public:
  using Real = typename Equation::Real;
  using Agent = TiledAgent<Equation, Tuned>;
  static constexpr int kStepReach = Equation::kReach * Equation::kSubsteps;

  TiledMarch(GpuDevice& device, const March<Equation>& march, Control& control)
      : device_(device), march_(march), control_(control) {}

  /// As asked for by the caller's points per lane and threads.
  bool wanted() const {
    return (march_.points == 0 || march_.points == Tuned::kPoints) && (march_.threads == 0 || march_.threads == Tuned::kThreads);
  }
  bool plan_on_chip() {
    if (plan_single(march_.domain.n, size(Tuned::kDepth), policy::kSingleDepth, &plan_)) return true;
    const int64_t resident = int64_t{device_.limits().multiprocessors} *
                             resident_blocks<Agent>(device_, Tuned::kThreads, shared_bytes(TileMode::resident));
    return plan_resident(march_.domain.n, march_.batch, resident, size(Tuned::kDepth), &plan_);
  }
  bool plan_any() {
    return plan_on_chip() || plan_passes(march_.domain.n, size(Tuned::kPassDepth), &plan_) ||
           plan_single(march_.domain.n, size(1), 1, &plan_);
  }

  Status run(Shape* shape) {
    if (march_.depth > 0 && march_.depth < plan_.depth) {
      plan_.depth = march_.depth;
      plan_.margin = march_.depth * kStepReach;
    }
    *shape = {Tuned::kPoints, plan_.depth, Tuned::kThreads};
    Workspace boxes;
    if (plan_.mode == TileMode::resident) {
      const int64_t bytes = MessageBox<typename Equation::Value>::bytes(blocks(), plan_.margin);
      WARPLOOM_TRY(Workspace::make(device_, bytes, &boxes));
      boxes_ = boxes.template as<device::Message>();
      WARPLOOM_TRY(device_.fill_zero(boxes_, bytes));
    }
    return launches();
  }

  TileMode mode() const { return plan_.mode; }
  int64_t tiles() const { return plan_.tiles; }

 private:
  operation::TileSize size(int depth) const {
    return {Tuned::kPlaces, kStepReach, march_.depth > 0 ? std::min(march_.depth, Tuned::kPlaces / kStepReach) : depth};
  }
  int64_t blocks() const { return plan_.tiles * march_.batch; }
  size_t shared_bytes(TileMode mode) const { return Tile<Equation, Tuned>::shared_bytes(mode, march_.domain.n); }

  /// Steps of a launch: of a pass; else so many that a call can still be cancelled.
  int64_t steps_at_once() const {
    if (plan_.mode == TileMode::passes) return plan_.depth;
    const int64_t points = march_.batch * march_.domain.n;
    return std::min<int64_t>(std::max<int64_t>((int64_t{1} << 34) / points, 256), 65536);
  }

  /// The first launch takes what is left over of whole ones; the states go to the two buffers in turn, the last one to `to`.
  Status launches() {
    const int64_t at_once = steps_at_once(), count = operation::ceil_div(march_.steps, at_once);
    const Real* from = march_.from;
    int64_t done = 0;
    const auto next = [&](int64_t steps) {
      Real* const to = (count - done) % 2 == 1 ? march_.to : march_.spare;
      const Status status = launch_steps(from, to, static_cast<int>(steps));
      from = to;
      ++done;
      return status;
    };
    WARPLOOM_TRY(next(march_.steps - (count - 1) * at_once));
    if (plan_.mode == TileMode::passes && count > 4 * kGraphPasses) {
      while ((count - done) % kGraphPasses != 0) WARPLOOM_TRY(next(at_once));
      if (control_.cancelled()) return {Code::cancelled, "cancelled"};
      return device_.replay((count - done) / kGraphPasses, [&]() -> Status {
        for (int i = 0; i < kGraphPasses; i += 2) {
          WARPLOOM_TRY(launch_steps(march_.to, march_.spare, static_cast<int>(at_once)));
          WARPLOOM_TRY(launch_steps(march_.spare, march_.to, static_cast<int>(at_once)));
        }
        return {};
      });
    }
    while (done < count) {
      if (control_.cancelled()) return {Code::cancelled, "cancelled"};
      WARPLOOM_TRY(next(at_once));
    }
    return {};
  }

  Status launch_steps(const Real* from, Real* to, int steps) {
    const int64_t own = march_.domain.n / plan_.tiles;
    const TiledParameters<Equation> parameters = {
        march_.equation, march_.domain, from, to, static_cast<int>(plan_.tiles), static_cast<int>(own),
        static_cast<int>(march_.domain.n - own * plan_.tiles), plan_.margin, plan_.depth, steps, plan_.mode, first_tag_, boxes_};
    first_tag_ += static_cast<unsigned int>(operation::ceil_div(steps, plan_.depth));
    return launch<Agent>(device_, {blocks(), Tuned::kThreads, shared_bytes(plan_.mode), plan_.mode == TileMode::resident}, parameters);
  }

  static constexpr int kGraphPasses = 8;  ///< even: the state is in `to` again
  GpuDevice& device_;
  const March<Equation>& march_;
  Control& control_;
  operation::TilePlan plan_;
  device::Message* boxes_ = nullptr;
  unsigned int first_tag_ = 1;
};

/// Tries `plan` of the shapes in turn; true when one was taken.
template <class Equation, class... Shapes, class Plan>
bool try_shapes(policy::ShapeList<Shapes...>, GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control,
                Status* status, const Plan& plan) {
  const auto attempt = [&](auto tuned) {
    TiledMarch<Equation, decltype(tuned)> tiled(device, march, control);
    if (!tiled.wanted() || !plan(tiled)) return false;
    *status = tiled.run(shape);
    return true;
  };
  return (attempt(Shapes()) || ...);
}

template <class Equation>
Status march_in_tiles(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control) {
  using Shapes = typename policy::TiledShapes<Equation::kEquation, static_cast<int>(sizeof(typename Equation::Real))>::List;
  Status status;
  if (try_shapes(Shapes(), device, march, shape, control, &status, [](auto& tiled) { return tiled.plan_on_chip(); })) return status;
  if (try_shapes(policy::Reversed<Shapes>(), device, march, shape, control, &status,
                 [](auto& tiled) { return tiled.plan_any(); })) {
    return status;
  }
  return {Code::invalid_argument, "no tile of this equation has these points per lane and threads", "points"};
}

}  // namespace warploom::WARPLOOM_TARGET::swept
