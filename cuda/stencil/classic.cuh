// One stage of an explicit scheme per launch, one thread per cell. The stage itself is printed (lib/stencil/compile/cuda.ts) as a type with
//   Real, kDimensions
//   inner(p, member, at): computes and stores a cell whose neighbours are all inside; 1 if it is finite and admissible
//   edge(p, member, at): the same for cells that read beyond the boundary
//   reach(axis): the largest offset along an axis
//   kAdaptive: whether t and dt come from a clock (cuda/stencil/adaptive.cuh), and kSingle, kFields: whether this stage is the only one
// Arrays hold [member][field][cell], the last axis varying fastest.
#pragma once
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET::stencil {

template <class T, int kDimensions>
struct StageParameters {
  const T* y;  ///< the fields after the stage before
  T* u;        ///< the fields at the beginning of the step
  T* a;        ///< the sum that rk4 collects
  T* o;        ///< the fields after this stage, unless they replace those at the beginning
  const T* c;  ///< coefficients, the same for all members
  const T* p;  ///< parameters: [member][parameter]
  int* status;  ///< the least number of a step that was bad
  int64_t cells;  ///< of one field of one member
  T t, dt, h, g;
  int32_t n[kDimensions];
  int32_t step;  ///< the number of this one
  int32_t chunks;  ///< blocks of a row of cells; 0: blocks take cells across rows
};

template <class Stage>
struct ClassicAgent {
  using Parameters = typename Stage::Parameters;
  static constexpr int kMaxThreads = 256, kMinBlocks = 1;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    constexpr int kLast = Stage::kDimensions - 1;
    const int width = p.n[kLast];
    int at[Stage::kDimensions];
    int64_t member;
    int rest;  // the number of the row
    if (p.chunks > 0) {
      // All threads of a block share a row, so only the block has to divide.
      const int64_t row = block.index() / p.chunks, rows = p.cells / width;
      member = row / rows;
      rest = static_cast<int>(row - member * rows);
      at[kLast] = static_cast<int>(block.index() - row * p.chunks) * block.threads() + block.thread();
      if (at[kLast] >= width) return;
    } else {
      const int64_t blocks = (p.cells + block.threads() - 1) / block.threads();
      member = block.index() / blocks;
      const int64_t cell = (block.index() - member * blocks) * block.threads() + block.thread();
      if (cell >= p.cells) return;
      rest = static_cast<int>(cell) / width;
      at[kLast] = static_cast<int>(cell) - rest * width;
    }
    bool inside = at[kLast] >= Stage::reach(kLast) && at[kLast] < width - Stage::reach(kLast);
    WARPLOOM_UNROLL
    for (int axis = kLast - 1; axis >= 0; --axis) {
      const int next = axis == 0 ? 0 : rest / p.n[axis];
      at[axis] = rest - next * p.n[axis];
      rest = next;
      inside = inside && at[axis] >= Stage::reach(axis) && at[axis] < p.n[axis] - Stage::reach(axis);
    }
    if constexpr (Stage::kAdaptive) {
      if (p.clock[2] == 0) {
        if (Stage::kSingle) keep(p, member, at);
        return;
      }
    }
    const int good = inside ? Stage::inner(p, member, at) : Stage::edge(p, member, at);
    if (good == 0) device::atomic_min(p.status, p.step);
  }

 private:
  /// The cell after a step that is not taken.
  static WARPLOOM_DEVICE void keep(const Parameters& p, int64_t member, const int (&at)[Stage::kDimensions]) {
    int64_t cell = 0;
    WARPLOOM_UNROLL
    for (int axis = 0; axis < Stage::kDimensions; ++axis) cell = cell * p.n[axis] + at[axis];
    for (int field = 0; field < Stage::kFields; ++field) {
      const int64_t i = (member * Stage::kFields + field) * p.cells + cell;
      p.o[i] = p.y[i];
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stencil
