// Reinitialisation of a level set: one thread per point.
#pragma once
#include "cuda/imaging/reinitialize.h"
#include "cuda/imaging/segment_direct_agent.cuh"

namespace warploom::WARPLOOM_TARGET::imaging::segmentation {

template <class R>
struct ReinitializeTask {
  const R* fixed = nullptr;
  const R* from = nullptr;
  R* to = nullptr;
  int64_t nx = 1, ny = 1, nz = 1;
  ::warploom::imaging::AxisFactors<R> axes;
  const int32_t* stop = nullptr;  ///< nothing to do if this is nonzero
};
template <class R, int kDimensions>
struct ReinitializeAgent {
  static constexpr int kMaxThreads = PointPlace::kWide * PointPlace::kHigh;
  static constexpr int kMinBlocks = 3;
  using Parameters = ReinitializeTask<R>;
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const PointPlace place(block, block.index(), p.nx, p.ny);
    if (place.idle || *p.stop != 0) return;
    const Around<R> fixed(p.fixed, place.x, place.y, place.z, p.nx, p.ny, p.nz);
    const Around<R> moving(p.from, place.x, place.y, place.z, p.nx, p.ny, p.nz);
    p.to[(place.z * p.ny + place.y) * p.nx + place.x] = operation::reinitialized<R, kDimensions>(fixed, moving, p.axes);
  }
};

/// Copies the level set, unless the steps are over.
template <class R>
struct CopyBackAgent {
  static constexpr int kMaxThreads = PointPlace::kWide * PointPlace::kHigh;
  static constexpr int kMinBlocks = 3;
  using Parameters = ReinitializeTask<R>;
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const PointPlace place(block, block.index(), p.nx, p.ny);
    if (place.idle || *p.stop != 0) return;
    const int64_t at = (place.z * p.ny + place.y) * p.nx + place.x;
    p.to[at] = p.from[at];
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging::segmentation
