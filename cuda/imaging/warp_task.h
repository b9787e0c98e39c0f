// Tasks of warp, resample and jacobian from the parameters of a call.
#pragma once
#include "cuda/imaging/jacobian.h"
#include "cuda/imaging/resample.h"
#include "cuda/imaging/warp.h"
#include "cuda/imaging/warp_point.h"

namespace warploom::imaging {

inline SmallGrid small_grid(const Grid& g) {
  return {{static_cast<int32_t>(g.nx), static_cast<int32_t>(g.ny), static_cast<int32_t>(g.nz)}};
}

template <class T>
const T* input_of(const View& view) { return static_cast<const T*>(view.data) + view.offset; }
template <class T>
T* output_of(const View& view) { return view.data == nullptr ? nullptr : static_cast<T*>(view.data) + view.offset; }

template <class T>
WarpTask<T> task_of(const WarpParameters& p) {
  return {small_grid(p.grid), p.relative, static_cast<int32_t>(p.channels), points_of(p.grid), p.count,
          input_of<T>(p.image), input_of<T>(p.positions), output_of<T>(p.result)};
}

template <class T>
ResampleTask<T> task_of(const ResampleParameters& p) {
  const Grid coarse = coarse_grid(p);
  return {small_grid(p.grid), small_grid(coarse), {p.halve_x, p.halve_y, p.halve_z}, static_cast<int32_t>(p.channels),
          input_of<T>(p.values), output_of<T>(p.result), p.up, points_of(p.grid), points_of(coarse)};
}

template <class T>
JacobianTask<T> task_of(const JacobianParameters& p) {
  return {small_grid(p.grid), points_of(p.grid), input_of<T>(p.displacement), output_of<T>(p.result)};
}

}  // namespace warploom::imaging
