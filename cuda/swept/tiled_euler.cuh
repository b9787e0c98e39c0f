// `tiled` for the Euler equations, with separate kernels for each limiter: if a kernel chose the limiter, every point
// would cost the registers and branches of all four. One file per precision, because they take long to compile.
#pragma once
#include <cstring>

#include "cuda/swept/step_euler.cuh"
#include "cuda/swept/tiled.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

template <class T, operation::Limiter kLimiter>
Status march_fixed(GpuDevice& device, const March<operation::Euler<T>>& march, Shape* shape, Control& control) {
  using Fixed = operation::Euler<T, static_cast<int>(kLimiter)>;
  static_assert(sizeof(Fixed) == sizeof(march.equation), "the same coefficients");
  March<Fixed> fixed;
  std::memcpy(static_cast<void*>(&fixed.equation), &march.equation, sizeof(Fixed));
  static_cast<MarchOf<T>&>(fixed) = march;
  return march_in_tiles(device, fixed, shape, control);
}

template <class T>
Status march_euler(GpuDevice& device, const March<operation::Euler<T>>& march, Shape* shape, Control& control) {
  switch (march.equation.chosen()) {
    case operation::Limiter::paper: return march_fixed<T, operation::Limiter::paper>(device, march, shape, control);
    case operation::Limiter::minmod: return march_fixed<T, operation::Limiter::minmod>(device, march, shape, control);
    case operation::Limiter::van_leer: return march_fixed<T, operation::Limiter::van_leer>(device, march, shape, control);
    default: return march_fixed<T, operation::Limiter::mc>(device, march, shape, control);
  }
}

}  // namespace warploom::WARPLOOM_TARGET::swept
