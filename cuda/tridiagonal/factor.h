// tridiagonal.factor: factor a batch once, for many solves with new right-hand sides.
#pragma once
#include "cuda/tridiagonal/solve.h"

namespace warploom::tridiagonal {

/// What a factorisation stores, with one entry of the call's type per row and array. `regpack` (no pivoting):
/// normalised factors l, 1/d, u of A = (I+L) D (I+U), so that a register-packed solve reads three numbers per row and
/// never divides. `pivoted`: LAPACK gttrf's L, D, U, U2 and row exchanges. `cholesky`: L D L^H of a positive definite
/// matrix.
enum class Factorisation : int32_t { regpack = 0, pivoted = 1, cholesky = 2 };
inline constexpr const char* kFactorisationNames[] = {"regpack", "pivoted", "cholesky"};

struct FactorParameters {
  ScalarType type = ScalarType::float64;
  int64_t n = 0;
  int64_t batch = 0;
  Array<const int64_t> offsets;  ///< ragged, as in SolveParameters
  View lower, diagonal, upper;
  bool periodic = false;
  Transpose transpose = Transpose::none;
  Structure structure = Structure::general;
  Factorisation factorisation = Factorisation::regpack;
  /// Opaque to the caller: factor_bytes(p) bytes that only solve_factored of the same backend, build and shape can
  /// read.
  Array<uint8_t> factors;
  Array<int32_t> status;  ///< batch words
  Array<int32_t> row;     ///< batch words
  bool summarize = false; ///< as in SolveParameters
  OutcomeReport* report = nullptr;
};

template <class Visitor>
void visit(Visitor& v, FactorParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.integer("n", p.n, between(0, kMaxRows));
  v.integer("batch", p.batch, at_least(0));
  v.array("offsets", p.offsets, Role::input);
  v.view("lower", p.lower, Role::input);
  v.view("diagonal", p.diagonal, Role::input);
  v.view("upper", p.upper, Role::input);
  v.boolean("periodic", p.periodic);
  v.choice("transpose", p.transpose, kTransposeNames);
  v.choice("structure", p.structure, kStructureNames);
  v.choice("factorisation", p.factorisation, kFactorisationNames);
  v.array("factors", p.factors, Role::output);
  v.words("status", p.status, Role::output, kSystemStatusNames, kStatusFlagNames);
  v.array("row", p.row, Role::output);
  v.boolean("summarize", p.summarize);
  v.report(p.report, p);
}

Status check(const FactorParameters& p);
/// Bytes of `factors` for a shape, the same on every backend. Elements per row: regpack 3, cholesky 2, pivoted 4 and a
/// byte. Periodic systems need one more (pivoted: two) and 3 per system. All need 4 bytes per system (FactorLayout).
int64_t factor_bytes(ScalarType type, int64_t n, int64_t batch, bool periodic, Factorisation factorisation);

}  // namespace warploom::tridiagonal
