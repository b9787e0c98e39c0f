// One point of a node and its thread, through one phase of the swept rule: for `shared` and `register`.
#pragma once
#include "cuda/swept/march.cuh"
#include "cuda/swept/nodes.h"

namespace warploom::WARPLOOM_TARGET::swept {

using operation::Nodes;
using operation::Phase;

/// The parameters of one launch, for each of its nodes.
template <class Equation>
struct PhaseParameters {
  using Real = typename Equation::Real;
  Equation equation;
  Domain domain;
  Nodes nodes;
  Phase phase;
  int64_t problems;
  /// The only node holds the domain for the whole launch, `phase.up` sub-steps.
  bool whole;
  int64_t first_node;   ///< 1: leaves out the node that the ends split
  /// The two rows at the start of the phase; the first phase does not read the second.
  const Real* from[2];
  /// At its end; the second is null if only a state is needed.
  Real* to[2];
  /// [problem][component][node][2 * kReach]: the points around the middle of each node at the second-to-last sub-step.
  /// One array is for unshifted phases, one for shifted phases; null if phases do not need them.
  Real* tips[2];

  /// Whether this many sub-steps up or down need tips.
  WARPLOOM_DEVICE bool has_tips(int levels) const { return levels > nodes.most_levels(Equation::kReach, false); }
};

/// Sub-step l is computed if `level <= own`: level is l on the way up and -l on the way down.
struct Limits {
  int own;
  int face;  ///< the same for the flux through the point's right face
  int warp;  ///< the largest of these in the warp: above it the warp has nothing to do
};

template <class Equation>
struct NodePoint {
  using Real = typename Equation::Real;
  using Value = typename Equation::Value;
  static constexpr int kReach = Equation::kReach;
  static constexpr int kNever = -(1 << 30), kAlways = 1 << 30;

  /// Index in the node; number of its points; where the right side of the valley begins.
  int index, width, valley;
  int64_t place;             ///< 0…n-1
  bool mine;                 ///< the thread has a point
  Value value[2];            ///< values of the two rows at the place

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
  /// The point nearest to `i` among the warp's points and the one after them, whose left face belongs to the warp.
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
    // The next valleys begin with the row in which this way up began, whichever row holds the last sub-step.
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

/// Makes sub-steps 1…count of one way; afterwards row 0 holds the last of them. kSign: 1 up, -1 down. `point` has
/// substep<kSubstep, kFrom, kBase>(block, equation, level, limits), which computes the other row from row kFrom, with
/// the start of the time step in row kBase, and exchange_rows(). Warps without an active point call it too: all must
/// reach the same barriers.
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
