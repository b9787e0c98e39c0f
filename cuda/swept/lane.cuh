// A warp's part of a tile in registers: lane l holds places l * kPoints … l * kPoints + kPoints - 1 of 32 * kPoints
// consecutive ones. A Stepper advances them by one time step; the tiles of warps and blocks are built on it
// (tiled_agent.cuh).
#pragma once
#include <type_traits>

#include "cuda/swept/march.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

/// Which of a lane's places do not follow the equation (bit j: place j). Only tiles that contain an end have any.
struct LaneEnds {
  uint64_t frozen = 0;               ///< keep their value
  unsigned int follow_left = 0;      ///< take the value of the left end cell at every sub-step
  unsigned int follow_right = 0;
  int left_lane = 0, left_point = 0;    ///< where the left end cell is in this warp (when any lane follows it)
  int right_lane = 0, right_point = 0;
};

/// One step of a warp's places. Afterwards, places within kSubsteps * kReach of the warp's ends are invalid, except at
/// an end of the domain. kEnds: some lane of the warp has LaneEnds; all lanes take the same branch.
///
///   template <bool kEnds>
///   static WARPLOOM_DEVICE void step(const device::Block&, const Equation&, typename Equation::Value (&u)[kPoints],
///                                    const LaneEnds&)
///
/// Specialised in step_heat.cuh, step_kuramoto_sivashinsky.cuh and step_euler.cuh.
template <class Equation, int kPoints>
struct Stepper;

/// Gives places that follow an end the value of its cell. All lanes of the warp must call it.
template <class Value, int kPoints>
WARPLOOM_DEVICE void follow_ends(const device::Block& block, Value (&u)[kPoints], const LaneEnds& ends) {
  using T = std::decay_t<decltype(u[0].item[0])>;
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  constexpr int kComponents = static_cast<int>(sizeof(Value) / sizeof(T));
  WARPLOOM_UNROLL
  for (int k = 0; k < kComponents; ++k) {
    // Selects by bits. The compiler would turn a selection of values into one of addresses, and so keep all of u in
    // memory.
    Word left_bits = 0, right_bits = 0;
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) {
      Word bits;
      memcpy(&bits, &u[j].item[k], sizeof(Word));
      left_bits |= bits & (Word(0) - Word(j == ends.left_point));
      right_bits |= bits & (Word(0) - Word(j == ends.right_point));
    }
    T left, right;
    memcpy(&left, &left_bits, sizeof(T));
    memcpy(&right, &right_bits, sizeof(T));
    left = device::shuffle(block, left, ends.left_lane);
    right = device::shuffle(block, right, ends.right_lane);
    WARPLOOM_UNROLL
    for (int j = 0; j < kPoints; ++j) {
      auto value = u[j].item[k];
      if ((ends.follow_left >> j & 1u) != 0) value = left;
      if ((ends.follow_right >> j & 1u) != 0) value = right;
      u[j].item[k] = value;
    }
  }
}

}  // namespace warploom::WARPLOOM_TARGET::swept
