// One stage of an explicit scheme per launch. The stage itself is printed (lib/stencil/compile/cuda.ts) as a type with
//   Real, kDimensions
//   inner(p, member, at): computes and stores a cell whose neighbours are all inside; 1 if it is finite and admissible
//   edge(p, member, at): the same for cells that read beyond the boundary
//   kLarge: whether it is so long that it is compiled once, and takes at run time whether all neighbours are inside:
//   cell(p, member, at, inside)
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
  int32_t march;   ///< rows (planes) that a block takes one after another; 0: blocks take cells across rows

  WARPLOOM_DEVICE int number() const { return step; }
};

template <class Stage>
struct ClassicAgent {
  using Parameters = typename Stage::Parameters;
  static constexpr int kMaxThreads = 256, kMinBlocks = 1;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    if constexpr (Stage::kAdaptive && !Stage::kSingle) {
      if (p.clock[2] == 0) return;
    }
    int at[Stage::kDimensions], end;
    int64_t member;
    if (!(p.march > 0 ? march(block, p, at, end, member) : across(block, p, at, end, member))) return;
    WARPLOOM_NO_UNROLL
    for (; at[0] < end; ++at[0]) one(p, member, at);
  }

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

 private:
  static constexpr int kLast = Stage::kDimensions - 1;

  /// The thread's only cell; false if it has none.
  static WARPLOOM_DEVICE bool across(
      const device::Block& block, const Parameters& p, int (&at)[Stage::kDimensions], int& end, int64_t& member) {
    const int64_t blocks = (p.cells + block.threads() - 1) / block.threads();
    member = block.index() / blocks;
    const int64_t cell = (block.index() - member * blocks) * block.threads() + block.thread();
    if (cell >= p.cells) return false;
    int rest = static_cast<int>(cell);
    WARPLOOM_UNROLL
    for (int axis = kLast; axis >= 0; --axis) {
      const int next = axis == 0 ? 0 : rest / p.n[axis];
      at[axis] = rest - next * p.n[axis];
      rest = next;
    }
    end = at[0] + 1;
    return true;
  }

  /// A block takes columns of a row and moves down the rows, to `end`; in three dimensions, columns of several rows, and moves through the
  /// planes. Neighbours then come from the multiprocessor's own cache, and only the block has to divide.
  static WARPLOOM_DEVICE bool march(
      const device::Block& block, const Parameters& p, int (&at)[Stage::kDimensions], int& end, int64_t& member) {
    constexpr int kRows = Stage::kDimensions == 3 ? 4 : 1;
    const int columns = block.threads() / kRows, strips = (p.n[kLast] + columns - 1) / columns;
    int64_t rest = block.index() / strips;
    at[kLast] = static_cast<int>(block.index() - rest * strips) * columns + block.thread() % columns;
    if constexpr (kLast == 2) {
      const int bands = (p.n[1] + kRows - 1) / kRows;
      const int64_t next = rest / bands;
      at[1] = static_cast<int>(rest - next * bands) * kRows + block.thread() / columns;
      if (at[1] >= p.n[1]) return false;
      rest = next;
    }
    if (at[kLast] >= p.n[kLast]) return false;
    if constexpr (kLast == 0) {
      member = rest;
      end = at[0] + 1;
    } else {
      const int slabs = (p.n[0] + p.march - 1) / p.march;
      member = rest / slabs;
      at[0] = static_cast<int>(rest - member * slabs) * p.march;
      end = at[0] + p.march < p.n[0] ? at[0] + p.march : p.n[0];
    }
    return true;
  }

  static WARPLOOM_DEVICE void one(const Parameters& p, int64_t member, const int (&at)[Stage::kDimensions]) {
    if constexpr (Stage::kAdaptive) {
      if (Stage::kSingle && p.clock[2] == 0) {
        keep(p, member, at);
        return;
      }
    }
    bool inside = true;
    WARPLOOM_UNROLL
    for (int axis = 0; axis <= kLast; ++axis) {
      inside = inside && at[axis] >= Stage::reach(axis) && at[axis] < p.n[axis] - Stage::reach(axis);
    }
    int good;
    if constexpr (Stage::kLarge) {
      good = Stage::cell(p, member, at, inside);
    } else {
      good = inside ? Stage::inner(p, member, at) : Stage::edge(p, member, at);
    }
    if (good == 0) device::atomic_min(p.status, p.number());
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stencil
