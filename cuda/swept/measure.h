// swept.measure: sums, norms and bounds of a state, computed on the device that holds it.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/report.h"
#include "cuda/core/types.h"

namespace warploom::swept {

/// Statistics of one component of one problem. `trapezoid` is the sum with half weights at both ends (zero for one
/// point).
struct Figures {
  double sum, trapezoid, absolute_sum, square_sum, least, most;
};

template <class Visitor>
void visit(Visitor& v, Figures& f) {
  v.real("sum", f.sum);
  v.real("trapezoid", f.trapezoid);
  v.real("absoluteSum", f.absolute_sum);
  v.real("squareSum", f.square_sum);
  v.real("least", f.least);
  v.real("most", f.most);
}

struct MeasureReport {
  Table<Figures> rows;
};

template <class Visitor, class Parameters>
void visit(Visitor& v, MeasureReport& r, const Parameters& p) {
  v.rows("rows", r.rows, p.rows, Where::device);
}

/// Layout of the state as in AdvanceParameters. Sums are accumulated in float64, in an order that n fixes and that is
/// the same on every backend (measure_part.h), so results have the same bits everywhere. A NaN anywhere makes least and
/// most NaN too.
struct MeasureParameters {
  ScalarType type = ScalarType::float64;
  int64_t n = 0;     ///< points of a row, at least 1
  int64_t rows = 0;  ///< components * batch
  View state;
  MeasureReport* report = nullptr;
};

template <class Visitor>
void visit(Visitor& v, MeasureParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.integer("n", p.n, at_least(1));
  v.integer("rows", p.rows, at_least(0));
  v.view("state", p.state, Role::input);
  v.report(p.report, p);
}

Status check(const MeasureParameters& p);

}  // namespace warploom::swept
