// swept.measure: sums, norms and bounds of a state, computed where it is.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/types.h"

namespace warploom::swept {

/// Figures of one component of one problem, in this order in `figures`. `trapezoid` is the sum with half weights at both ends
/// (zero for one point).
enum class Figure : int32_t { sum = 0, trapezoid = 1, absolute_sum = 2, square_sum = 3, least = 4, most = 5 };
inline constexpr int kFigures = 6;

/// Layout of the state as in AdvanceParameters. Accumulated in float64 in an order fixed by n (measure_part.h), the same on every
/// backend: figures have the same bits everywhere. A NaN anywhere makes least and most NaN as well.
struct MeasureParameters {
  ScalarType type = ScalarType::float64;
  int64_t n = 0;     ///< points of a row, at least 1
  int64_t rows = 0;  ///< components * batch
  View state;
  Array<double> figures;  ///< rows * kFigures
};

template <class Visitor>
void visit(Visitor& v, MeasureParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.integer("n", p.n);
  v.integer("rows", p.rows);
  v.view("state", p.state, Role::input);
  v.array("figures", p.figures, Role::output);
}

Status check(const MeasureParameters& p);

}  // namespace warploom::swept
