// What an iteration needs besides its transforms: the step from the template's gradient, and the Laplacian for the
// explicit step.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/imaging/registration_sums.h"
#include "cuda/imaging/warp_point.h"

namespace warploom::WARPLOOM_TARGET::imaging {

namespace operation = ::warploom::imaging;

/// The first thread gets the largest value of the block.
WARPLOOM_DEVICE double greatest_of(const device::Block& block, double value) {
  double* const warps = block.shared<double>();
  WARPLOOM_UNROLL
  for (int distance = 16; distance > 0; distance /= 2) {
    const double other = device::shuffle_down(block, value, distance);
    value = other > value ? other : value;
  }
  if (block.lane() == 0) warps[block.warp()] = value;
  block.sync();
  if (block.thread() != 0) return value;
  for (int warp = 1; warp < block.threads() / 32; ++warp) value = warps[warp] > value ? warps[warp] : value;
  return value;
}

template <class T>
struct GradientTask {
  operation::SmallGrid grid;
  int64_t points;
  int32_t channels;
  const T* image;
  double* parts;
  operation::AxisFactors<T> factors;
};

/// The largest finite |gradient|^2, of all channels together, in each block.
template <class T, int kAxes>
struct GradientAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 1;
  using Parameters = GradientTask<T>;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    double most = 0;
    const int64_t step = block.count() * block.threads();
    for (int64_t i = block.index() * block.threads() + block.thread(); i < p.points; i += step) {
      int32_t at[3];
      operation::coordinates(p.grid, static_cast<uint32_t>(i), at);
      const double value = operation::gradient_square_of<T, kAxes>(p.image, p.channels, p.points, at, p.grid.extent, p.factors);
      if (value > most) most = value;
    }
    most = greatest_of(block, most);
    if (block.thread() == 0) p.parts[block.index()] = most;
  }
};

struct StepTask {
  const double* parts;
  int64_t count;
  double step, scale, stiffness, alpha, share;
  operation::RegistrationState* state;
};

struct StepAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 1;
  using Parameters = StepTask;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    double most = 0;
    for (int64_t i = block.thread(); i < p.count; i += block.threads()) most = p.parts[i] > most ? p.parts[i] : most;
    most = greatest_of(block, most);
    if (block.thread() != 0) return;
    p.state->step = operation::step_of(p.step, p.scale, p.stiffness, most * p.share, *p.state);
    p.state->weight = p.state->step * p.alpha;
  }
};

template <class T>
struct LaplacianTask {
  operation::SmallGrid grid;
  int64_t points;
  const T* from;
  T* to;
  const operation::RegistrationState* state;
  operation::AxisFactors<T> factors;
};

/// The Laplacian of every component, unless the last iteration is done.
template <class T, int kAxes>
struct LaplacianAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 1;
  using Parameters = LaplacianTask<T>;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    if (p.state->last != 0) return;
    const int64_t step = block.count() * block.threads();
    for (int64_t i = block.index() * block.threads() + block.thread(); i < p.points; i += step) {
      int32_t at[3];
      operation::coordinates(p.grid, static_cast<uint32_t>(i), at);
      WARPLOOM_UNROLL
      for (int a = 0; a < kAxes; ++a) {
        p.to[a * p.points + i] = operation::laplacian<T, kAxes>(p.from + a * p.points, at, p.grid.extent, i, p.factors);
      }
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
