// How solves with factors read rows as vectors (factored_rows_agent.cuh). Plain C++.
#pragma once
#include <cstdint>

namespace warploom::tridiagonal {

/// Rows per lane: the depth at which solves without factors that read rows as vectors are fastest (on an H200,
/// solve_policy_table.inc), 32 bytes of float32 and 64 of wider types. Solves with factors have no divisions and few
/// steps between lanes, so more rows per lane would gain little.
constexpr int factored_depth(int element_bytes) { return element_bytes == 16 ? 4 : 8; }
/// Most warps per system.
inline constexpr int kFactoredWarps = 8;
/// Most rows per system.
constexpr int64_t factored_rows(int element_bytes) { return 32 * kFactoredWarps * factored_depth(element_bytes); }

}  // namespace warploom::tridiagonal
