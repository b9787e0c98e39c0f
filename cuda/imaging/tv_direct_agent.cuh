// The variant `direct` of primal-dual: one launch for the image and one for the dual variable.
#pragma once
#include "cuda/imaging/tv_task.cuh"

namespace warploom::WARPLOOM_TARGET::imaging {

/// A thread's point: group of components, position in them, coordinates.
struct TvPoint {
  int64_t group, at, x, y, z;
  WARPLOOM_DEVICE TvPoint(const device::Block& block, const MarchShape& s) {
    const int64_t index = block.index() * block.threads() + block.thread();
    group = index / s.points;
    at = index - group * s.points;
    const int64_t row = at / s.nx;
    x = at - row * s.nx;
    z = row / s.ny;
    y = row - z * s.ny;
  }
};

template <class T>
struct TvPrimalAgent {
  static constexpr int kMaxThreads = operation::curvature_policy::kDirectThreads, kMinBlocks = 4;
  static constexpr bool kOverlapped = true;
  using Parameters = TvTask<T>;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    device::follow_previous_launch();
    const int64_t iteration = iteration_of(p.state, p.ahead);
    if (iteration < 0) return;
    const MarchShape& s = p.shape;
    const TvPoint i(block, s);
    if (i.group >= s.chunks) return;
    const operation::TvStep<T> step = p.step(iteration);
    for (int64_t c = i.group * p.channels; c < (i.group + 1) * p.channels; ++c) {
      const int64_t at = c * s.points + i.at, plane = static_cast<int64_t>(s.nx) * s.ny;
      const T* const q = p.q[0] + at;
      const T dx = q[0] - (i.x > 0 ? q[-1] : T(0));
      const T dy = q[p.total] - (i.y > 0 ? q[p.total - s.nx] : T(0));
      const T dz = s.nz == 1 ? T(0) : q[2 * p.total] - (i.z > 0 ? q[2 * p.total - plane] : T(0));
      const T u = p.u[0][at], next = p.primal(step, u, p.f[at], operation::divergence(dx, dy, dz, p.weights.yx, p.weights.zx));
      p.u[0][at] = next;
      p.bar[at] = operation::extrapolated(step, next, u);
    }
  }
};

template <class T>
struct TvDualAgent {
  static constexpr int kMaxThreads = operation::curvature_policy::kDirectThreads, kMinBlocks = 4;
  static constexpr bool kOverlapped = true;
  using Parameters = TvTask<T>;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    device::follow_previous_launch();
    const int64_t iteration = iteration_of(p.state, p.ahead);
    if (iteration < 0) return;
    const MarchShape& s = p.shape;
    const TvPoint i(block, s);
    if (i.group >= s.chunks) return;
    const T step = p.step(iteration).s, rise[3] = {step * p.weights.x, step * p.weights.y, step * p.weights.z};
    const int64_t stride[3] = {1, s.nx, static_cast<int64_t>(s.nx) * s.ny};
    const bool more[3] = {i.x + 1 < s.nx, i.y + 1 < s.ny, i.z + 1 < s.nz};
    const int axes = s.nz == 1 ? 2 : 3;
    const auto vector = [&](int64_t at, T (&v)[3]) {
      const T* const bar = p.bar + at;
      WARPLOOM_UNROLL
      for (int a = 0; a < 3; ++a) v[a] = a < axes ? device::fma(rise[a], more[a] ? bar[stride[a]] - bar[0] : T(0), p.q[0][a * p.total + at])
          : T(0);
    };
    T square = 0;
    for (int64_t c = i.group * p.channels; c < (i.group + 1) * p.channels; ++c) {
      T v[3];
      vector(c * s.points + i.at, v);
      square = operation::add_square(square, v[0], v[1], v[2]);
    }
    const T shrink = operation::shrinking(square);
    for (int64_t c = i.group * p.channels; c < (i.group + 1) * p.channels; ++c) {
      T v[3];
      vector(c * s.points + i.at, v);
      WARPLOOM_UNROLL
      for (int a = 0; a < 3; ++a) {
        if (a < axes) p.q[0][a * p.total + c * s.points + i.at] = v[a] * shrink;
      }
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
