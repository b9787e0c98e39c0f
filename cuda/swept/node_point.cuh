// One point of a node and its thread, through one phase of the swept rule: for `shared` and `register`.
#pragma once
#include "cuda/swept/march.cuh"
#include "cuda/swept/nodes.h"

namespace warploom::WARPLOOM_TARGET::swept {

using operation::Nodes;
using operation::Phase;

/// What one launch does with each of its nodes.
template <class Equation>
struct PhaseParameters {
  using Real = typename Equation::Real;
  Equation equation;
  Domain domain;
  Nodes nodes;
  Phase phase;
  int64_t problems;
  bool whole;           ///< the only node holds the domain for the whole launch, `phase.up` sub-steps
  int64_t first_node;   ///< 1: without the node that the ends split
  const Real* from[2];  ///< the two rows at the start of the phase; the second is not read by the first phase
  Real* to[2];          ///< at its end; the second is null where only a state is left
  /// [problem][component][node][2 * kReach]: the points around the middle of each node at the last sub-step but one, as the phases
  /// that are not shifted leave them, and those that are; null where phases do without.
  Real* tips[2];

  /// A way of so many sub-steps needs tips.
  WARPLOOM_DEVICE bool has_tips(int levels) const { return levels > nodes.most_levels(Equation::kReach, false); }
};

/// Sub-step l is computed where `level <= own`: level is l on the way up and -l on the way down.
struct Limits {
  int own;
  int face;  ///< the same of the flux through the point's right face
  int warp;  ///< most of either in the warp: the warp has nothing to do above
};

template <class Equation>
struct NodePoint {
  using Real = typename Equation::Real;
  using Value = typename Equation::Value;
  static constexpr int kReach = Equation::kReach;
  static constexpr int kNever = -(1 << 30), kAlways = 1 << 30;

  int index, width, valley;  ///< in the node; its points; where the right side of the valley begins
  int64_t place;             ///< 0…n-1
  bool mine;                 ///< the thread has a point
  Value value[2];            ///< what the two rows hold at the place

  WARPLOOM_DEVICE NodePoint(const PhaseParameters<Equation>& p, int64_t node, int thread) : index(thread) {
    const int64_t first = p.nodes.first(node, p.phase.shifted);
    width = static_cast<int>(p.nodes.end(node, p.phase.shifted) - first);
    valley = static_cast<int>(p.nodes.valley(node, p.phase.shifted) - first);
    mine = index < width;
    place = first + index < 0 ? first + index + p.nodes.n : first + index;
  }

  WARPLOOM_DEVICE Limits up(bool whole) const {
    if (whole) return {mine ? kAlways : kNever, mine ? kAlways : kNever, kAlways};
    return {up_of(index), greater(up_of(index), up_of(index + 1)), up_of(of_warp((width - 1) / 2))};
  }
  WARPLOOM_DEVICE Limits down() const {
    return {down_of(index), greater(down_of(index), down_of(index + 1)), down_of(of_warp(valley))};
  }

  WARPLOOM_DEVICE static int greater(int a, int b) { return a > b ? a : b; }
  /// The point nearest to `i` of those that the warp has, and the one after them, whose left face it has.
  WARPLOOM_DEVICE int of_warp(int i) const {
    const int first = index & ~31, last = first + 32;
    return i < first ? first : i > last ? last : i;
  }
  WARPLOOM_DEVICE int up_of(int i) const {
    const int distance = i < width - 1 - i ? i : width - 1 - i;
    return distance >= 0 ? distance / kReach : kNever;
  }
  WARPLOOM_DEVICE int down_of(int i) const {
    const int distance = i >= valley ? i - valley : valley - 1 - i;
    return i < width ? -(distance / kReach + 1) : kNever;
  }

  WARPLOOM_DEVICE void load(const PhaseParameters<Equation>& p, int64_t problem) {
    if (!mine) return;
    WARPLOOM_UNROLL
    for (int k = 0; k < Equation::kComponents; ++k) {
      const int64_t at = (problem * Equation::kComponents + k) * p.nodes.n + place;
      value[0].item[k] = p.from[0][at];
      value[1].item[k] = p.phase.down > 0 ? p.from[1][at] : value[0].item[k];
    }
  }
  WARPLOOM_DEVICE void store(const PhaseParameters<Equation>& p, int64_t problem) const {
    if (!mine) return;
    // The row that the next valleys begin with is that in which this way up began, whichever holds the last sub-step.
    const bool exchanged = p.to[1] != nullptr && (p.phase.up & 1) != 0;
    WARPLOOM_UNROLL
    for (int k = 0; k < Equation::kComponents; ++k) {
      const int64_t at = (problem * Equation::kComponents + k) * p.nodes.n + place;
      p.to[0][at] = exchanged ? value[1].item[k] : value[0].item[k];
      if (p.to[1] != nullptr) p.to[1][at] = exchanged ? value[0].item[k] : value[1].item[k];
    }
  }
};

template <class T>
WARPLOOM_DEVICE void exchange(T (&pair)[2]) {
  const T first = pair[0];
  pair[0] = pair[1];
  pair[1] = first;
}

/// Sub-steps 1…count of a way, the last of which row 0 holds afterwards; kSign: 1 up, -1 down. `point` has
/// substep<kSubstep, kFrom, kBase>(block, equation, level, limits), from row kFrom to the other with the start of the time step in
/// row kBase, and exchange_rows(). Warps without an active point take part too: all must meet at the same barriers.
template <int kSign, class Equation, class Point>
WARPLOOM_DEVICE void take_substeps(const device::Block& block, const Equation& equation, Point& point, int count, const Limits& limits) {
  int level = kSign;
  WARPLOOM_NO_UNROLL
  for (int i = 0; i < count >> 1; ++i, level += 2 * kSign) {
    constexpr bool kTwo = Equation::kSubsteps == 2;
    point.template substep<0, 0, 0>(block, equation, level, limits);
    point.template substep<kTwo ? 1 : 0, 1, kTwo ? 0 : 1>(block, equation, level + kSign, limits);
  }
  if constexpr (Equation::kSubsteps == 1) {
    if ((count & 1) == 0) return;
    point.template substep<0, 0, 0>(block, equation, kSign * count, limits);
    point.exchange_rows();
  }
}

}  // namespace warploom::WARPLOOM_TARGET::swept
