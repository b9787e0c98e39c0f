// Depths of cr-regpack that are not powers of two. Plain C++.
#pragma once

namespace warploom::tridiagonal {

/// Depths for systems that do not fill the lanes at an even depth, or that start at any element
/// (regpack_span_lane.cuh).
inline constexpr int kSpanDepths[] = {9, 13, 17};

/// Most threads per block: what the registers allow.
constexpr int span_threads(int element_bytes, int depth) { return element_bytes == 4 ? 512 : depth == 9 ? 384 : 256; }

}  // namespace warploom::tridiagonal
