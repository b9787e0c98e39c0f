// One time step of the heat equation for the places of a warp.
#pragma once
#include "cuda/swept/heat.h"
#include "cuda/swept/lane.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

template <class T, int kPoints>
struct Stepper<operation::Heat<T>, kPoints> {
  using Equation = operation::Heat<T>;
  using Value = typename Equation::Value;

  template <bool kEnds>
  static WARPLOOM_DEVICE void step(const device::Block& block, const Equation& equation, Value (&u)[kPoints], const LaneEnds& ends) {
    T before = device::shuffle_up(block, u[kPoints - 1].item[0], 1);
    const T last = device::shuffle_down(block, u[0].item[0], 1);
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) {
      const T here = u[j].item[0], after = j + 1 < kPoints ? u[j + 1 < kPoints ? j + 1 : j].item[0] : last;
      const T next = equation.step(before, here, after);
      u[j].item[0] = kEnds && (ends.frozen >> j & 1u) != 0 ? here : next;
      before = here;
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::swept
