// warp, resample and jacobian over ranges of points: include only from native/imaging/isa_table.h.
#pragma once
#include "native/cpu/vector.h"

#include "cuda/imaging/warp_point.h"

namespace warploom::cpu::WARPLOOM_ISA {

template <class R>
void warp_points(const ::warploom::imaging::WarpTask<R>& task, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) task.point(i);
}

template <class R>
void resample_points(const ::warploom::imaging::ResampleTask<R>& task, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) task.point(i);
}

template <class R>
void jacobian_points(const ::warploom::imaging::JacobianTask<R>& task, int64_t begin, int64_t end,
                     ::warploom::imaging::JacobianFigures* figures) {
  ::warploom::imaging::JacobianFigures all = ::warploom::imaging::no_determinants();
  for (int64_t i = begin; i < end; ++i) {
    const R value = task.determinant(i);
    if (task.result != nullptr) task.result[i] = value;
    ::warploom::imaging::add_determinant(all, static_cast<double>(value));
  }
  *figures = all;
}

}  // namespace warploom::cpu::WARPLOOM_ISA
