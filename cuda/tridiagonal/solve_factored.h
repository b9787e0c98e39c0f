// tridiagonal.solve_factored: solve with the factors of tridiagonal.factor.
#pragma once
#include "cuda/tridiagonal/factor.h"

namespace warploom::tridiagonal {

struct SolveFactoredParameters {
  ScalarType type = ScalarType::float64;
  int64_t n = 0;
  int64_t batch = 0;
  int64_t rhs_count = 1;
  Array<const int64_t> offsets;
  bool periodic = false;
  Factorisation factorisation = Factorisation::regpack;
  Array<const uint8_t> factors;
  View rhs, solution;     ///< may be the same buffer
  Array<int32_t> status;  ///< batch*rhs_count words
};

template <class Visitor>
void visit(Visitor& v, SolveFactoredParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.integer("n", p.n);
  v.integer("batch", p.batch);
  v.integer("rhsCount", p.rhs_count);
  v.array("offsets", p.offsets, Role::input);
  v.boolean("periodic", p.periodic);
  v.choice("factorisation", p.factorisation, kFactorisationNames);
  v.array("factors", p.factors, Role::input);
  v.view("rhs", p.rhs, Role::input);
  v.view("solution", p.solution, Role::output);
  v.array("status", p.status, Role::output);
}

Status check(const SolveFactoredParameters& p);

}  // namespace warploom::tridiagonal
