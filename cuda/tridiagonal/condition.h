// tridiagonal.condition: reciprocal condition estimates and forward error bounds, batched (LAPACK gtcon, gtrfs).
#pragma once
#include "cuda/tridiagonal/factor.h"

namespace warploom::tridiagonal {

/// All outputs are for op(A). A matrix that is exactly singular or not finite has reciprocal condition 0 and infinite
/// forward errors; a non-finite solution or right-hand side has infinite errors.
struct ConditionParameters {
  ScalarType type = ScalarType::float64;
  int64_t n = 0;
  int64_t batch = 0;
  int64_t rhs_count = 0;  ///< 0: only the reciprocal condition; otherwise also bounds for `solution` of `rhs`
  Array<const int64_t> offsets;
  View lower, diagonal, upper;
  View rhs, solution;
  bool periodic = false;
  Transpose transpose = Transpose::none;
  Structure structure = Structure::general;
  Array<double> reciprocal_condition;  ///< batch: 1 / (|A|_1 est(|A^-1|_1)), Higham's estimator (gtcon)
  Array<double> forward_error;         ///< batch*rhs_count: bound on |x - xtrue|_inf / |x|_inf (gtrfs)
  Array<double> backward_error;        ///< batch*rhs_count: componentwise (gtrfs)
};

template <class Visitor>
void visit(Visitor& v, ConditionParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.integer("n", p.n, between(0, kMaxRows));
  v.integer("batch", p.batch, at_least(0));
  v.integer("rhsCount", p.rhs_count, at_least(0));
  v.array("offsets", p.offsets, Role::input);
  v.view("lower", p.lower, Role::input);
  v.view("diagonal", p.diagonal, Role::input);
  v.view("upper", p.upper, Role::input);
  v.view("rhs", p.rhs, Role::input);
  v.view("solution", p.solution, Role::input);
  v.boolean("periodic", p.periodic);
  v.choice("transpose", p.transpose, kTransposeNames);
  v.choice("structure", p.structure, kStructureNames);
  v.array("reciprocalCondition", p.reciprocal_condition, Role::output);
  v.array("forwardError", p.forward_error, Role::output);
  v.array("backwardError", p.backward_error, Role::output);
}

Status check(const ConditionParameters& p);

}  // namespace warploom::tridiagonal
