// Thomas elimination fused with the loads and stores of a tile. Bands pass through blocks of a few cache lines, and
// only c' and d' stay (in the second-level cache). Include once per instruction set.
#pragma once
#include "native/tridiagonal/algorithms.h"
#include "native/tridiagonal/feed.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Arrays of n entries that solve_streaming needs.
inline constexpr int64_t kStreamingArrays = 2;

/// Row-by-row reference for one lane, straight from memory. Finds the first row with a non-finite entry, or else the
/// first row with a zero pivot under Thomas elimination, and sets both words.
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

/// Contribution of neighbours outside the tile's systems to the product in their first and last rows.
template <class S>
struct Boundary {
  S first, last;
};

/// Subtracts the boundary terms from rows [from, to) of the right-hand side.
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

/// The values of a row that elimination keeps.
template <class S>
struct Kept {
  S c, d;
};

/// State of Thomas elimination between two rows.
template <class S>
struct Elimination {
  using V = LanesType<S>;
  S c, d;  ///< c' and d' of the previous row
  V bad;
  // Written out, because an implicit constructor would not be compiled for the instruction set.
  WARPLOOM_INLINE Elimination() : c(constant<S>(0)), d(c), bad(broadcast<V>(0)) {}

  /// A NaN anywhere, or an infinity in lower or rhs, spoils all later d. An infinity in diagonal or upper makes this
  /// pivot or the next one infinite, and so does a zero pivot. trouble() finds all of these.
  WARPLOOM_INLINE void row(const S& lower, const S& diagonal, const S& upper, const S& rhs) {
    const S pivot = diagonal - lower * c;
    const S inverse = reciprocal(pivot);
    d = (rhs - lower * d) * inverse;
    c = upper * inverse;
    bad = bad + trouble(pivot);
  }
  /// Row k of a block.
  template <int kLines>
  WARPLOOM_INLINE void row(const Block<S, kLines>& block, int64_t k, Kept<S>* kept) {
    row(block.band[0][k], block.band[1][k], block.band[2][k], block.band[3][k]);
    kept->c = c;
    kept->d = d;
  }
  /// Zero in lanes without trouble: every input used, and every intermediate, was finite.
  V trouble_found() const { return bad + trouble(d); }
};

/// Forward elimination of a tile that is prefetched by Feed; returns its trouble.
template <class S>
LanesType<S> eliminate_ahead(const TileLanes<S>& tile, const Sources<S>& sources, Kept<S>* kept,
                             const Boundary<S>* boundary) {
  using OneLine = Block<S, 1>;
  constexpr int64_t kRows = OneLine::kRows;
  OneLine blocks[2];
  Feed<S> feed(tile, sources);
  Elimination<S> e;
  const auto end_of = [&tile](int64_t from) { return from + kRows < tile.n ? from + kRows : tile.n; };
  feed.load(0, end_of(0), &blocks[0]);
  int current = 0;
  for (int64_t from = 0; from < tile.n; from += kRows, current ^= 1) {
    OneLine &block = blocks[current], &following = blocks[current ^ 1];
    const int64_t to = end_of(from);
    if (boundary != nullptr) subtract_boundary(tile, *boundary, from, to, block.band[3]);
    if (feed.shares(to)) {
      feed.begin(to, &following);
      for (int64_t k = 0; k < kRows; ++k) {
        e.row(block, k, kept + from + k);
        feed.share(to, &following);
      }
      feed.end(&following);
    } else {
      for (int64_t k = 0; k < to - from; ++k) e.row(block, k, kept + from + k);
      if (to < tile.n) feed.load(to, end_of(to), &following);
    }
  }
  return e.trouble_found();
}

/// The same for longer tiles and single systems: blocks of several lines, long enough for prefetchers and memory pages
/// to see streams.
template <class S>
LanesType<S> eliminate_blocks(const TileLanes<S>& tile, const Sources<S>& sources, Kept<S>* kept,
                              const Boundary<S>* boundary) {
  Block<S, 2> block;
  Elimination<S> e;
  for (int64_t from = 0; from < tile.n; from += block.kRows) {
    const int64_t to = from + block.kRows < tile.n ? from + block.kRows : tile.n;
    tile.load(sources.lower, from, to, block.band[0]);
    tile.load(sources.diagonal, from, to, block.band[1]);
    tile.load(sources.upper, from, to, block.band[2]);
    tile.load(sources.rhs, from, to, block.band[3]);
    if (boundary != nullptr) subtract_boundary(tile, *boundary, from, to, block.band[3]);
    for (int64_t k = 0; k < to - from; ++k) e.row(block, k, kept + from + k);
  }
  return e.trouble_found();
}

/// Solves a tile by Thomas. status and row: tile.lanes words.
template <class S>
void solve_streaming(const TileLanes<S>& tile, const Sources<S>& sources, S* memory, bool stream,
                     int32_t* status, int32_t* row, const Boundary<S>* boundary = nullptr) {
  using R = RealType<S>;
  constexpr int64_t kBlock = 2 * kLineRows<R>;
  auto* kept = reinterpret_cast<Kept<S>*>(memory);
  for (int l = 0; l < tile.lanes; ++l) {
    status[l] = 0;
    row[l] = -1;
  }
  if (tile.n == 0) return;
  const LanesType<S> bad = Feed<S>::pays(tile, sources)
                               ? eliminate_ahead(tile, sources, kept, boundary)
                               : eliminate_blocks(tile, sources, kept, boundary);
  for (int l = 0; l < tile.lanes; ++l) {
    if (get_lane(bad, l) == R(0)) continue;
    // Before the stores, because the solution may overwrite the right-hand side.
    diagnose_lane(tile, sources, l, &status[l], &row[l]);
  }
  alignas(64) S solved[kBlock];
  S next = constant<S>(0);
  for (int64_t from = (tile.n - 1) / kBlock * kBlock; from >= 0; from -= kBlock) {
    int64_t to = from + kBlock, i = to;
    if (to >= tile.n) {
      to = tile.n;
      i = to - 1;
      solved[i - from] = next = kept[i].d;
    }
    while (--i >= from) {
      next = kept[i].d - kept[i].c * next;
      solved[i - from] = next;
    }
    tile.store(sources.solution, from, to, solved, stream);
  }
  if (stream) fence_stores();
  for (int l = 0; l < tile.lanes; ++l) {
    // A non-finite value anywhere propagates to row 0: 0 * inf and inf - finite are not finite.
    if (status[l] == 0 && tile.rows[l] > 0 && !is_finite(get_lane(next, l))) {
      status[l] = static_cast<int32_t>(operation::SystemStatus::inaccurate);
    }
  }
}

}  // namespace warploom::cpu::WARPLOOM_ISA
