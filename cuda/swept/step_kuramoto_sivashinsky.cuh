// One time step of the Kuramoto–Sivashinsky equation for the places of a warp.
#pragma once
#include "cuda/swept/lane.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

/// Places beyond the ends are images always: there is nothing to do for ends.
template <class T, int kPoints>
struct Stepper<operation::KuramotoSivashinsky<T>, kPoints> {
  static_assert(kPoints >= 2, "two neighbours on each side come from one lane");
  using Equation = operation::KuramotoSivashinsky<T>;
  using Value = typename Equation::Value;

  template <bool kEnds>
  static WARPLOOM_DEVICE void step(const device::Block& block, const Equation& equation, Value (&u)[kPoints], const LaneEnds&) {
    T around[kPoints + 4], half[kPoints];
    widen<2>(block, [&](int j) { return u[j].item[0]; }, around);
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) {
      half[j] = equation.predict(around[j], around[j + 1], around[j + 2], around[j + 3], around[j + 4]);
    }
    widen<2>(block, [&](int j) { return half[j]; }, around);
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) {
      u[j].item[0] = equation.correct(around[j], around[j + 1], around[j + 2], around[j + 3], around[j + 4], u[j].item[0]);
    }
  }

  /// kCount steps from 4 * kCount places of each neighbour.
  template <int kCount>
  static WARPLOOM_DEVICE void steps(const device::Block& block, const Equation& equation, Value (&u)[kPoints]) {
    constexpr int kWide = kPoints + 8 * kCount;
    T w[kWide], half[kWide];
    widen<4 * kCount>(block, [&](int j) { return u[j].item[0]; }, w);
    WARPLOOM_UNROLL
    for (int step = 1; step <= kCount; ++step) {
      const int count = kPoints + 8 * (kCount - step);
      WARPLOOM_UNROLL
      for (int j = 0; j < count + 4; ++j) half[j] = equation.predict(w[j], w[j + 1], w[j + 2], w[j + 3], w[j + 4]);
      WARPLOOM_UNROLL
      for (int j = 0; j < count; ++j) w[j] = equation.correct(half[j], half[j + 1], half[j + 2], half[j + 3], half[j + 4], w[j + 4]);
    }
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) u[j].item[0] = w[j];
  }

 private:
  /// A lane's values with kCount of each neighbour's, the nearest exchanged first.
  template <int kCount, class Get>
  static WARPLOOM_DEVICE void widen(const device::Block& block, const Get& get, T (&around)[kPoints + 2 * kCount]) {
    static_assert(kCount <= kPoints, "all from one lane");
    WARPLOOM_UNROLL
    for (int j = 0; j < kCount; ++j) {
      around[kCount - 1 - j] = device::shuffle_up(block, get(kPoints - 1 - j), 1);
      around[kCount + kPoints + j] = device::shuffle_down(block, get(j), 1);
    }
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) around[kCount + j] = get(j);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::swept
