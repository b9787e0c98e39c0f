// One long system as chunks, one per lane: the two passes of the partition method. Include once per instruction set,
// after the standard headers.
//
// A chunk consists of interior rows and, except for the last, a separator row after them. Eliminating the interior
// leaves a tridiagonal system of the separators (Wang 1981; here with one separator per chunk, as in Polizzi, Sameh
// 2006 without truncation).
#pragma once
#include "native/tridiagonal/streaming.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Couplings of a tile's chunks to the separators on their left and right; zero at the ends.
template <class S>
void chunk_couplings(const TileLanes<S>& tile, const Sources<S>& sources, S* left, S* right) {
  *left = *right = constant<S>(0);
  const auto value = [](const Source<S>& source, int lane, int64_t row) {
    S lanes = constant<S>(0);
    auto* reals = reinterpret_cast<RealType<S>*>(&lanes);
    for (int part = 0; part < kParts<S>; ++part) {
      const auto& plane = source.part[part];
      reals[part * kLanes<S> + lane] = plane.lane[lane][row * plane.row_stride];
    }
    if constexpr (kParts<S> == 2) {
      if (source.conjugate) lanes.im = -lanes.im;
    }
    return get_lane(lanes, lane);
  };
  for (int l = 0; l < kLanes<S>; ++l) {
    const int64_t chunk = tile.system[l];
    if (chunk > 0) set_lane(*left, l, value(sources.lower, l, 0));
    if (chunk + 1 < tile.batch->systems) {
      set_lane(*right, l, value(sources.upper, l, tile.rows[l] - 1));
    }
  }
}

/// First pass: expresses the first and last interior unknown of every chunk by its separators,
/// x = value - next * right separator - previous * left separator. job.reduced: six arrays.
template <class S>
void reduce_chunks(const Problem<RealType<S>>& problem, const ChunkJob& job, int64_t first, int lanes,
                   void*) {
  constexpr int64_t kBlock = 2 * kLineRows<RealType<S>>;
  const TileLanes<S> tile(problem, first, lanes);
  const Sources<S> sources(tile, problem);
  alignas(64) S lower[kBlock], diagonal[kBlock], upper[kBlock], rhs[kBlock];
  S left, right;
  chunk_couplings(tile, sources, &left, &right);
  S c = constant<S>(0), d = c, w = -left, p = c, q = constant<S>(-1), v = c;
  // The last chunk may be longer than the others, which end here.
  S ends[6] = {d, c, w, p, q, v};
  for (int64_t from = 0; from < tile.n; from += kBlock) {
    const int64_t to = from + kBlock < tile.n ? from + kBlock : tile.n;
    tile.load(sources.lower, from, to, lower);
    tile.load(sources.diagonal, from, to, diagonal);
    tile.load(sources.upper, from, to, upper);
    tile.load(sources.rhs, from, to, rhs);
    for (int l = 0; l < kLanes<S>; ++l) {
      const int64_t last = tile.rows[l] - 1;
      if (last >= from && last < to) set_lane(upper[last - from], l, get_lane(right, l));
    }
    if (from == 0) lower[0] = constant<S>(1);  // with w = -left and c = d = 0, this is the coupling itself
    for (int64_t k = 0; k < to - from; ++k) {
      const S inverse = reciprocal(diagonal[k] - lower[k] * c);
      d = (rhs[k] - lower[k] * d) * inverse;
      w = -((lower[k] * w) * inverse);
      c = upper[k] * inverse;
      // x[0] = p - q x[i] - v left, starting from x[0] = x[0].
      p = p - q * d;
      v = v - q * w;
      q = -(q * c);
      if (from + k != problem.n - 1) continue;
      const S here[6] = {d, c, w, p, q, v};
      for (int j = 0; j < 6; ++j) ends[j] = here[j];
    }
  }
  using T = One<S>;
  T* out = static_cast<T*>(job.reduced);
  const S finals[6] = {d, c, w, p, q, v};
  for (int l = 0; l < lanes; ++l) {
    const S* values = first + l + 1 == job.chunks ? finals : ends;
    for (int j = 0; j < 6; ++j) out[j * job.chunks + first + l] = get_lane(values[j], l);
  }
}

/// Second pass: computes the interiors of the chunks from the separators (job.separators).
template <class S>
void solve_chunks(const Problem<RealType<S>>& problem, const ChunkJob& job, int64_t first, int lanes,
                  void* scratch) {
  const TileLanes<S> tile(problem, first, lanes);
  const Sources<S> sources(tile, problem);
  Boundary<S> boundary;
  chunk_couplings(tile, sources, &boundary.first, &boundary.last);
  const auto* separators = static_cast<const One<S>*>(job.separators);
  S left = constant<S>(0), right = left;
  for (int l = 0; l < kLanes<S>; ++l) {
    const int64_t chunk = tile.system[l];
    if (chunk > 0) set_lane(left, l, separators[chunk - 1]);
    if (chunk + 1 < job.chunks) set_lane(right, l, separators[chunk]);
  }
  boundary.first = boundary.first * left;
  boundary.last = boundary.last * right;
  int32_t status[kLanes<S>], row[kLanes<S>];
  solve_streaming(tile, sources, static_cast<S*>(scratch), job.stream, status, row, &boundary);
  for (int l = 0; l < lanes; ++l) {
    job.status[first + l] = status[l];
    job.row[first + l] = row[l];
  }
}

/// Builds the system of the separators from the first pass, in bands of job.chunks - 1 rows. Reads the separators' own
/// rows of `problem` (whose systems are the chunks).
template <class S>
void build_reduced(const Problem<RealType<S>>& problem, const ChunkJob& job, int64_t chunk_rows,
                   void* lower_band, void* diagonal_band, void* upper_band, void* right) {
  using T = One<S>;
  T *lower = static_cast<T*>(lower_band), *diagonal = static_cast<T*>(diagonal_band),
    *upper = static_cast<T*>(upper_band), *rhs = static_cast<T*>(right);
  const T* reduced = static_cast<const T*>(job.reduced);
  const auto entry = [&](const Band<RealType<S>>& band, int64_t chunk) {
    const int64_t at = problem.base(band, chunk, 0) + (chunk_rows - 1) * band.row_stride;
    if constexpr (kParts<S> == 2) {
      return T{band.re[at], band.conjugate ? -band.im[at] : band.im[at]};
    } else {
      return band.re[at];
    }
  };
  const int64_t chunks = job.chunks;
  for (int64_t k = 0; k + 1 < chunks; ++k) {
    const T a = entry(problem.lower, k), u = entry(problem.upper, k);
    const T* before = reduced + k;
    const T* behind = reduced + k + 1;
    lower[k] = -(a * before[2 * chunks]);
    diagonal[k] = entry(problem.diagonal, k) - a * before[chunks] - u * behind[5 * chunks];
    upper[k] = -(u * behind[4 * chunks]);
    rhs[k] = entry(problem.rhs, k) - a * before[0] - u * behind[3 * chunks];
  }
}

}  // namespace warploom::cpu::WARPLOOM_ISA
