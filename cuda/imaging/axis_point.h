// Values times the factors of axes (axis_factors.h). R is a number, T a number or a vector of them.
#pragma once
#include "cuda/core/portable.h"
#include "cuda/imaging/axis_factors.h"

namespace warploom::imaging {

template <class T>
WARPLOOM_PORTABLE T times_square(const EvenAxes&, int, const T& value) { return value; }
template <class R, class T>
WARPLOOM_PORTABLE T times_square(const AxisFactors<R>& axes, int axis, const T& value) { return T(axes.square[axis]) * value; }

}  // namespace warploom::imaging
