#include "cuda/tridiagonal/vjp.h"

#include <algorithm>

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"
#include "cuda/tridiagonal/matrix_check.h"

namespace warploom::tridiagonal {
namespace {

/// Strides of zero are sums; the others address every element once.
Status check_gradient(const char* name, const Shape& shape, const View& view) {
  WARPLOOM_TRY(check_view(name, shape, view, {}, 1));
  Shape summed = shape;
  if (!shape.ragged() && view.system_stride == 0) summed.batch = std::min<int64_t>(summed.batch, 1);
  if (view.row_stride == 0) {
    if (shape.ragged()) return {};
    summed.n = std::min<int64_t>(summed.n, 1);
  }
  return check_writable(name, summed, view, 1);
}

struct Named {
  const char* name;
  const View* view;
  int64_t rhs_count;
};

/// No output shares a byte with an input or another output.
Status check_outputs_apart(const Shape& shape, const VjpParameters& p) {
  const Named inputs[] = {{"lower", &p.lower, 1}, {"diagonal", &p.diagonal, 1}, {"upper", &p.upper, 1},
                          {"cotangent", &p.cotangent, p.rhs_count}, {"solution", &p.solution, p.rhs_count}};
  const Named outputs[] = {{"rhsGradient", &p.rhs_gradient, p.rhs_count}, {"lowerGradient", &p.lower_gradient, 1},
                           {"diagonalGradient", &p.diagonal_gradient, 1}, {"upperGradient", &p.upper_gradient, 1}};
  for (int o = 0; o < 4; ++o) {
    const auto apart = [&](const Named& other) {
      return check_apart(other.name, shape, *other.view, {}, other.rhs_count, outputs[o].name, *outputs[o].view,
                         outputs[o].rhs_count, false);
    };
    for (const Named& input : inputs) {
      // The solve may run in place.
      const bool in_place = o == 0 && input.view == &p.cotangent;
      if (!in_place) WARPLOOM_TRY(apart(input));
    }
    for (int other = 0; other < o; ++other) WARPLOOM_TRY(apart(outputs[other]));
  }
  return {};
}

}  // namespace

SolveParameters adjoint_solve(const VjpParameters& p) {
  SolveParameters s;
  s.type = p.type;
  s.n = p.n;
  s.batch = p.batch;
  s.rhs_count = p.rhs_count;
  s.offsets = p.offsets;
  s.lower = p.lower;
  s.diagonal = p.diagonal;
  s.upper = p.upper;
  s.rhs = p.cotangent;
  s.solution = p.rhs_gradient;
  s.periodic = p.periodic;
  s.structure = p.structure;
  s.stable = p.stable;
  s.status = p.status;
  s.row = p.row;
  s.summarize = p.summarize;
  s.report = p.report;
  s.slice = p.slice;
  switch (p.transpose) {
    case Transpose::none: s.transpose = Transpose::conjugate; break;
    case Transpose::transpose: s.transpose = Transpose::conjugate_only; break;
    default: s.transpose = Transpose::none;
  }
  return s;
}

Status check(const VjpParameters& p) {
  WARPLOOM_TRY(check_ranges(p));
  const Shape shape{p.type, p.n, p.batch, p.rhs_count, p.offsets};
  WARPLOOM_TRY(check_matrix(shape, p));
  WARPLOOM_TRY(check_view("cotangent", shape, p.cotangent, {}, p.rhs_count));
  WARPLOOM_TRY(check_view("solution", shape, p.solution, {}, p.rhs_count));
  WARPLOOM_TRY(check_view("rhsGradient", shape, p.rhs_gradient, {}, p.rhs_count));
  WARPLOOM_TRY(check_writable("rhsGradient", shape, p.rhs_gradient, p.rhs_count));
  WARPLOOM_TRY(check_gradient("lowerGradient", shape, p.lower_gradient));
  WARPLOOM_TRY(check_gradient("diagonalGradient", shape, p.diagonal_gradient));
  if (p.structure == Structure::general) {
    WARPLOOM_TRY(check_gradient("upperGradient", shape, p.upper_gradient));
  } else if (p.upper_gradient.data != nullptr) {
    return Status(Code::invalid_argument, "must be absent for a positive definite matrix", "upperGradient");
  }
  const int64_t problems = p.batch * p.rhs_count;
  WARPLOOM_TRY(check_array("status", p.status, problems));
  WARPLOOM_TRY(check_array("row", p.row, problems));
  WARPLOOM_TRY(check_summary(p, problems));
  return check_outputs_apart(shape, p);
}

void footprint(Footprint& f, const VjpParameters& p) {
  if (p.offsets.data != nullptr || p.n < 1) return;
  f.writes_window(p.rhs_gradient, p.n, p.batch, p.rhs_count);
  for (const View* const view : {&p.lower_gradient, &p.diagonal_gradient, &p.upper_gradient}) {
    if (view->data == nullptr) continue;
    // Strides of zero: one sum for all rows or systems.
    f.writes_window(*view, view->row_stride == 0 ? 1 : p.n, view->system_stride == 0 ? 1 : p.batch);
  }
  f.writes(p.status, {p.batch, p.rhs_count});
  f.writes(p.row, {p.batch, p.rhs_count});
  f.works({8, p.batch, p.n, p.rhs_count});
}

/// A gradient that is a sum over the batch is not separable.
void cuts(Cuts& c, VjpParameters& p) {
  c.along(p.batch, p.n, &p.slice);
  c.offsets(p.offsets);
  for (View* const band : {&p.lower, &p.diagonal, &p.upper}) c.view(*band, p.n);
  for (View* const view : {&p.cotangent, &p.solution, &p.rhs_gradient}) c.view(*view, p.n, p.rhs_count);
  for (View* const view : {&p.lower_gradient, &p.diagonal_gradient, &p.upper_gradient}) {
    c.view(*view, view->row_stride == 0 ? 1 : p.n);
  }
  c.array(p.status, p.rhs_count);
  c.array(p.row, p.rhs_count);
}

}  // namespace warploom::tridiagonal
