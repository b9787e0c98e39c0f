// Stages for launches that are recorded once and repeated (the variant `graph`): what differs between rounds is read from the device.
// The stages are printed (lib/stencil/compile/cuda.ts) as for classic.cuh.
#pragma once
#include "cuda/stencil/classic.cuh"

namespace warploom::WARPLOOM_TARGET::stencil {

/// Numbers of the counter, which are whole: steps since time was `origin`, and steps of this run, before this round.
enum Counter : int { kFrom = 0, kDone = 1 };

/// As StageParameters. The step begins at origin + steps * unit, and the stage `time` later.
template <class T, int kDimensions>
struct GraphStageParameters {
  const T* y;
  T* u;
  T* a;
  T* o;
  const T* c;
  const T* p;
  int* status;
  const double* counter;
  int64_t cells;
  double origin, unit, time;
  T dt, h, g;
  int32_t n[kDimensions];
  int32_t step;  ///< of this round
  int32_t march;

  WARPLOOM_DEVICE T begin() const { return static_cast<T>(origin + (counter[kFrom] + static_cast<double>(step)) * unit + time); }
  WARPLOOM_DEVICE int number() const { return static_cast<int>(counter[kDone]) + step; }
};

/// The end of a round.
struct CountAgent {
  struct Parameters {
    double* counter;
    int32_t steps;
  };
  static constexpr int kMaxThreads = 32, kMinBlocks = 1;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    if (block.thread() < 2) p.counter[block.thread()] += static_cast<double>(p.steps);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stencil
