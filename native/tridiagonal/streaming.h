// Thomas elimination fused with the loads and stores of a tile: bands pass through a buffer of a few
// cache lines, only c' and d' stay (in the second-level cache). Include once per instruction set.
#pragma once
#include "native/tridiagonal/algorithms.h"
#include "native/tridiagonal/tile_io.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Cache lines of every lane that are moved at a time: enough for memory pages and prefetchers to
/// see streams.
inline constexpr int64_t kBlockLines = 2;

/// Arrays of n entries solve_streaming needs.
inline constexpr int64_t kStreamingArrays = 2;

/// Row-by-row reference of one lane, straight from memory: the first row with a non-finite entry,
/// else the first row with a zero pivot under Thomas elimination; sets both words.
template <class S>
void diagnose_lane(const TileLanes<S>& tile, const Sources<S>& sources, int lane, int32_t* status,
                   int32_t* row) {
  using T = One<S>;
  const auto value = [&](const Source<S>& source, int64_t i) -> T {
    const bool valid = i >= source.skip_first && i < tile.rows[lane] - source.skip_last;
    S lanes{};
    set_lane(lanes, lane, constant<T>(source.fill));
    auto* reals = reinterpret_cast<RealType<S>*>(&lanes);
    for (int part = 0; part < kParts<S> && valid; ++part) {
      const auto& plane = source.part[part];
      reals[part * kLanes<S> + lane] = plane.lane[lane][i * plane.row_stride];
    }
    if constexpr (kParts<S> == 2) {
      if (source.conjugate) reals[kLanes<S> + lane] = -reals[kLanes<S> + lane];
    }
    return get_lane(lanes, lane);
  };
  T ratio = constant<T>(0);
  int64_t zero = -1;
  for (int64_t i = 0; i < tile.rows[lane]; ++i) {
    const T lower = value(sources.lower, i), diagonal = value(sources.diagonal, i),
            upper = value(sources.upper, i), rhs = value(sources.rhs, i);
    if (!is_finite(lower) || !is_finite(diagonal) || !is_finite(upper) || !is_finite(rhs)) {
      *status = static_cast<int32_t>(operation::SystemStatus::non_finite);
      *row = static_cast<int32_t>(i);
      return;
    }
    const T pivot = i == 0 ? diagonal : diagonal - lower * ratio;
    if (zero < 0 && is_zero(pivot)) zero = i;
    ratio = upper * reciprocal(pivot);
  }
  if (zero < 0) return;
  *status = static_cast<int32_t>(operation::SystemStatus::zero_pivot);
  *row = static_cast<int32_t>(zero);
}

/// What neighbours outside the tile's systems add to the product of their first and last row.
template <class S>
struct Boundary {
  S first, last;
};

/// Takes the boundary off rows [from, to) of the right-hand side.
template <class S>
void subtract_boundary(const TileLanes<S>& tile, const Boundary<S>& boundary, int64_t from, int64_t to,
                       S* rhs) {
  if (from == 0) rhs[0] = rhs[0] - boundary.first;
  for (int l = 0; l < kLanes<S>; ++l) {
    const int64_t last = tile.rows[l] - 1;
    if (last < from || last >= to) continue;
    set_lane(rhs[last - from], l, get_lane(rhs[last - from], l) - get_lane(boundary.last, l));
  }
}

/// Forward elimination of a tile. Returns zero in lanes without trouble: every input used and every
/// intermediate was finite (see the last lines of the loop).
template <class S>
LanesType<S> eliminate_streaming(const TileLanes<S>& tile, const Sources<S>& sources, S* ratio, S* x,
                                 const Boundary<S>* boundary) {
  using V = LanesType<S>;
  constexpr int64_t kBlock = kBlockLines * kLineRows<RealType<S>>;
  alignas(64) S lower[kBlock], diagonal[kBlock], upper[kBlock], rhs[kBlock];
  S c = constant<S>(0), d = c;
  V bad = broadcast<V>(0);
  for (int64_t from = 0; from < tile.n; from += kBlock) {
    const int64_t to = from + kBlock < tile.n ? from + kBlock : tile.n;
    tile.load(sources.lower, from, to, lower);
    tile.load(sources.diagonal, from, to, diagonal);
    tile.load(sources.upper, from, to, upper);
    tile.load(sources.rhs, from, to, rhs);
    if (boundary != nullptr) subtract_boundary(tile, *boundary, from, to, rhs);
    for (int64_t k = 0; k < to - from; ++k) {
      const bool top = from + k == 0;
      const S pivot = top ? diagonal[k] : diagonal[k] - lower[k] * c;
      const S inverse = reciprocal(pivot);
      d = (top ? rhs[k] : rhs[k] - lower[k] * d) * inverse;
      c = upper[k] * inverse;
      ratio[from + k] = c;
      x[from + k] = d;
      // Every NaN, and an infinity in lower or rhs, spoils all later d; an infinity in diagonal or
      // upper makes this or the next pivot infinite, and so does a zero pivot.
      bad = bad + trouble(pivot);
    }
  }
  return bad + trouble(d);
}

/// Solves a tile by Thomas. status and row: tile.lanes words.
template <class S>
void solve_streaming(const TileLanes<S>& tile, const Sources<S>& sources, S* memory, bool stream,
                     int32_t* status, int32_t* row, const Boundary<S>* boundary = nullptr) {
  using R = RealType<S>;
  constexpr int64_t kBlock = kBlockLines * kLineRows<R>;
  S *ratio = memory, *x = memory + tile.n;
  for (int l = 0; l < tile.lanes; ++l) {
    status[l] = 0;
    row[l] = -1;
  }
  if (tile.n == 0) return;
  const LanesType<S> bad = eliminate_streaming(tile, sources, ratio, x, boundary);
  for (int l = 0; l < tile.lanes; ++l) {
    if (get_lane(bad, l) == R(0)) continue;
    // Before the stores: the solution may overwrite the right-hand side.
    diagnose_lane(tile, sources, l, &status[l], &row[l]);
  }
  S next = constant<S>(0);
  for (int64_t from = (tile.n - 1) / kBlock * kBlock; from >= 0; from -= kBlock) {
    const int64_t to = from + kBlock < tile.n ? from + kBlock : tile.n;
    for (int64_t i = to - 1; i >= from; --i) {
      next = i == tile.n - 1 ? x[i] : x[i] - ratio[i] * next;
      x[i] = next;
    }
    tile.store(sources.solution, from, to, x + from, stream);
  }
  if (stream) fence_stores();
  for (int l = 0; l < tile.lanes; ++l) {
    // A non-finite value anywhere reaches row 0: 0 * inf and inf - finite are not finite.
    if (status[l] == 0 && tile.rows[l] > 0 && !is_finite(get_lane(next, l))) {
      status[l] = static_cast<int32_t>(operation::SystemStatus::inaccurate);
    }
  }
}

}  // namespace warploom::cpu::WARPLOOM_ISA
