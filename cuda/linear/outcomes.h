// The outcome of each system of a batch as a status word, and the summary of a call's words.
#pragma once
#include <cstdint>

#include "cuda/core/report.h"

namespace warploom::linear {

/// Largest number of unknowns in one system: row numbers are reported in 32 bits.
inline constexpr int64_t kMaxRows = 2147483647;

/// Per (system, right-hand side) outcome, in the low byte of a status word.
enum class SystemStatus : int32_t { ok = 0, zero_pivot = 1, non_finite = 2, inaccurate = 3 };
inline constexpr const char* kSystemStatusNames[] = {"ok", "zero-pivot", "non-finite", "inaccurate"};
/// Set in the status word when the answer comes from the pivoting re-solve of `check`.
inline constexpr int32_t kResolvedByPivoting = 0x100;
/// Names of the flags above the low byte, lowest first.
inline constexpr const char* kStatusFlagNames[] = {"resolvedByPivoting"};

/// Summary of a call's status words, so that nobody needs to read them if all is well.
struct Summary {
  double zero_pivots, non_finites, inaccurates;  ///< counts of outcomes
  double resolved;                               ///< answers of the pivoting re-solve
  double first_failed;                           ///< index of the first outcome that is not ok; -1: none
  double first_word, first_row;                  ///< its word and its row

  /// Whether all words are zero.
  bool plain() const { return zero_pivots + non_finites + inaccurates + resolved == 0; }
};

template <class Visitor>
void visit(Visitor& v, Summary& s) {
  v.real("zeroPivots", s.zero_pivots);
  v.real("nonFinites", s.non_finites);
  v.real("inaccurates", s.inaccurates);
  v.real("resolved", s.resolved);
  v.real("firstFailed", s.first_failed);
  v.real("firstWord", s.first_word);
  v.real("firstRow", s.first_row);
}

/// The report of operations that have outcomes per system and no choice of algorithm.
struct OutcomeReport {
  Table<Summary> summary;  ///< if `summarize` asks for it
  Table<NotedWord> noted;
};

template <class Visitor, class Parameters>
void visit(Visitor& v, OutcomeReport& r, const Parameters& p) {
  v.record("summary", r.summary, p.summarize, Where::device);
  v.noted("noted", r.noted, p.status, p.row, r.summary);
}

/// The summary of a call; null if none is requested.
template <class Parameters>
Summary* summary_of(const Parameters& p) {
  return p.summarize && p.report != nullptr ? p.report->summary.data : nullptr;
}

}  // namespace warploom::linear
