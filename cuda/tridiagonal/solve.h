// tridiagonal.solve: batched tridiagonal systems  lower[i]*x[i-1] + diagonal[i]*x[i] + upper[i]*x[i+1] = rhs[i].
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/report.h"
#include "cuda/core/slice.h"
#include "cuda/core/types.h"
#include "cuda/linear/matrix.h"
#include "cuda/linear/outcomes.h"

namespace warploom::tridiagonal {

using namespace linear;  // outcomes, shapes and op(A): common to all solvers

/// How to solve systems without pivoting. `automatic` picks the fastest correct algorithm by policy.
enum class Algorithm : int32_t {
  automatic = 0, cr = 1, pcr = 2, cr_pcr = 3, pcr_thomas = 4, thomas = 5, cr_regpack = 6,
  /// Partial pivoting inside register partitions, verified, with LAPACK gtsv order as the last resort.
  pivoting = 7,
  /// One or a few large systems: chunks on chip, with a reduced system between them.
  partition = 8,
};
inline constexpr const char* kAlgorithmNames[] = {
    "auto", "cr", "pcr", "cr-pcr", "pcr-thomas", "thomas", "cr-regpack", "pivoting", "partition"};

/// What a solve did.
struct SolveReport {
  Algorithm algorithm = Algorithm::automatic;
  int32_t depth = 0;       ///< rows per thread; 0 if not applicable
  int32_t threads = 0;     ///< per system; 1 on the cpu backend
  int32_t launches = 0;    ///< of kernels; 1 on the cpu backend
  Table<Summary> summary;  ///< if `summarize` asks for it
  Table<NotedWord> noted;
};

template <class Visitor, class Parameters>
void visit(Visitor& v, SolveReport& r, const Parameters& p) {
  v.choice("algorithm", r.algorithm, kAlgorithmNames);
  v.integer("depth", r.depth);
  v.integer("threads", r.threads);
  v.integer("launches", r.launches);
  v.record("summary", r.summary, p.summarize, Where::device);
  v.noted("noted", r.noted, p.status, p.row, r.summary);
}

/// Row convention: every band has one entry per row. lower[0] and upper[n-1] are never read unless
/// `periodic`, where lower[0] couples row 0 to x[n-1] and upper[n-1] couples row n-1 to x[0].
/// n = 1 periodic adds all three entries; n = 2 periodic adds lower[0] to upper[0] and upper[1] to lower[1].
struct SolveParameters {
  ScalarType type = ScalarType::float64;
  int64_t n = 0;          ///< unknowns per system; the largest when ragged
  int64_t batch = 0;      ///< systems
  int64_t rhs_count = 1;  ///< right-hand sides per system
  /// Ragged batches: batch+1 ascending row offsets. System s has rows offsets[s]…offsets[s+1]-1, and the views'
  /// system_stride is ignored (row i of system s is element offset + (offsets[s]+i)*row_stride).
  Array<const int64_t> offsets;
  View lower, diagonal, upper;  ///< rhs_stride is ignored
  View rhs, solution;           ///< may be the same buffer (in place); otherwise must not overlap
  bool periodic = false;
  Transpose transpose = Transpose::none;
  Structure structure = Structure::general;
  Algorithm algorithm = Algorithm::automatic;
  int32_t depth = 0;   ///< rows per thread of cr-regpack: 0 = policy, else 2, 4, 8, 16 or 32
  bool stable = false; ///< pivoted, and corrected row by row
  /// Componentwise backward error per system; systems that fail are solved again by pivoting.
  bool check = false;
  bool refine = false; ///< refine with residuals and solution in about twice the precision
  double tolerance = 0;///< check: largest accepted componentwise backward error; 0 = 64 * epsilon of the type
  Array<int32_t> status;         ///< batch*rhs_count words, grouped by system
  Array<int32_t> row;            ///< same shape: row of the first zero pivot or non-finite input, else -1
  Array<double> backward_error;  ///< same shape, only with check
  bool summarize = false;        ///< report a summary of the status words, which must then be passed
  SolveReport* report = nullptr;
  Slice slice;                   ///< not a field of the call: set when it is cut
};

template <class Visitor>
void visit(Visitor& v, SolveParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.integer("n", p.n, between(0, kMaxRows));
  v.integer("batch", p.batch, at_least(0));
  v.integer("rhsCount", p.rhs_count, at_least(0));
  v.array("offsets", p.offsets, Role::input);
  v.view("lower", p.lower, Role::input);
  v.view("diagonal", p.diagonal, Role::input);
  v.view("upper", p.upper, Role::input);
  v.view("rhs", p.rhs, Role::input);
  v.view("solution", p.solution, Role::output);
  v.boolean("periodic", p.periodic);
  v.choice("transpose", p.transpose, kTransposeNames);
  v.choice("structure", p.structure, kStructureNames);
  v.choice("algorithm", p.algorithm, kAlgorithmNames);
  v.integer("depth", p.depth, between(0, 32));
  v.boolean("stable", p.stable);
  v.boolean("check", p.check);
  v.boolean("refine", p.refine);
  v.real("tolerance", p.tolerance, at_least(0));
  v.words("status", p.status, Role::output, kSystemStatusNames, kStatusFlagNames);
  v.array("row", p.row, Role::output);
  v.array("backwardError", p.backward_error, Role::output);
  v.boolean("summarize", p.summarize);
  v.report(p.report, p);
}

/// Shapes, strides and ranges of a call, checked once, for every backend, before any work.
Status check(const SolveParameters& p);

}  // namespace warploom::tridiagonal
