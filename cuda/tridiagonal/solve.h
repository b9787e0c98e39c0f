// tridiagonal.solve: batched tridiagonal systems  lower[i]*x[i-1] + diagonal[i]*x[i] + upper[i]*x[i+1] = rhs[i].
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/slice.h"
#include "cuda/core/types.h"

namespace warploom::tridiagonal {

/// How systems without pivoting are solved. `automatic` picks the fastest correct one by policy.
enum class Algorithm : int32_t {
  automatic = 0, cr = 1, pcr = 2, cr_pcr = 3, pcr_thomas = 4, thomas = 5, cr_regpack = 6,
  pivoting = 7,   ///< partial pivoting inside register partitions, verified, LAPACK gtsv order as the last resort
  partition = 8,  ///< one or few large systems: chunks on chip, a reduced system between them
};
inline constexpr const char* kAlgorithmNames[] = {
    "auto", "cr", "pcr", "cr-pcr", "pcr-thomas", "thomas", "cr-regpack", "pivoting", "partition"};

/// op(A) of the solve; conjugate only differs from transpose for complex types.
enum class Transpose : int32_t {
  none = 0, transpose = 1, conjugate = 2,
  conjugate_only = 3,  ///< the adjoint of `transpose`, for vjp: no call can ask for it
};
inline constexpr const char* kTransposeNames[] = {"none", "transpose", "conjugate"};

/// `positive_definite`: Hermitian positive definite; `upper` is not given: upper[i] = conj(lower[i+1]).
enum class Structure : int32_t { general = 0, positive_definite = 1 };
inline constexpr const char* kStructureNames[] = {"general", "positive-definite"};

/// Per (system, right-hand side) outcome, in the low byte of a status word.
enum class SystemStatus : int32_t { ok = 0, zero_pivot = 1, non_finite = 2, inaccurate = 3 };
/// Set in the status word when the answer comes from the pivoting re-solve of `check`.
inline constexpr int32_t kResolvedByPivoting = 0x100;

/// What the status words of a call come to, so that nobody need read them while all is well: numbers of outcomes, the
/// index of the first that is not ok (-1: none), its word and its row.
enum SummaryWord {
  kZeroPivots = 0, kNonFinites = 1, kInaccurates = 2, kResolved = 3, kFirstFailed = 4, kFirstWord = 5, kFirstRow = 6
};
inline constexpr int64_t kSummaryWords = 8;

/// Row convention: every band has one entry per row. lower[0] and upper[n-1] are never read unless
/// `periodic`, where lower[0] couples row 0 to x[n-1] and upper[n-1] couples row n-1 to x[0].
/// n = 1 periodic adds all three entries; n = 2 periodic adds lower[0] to upper[0] and upper[1] to lower[1].
struct SolveParameters {
  ScalarType type = ScalarType::float64;
  int64_t n = 0;          ///< unknowns per system; the largest when ragged
  int64_t batch = 0;      ///< systems
  int64_t rhs_count = 1;  ///< right-hand sides per system
  /// Ragged batches: batch+1 ascending row offsets; system s has rows offsets[s]…offsets[s+1]-1 and the
  /// views' system_stride is not used (row i of system s is element offset + (offsets[s]+i)*row_stride).
  Array<const int64_t> offsets;
  View lower, diagonal, upper;  ///< rhs_stride not used
  View rhs, solution;           ///< may be the same buffer (in place); otherwise must not overlap
  bool periodic = false;
  Transpose transpose = Transpose::none;
  Structure structure = Structure::general;
  Algorithm algorithm = Algorithm::automatic;
  int32_t depth = 0;   ///< rows per thread of cr-regpack: 0 = policy, else 2, 4, 8, 16 or 32
  bool stable = false; ///< pivoted and corrected row by row
  bool check = false;  ///< componentwise backward error per system; failed systems re-solved by pivoting
  bool refine = false; ///< refine with residuals and solution in about twice the precision
  double tolerance = 0;///< check: largest accepted componentwise backward error; 0 = 64 * epsilon of the type
  Array<int32_t> status;         ///< batch*rhs_count words, system-major
  Array<int32_t> row;            ///< same shape: row of the first zero pivot or non-finite input, else -1
  Array<double> backward_error;  ///< same shape, only when check
  Array<double> summary;         ///< kSummaryWords
  Array<int32_t> used;           ///< 4 words: algorithm, depth, threads per system, launches; a report
  Slice slice;                   ///< no field of the call: set where it is cut
};

template <class Visitor>
void visit(Visitor& v, SolveParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.integer("n", p.n);
  v.integer("batch", p.batch);
  v.integer("rhsCount", p.rhs_count);
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
  v.integer("depth", p.depth);
  v.boolean("stable", p.stable);
  v.boolean("check", p.check);
  v.boolean("refine", p.refine);
  v.real("tolerance", p.tolerance);
  v.array("status", p.status, Role::output);
  v.array("row", p.row, Role::output);
  v.array("backwardError", p.backward_error, Role::output);
  v.array("summary", p.summary, Role::output);
  v.array("used", p.used, Role::report);
}

/// Shapes, strides and ranges of a call, checked once for every backend before any work.
Status check(const SolveParameters& p);

}  // namespace warploom::tridiagonal
