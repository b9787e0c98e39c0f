// tridiagonal.vjp: the vector-Jacobian product of x = op(A)^-1 rhs. One solve with op(A)^H, then the gradients of the
// bands from its solution and x.
#pragma once
#include "cuda/tridiagonal/solve.h"

namespace warploom::tridiagonal {

/// With w = op(A)^-H cotangent, the gradient with respect to rhs is w. The gradient with respect to entry (i, j) of A
/// is the sum over right-hand sides of -w[i] conj(x[j]) (op(A) = A), -w[j] conj(x[i]) (A^T) or -conj(w[j]) x[i] (A^H).
/// A band's gradient has the band's strides: a stride of zero, over systems or rows, requests the sum over them. Rows
/// as in SolveParameters. Entries outside the matrix, and empty sums, become zero.
struct VjpParameters {
  ScalarType type = ScalarType::float64;
  int64_t n = 0;
  int64_t batch = 0;
  int64_t rhs_count = 1;
  Array<const int64_t> offsets;
  View lower, diagonal, upper;
  View cotangent, solution;
  View rhs_gradient;  ///< w
  View lower_gradient, diagonal_gradient;
  View upper_gradient;  ///< absent for positive definite matrices, where lower collects both sides
  bool periodic = false;
  Transpose transpose = Transpose::none;
  Structure structure = Structure::general;
  bool stable = false;    ///< of the solve
  Array<int32_t> status;  ///< of the solve, like the next three
  Array<int32_t> row;
  bool summarize = false;
  SolveReport* report = nullptr;
  Slice slice;
};

template <class Visitor>
void visit(Visitor& v, VjpParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.integer("n", p.n, between(0, kMaxRows));
  v.integer("batch", p.batch, at_least(0));
  v.integer("rhsCount", p.rhs_count, at_least(0));
  v.array("offsets", p.offsets, Role::input);
  v.view("lower", p.lower, Role::input);
  v.view("diagonal", p.diagonal, Role::input);
  v.view("upper", p.upper, Role::input);
  v.view("cotangent", p.cotangent, Role::input);
  v.view("solution", p.solution, Role::input);
  v.view("rhsGradient", p.rhs_gradient, Role::output);
  v.view("lowerGradient", p.lower_gradient, Role::output);
  v.view("diagonalGradient", p.diagonal_gradient, Role::output);
  v.view("upperGradient", p.upper_gradient, Role::output);
  v.boolean("periodic", p.periodic);
  v.choice("transpose", p.transpose, kTransposeNames);
  v.choice("structure", p.structure, kStructureNames);
  v.boolean("stable", p.stable);
  v.words("status", p.status, Role::output, kSystemStatusNames, kStatusFlagNames);
  v.array("row", p.row, Role::output);
  v.boolean("summarize", p.summarize);
  v.report(p.report, p);
}

Status check(const VjpParameters& p);

/// The solve with op(A)^H that gives w.
SolveParameters adjoint_solve(const VjpParameters& p);

}  // namespace warploom::tridiagonal
