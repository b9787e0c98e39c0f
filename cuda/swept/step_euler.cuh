// One time step of the Euler equations for the places of a warp: each cell reconstructed once, each flux computed once.
#pragma once
#include "cuda/swept/euler.h"
#include "cuda/swept/lane.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

// Rates of the steps alone on an H200 (bench/device/swept_euler steps, limiter `paper`), as the time of a step, or as
// the updates per second on all multiprocessors:
//   float64, warps per multiprocessor  4: 1 point 0.69 us, 2 points 0.73 us, 4 points 1.03 us (66 G/s); 8: 2 points
//   1.09 us
//            4 points:  8 warps 71 G/s, 12 warps (168 registers) 72, 16 warps (128) 66;  8 points: 8 warps (254) 70, 12
//            (168) 64
//   float32  4: 1 point 0.37 us, 2 points 0.39 us; 4 points, 24 warps 143 G/s; 8 points, 16 warps 150
// More warps do not help in float64: two register operands are read per cycle, so a fused multiply-add of three takes
// longer.
template <class T, int kLimiter, int kPoints>
struct Stepper<operation::Euler<T, kLimiter>, kPoints> {
  using Equation = operation::Euler<T, kLimiter>;
  using Value = typename Equation::Value;

  template <bool kEnds>
  static WARPLOOM_DEVICE void step(const device::Block& block, const Equation& equation, Value (&u)[kPoints], const LaneEnds& ends) {
    Value half[kPoints];
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) half[j] = u[j];
    substep<kEnds, 0>(block, equation, u, half, ends);
    substep<kEnds, 1>(block, equation, half, u, ends);
  }

 private:
  using Difference = typename Equation::Difference;
  using Faces = typename Equation::Faces;
  using Side = typename Equation::Side;
  static constexpr int kLast = kPoints - 1;
  /// With up to this many points, a lane computes the difference on its left itself, which saves waiting for an
  /// exchange.
  static constexpr int kFewPoints = 2;

  /// Computes the result in `u` from the state `a`. Before, `u` holds the state at the beginning of the step.
  template <bool kEnds, int kSubstep>
  static WARPLOOM_DEVICE void substep(const device::Block& block, const Equation& equation, const Value (&a)[kPoints],
                                      Value (&u)[kPoints], const LaneEnds& ends) {
    // Difference j lies left of place j; difference kPoints lies right of the last place.
    Difference d[kPoints + 1];
    differences(block, equation, a, d);
    // The face right of the last place belongs to this lane; the next lane supplies the state of its first place there.
    const Faces first = equation.reconstruct(a[0], d[0], d[1]);
    const Side beyond = shown_by_next(block, equation, first.left);
    Side shown = first.right;
    Value flux[kPoints + 1];
    WARPLOOM_UNROLL
    for (int j = 1; j < kPoints; ++j) {
      const Faces faces = equation.reconstruct(a[j], d[j], d[j + 1]);
      flux[j] = equation.twice_flux(shown, faces.left, d[j]);
      shown = faces.right;
    }
    flux[kPoints] = equation.twice_flux(shown, beyond, d[kPoints]);
    flux[0] = device::shuffle_up(block, flux[kPoints], 1);
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) {
      const Value next = equation.template update<kSubstep>(u[j], flux[j], flux[j + 1]);
      if (!kEnds || (ends.frozen >> j & 1u) == 0) u[j] = next;
    }
    if (kEnds) follow_ends(block, u, ends);
  }

  static WARPLOOM_DEVICE void differences(const device::Block& block, const Equation& equation, const Value (&a)[kPoints],
                                          Difference (&d)[kPoints + 1]) {
    const bool by_pressure = equation.chosen() == operation::Limiter::paper;
    T p[kPoints];
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) p[j] = by_pressure ? equation.pressure(a[j]) : T(0);
    const Value after = device::shuffle_down(block, a[0], 1);
    const T p_after = by_pressure ? device::shuffle_down(block, p[0], 1) : T(0);
    d[kPoints] = equation.difference(a[kLast], after, p[kLast], p_after);
    if (kPoints <= kFewPoints) {
      const Value before = device::shuffle_up(block, a[kLast], 1);
      const T p_before = by_pressure ? device::shuffle_up(block, p[kLast], 1) : T(0);
      d[0] = equation.difference(before, a[0], p_before, p[0]);
    } else {
      d[0].state = device::shuffle_up(block, d[kPoints].state, 1);
      d[0].pressure = by_pressure ? device::shuffle_up(block, d[kPoints].pressure, 1) : T(0);
    }
    WARPLOOM_UNROLL
    for (int j = 1; j < kPoints; ++j) d[j] = equation.difference(a[j - 1], a[j], p[j - 1], p[j]);
  }

  static WARPLOOM_DEVICE Side shown_by_next(const device::Block& block, const Equation& equation, const Side& mine) {
    Side side;
    side.state = device::shuffle_down(block, mine.state, 1);
    side.share = equation.chosen() == operation::Limiter::paper ? device::shuffle_down(block, mine.share, 1) : T(0);
    return side;
  }
};

}  // namespace warploom::WARPLOOM_TARGET::swept
