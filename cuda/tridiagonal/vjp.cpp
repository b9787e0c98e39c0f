#include "cuda/tridiagonal/vjp.h"

#include <utility>

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"
#include "cuda/tridiagonal/matrix_check.h"

namespace warploom::tridiagonal {
namespace {

/// An extent of one requests a sum over that index.
Status check_gradient(const char* name, const Shape& shape, const View& view) {
  Shape summed = shape;
  if (view.data == nullptr) return check_band(name, shape, view, has_rows(shape));
  if (shape.ragged()) return view.rank == 1 && view.extents[0] == 1 ? Status() : check_band(name, shape, view, true);
  if (view.rank == 2 && view.extents[0] == 1) summed.batch = 1;
  if (view.rank == 2 && view.extents[1] == 1) summed.n = 1;
  return check_band(name, summed, view, true);
}

/// Outputs must not overlap inputs; only the solve may run in place.
Status check_outputs_apart(const VjpParameters& p) {
  WARPLOOM_TRY(check_bands_apart(p, "rhsGradient", p.rhs_gradient));
  WARPLOOM_TRY(check_apart("solution", p.solution, "rhsGradient", p.rhs_gradient, p.type));
  const std::pair<const char*, const View*> gradients[] = {
      {"lowerGradient", &p.lower_gradient}, {"diagonalGradient", &p.diagonal_gradient}, {"upperGradient", &p.upper_gradient}};
  for (const auto& [name, gradient] : gradients) {
    WARPLOOM_TRY(check_bands_apart(p, name, *gradient));
    WARPLOOM_TRY(check_apart("cotangent", p.cotangent, name, *gradient, p.type));
    WARPLOOM_TRY(check_apart("solution", p.solution, name, *gradient, p.type));
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
  WARPLOOM_TRY(check_fields(p));
  const Shape shape{p.type, p.n, p.batch, p.rhs_count, p.offsets};
  WARPLOOM_TRY(check_matrix(shape, p));
  WARPLOOM_TRY(check_vector("cotangent", shape, p.cotangent));
  WARPLOOM_TRY(check_vector("solution", shape, p.solution));
  WARPLOOM_TRY(check_vector("rhsGradient", shape, p.rhs_gradient));
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
  return check_outputs_apart(p);
}

void footprint(Footprint& f, const VjpParameters& p) {
  if (p.offsets.data != nullptr || p.n < 1) return f.keeps_all();
  f.works({8, p.batch, p.n, p.rhs_count});
}

/// A gradient that is a sum over the batch is not separable.
void cuts(Cuts& c, VjpParameters& p) {
  c.along(p.batch, p.n, &p.slice);
  c.offsets(p.offsets);
  for (View* const view : {&p.lower, &p.diagonal, &p.upper, &p.cotangent, &p.solution, &p.rhs_gradient, &p.lower_gradient,
                           &p.diagonal_gradient, &p.upper_gradient}) {
    c.view(*view);
  }
  c.array(p.status, p.rhs_count);
  c.array(p.row, p.rhs_count);
}

}  // namespace warploom::tridiagonal
