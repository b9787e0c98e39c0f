// How solves with factors read rows as vectors (factored_rows_agent.cuh). Plain C++.
#pragma once
#include <cstdint>

namespace warploom::tridiagonal {

/// Rows per lane: as many as solves without factors are fastest with that read rows as vectors (an H200, solve_policy_table.inc),
/// 32 bytes of float32 and 64 of wider types. There are no divisions here and few steps between lanes, so that more rows per
/// lane would win little.
constexpr int factored_depth(int element_bytes) { return element_bytes == 16 ? 4 : 8; }
/// Most warps of a system.
inline constexpr int kFactoredWarps = 8;
/// Most rows of a system.
constexpr int64_t factored_rows(int element_bytes) { return 32 * kFactoredWarps * factored_depth(element_bytes); }

}  // namespace warploom::tridiagonal
