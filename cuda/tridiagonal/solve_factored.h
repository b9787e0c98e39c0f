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
  /// The factors of one matrix (factored with batch 1) serve all systems, which must not be ragged.
  bool shared = false;
  Array<const uint8_t> factors;
  /// The matrix that was factored; only for `check`.
  View lower, diagonal, upper;
  Transpose transpose = Transpose::none;
  Structure structure = Structure::general;
  /// Componentwise backward error per system; systems that fail are solved again by pivoting.
  bool check = false;
  double tolerance = 0;    ///< for check: as in SolveParameters
  View rhs, solution;      ///< may be the same buffer
  Array<int32_t> status;   ///< batch*rhs_count words
  Array<int32_t> row;      ///< likewise, as in SolveParameters
  Array<double> backward_error;  ///< likewise, only with check
  bool summarize = false;  ///< as in SolveParameters
  OutcomeReport* report = nullptr;
  Slice slice;             ///< as in SolveParameters
};

template <class Visitor>
void visit(Visitor& v, SolveFactoredParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.integer("n", p.n, between(0, kMaxRows));
  v.integer("batch", p.batch, at_least(0));
  v.integer("rhsCount", p.rhs_count, at_least(0));
  v.array("offsets", p.offsets, Role::input);
  v.boolean("periodic", p.periodic);
  v.choice("factorisation", p.factorisation, kFactorisationNames);
  v.boolean("shared", p.shared);
  v.array("factors", p.factors, Role::input);
  v.view("lower", p.lower, Role::input);
  v.view("diagonal", p.diagonal, Role::input);
  v.view("upper", p.upper, Role::input);
  v.choice("transpose", p.transpose, kTransposeNames);
  v.choice("structure", p.structure, kStructureNames);
  v.boolean("check", p.check);
  v.real("tolerance", p.tolerance, at_least(0));
  v.view("rhs", p.rhs, Role::input);
  v.view("solution", p.solution, Role::output);
  v.words("status", p.status, Role::output, kSystemStatusNames, kStatusFlagNames);
  v.array("row", p.row, Role::output);
  v.array("backwardError", p.backward_error, Role::output);
  v.boolean("summarize", p.summarize);
  v.report(p.report, p);
}

Status check(const SolveFactoredParameters& p);

}  // namespace warploom::tridiagonal
