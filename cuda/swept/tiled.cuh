// The variant `tiled`: choice of the tiles' shape, and the launches of a march.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "cuda/swept/tiled_agent.cuh"
#include "cuda/swept/tiled_policy.h"
#include "cuda/swept/variants.cuh"

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

  /// Whether the shape matches the points per lane and threads that the caller requested.
  bool wanted() const {
    return (march_.points == 0 || march_.points == Tuned::kPoints) && (march_.threads == 0 || march_.threads == Tuned::kThreads);
  }
  /// Chooses a mode. Returns the cycles per step, or infinity if no tile fits.
  double plan() {
    const int64_t n = march_.domain.n;
    const int64_t together = resident_blocks<Agent>(device_, Tuned::kThreads, shared_bytes(TileMode::resident));
    TilePlan candidate;
    if (operation::plan_single(n, size(Tuned::kDepth), policy::kSingleDepth, &candidate)) {
      consider(candidate, together, cost().exchange / 4);
    }
    if (operation::plan_resident(n, march_.batch, multiprocessors() * together, size(Tuned::kDepth), &candidate)) {
      consider(candidate, together, cost().exchange);
    }
    // If few tiles run one after another on a multiprocessor, a thinner margin may save the last of them.
    for (int depth = Tuned::kPassDepth; 2 * depth >= Tuned::kPassDepth; depth = depth > 2 ? depth * 5 / 6 : depth - 1) {
      if (operation::plan_passes(n, size(depth), &candidate)) consider(candidate, together, cost().pass);
    }
    return cycles_;
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
  using TilePlan = operation::TilePlan;
  static constexpr policy::StepCost cost() { return policy::TiledShapes<Equation::kEquation>::kCost; }
  int64_t multiprocessors() const { return device_.limits().multiprocessors; }
  /// A caller's depth is limited so that a tile still owns at least half of its places.
  operation::TileSize size(int depth) const {
    const int wished = march_.depth > 0 ? std::min(march_.depth, Tuned::kPlaces / (4 * kStepReach)) : depth;
    return {Tuned::kPlaces, kStepReach, wished, Tile<Equation, Tuned>::kSteps};
  }
  /// Accepts a plan if it is faster than the earlier ones; `extra`: cycles spent every `depth` steps.
  void consider(const TilePlan& plan, int64_t together, double extra) {
    const int64_t blocks = plan.tiles * march_.batch;
    // The total work of one multiprocessor. Many short blocks even out; a few do not.
    double share = double(blocks) / double(multiprocessors());
    const double rounds = std::ceil(share / double(together > 0 ? together : 1));
    if (plan.mode != TileMode::passes || share <= 1) share = std::ceil(share);
    else if (rounds <= policy::kFewRounds) share = rounds * double(together);
    if (plan.mode == TileMode::passes && together < 2) share *= policy::kLonely;
    // Every block reads and writes, and every launch waits.
    const double times = plan.mode == TileMode::passes ? share + 1 : 1;
    const double cycles = share * Tuned::kWarps * (Tuned::kPoints + policy::kWarpPlaces) / 4 * cost().place + cost().step +
                          times * extra / plan.depth;
    if (cycles >= cycles_) return;
    cycles_ = cycles;
    plan_ = plan;
  }
  int64_t blocks() const { return plan_.tiles * march_.batch; }
  size_t shared_bytes(TileMode mode) const { return Tile<Equation, Tuned>::shared_bytes(mode, march_.domain.n); }

  /// Steps per launch: those of a pass, or as many as still allow a call to be cancelled.
  int64_t steps_at_once() const {
    if (plan_.mode == TileMode::passes) return plan_.depth;
    const int64_t points = march_.batch * march_.domain.n;
    return std::min<int64_t>(std::max<int64_t>((int64_t{1} << 34) / points, 256), 65536);
  }

  /// The first launch makes the steps left over from whole launches. States alternate between the two buffers, and the
  /// last one ends in `to`.
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
  TilePlan plan_;
  double cycles_ = std::numeric_limits<double>::infinity();
  device::Message* boxes_ = nullptr;
  unsigned int first_tag_ = 1;
};

template <class Equation, class... Shapes>
Status march_in_best(policy::ShapeList<Shapes...>, GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control) {
  double least = std::numeric_limits<double>::infinity();
  int best = -1, index = 0;
  const auto look = [&](auto tuned) {
    TiledMarch<Equation, decltype(tuned)> tiled(device, march, control);
    const double cycles = tiled.wanted() ? tiled.plan() : least;
    if (cycles < least) {
      least = cycles;
      best = index;
    }
    ++index;
  };
  (look(Shapes()), ...);
  Status status(Code::invalid_argument, "no tile of this equation has these points per lane and threads", "points");
  index = 0;
  const auto run = [&](auto tuned) {
    if (index++ != best) return;
    TiledMarch<Equation, decltype(tuned)> tiled(device, march, control);
    tiled.plan();
    status = tiled.run(shape);
  };
  (run(Shapes()), ...);
  return status;
}

template <class Equation>
Status march_in_tiles(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control) {
  return march_in_best(typename policy::TiledShapes<Equation::kEquation>::List(), device, march, shape, control);
}

}  // namespace warploom::WARPLOOM_TARGET::swept
