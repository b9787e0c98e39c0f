// imaging.jacobian: determinants of the Jacobian matrix of x + u(x), which tell where a displacement folds.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/types.h"
#include "cuda/imaging/grid.h"

namespace warploom::imaging {

/// det(1 + grad u) at every grid point, by central differences, one-sided ones at the border, none along axes of one point.
struct JacobianParameters {
  ScalarType type = ScalarType::float32;  ///< float32 or float64
  Grid grid;                              ///< fewer than 2^31 points
  View displacement;     ///< 2 components, 3 where nz > 1
  View result;           ///< one value per point; may be absent
  Array<double> figures; ///< least, most, how many are zero or less, how many are NaN
};

inline constexpr int kJacobianFigures = 4;

template <class Visitor>
void visit(Visitor& v, JacobianParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  visit_grid(v, p.grid);
  v.view("displacement", p.displacement, Role::input);
  v.view("result", p.result, Role::output);
  v.array("figures", p.figures, Role::output);
}

Status check(const JacobianParameters& p);

}  // namespace warploom::imaging
