// Determinants at all points, and their statistics: one part per block, then one block for all parts.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/imaging/warp_point.h"

namespace warploom::WARPLOOM_TARGET::imaging {

namespace operation = ::warploom::imaging;
using operation::JacobianFigures;

/// The first thread gets the block's combined statistics.
WARPLOOM_DEVICE JacobianFigures combine_block(const device::Block& block, JacobianFigures figures) {
  JacobianFigures* const warps = block.shared<JacobianFigures>();
  WARPLOOM_UNROLL
  for (int distance = 16; distance > 0; distance /= 2) {
    figures = operation::combined(figures, device::shuffle_down(block, figures, distance));
  }
  if (block.lane() == 0) warps[block.warp()] = figures;
  block.sync();
  if (block.thread() != 0) return figures;
  for (int warp = 1; warp < block.threads() / 32; ++warp) figures = operation::combined(figures, warps[warp]);
  return figures;
}

template <class T>
struct DeterminantTask {
  operation::JacobianTask<T> task;
  JacobianFigures* parts;
};

template <class T>
struct DeterminantAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 1;
  using Parameters = DeterminantTask<T>;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    JacobianFigures figures = operation::no_determinants();
    const int64_t step = block.count() * block.threads();
    for (int64_t i = block.index() * block.threads() + block.thread(); i < p.task.points; i += step) {
      const T value = p.task.determinant(i);
      if (p.task.result != nullptr) p.task.result[i] = value;
      operation::add_determinant(figures, static_cast<double>(value));
    }
    figures = combine_block(block, figures);
    if (block.thread() == 0) p.parts[block.index()] = figures;
  }
};

struct BoundsTask {
  const JacobianFigures* parts;
  int64_t count;
  operation::JacobianBounds* bounds;
};

struct BoundsAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 1;
  using Parameters = BoundsTask;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    JacobianFigures figures = operation::no_determinants();
    for (int64_t i = block.thread(); i < p.count; i += block.threads()) figures = operation::combined(figures, p.parts[i]);
    figures = combine_block(block, figures);
    if (block.thread() != 0) return;
    *p.bounds = operation::bounds_of(figures);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
