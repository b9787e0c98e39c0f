// Steps of varying length, which the device chooses from the state: no step waits for the host.
//
// A step is three or more launches: LimitAgent writes the largest rate of each block, ChooseAgent (one block) takes the largest of
// them and sets the clock, and the stages read t and dt from the clock. Maxima do not depend on the order in which they are taken,
// and the arithmetic of ChooseAgent is that of lib/stencil/engines/adaptive.ts. The rate of a cell is printed
// (lib/stencil/compile/cuda.ts) as a type with
//   Real, kDimensions
//   rate(p, member, at): 1 / the longest step that the cell allows; infinite if that is not a number
#pragma once
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET::stencil {

/// Numbers of the clock.
enum Clock : int {
  kTime = 0,    ///< the beginning of the last step that was chosen
  kDt = 1,      ///< length of the last step
  kActive = 2,  ///< 1 if the stages take a step, 0 if they leave the state as it is
  kUntil = 3,   ///< where to stop
  kMost = 4,    ///< the longest step
  kSteps = 5,   ///< steps taken
  kRate = 6,    ///< the last rate
  kStuck = 7,   ///< 1 if no step is possible
  kNext = 8,    ///< the end of that step
};

template <class T, int kDimensions>
struct LimitParameters {
  const T* y;  ///< the state
  const T* c;
  const T* p;
  const double* clock;
  double* partial;  ///< the largest rate of each block
  int64_t cells;    ///< of one member
  int64_t all;      ///< of all members
  T h, g;           ///< 1 / the CFL number, 1 / the diffusion number
  int32_t n[kDimensions];
};

/// The largest of the values of all threads, in thread 0.
WARPLOOM_DEVICE double block_maximum(const device::Block& block, double value) {
  double* shared = block.shared<double>();
  shared[block.thread()] = value;
  block.sync();
  for (int half = block.threads() / 2; half > 0; half /= 2) {
    if (block.thread() < half) {
      const double other = shared[block.thread() + half];
      if (other > shared[block.thread()]) shared[block.thread()] = other;
    }
    block.sync();
  }
  return shared[0];
}

template <class Limit>
struct LimitAgent {
  using Parameters = LimitParameters<typename Limit::Real, Limit::kDimensions>;
  static constexpr int kMaxThreads = 256, kMinBlocks = 1;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    double most = 0;
    const int64_t stride = block.count() * block.threads();
    for (int64_t i = block.index() * block.threads() + block.thread(); i < p.all; i += stride) {
      const int64_t member = i / p.cells;
      int rest = static_cast<int>(i - member * p.cells);
      int at[Limit::kDimensions];
      WARPLOOM_UNROLL
      for (int axis = Limit::kDimensions - 1; axis >= 0; --axis) {
        const int next = axis == 0 ? 0 : rest / p.n[axis];
        at[axis] = rest - next * p.n[axis];
        rest = next;
      }
      const double rate = static_cast<double>(Limit::rate(p, member, at));
      if (rate > most) most = rate;
    }
    most = block_maximum(block, most);
    if (block.thread() == 0) p.partial[block.index()] = most;
  }
};

struct ChooseAgent {
  struct Parameters {
    double* clock;
    const double* partial;
    int32_t count;
  };
  static constexpr int kMaxThreads = 256, kMinBlocks = 1;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    double rate = 0;
    for (int i = block.thread(); i < p.count; i += block.threads()) {
      if (p.partial[i] > rate) rate = p.partial[i];
    }
    rate = block_maximum(block, rate);
    if (block.thread() == 0) choose(p.clock, rate);
  }

 private:
  static WARPLOOM_DEVICE void choose(double* clock, double rate) {
    if (clock[kActive] != 0) clock[kTime] = clock[kNext];
    const double time = clock[kTime], until = clock[kUntil], left = until - time;
    clock[kActive] = 0;
    if (clock[kStuck] != 0 || !(left > 0)) return;
    const double inverse = 1.0 / rate;
    const double wanted = inverse < clock[kMost] ? inverse : clock[kMost];
    const bool last = left <= wanted * (1 + 0x1p-40) && device::is_finite(left);
    const double next = last ? until : time + wanted;
    clock[kRate] = rate;
    if (!last && !(next > time && device::is_finite(next))) {
      clock[kStuck] = 1;
      return;
    }
    clock[kActive] = 1;
    clock[kDt] = last ? left : wanted;
    clock[kNext] = next;
    clock[kSteps] = clock[kSteps] + 1;
  }
};

/// As StageParameters, with t and dt from the clock.
template <class T, int kDimensions>
struct AdaptiveStageParameters {
  const T* y;
  T* u;
  T* a;
  T* o;
  const T* c;
  const T* p;
  int* status;
  const double* clock;
  int64_t cells;
  int32_t n[kDimensions];
  int32_t step;
  int32_t march;

  WARPLOOM_DEVICE int number() const { return step; }
};

}  // namespace warploom::WARPLOOM_TARGET::stencil
