// Moves rows between strided host arrays and tiles.
// Include after the standard headers, once per instruction set.
#pragma once
#include "native/linear/batch.h"
#include "native/linear/lane_moves.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// How the lanes of a plane are laid out in memory.
enum class Access { contiguous, adjacent, uniform, gather };

/// One plane of a band for the lanes of a tile: row i of lane l is lane[l][i * row_stride].
template <class R, int N>
struct Plane {
  R* lane[N];
  int64_t row_stride = 0;
  int64_t next_tile = 0;  ///< distance to the same lane of the next tile, if there is one
  Access access = Access::gather;

  /// Row `row` of every lane starts a cache line (contiguous lanes only).
  bool lines_aligned(int64_t row) const {
    uintptr_t bits = 0;
    for (int l = 0; l < N; ++l) bits |= reinterpret_cast<uintptr_t>(lane[l] + row);
    return bits % 64 == 0;
  }

  void classify() {
    bool adjacent = true, uniform = true;
    for (int l = 1; l < N; ++l) {
      adjacent = adjacent && lane[l] == lane[0] + l;
      uniform = uniform && lane[l] == lane[0];
    }
    access = N == 1 ? (row_stride == 1 ? Access::contiguous : Access::gather)
             : uniform          ? Access::uniform
             : adjacent         ? Access::adjacent
             : row_stride == 1  ? Access::contiguous
                                : Access::gather;
  }
};

/// Rows [from, to) of a plane whose lanes are not far apart; row i goes to out[(i - from) * stride + lane].
template <class R, int N>
WARPLOOM_INLINE void load_rows(const Plane<R, N>& p, int64_t from, int64_t to, R* out, int64_t stride) {
  for (int64_t i = from; i < to; ++i, out += stride) {
    const R* row = p.lane[0] + i * p.row_stride;
    if (p.access == Access::adjacent) {
      copy_lanes<R, N>(out, row);
    } else if (p.access == Access::uniform) {
      fill_lanes<R, N>(out, *row);
    } else {
      for (int l = 0; l < N; ++l) out[l] = p.lane[l][i * p.row_stride];
    }
  }
}

/// Rows [from, to) out of `rows`, of any plane.
template <class R, int N>
WARPLOOM_INLINE void load_plane(const Plane<R, N>& p, int64_t rows, int64_t from, int64_t to, R* out,
                                int64_t stride) {
  if (p.access != Access::contiguous || N == 1) return load_rows(p, from, to, out, stride);
  constexpr int kRegister = N > 1 ? kRegisterLanes<R> : 1;
  const int64_t squares = from + (to - from) / kRegister * kRegister;
  // Prefetches the lines of the next block and, towards the end, of the next tile: hardware prefetchers cannot follow
  // so many streams of a page or less.
  const int64_t ahead = to < rows ? to - from : p.next_tile - from;
  // Lane by lane: cache lines at power-of-two strides share a set, so finish each before it is evicted.
  for (int g = 0; g < N; g += kRegister) {
    for (int64_t i = from; i < squares; i += kRegister) {
      if ((i - from) % kLineRows<R> == 0) {
        for (int l = g; l < g + kRegister; ++l) __builtin_prefetch(p.lane[l] + i + ahead, 0, 3);
      }
      if constexpr (N > 1) {
        Order<R>::gather(p.lane + g, i, out + (i - from) * stride + g, stride);
      }
    }
  }
  for (int64_t i = squares; i < to; ++i) {
    for (int l = 0; l < N; ++l) out[(i - from) * stride + l] = p.lane[l][i];
  }
}

/// Writes rows [from, to) back to memory, valid lanes only. `stream`: whole 64-byte-aligned lines bypass the caches
/// (the caller fences).
template <class R, int N>
WARPLOOM_INLINE void store_plane(const Plane<R, N>& p, int lanes, int64_t from, int64_t to,
                                 const R* in, int64_t stride, bool stream) {
  if (p.access == Access::contiguous && N > 1 && lanes == N) {
    constexpr int kRegister = N > 1 ? kRegisterLanes<R> : 1;
    const int64_t squares = from + (to - from) / kRegister * kRegister;
    const bool around = stream && (to - from) % kLineRows<R> == 0 && p.lines_aligned(from);
    for (int g = 0; g < N; g += kRegister) {
      if constexpr (N > 1) {
        for (int64_t i = from; i < squares && around; i += kLineRows<R>) {
          Order<R>::scatter_line(p.lane + g, i, in + (i - from) * stride + g, stride);
        }
        for (int64_t i = from; i < squares && !around; i += kRegister) {
          Order<R>::scatter(p.lane + g, i, in + (i - from) * stride + g, stride);
        }
      }
    }
    for (int64_t i = squares; i < to; ++i) {
      for (int l = 0; l < N; ++l) p.lane[l][i] = in[(i - from) * stride + l];
    }
    return;
  }
  for (int64_t i = from; i < to; ++i, in += stride) {
    const int64_t at = i * p.row_stride;
    if (p.access == Access::adjacent && lanes == N) {
      copy_lanes<R, N>(p.lane[0] + at, in);
    } else {
      for (int l = 0; l < lanes; ++l) p.lane[l][at] = in[l];
    }
  }
}

/// A band for the lanes of a tile.
template <class S>
struct Source {
  using R = RealType<S>;
  static constexpr int kN = kLanes<S>;
  Plane<R, kN> part[kParts<S>];
  bool conjugate = false;
  int64_t skip_first = 0, skip_last = 0;  ///< rows at the ends that must not be read
  R fill = 0;                             ///< used in their place, and for rows beyond a lane's end
};

/// Lanes of one tile: lane l has problem first + l; lanes beyond `lanes` repeat the last one.
template <class S>
struct TileLanes {
  using R = RealType<S>;
  static constexpr int kN = kLanes<S>;
  const Extents* batch;
  int64_t first;
  int lanes;
  int64_t system[kN], rhs[kN], rows[kN];
  int64_t n = 0, least_rows = 0;

  TileLanes(const Extents& p, int64_t first_problem, int count)
      : batch(&p), first(first_problem), lanes(count) {
    int64_t s = first / p.rhs_count, r = first % p.rhs_count;
    least_rows = p.n;
    for (int l = 0; l < kN; ++l) {
      system[l] = s;
      rhs[l] = r;
      rows[l] = p.rows(s);
      n = rows[l] > n ? rows[l] : n;
      least_rows = rows[l] < least_rows ? rows[l] : least_rows;
      if (l + 1 < lanes && ++r == p.rhs_count) {
        r = 0;
        ++s;
      }
    }
  }

  Source<S> source(const Band<R>& band, int64_t skip_first, int64_t skip_last, R fill) const {
    Source<S> result;
    result.conjugate = band.conjugate;
    result.skip_first = skip_first;
    result.skip_last = skip_last;
    result.fill = fill;
    for (int part = 0; part < kParts<S>; ++part) {
      Plane<R, kN>& plane = result.part[part];
      R* data = const_cast<R*>(part == 0 ? band.re : band.im);
      for (int l = 0; l < kN; ++l) {
        plane.lane[l] = data + batch->base(band, system[l], rhs[l]);
      }
      plane.row_stride = band.row_stride;
      const bool regular = batch->offsets == nullptr && batch->rhs_count == 1;
      plane.next_tile = regular ? kN * band.system_stride : 0;
      plane.classify();
    }
    return result;
  }

  /// Rows [from, to) of a band into out, one S per row.
  WARPLOOM_INLINE void load(const Source<S>& source, int64_t from, int64_t to, S* out) const {
    constexpr int64_t kStride = kN * kParts<S>;
    const int64_t low = from > source.skip_first ? from : source.skip_first;
    int64_t high = least_rows - source.skip_last;
    high = high < to ? high : to;
    R* reals = reinterpret_cast<R*>(out);
    if (low < high) {
      for (int part = 0; part < kParts<S>; ++part) {
        load_plane(source.part[part], n, low, high, reals + (low - from) * kStride + part * kN,
                   kStride);
      }
    }
    if (low > from) load_edge(source, from, low < to ? low : to, reals);
    const int64_t rest = low > high ? low : high;
    if (rest < to) load_edge(source, rest, to, reals + (rest - from) * kStride);
    if constexpr (kParts<S> == 2) {
      for (int64_t i = 0; i < to - from && source.conjugate; ++i) out[i].im = -out[i].im;
    }
  }

  /// Writes rows [from, to) of the solution; lanes that end earlier are not touched.
  WARPLOOM_INLINE void store(const Source<S>& target, int64_t from, int64_t to, const S* in,
                             bool stream) const {
    constexpr int64_t kStride = kN * kParts<S>;
    const R* reals = reinterpret_cast<const R*>(in);
    const int64_t high = to < least_rows ? to : least_rows;
    for (int part = 0; part < kParts<S>; ++part) {
      const Plane<R, kN>& plane = target.part[part];
      if (from < high) {
        store_plane(plane, lanes, from, high, reals + part * kN, kStride, stream);
      }
      for (int64_t i = from > high ? from : high; i < to; ++i) {
        for (int l = 0; l < lanes; ++l) {
          if (i < rows[l]) {
            plane.lane[l][i * plane.row_stride] = reals[(i - from) * kStride + part * kN + l];
          }
        }
      }
    }
  }

 private:
  void load_edge(const Source<S>& source, int64_t from, int64_t to, R* out) const {
    constexpr int64_t kStride = kN * kParts<S>;
    for (int64_t i = from; i < to; ++i, out += kStride) {
      for (int l = 0; l < kN; ++l) {
        const bool valid = i >= source.skip_first && i < rows[l] - source.skip_last;
        for (int part = 0; part < kParts<S>; ++part) {
          const Plane<R, kN>& plane = source.part[part];
          out[part * kN + l] = valid       ? plane.lane[l][i * plane.row_stride]
                               : part == 0 ? source.fill
                                           : R(0);
        }
      }
    }
  }
};

/// One lane as a scalar of its own.
template <class S> struct OneLane { using Type = RealType<S>; };
template <class V> struct OneLane<Complex<V>> { using Type = Complex<RealType<V>>; };
template <class S> using One = typename OneLane<S>::Type;

template <class S>
WARPLOOM_INLINE One<S> get_lane(const S& value, int lane) {
  const auto* reals = reinterpret_cast<const RealType<S>*>(&value);
  if constexpr (kParts<S> == 2) {
    return {reals[lane], reals[kLanes<S> + lane]};
  } else {
    return reals[lane];
  }
}
template <class S>
WARPLOOM_INLINE void set_lane(S& value, int lane, const One<S>& to) {
  auto* reals = reinterpret_cast<RealType<S>*>(&value);
  if constexpr (kParts<S> == 2) {
    reals[lane] = to.re;
    reals[kLanes<S> + lane] = to.im;
  } else {
    reals[lane] = to;
  }
}
/// The row number in one lane of an index vector.
template <class S>
WARPLOOM_INLINE int64_t get_row(const IndexType<S>& rows, int lane) {
  if constexpr (kLanes<S> == 1) {
    return rows;
  } else {
    return reinterpret_cast<const typename RegisterOf<RealType<S>>::Index*>(&rows)[lane];
  }
}

template <class S>
WARPLOOM_INLINE void set_row(IndexType<S>& rows, int lane, int64_t value) {
  if constexpr (kLanes<S> == 1) {
    rows = value;
  } else {
    using Word = typename RegisterOf<RealType<S>>::Index;
    reinterpret_cast<Word*>(&rows)[lane] = static_cast<Word>(value);
  }
}

}  // namespace warploom::cpu::WARPLOOM_ISA
