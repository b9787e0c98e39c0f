// One time step of the Kuramoto–Sivashinsky equation for the places of a warp.
#pragma once
#include "cuda/swept/kuramoto_sivashinsky.h"
#include "cuda/swept/lane.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

/// Places beyond the ends are always images, so ends need no extra work.
template <class T, int kPoints>
struct Stepper<operation::KuramotoSivashinsky<T>, kPoints> {
  static_assert(kPoints >= 2, "two neighbours on each side come from one lane");
  using Equation = operation::KuramotoSivashinsky<T>;
  using Value = typename Equation::Value;

  template <bool kEnds>
  static WARPLOOM_DEVICE void step(const device::Block& block, const Equation& equation, Value (&u)[kPoints], const LaneEnds&) {
    T around[kPoints + 4], half[kPoints];
    widen(block, [&](int j) { return u[j].item[0]; }, around);
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) {
      half[j] = equation.predict(around[j], around[j + 1], around[j + 2], around[j + 3], around[j + 4]);
    }
    widen(block, [&](int j) { return half[j]; }, around);
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) {
      u[j].item[0] = equation.correct(around[j], around[j + 1], around[j + 2], around[j + 3], around[j + 4], u[j].item[0]);
    }
  }

 private:
  /// A lane's values and two from each neighbour; values with more dependents come first.
  template <class Get>
  static WARPLOOM_DEVICE void widen(const device::Block& block, const Get& get, T (&around)[kPoints + 4]) {
    around[1] = device::shuffle_up(block, get(kPoints - 1), 1);
    around[kPoints + 2] = device::shuffle_down(block, get(0), 1);
    around[0] = device::shuffle_up(block, get(kPoints - 2), 1);
    around[kPoints + 3] = device::shuffle_down(block, get(1), 1);
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) around[j + 2] = get(j);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::swept
