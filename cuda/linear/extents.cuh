// How many systems a batch has, and how long they are.
#pragma once
#include "cuda/core/types.h"
#include "cuda/linear/strided.cuh"

namespace warploom::WARPLOOM_TARGET::linear {

/// Quantities derived from the extents of a batch. A solver's struct `Batch` derives from this and has
///   int64_t n;               rows per system; the largest when ragged
///   int64_t systems;
///   int64_t whole_systems;   in the whole call if this is a slice; 0: this is the whole call
///   int64_t rhs_count;
///   const int64_t* offsets;  ragged: systems+1 row offsets, in device memory; then system_stride = row_stride
///   int64_t trimmed;         ragged: last rows of every system that are left out (n already excludes them)
/// Problem q of systems*rhs_count is system q / rhs_count with right-hand side q % rhs_count. The members are declared
/// by the solver: in a base class they cost registers in kernels that have none to spare (cr-regpack).
template <class Batch>
struct Extents {
  WARPLOOM_HOST_DEVICE int64_t problems() const { return self().systems * self().rhs_count; }
  /// The number of problems by which methods are chosen: the same for every slice of a call.
  int64_t planned_problems() const {
    return (self().whole_systems > 0 ? self().whole_systems : self().systems) * self().rhs_count;
  }
  /// Multiplier of system_stride for `system`: its first row when ragged (offsets), its index otherwise.
  WARPLOOM_HOST_DEVICE int64_t origin(int64_t system) const {
    return self().offsets != nullptr ? self().offsets[system] : system;
  }
  /// Never more than n, whatever the offsets hold: kernels size their storage by n.
  WARPLOOM_HOST_DEVICE int64_t rows(int64_t system) const {
    const Batch& b = self();
    if (b.offsets == nullptr) return b.n;
    const int64_t own = b.offsets[system + 1] - b.offsets[system] - b.trimmed;
    return own < 0 ? 0 : own > b.n ? b.n : own;
  }

 private:
  WARPLOOM_HOST_DEVICE const Batch& self() const { return static_cast<const Batch&>(*this); }
};

/// A problem of a batch: which system, which right-hand side, how many rows.
struct Problem {
  int64_t index = 0, origin = 0, rhs = 0, rows = 0;
};

/// Problem `index`; beyond the last one, a problem without rows.
template <class Batch>
WARPLOOM_DEVICE Problem problem_of(const Batch& batch, int64_t index) {
  Problem problem;
  problem.index = index;
  if (index >= batch.problems()) return problem;
  int64_t system = index;
  if (batch.rhs_count != 1) {
    system = index / batch.rhs_count;
    problem.rhs = index - system * batch.rhs_count;
  }
  problem.origin = batch.origin(system);
  problem.rows = batch.rows(system);
  return problem;
}

/// Rows of all systems together. The offsets of a ragged batch are in device memory, so its rows are counted from the
/// solution (or any output).
inline int64_t total_rows(int64_t n, int64_t batch, bool ragged, const View& output) {
  return !ragged ? n * batch : output.rank > 0 ? output.extents[output.rank - 1] : 0;
}

}  // namespace warploom::WARPLOOM_TARGET::linear
