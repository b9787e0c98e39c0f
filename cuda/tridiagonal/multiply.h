// tridiagonal.multiply: y = alpha * op(A) x + beta * y, batched (LAPACK lagtm with arbitrary factors).
#pragma once
#include "cuda/tridiagonal/solve.h"

namespace warploom::tridiagonal {

struct MultiplyParameters {
  ScalarType type = ScalarType::float64;
  int64_t n = 0;
  int64_t batch = 0;
  int64_t rhs_count = 1;
  Array<const int64_t> offsets;
  View lower, diagonal, upper;
  View x, y;  ///< must not overlap
  bool periodic = false;
  Transpose transpose = Transpose::none;
  Structure structure = Structure::general;
  double alpha = 1;
  double beta = 0;  ///< if zero, y is not read
};

template <class Visitor>
void visit(Visitor& v, MultiplyParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.integer("n", p.n, between(0, kMaxRows));
  v.integer("batch", p.batch, at_least(0));
  v.integer("rhsCount", p.rhs_count, at_least(0));
  v.array("offsets", p.offsets, Role::input);
  v.view("lower", p.lower, Role::input);
  v.view("diagonal", p.diagonal, Role::input);
  v.view("upper", p.upper, Role::input);
  v.view("x", p.x, Role::input);
  v.view("y", p.y, Role::in_out);
  v.boolean("periodic", p.periodic);
  v.choice("transpose", p.transpose, kTransposeNames);
  v.choice("structure", p.structure, kStructureNames);
  v.real("alpha", p.alpha);
  v.real("beta", p.beta);
}

Status check(const MultiplyParameters& p);

}  // namespace warploom::tridiagonal
