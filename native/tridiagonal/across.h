// Thomas elimination across adjacent systems (interleaved batches, many right-hand sides of one matrix): rows need no
// transposition. Include once per instruction set.
#pragma once
#include "native/tridiagonal/tile_check.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// The most cache lines of a row that one strip has, and the bytes that elimination may keep of it: half of a 512 KiB
/// second-level cache. Wide strips read memory in longer runs.
inline constexpr int64_t kStripLines = 8;
inline constexpr int64_t kStripBytes = int64_t{256} << 10;
/// Rows prefetched ahead.
inline constexpr int64_t kStripAhead = 4;

/// Tiles of kLanes systems in a strip.
template <class S>
int64_t strip_tiles(int64_t n) {
  const int64_t tiles = kStripBytes / ((n > 0 ? n : 1) * int64_t{sizeof(Kept<S>)});
  return tiles < 1 ? 1 : tiles < kStripLines ? tiles : kStripLines;
}

/// Distance between the same rows of neighbouring problems.
template <class R>
int64_t lane_stride(const Problem<R>& problem, const Band<R>& band) {
  return problem.rhs_count == 1 ? band.system_stride : band.rhs_stride;
}

/// Rows of one band for problems from `first` on.
template <class S>
class StripBand {
 public:
  using R = RealType<S>;
  StripBand(const Problem<R>& problem, const Band<R>& band, int64_t first)
      : row_stride_(band.row_stride), stride_(lane_stride(problem, band)), conjugate_(band.conjugate) {
    const int64_t at = band.origin + first * stride_;
    for (int part = 0; part < kParts<S>; ++part) {
      part_[part] = const_cast<R*>(part == 0 ? band.re : band.im) + at;
    }
    pairs_ = kParts<S> == 2 && stride_ == 2 && band.im == band.re + 1;
  }

  /// Row i of the tile that starts at `lane`.
  WARPLOOM_INLINE S load(int64_t i, int64_t lane) const {
    S value;
    R* out = reinterpret_cast<R*>(&value);
    const int64_t at = i * row_stride_ + lane * stride_;
    if (pairs_) {
      if constexpr (kParts<S> == 2) Order<R>::template split<kN>(part_[0] + at, out);
    } else {
      for (int part = 0; part < kParts<S>; ++part, out += kN) load_part(part_[part] + at, out);
    }
    if constexpr (kParts<S> == 2) {
      if (conjugate_) value.im = -value.im;
    }
    return value;
  }

  WARPLOOM_INLINE void store(int64_t i, int64_t lane, const S& value, bool stream) const {
    const R* in = reinterpret_cast<const R*>(&value);
    const int64_t at = i * row_stride_ + lane * stride_;
    if constexpr (kParts<S> == 2) {
      if (pairs_) return Order<R>::template join<kN>(in, part_[0] + at);
    }
    for (int part = 0; part < kParts<S>; ++part, in += kN) {
      R* to = part_[part] + at;
      if (stride_ != 1) {
        for (int l = 0; l < kN; ++l) to[l * stride_] = in[l];
      } else if (stream && reinterpret_cast<uintptr_t>(to) % 64 == 0) {
        store_lanes_around<R, kN>(to, in);
      } else {
        copy_lanes<R, kN>(to, in);
      }
    }
  }

  WARPLOOM_INLINE void fetch(int64_t i, int64_t lane) const {
    if (stride_ == 0) return;
    for (int part = 0; part < kParts<S>; ++part) {
      __builtin_prefetch(part_[part] + i * row_stride_ + lane * stride_, 0, 3);
    }
  }

 private:
  static constexpr int kN = kLanes<S>;

  WARPLOOM_INLINE void load_part(const R* from, R* out) const {
    if (stride_ == 1) {
      copy_lanes<R, kN>(out, from);
    } else if (stride_ == 0) {
      fill_lanes<R, kN>(out, *from);
    } else {
      for (int l = 0; l < kN; ++l) out[l] = from[l * stride_];
    }
  }

  R* part_[kParts<S>];
  int64_t row_stride_, stride_;
  bool conjugate_, pairs_;
};

/// Forward elimination of the tiles of a strip.
template <class S>
void eliminate_strip(const Problem<RealType<S>>& problem, int64_t first, int64_t tiles, Kept<S>* kept,
                     Elimination<S>* state) {
  const StripBand<S> lower(problem, problem.lower, first), diagonal(problem, problem.diagonal, first),
      upper(problem, problem.upper, first), rhs(problem, problem.rhs, first);
  const S zero = constant<S>(0);
  for (int64_t i = 0; i < problem.n; ++i) {
    for (int64_t t = 0; t < tiles; ++t, ++kept) {
      const int64_t lane = t * kLanes<S>, ahead = i + kStripAhead;
      lower.fetch(ahead, lane);
      diagonal.fetch(ahead, lane);
      upper.fetch(ahead, lane);
      rhs.fetch(ahead, lane);
      state[t].row(i > 0 ? lower.load(i, lane) : zero, diagonal.load(i, lane),
                   i + 1 < problem.n ? upper.load(i, lane) : zero, rhs.load(i, lane));
      kept->c = state[t].c;
      kept->d = state[t].d;
    }
  }
}

/// Back substitution and the stores; leaves row 0 in state[t].d.
template <class S>
void substitute_strip(const Problem<RealType<S>>& problem, int64_t first, int64_t tiles,
                      const Kept<S>* kept, bool stream, Elimination<S>* state) {
  const StripBand<S> solution(problem, problem.solution, first);
  for (int64_t i = problem.n - 1; i >= 0; --i) {
    for (int64_t t = 0; t < tiles; ++t) {
      const Kept<S>& row = kept[i * tiles + t];
      S& next = state[t].d;
      if (i + 1 < problem.n) next = row.d - row.c * next;
      solution.store(i, t * kLanes<S>, next, stream);
    }
  }
  if (stream) fence_stores();
}

/// Like solve_tile, for any number of problems side by side.
template <class S>
void solve_across(const Problem<RealType<S>>& problem, const Options& options, const Results& results,
                  int64_t first, int count, void* scratch) {
  using operation::SystemStatus;
  constexpr int kN = kLanes<S>;
  auto* kept = static_cast<Kept<S>*>(scratch);
  const int64_t end = first + count, widest = strip_tiles<S>(problem.n);
  int64_t tiles = 0;
  for (; first + kN <= end; first += tiles * kN) {
    tiles = (end - first) / kN < widest ? (end - first) / kN : widest;
    Elimination<S> state[kStripLines];
    int32_t status[kStripLines * kN], row[kStripLines * kN];
    eliminate_strip(problem, first, tiles, kept, state);
    for (int64_t l = 0; l < tiles * kN; ++l) {
      status[l] = 0;
      row[l] = -1;
      if (get_lane(state[l / kN].trouble_found(), static_cast<int>(l % kN)) == 0) continue;
      // Before the stores, because the solution may overwrite the right-hand side.
      const TileLanes<S> tile(problem, first + l, 1);
      diagnose_lane(tile, Sources<S>(tile, problem), 0, &status[l], &row[l]);
    }
    substitute_strip(problem, first, tiles, kept, options.stream, state);
    for (int64_t l = 0; l < tiles * kN; ++l) {
      const bool finite = is_finite(get_lane(state[l / kN].d, static_cast<int>(l % kN)));
      if (status[l] == 0 && !finite) status[l] = static_cast<int32_t>(SystemStatus::inaccurate);
      if (results.status != nullptr) results.status[first + l] = status[l];
      if (results.row != nullptr) results.row[first + l] = row[l];
      if (results.backward_error != nullptr) results.backward_error[first + l] = 0;
    }
  }
  if (first < end) {
    solve_tile<S>(problem, options, results, first, static_cast<int>(end - first), scratch);
  }
}

template <class S>
int64_t across_bytes(const Options&, bool, int64_t n) {
  return strip_tiles<S>(n) * n * int64_t{sizeof(Kept<S>)};
}

template <class S>
constexpr Kernels<RealType<S>> across_of() {
  return {static_cast<int>(kStripLines) * kLanes<S>, &solve_across<S>, &across_bytes<S>};
}

}  // namespace warploom::cpu::WARPLOOM_ISA
