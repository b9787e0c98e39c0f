// imaging.jacobian: determinants of the Jacobian matrix of x + u(x), which show where a displacement folds.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/report.h"
#include "cuda/core/types.h"
#include "cuda/imaging/grid.h"

namespace warploom::imaging {

/// Bounds of the determinants, which ignore NaN; how many are zero or less, and how many are NaN.
struct JacobianBounds {
  double least, most, folded, unknown;
};

template <class Visitor>
void visit(Visitor& v, JacobianBounds& b) {
  v.real("least", b.least);
  v.real("most", b.most);
  v.real("folded", b.folded);
  v.real("unknown", b.unknown);
}

struct JacobianReport {
  Table<JacobianBounds> bounds;
};

template <class Visitor, class Parameters>
void visit(Visitor& v, JacobianReport& r, const Parameters&) {
  v.record("bounds", r.bounds, true, Where::device);
}

/// det(1 + grad u) at every grid point, by central differences, one-sided at the border; axes of one point are left
/// out.
struct JacobianParameters {
  ScalarType type = ScalarType::float32;  ///< float32 or float64
  Grid grid;                              ///< fewer than 2^31 points
  View displacement;     ///< 2 components, or 3 if nz > 1
  View result;           ///< one value per point; may be absent
  JacobianReport* report = nullptr;
};

template <class Visitor>
void visit(Visitor& v, JacobianParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  visit_grid(v, p.grid);
  v.view("displacement", p.displacement, Role::input);
  v.view("result", p.result, Role::output);
  v.report(p.report, p);
}

Status check(const JacobianParameters& p);

}  // namespace warploom::imaging
